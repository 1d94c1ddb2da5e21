// A string without its end takes the rest of the line: nothing else is said.
#include <upc.h>
int main(void)
{
    if (MYTHREAD == 0) {
        char *text = "no end; }   // expect-error: write the closing
    return 0;
}
