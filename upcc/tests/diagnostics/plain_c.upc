// dynamic THREADS
int f(int, char *); struct inc; typedef int T;
int dup; char dup;
int twice = 1; int twice = 2;
void def(void) {} void def(void) {}
static int st; int st;
struct s { int a; int a; void v; struct inc i; int f(void); int x : 40; int : -1; double y : 3; };
struct s { int z; };
enum e { A, B, A }; enum e2 { C = 1.5, D = dup };
int arr[-1], many[][], *fn[3](void), (*ret(void))[3], bad(void)[3], huge[1UL << 60][1 << 20];
void v; struct inc obj; extern struct inc fine; struct inc *fine2;
int start = f(1, 0), start2 = dup, ok = sizeof(int) + 3 * 4, *addr = &dup + 1;
char str[3] = "toolong", list[2] = { 1, 2, 3 }, one = { 1, 2 }; int desig[2] = { [5] = 1, .x = 2 }; struct { int q; } r = { .w = 1 };
int main(void)
{
    const int c = 1; int i, *p; T t; char *s; register int reg; struct s ss; void *vp;
    undeclared = 1; undeclared++; mani(1); maim; f(1); f(1, s, 2); f(s, 1); f(ss, s);
    c = 2; c++; 1 = i; i++ = 1; &1; &reg; arr = 0; main = 0; *i; i[i]; p[1.5]; -s; !ss; ~1.5; ss + 1; p + p; p * 2; 1.5 % 2; i << 1.0;
    p = 1; i = p; p = s; p = &c; p == 1; p == s; i = ss; ss = i; i(); s->x; ss.none; i.a; T; T = 1; sizeof(int : 3); (struct s)i; (int)ss; (char *)1.5;
    int i; for (int i;;) { int i; } int x[] ; int y[] = 1; label: i = 08 + 0x + 1.2.3;
    i = (1; if (1 {} ;
    return 0
}
int unclosed(void) { if (1) {
