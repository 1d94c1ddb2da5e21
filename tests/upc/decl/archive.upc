// Shared objects and initialisers in an archive member that only a function call pulls in.
// archive: _archive_member.upc
#include "check.h"

int member_sum(void);
extern shared int *member_pointer;

int main(void)
{
    CHECK_EQ(member_sum(), 41 + 1);
    CHECK_EQ(*member_pointer, 41);
    PASS();
}
