// expect-error: 
#include <upc.h>
int main(void)
{
    return 0;
