// Tokens that are none, literals out of range.
// static: no
// rule: numbers
int octal = 08; // expect-error:
int hexadecimal = 0x; // expect-error:
double points = 1.2.3; // expect-error:
int suffix = 1ulul; // expect-error:
double exponent = 1e; // expect-error:
int huge = 99999999999999999999999; // expect-error:
// rule: characters
int empty = ''; // expect-error:
int escape = '\xg'; // expect-error:
char *widths = u"a" L"b"; // expect-error:
// rule: stray
int stray = 1 @ 2; // expect-error:
int brackets = (1; // expect-error:
int more = 1]; // expect-error:
int main(void) { return 0; }
