// What C requires a diagnostic for, and the preprocessor lets pass.
// threads: 1
#include "check.h"
#include "_directives.h"
// rule: redefined
#define ONCE 1
#define ONCE 2 // expect-warning: ONCE
	#define ONCE(x)  x // expect-warning: ONCE
#define SAME(a, b) a  + b
#define SAME(a,  b) a + /* blank is blank */ b
#define SAME(a, c) a + c // expect-warning: SAME
#define IN_HEADER 5 // expect-warning: IN_HEADER
#undef ONCE
#define ONCE 3
// rule: tails
#ifdef ONCE ONCE // expect-warning: #ifdef
#else of it // expect-warning: #else
#endif ONCE // expect-warning: #endif
#undef SAME SAME // expect-warning: #undef
// rule: names
#define GLUED"text" // expect-warning: white space
#define NOT_VARIADIC(a) __VA_ARGS__ // expect-warning: __VA_ARGS__
#warning not required
#if 0
#if 1
#endif junk where nobody looks
#define ONCE 9
#endif
int main(void)
{
    CHECK_EQ(ONCE, 3);
    PASS();
}
// rule: predefined
#define __LINE__ 7 // expect-warning: __LINE__
#undef __FILE__ // expect-warning: __FILE__
#undef __STDC__ // expect-warning: __STDC__
