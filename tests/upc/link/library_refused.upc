// Shared objects of another kind than the program's are refused, and threads that do not load the same ones are told.
// threads: 2
// static: no
// then: sh $SOURCES/_parts_refused.sh
#include "check.h"

int main(void)
{
    PASS();
}
