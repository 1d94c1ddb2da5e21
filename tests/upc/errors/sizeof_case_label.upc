// The size of a distributed array is no constant in the dynamic environment.
// static: no
#include <upc.h>
shared int a[THREADS];
int main(int argc, char **argv)
{
    switch (argc) {
    case sizeof(a): // expect-error:
        return 1;
    case upc_localsizeof(a):
        return 0;
    }
    return 0;
}
