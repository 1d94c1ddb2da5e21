// Complex numbers, booleans, enumerations, pointers to private things and functions, in shared memory.
// static: yes
// threads: 1 2
#include "check.h"
#include <complex.h>

shared double complex z[THREADS];
shared [2] float complex zf[2 * THREADS];
shared _Bool flag[2 * THREADS];
enum colour { RED = 1, GREEN, BLUE = 1 << 20 };
shared enum colour colour[THREADS];
static int twice(int x) { return 2 * x; }
int (*shared function[THREADS])(int);
const char *shared name[THREADS];
shared wchar_t wide[THREADS];
shared size_t size_of[THREADS];
shared volatile unsigned short counter[THREADS];
typedef int vec __attribute__((vector_size(16)));
struct with_vector {
    vec v;
    char c;
};
shared struct with_vector vectors[THREADS];

int main(void)
{
    const int right = (MYTHREAD + 1) % THREADS;
    z[right] = 1.0 + 2.0 * I;
    z[right] *= z[right];
    CHECK(creal(z[right]) == -3.0 && cimag(z[right]) == 4.0);
    CHECK(cabs(z[right]) == 5.0);
    zf[2 * right + 1] = z[right];
    zf[2 * right + 1] += 1;
    CHECK(crealf(zf[2 * right + 1]) == -2.0f);
    flag[right] = 4;
    flag[right + THREADS] = !flag[right];
    CHECK_EQ(flag[right] + flag[right + THREADS], 1);
    flag[right] ^= 1;
    CHECK_EQ(flag[right], 0);
    colour[right] = BLUE;
    colour[right] |= RED;
    CHECK_EQ(colour[right], (1 << 20) + 1);
    function[MYTHREAD] = twice;
    CHECK_EQ(function[MYTHREAD](4), 8);
    CHECK_EQ((*function[MYTHREAD])(5), 10);
    name[MYTHREAD] = "abc";
    CHECK_EQ(name[MYTHREAD][1], 'b');
    CHECK_EQ(*++name[MYTHREAD], 'b');
    wide[right] = L'x';
    CHECK_EQ(wide[right], L'x');
    size_of[right] = sizeof z[0];
    CHECK_EQ(size_of[right], 16);
    for (int i = 0; i < 70000; i++)
        counter[right]++;
    CHECK_EQ(counter[right], 70000 % 65536);
    struct with_vector w = {{1, 2, 3, 4}, 'v'};
    w.v += 1;
    vectors[right] = w;
    w = vectors[right];
    CHECK(w.v[3] == 5 && w.c == 'v');
    PASS();
}
