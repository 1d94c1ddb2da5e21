// -nochecks does not look; objects, library and program say what they are, in the program too.
// threads: 1
// static: no
// files: _old_config.trans.c
// flags: -nochecks -shared-heap=64MB
#define _GNU_SOURCE
#include "check.h"
#include <string.h>

int old(void);

static char *all;
static size_t length;

static int has(const char *text)
{
    // The text itself is there, too, without the dollar sign.
    char *at = all, *end = all + length;
    while ((at = memmem(at, end - at, text, strlen(text))) != NULL && at[-1] != '$')
        at++;
    return at != NULL;
}

int main(void)
{
    FILE *f = fopen("/proc/self/exe", "r");
    fseek(f, 0, SEEK_END);
    length = ftell(f);
    rewind(f);
    all = malloc(length);
    CHECK(fread(all, 1, length, f) == length);
    CHECK(old());
    static const char *texts[] = {
        "UPCRConfig: (old.o) VERSION=3.6,", "UPCRConfig: (libupc.a) VERSION=3.14,", "UPCRDefaultHeapSizes: (", "UPCRDefaultPthreadCount: (",
    };
    for (int i = 0; i < 4; i++)
        CHECK(has(texts[i]));
    static const char *names[] = { "UPCRConfig", "UPCTranslator", "UPCVersion", "UPCCompileLine", "UPCCompileTime" };
    for (int i = 0; i < 5; i++) {
        char text[200];
        snprintf(text, sizeof text, "%s: (%s) ", names[i], __FILE__);
        CHECK(has(text));
    }
    PASS();
}
