// Settings without a meaning here are taken; what threads see in the environment is what the user set.
// env: UPC_SHARED_HEAP_OFFSET=1GB
// env: UPC_PTHREADS_PER_PROC=2
// env: UPC_ENVPREFIX=MY_
// env: MY_OWN=7
// env: UPC_QUIET_UPCIO=yes
// expect-never: warning
#include "check.h"
#include <string.h>
int main(void)
{
    CHECK(strcmp(bupc_getenv("MY_OWN"), "7") == 0 && strcmp(getenv("UPC_ENVPREFIX"), "MY_") == 0);
    PASS();
}
