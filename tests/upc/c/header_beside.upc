// Headers beside the source are found with #include <...>, from any folder, and are UPC text.
#include "check.h"
#include <_beside.uph>
#include <../check.h>

shared int found = FOUND;

int main(void)
{
    CHECK_EQ(found, 4);
    PASS();
}
