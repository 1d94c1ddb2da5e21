// Members are not shared; what they point to may be.
#include <upc.h>
struct s {
    shared int x; // expect-error:
    char *shared p; // expect-error:
    shared char *fine;
    shared [2] int a[2 * THREADS]; // expect-error:
};
union u {
    shared int y; // expect-error:
    int fine;
};
int main(void) { return 0; }
