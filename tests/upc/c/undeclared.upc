// Old programs call functions of the C library without their headers, and their own before the definitions. It works; C of 1989 says
// nothing, later ones want a warning.
// flags: -std=gnu89
#include <upc.h>

shared double sh;

int main(void)
{
    char text[20];
    double d = floor(2.5), e = 0.25;
    if (d != 2 || sqrt(16.0) + fabs(-1.0) != 5)
        upc_global_exit(2);
    if (MYTHREAD == 0)
        sh = pow(2.0, 0.5) * pow(2.0, 0.5);
    upc_barrier;
    if (sh < 1.99 || sh > 2.01)
        upc_global_exit(3);
    strcpy(text, "pas");
    strcat(text, "sed");
    if (strlen(text) != 6 || defined_below('x', 1.5f, &sh) != 'x' + 3)
        upc_global_exit(4);
    memset(&e, 0, sizeof e);
    usleep(0);
    upc_barrier;
    if (MYTHREAD == 0)
        printf("%s %.0f\n", text, e);
    fflush(0);
    return 0;
}

int defined_below(int c, double f, shared double *p)
{
    return c + (int)(2 * f) + (p != &sh);
}
