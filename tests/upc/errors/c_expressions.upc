// Constraints of C on expressions.
// static: no
struct s {
    int a, bits : 3;
    const int c;
};
union u;
struct s s, *ps, f(void);
const struct s *pcs;
int i, a[3], *pi, g(int), h(int, char *), old();
double d;
void v(void);

enum e { E } e;
char *str;
void test(void)
{
    // rule: primary
    i = undeclared; // expect-error: undeclared
    i = _Generic(d, int: 1, char: 2); // expect-error:
    i = _Generic(1, int: 1, int: 2); // expect-error:
    // rule: calls
    i(); // expect-error:
    g(); // expect-error: argument
    g(1, 2); // expect-error: argument
    g(s); // expect-error:
    i = v(); // expect-error:
    f().a = 1; // expect-error:
    // rule: members
    s.missing; // expect-error: missing
    i.a; // expect-error:
    ps.a; // expect-error:
    s->a; // expect-error:
    // rule: subscripts
    i[i]; // expect-error:
    a[d]; // expect-error:
    a[ps]; // expect-error:
    // rule: unary
    &i++; // expect-error:
    &5; // expect-error:
    &s.bits; // expect-error: bit-field
    *i; // expect-error:
    *d; // expect-error:
    ~d; // expect-error:
    !s; // expect-error:
    -ps; // expect-error:
    ++s; // expect-error:
    5++; // expect-error:
    ++a; // expect-error:
    sizeof(union u); // expect-error:
    sizeof g; // expect-error:
    sizeof s.bits; // expect-error:
    _Alignof(union u); // expect-error:
    // rule: casts
    (struct s)s.a; // expect-error:
    (int)s; // expect-error:
    (char *)d; // expect-error:
    (double)ps; // expect-error:
    (int[3])a; // expect-error:
    // rule: operators
    i % d; // expect-error:
    i << d; // expect-error:
    i & d; // expect-error:
    ps + ps; // expect-error:
    i - ps; // expect-error:
    ps * 2; // expect-error:
    s + s; // expect-error:
    s == s; // expect-error:
    s && i; // expect-error:
    s ? 1 : 2; // expect-error:
    i ? s : 2; // expect-error:
    i = pi < d; // expect-error:
    pi - str; // expect-error:
    // rule: assignments
    5 = i; // expect-error:
    a = 0; // expect-error:
    g = 0; // expect-error:
    E = 1; // expect-error:
    s.c = 1; // expect-error:
    pcs->a = 1; // expect-error:
    s = *ps; // expect-error:
    i = s; // expect-error:
    s = i; // expect-error:
    pi = d; // expect-error:
    i + 1 = 2; // expect-error:
    (i, i) = 3; // expect-error:
    (i ? i : i) = 3; // expect-error:
    pi += ps; // expect-error:
    ps += d; // expect-error:
    i |= d; // expect-error:
    // rule: initialisers
    struct s t = {1, 2, 3, .nothing = 4}; // expect-error:
    int b[2] = 5; // expect-error:
    int c[2] = {[5] = 1}; // expect-error:
    int m[i] = {1}; // expect-error:
    int sc = {}; // expect-error:
    (union u){0}; // expect-error:
    // rule: warned
    i = pi; // expect-warning:
    pi = i; // expect-warning:
    pi = str; // expect-warning:
    str = (const char *)str; // expect-warning:
    i = pi == i; // expect-warning:
    i = i ? pi : i; // expect-warning:
}
