// A function that is called undeclared earns a warning, one in all, and works: one of the C library, one that follows.
// threads: 1 2
#include <upc.h>

int main(void)
{
    char text[20];
    strcpy(text, "pas"); // expect-warning: strcpy
    strcpy(text, "pas");
    if (defined_below('x', 1.5f) != 'x' + 3) // expect-warning: defined_below
        upc_global_exit(4);
    if (defined_below('x', 1.5f) != 'x' + 3 || strlen(text) != 3) // expect-warning: strlen
        upc_global_exit(5);
    puts("passed"); // expect-warning: puts
    return 0;
}

int defined_below(int c, double f)
{
    return c + (int)(2 * f);
}
