// Correct code draws no warning by default, whatever a C compiler would say.
// threads: 1
// static: no
#include "check.h"
extern int undeclared_types();
static int unused_function(int unused_parameter) { int unused; return 0; }
shared int a[THREADS];
int main(void)
{
    unsigned u = 1;
    int i = -1;
    if (u > i) { }
    printf("%ld\n", u);
    char *s = (char *)(long)i;
    int *shared_lookalike = (int *)s;
    a[MYTHREAD] == 3;
    if (i = 0) { }
    switch (u) { case 1: i = 2; case 2: i = 3; }
    extern int puts(const char *);
    (void)(shared int *)(shared char *)&a[0];
    (void)(long)&a[0];
    (void)shared_lookalike;
    PASS();
}
