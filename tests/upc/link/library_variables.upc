// Shared objects define shared variables: scalars, arrays, blocked and initialised ones, static ones in functions. They are
// linked, loaded before main, and loaded while the program runs.
// threads: 1 3
// static: no
// then: sh $SOURCES/_parts.sh
#include "check.h"

int main(void)
{
    PASS();
}
