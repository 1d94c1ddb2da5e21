// A private array at file scope has a constant bound; THREADS is none in the dynamic environment.
// static: no
#include <upc.h>
int a[THREADS]; // expect-error: a
static double b[2][2 * THREADS]; // expect-error: b
struct s {
    int member[THREADS]; // expect-error:
};
enum e { E = THREADS }; // expect-error:
int main(void)
{
    int fine[THREADS];
    static int kept[THREADS]; // expect-error: kept
    switch (MYTHREAD) {
    case THREADS: // expect-error:
        break;
    }
    return sizeof fine == 0;
}
