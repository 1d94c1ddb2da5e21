// Errors that the preprocessor reports.
// static: no
// golden: no
// rule: asked
#error asked for // expect-error: asked for
// rule: definitions
#define // expect-error:
#define 1 // expect-error:
#define defined 1 // expect-error: defined
#define TWICE(a, a) // expect-error: a
#define OPEN(a // expect-error:
#define HASH(a) #b // expect-error:
#define EDGE(a) ## a // expect-error:
#undef // expect-error:
// rule: conditions
#if // expect-error:
#endif
#if 1 + // expect-error:
#endif
#if 1.0 // expect-error:
#endif
#if "text" // expect-error:
#endif
#if 1 / 0 // expect-error:
#endif
#ifdef // expect-error:
#endif
#endif // expect-error:
#else // expect-error:
#elif 1 // expect-error:
// rule: others
#nothing_known // expect-error:
#line // expect-error:
#line x // expect-error:
// rule: calls
#define PAIR(a, b) a b
PAIR(1) // expect-error: PAIR
PAIR(1, 2, 3) // expect-error: PAIR
#define PASTE(a, b) a##b
PASTE(+, 1) // expect-error:
_Pragma(1) // expect-error: _Pragma
int main(void) { return 0; }
