// Characters and strings of all widths.
// threads: 1 2
#include "check.h"
#include <stddef.h>
#include <string.h>
#include <uchar.h>
#include <wchar.h>
shared [] wchar_t wide_shared[] = L"wide";
shared [] char16_t sixteen[8] = u"16";
shared [] char plain[4] = "abcd";
static wchar_t wide[] = L"\x263a\u00e9";
static const char utf8[] = u8"\u00e9";
static const char16_t *u = u"a" "b";
static const char32_t *U = U"\U0001f600";
int main(void)
{
    CHECK(sizeof wide == 12 && wide[0] == 0x263a && wide[1] == 0xe9);
    CHECK(sizeof utf8 == 3 && (unsigned char)utf8[0] == 0xc3);
    CHECK(u[1] == 'b' && U[0] == 0x1f600 && u'\u20ac' == 0x20ac && U'x' == 'x' && L'\'' == 39);
    CHECK(wide_shared[3] == L'e' && sizeof wide_shared == 20 && sixteen[1] == '6' && sixteen[7] == 0 && plain[3] == 'd');
    CHECK(wcslen(L"four" L"teen") == 8 && wcscmp(L"a" "b", L"ab") == 0);
    CHECKED("widths");
    CHECK(strcmp("\a\b\f\n\r\t\v\\\?\'\"\e", "\7\10\14\12\15\11\13\134\77\47\42\33") == 0);
    CHECK(sizeof "a\0b" == 4 && "\0123"[1] == '3' && "\x41"
                                                           "1"[0] == 'A');
    CHECK('ab' == 'a' * 256 + 'b' && '\377' == -1 && '\0' == 0);
    CHECK(sizeof("") == 1 && "literal"[3] == 'e' && *("abc" + 1) == 'b' && 2 ["xyz"] == 'z');
    char trimmed[3] = "abc", braces[] = {"in braces"}, joined[] = "one " "two"
        " three";
    CHECK(sizeof trimmed == 3 && strlen(braces) == 9 && strlen(joined) == 13);
    CHECKED("escapes");
    int \u00e9t\u00e9 = 5, été2 = 6, dollar$ = 7;
    CHECK_EQ(\u00e9t\u00e9 + été2 + dollar$, 18);
    CHECKED("names");
    PASS();
}
