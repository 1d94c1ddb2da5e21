// No shared object is automatic.
#include <upc.h>
int main(int argc, char **argv)
{
    static shared int fine;
    shared int x; // expect-error:
    int *shared p; // expect-error:
    shared double *shared v; // expect-error:
    shared int vla[argc]; // expect-error:
    register shared int r; // expect-error:
    shared int *fine_too = &fine;
    for (shared int i = 0;;) // expect-error:
        return fine_too == 0;
}
