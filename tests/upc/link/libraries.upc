// Shared objects use the runtime and the shared variables of the program that uses them.
// threads: 1 2 3
// static: no
// then: sh $SOURCES/_library.sh
#include "check.h"

int main(void)
{
    PASS();
}
