// Objects compiled for one count, and a plain C object, link.
// threads: 2
// object: . -T 2
// object: _neutral.upc -fupc-threads-2
// object: ../decl/_with_c_part.c
#include "check.h"
extern shared int elsewhere[THREADS];
int main(void)
{
    elsewhere[MYTHREAD] = 4;
    CHECK_EQ(elsewhere[MYTHREAD], 4);
    PASS();
}
