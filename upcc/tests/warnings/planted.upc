/* Mistakes that a C compiler warns of, as UPC and as C. Each line of a mistake ends in a mark. */
#ifdef __UPC__
#include <upc.h>
#define SHARED(block) shared [block]
#define STRICT strict shared
#define FORALL(first, condition, step, whose) upc_forall (first; condition; step; whose)
#define BARRIER upc_barrier
#define FENCE upc_fence
#else
#define SHARED(block)
#define STRICT
#define FORALL(first, condition, step, whose) for (first; condition; step)
#define BARRIER barrier()
#define FENCE barrier()
#define THREADS 4
extern int MYTHREAD;
extern void barrier(void);
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <assert.h>
#include <ctype.h>

SHARED(4) int a[16 * THREADS];
SHARED(2) double d[8 * THREADS];
STRICT int flag;
struct pair { int x, y; };
enum colour { RED, GREEN, BLUE };
extern int use(int, ...);
extern void keep(void *);
int missing(int x) { if (x) return 1; } //!
static int unused_function(void) { return 1; } //!
static int unused_variable = 2; //!
int shadowed(int x) { { int x = 2; use(x); } return x; } //!
int parameter(int x, int spare) { return x; } //!
void formats(void)
{
    printf("%d\n", 1.5); //!
    printf("%s\n", a[0]); //!
    printf("%ld\n", a[1]); //!
    printf("%d %d\n", a[2]); //!
    printf("%d\n", a[1], a[2]); //!
    printf("%f\n", MYTHREAD); //!
    fprintf(stderr, "%p %q\n", (void *)0); //!
    printf("%d\n", (long)a[3]); //!
}
int uninitialised(void) { int u; return u + a[0]; } //!
int perhaps(int n)
{
    int v;
    if (n > a[0])
        v = 1;
    BARRIER;
    return v; //!
}
void assigned(int i)
{
    if (i = a[0]) //!
        use(1);
    while (i = MYTHREAD) //!
        use(i);
    i == 2; //!
    a[1] == 3; //!
    a[i]; //!
    use(1), i; //!
    for (i = 0; i , 4; i++) //!
        break;
}
void set_only(void) { int set = 1; set = a[0]; } //!
void never_used(void) { int never; double another; } //!
void loop_variable(void)
{
    int other; //!
    FORALL (int i = 0, i < 16 * THREADS, i++, &a[i])
        a[i] = i;
}
void compared(unsigned k, int i)
{
    if (k < i) //!
        use(1);
    if (k >= 0) //!
        use(2);
    if (k < 0) //!
        use(3);
    if (i < sizeof(struct pair)) //!
        use(4);
    if (a[0] == k) //!
        use(5);
    if (i == i) //!
        use(6);
}
int falls(int i)
{
    switch (i) {
    case 1:
        use(1); //!
    case 2:
        return 2;
    }
    return 3;
}
int colours(enum colour c)
{
    switch (c) { //!
    case RED: return 1;
    case GREEN: return 2;
    }
    return 0;
}
void dangling(int i, int j)
{
    if (i) //!
        if (j) use(1);
    else use(2);
    if (i || j && a[0]) //!
        use(3);
    if (i)
        use(4);
        use(5);
    if (i & 1 == a[0]) //!
        use(6);
    if (i < j < a[1]) //!
        use(7);
    if (!i == a[2]) //!
        use(8);
    if (i); //!
    use(i << 2 + 1); //!
}
void bounds(void)
{
    int l[4] = {0}, m[3];
    char b[4];
    l[5] = a[0]; //!
    memset(m, 0, 100); //!
    sprintf(b, "%s", "too long for it"); //!
    strcpy(b, "much too long"); //!
    keep(l), keep(m), keep(b);
}
void memory(struct pair *p)
{
    memset(p, 0, sizeof(p)); //!
    memset(p, sizeof *p, 0); //!
    char *s = malloc(4);
    free(s);
    s[0] = 1; //!
    int here;
    free(&here); //!
}
int *dangling_pointer(void) { int l = a[0]; return &l; } //!
int divides(int i) { return i / 0; } //!
int shifts(int i) { return i << 40; } //!
int overflows(void) { return 2147483647 + 1; } //!
char narrow(void) { char c = 300; return c; } //!
int twice(int i) { i = i++ + a[0]; return i; } //!
int macro(int i) { return "abc" == (char *)(long)i; } //!
struct pair partly(void) { struct pair p = { .x = 1, .x = 2 }; return p; } //!
struct pair half(void) { struct pair p = { 1 }; return p; } //!
void labels(void) { unused: use(1); } //!
int comment(void) { return a[0] /* /* nested */; } //!
int condition(int i) { return i ? a[0] : i ? a[0] : a[0]; }
void pointers(const char *s, unsigned *u, int *i)
{
    char *t = s; //!
    i = u; //!
    keep(t), keep(i);
}
void address(int *p) { int x; if (&x) use(*p); } //!
int character(char c) { return isdigit(c) + 'ab'; } //!
void result(void) { FORALL (int i = 0, i < 4, i++, i) { int spare; d[i] = 1; } } //!
void fences(void) { int before; FENCE; flag = 1; before = 2; } //!
int cast(void) { return (int)use; } //!
