// C99.
// threads: 1 2
#include "check.h"
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#define COUNT(...) (sizeof((int[]){__VA_ARGS__}) / sizeof(int))
#define LOG(format, ...) snprintf(line, sizeof line, format, ##__VA_ARGS__)
#define EMPTY()
#define STR(x) #x
#define XSTR(x) STR(x)
#define PASTE(a, b) a##b
static char line[100];
struct point {
    int x, y;
};
static int total(struct point p) { return p.x + p.y; }
static int *address(int *p) { return p; }
static int first(int n, const int a[static const restrict 2]) { return a[n - n]; }
static void fill(int n, int m, double a[n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            a[i][j] = i * m + j;
}
static double corner(int n, int m, double (*a)[m]) { return a[n - 1][m - 1]; }
int vla_in_prototype(int n, int a[*][n]);
static int designated[] = {[5] = 1, [2] = 3, 4};
static struct {
    struct point p[3];
    union {
        long long l;
        float f;
    } u;
} nested = {.p[1].y = 7, .p[2] = {8, 9}, .u.f = 0.5f};
static inline long long big(void) { return 9223372036854775807LL; }
_Bool truth(double d) { return d; }
int main(void)
{
    CHECK_EQ(total((struct point){.y = 2, .x = 1}), 3);
    *address((int[]){1, 2}) = 4;
    const struct point *p = &(const struct point){5, 6};
    CHECK_EQ(p->y, 6);
    CHECK_EQ(((int[]){1, 2, 3})[1], 2);
    CHECKED("compound-literals");
    CHECK_EQ(sizeof designated / sizeof(int), 6);
    CHECK(designated[3] == 4 && designated[2] == 3 && designated[5] == 1);
    CHECK(nested.p[1].y == 7 && nested.p[2].x == 8 && nested.p[0].x == 0 && nested.u.f == 0.5f);
    CHECKED("designators");
    int n = 3;
    n++;
    int later = n;
    for (int i = 0, j = 10; i < j; i++, j--)
        later += j - i;
    CHECK_EQ(later, 34);
    CHECKED("declarations");
    double a[n][n + 1];
    fill(n, n + 1, a);
    CHECK(corner(n, n + 1, a) == 19);
    CHECK_EQ(sizeof a, sizeof(double) * 20);
    int side = 0;
    CHECK_EQ(sizeof(int[side++ + 2]), 2 * sizeof(int));
    CHECK_EQ(side, 1);
    typedef int row[n];
    n = 100;
    row r;
    CHECK_EQ(sizeof r, 4 * sizeof(int));
    CHECKED("variable-length");
    CHECK_EQ(first(1, (int[]){3, 4}), 3);
    CHECK(truth(0.5) == true && truth(0) == false && sizeof(bool) == 1);
    CHECK_EQ(big(), 0x7fffffffffffffffLL);
    CHECKED("types");
    CHECK_EQ(COUNT(1, 2, 3), 3);
    LOG("plain");
    CHECK(strcmp(line, "plain") == 0);
    LOG("%d %s", 1, XSTR(PASTE(x, 2)));
    CHECK(strcmp(line, "1 x2") == 0);
    EMPTY()
    CHECK(strcmp(STR(a  b "q\n" '"'), "a b \"q\\n\" '\"'") == 0);
    CHECKED("macros");
    CHECK(0x1.8p3 == 12.0 && 0x.8p1f == 1.0f && 1e3L == 1000);
    CHECK(strcmp(__func__, "main") == 0);
    // A comment to the end of the line \
       and the next.
    CHECK('\?' == '?' && "\x41\102"[1] == 'B');
    CHECKED("lexical");
    PASS();
}
