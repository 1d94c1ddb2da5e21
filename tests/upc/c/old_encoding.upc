// A source in an old encoding keeps its bytes.
// threads: 1
// files: _latin1.c
#include "check.h"
const char *latin1(void);
unsigned long latin1_size(void);
int main(void)
{
    const unsigned char *text = (const unsigned char *)latin1();
    CHECK_EQ(text[1], 0xff);
    CHECK_EQ(text[6], 0xe9);
    CHECK_EQ(text[7], 0);
    CHECK_EQ(latin1_size(), 8 + 1);
    PASS();
}
