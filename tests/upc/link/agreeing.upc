// Objects of a translator and of upcc that were compiled alike go together.
// threads: 1 2
// static: no
// object: _translated.trans.c
#include "check.h"
int old(void);
int main(void)
{
    CHECK(old());
    PASS();
}
