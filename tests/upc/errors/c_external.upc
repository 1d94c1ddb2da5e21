// Constraints of C on what stands at file scope.
// static: no
// rule: functions
int twice(void) { return 1; }
int twice(void) { return 2; } // expect-error: twice
static inline int inline_twice(void) { return 1; }
static inline int inline_twice(void) { return 2; } // expect-error: inline_twice
typedef int function_type(void);
function_type by_typedef { return 1; } // expect-error:
int no_parameter_name(int) { return 1; } // expect-warning:
struct incomplete returns_incomplete(void) {} // expect-error:
int takes_incomplete(struct incomplete p) { return 0; } // expect-error:
int initialised(void) = 3; // expect-error:
int hidden_parameter(int a)
{
    int a; // expect-error: a
    return 0;
}
// rule: old-style
int not_declared(a) int b; { return 0; } // expect-error: b
int prototype(int, int);
int prototype(a) int a; { return a; } // expect-error:
int other_type(int *);
int other_type(p) char *p; { return *p; } // expect-error:
int names_without_body(a, b); // expect-warning:
// rule: storage
auto int automatic; // expect-error:
register int in_register; // expect-error:
static struct later tentative; // expect-error:
static int never_defined(void);
// rule: main
int main(char c) { return never_defined(); } // expect-error: main
