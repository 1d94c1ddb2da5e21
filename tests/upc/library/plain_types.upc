// upc_types.h is C: it works where UPC's words are plain names.
// threads: 1
// files: _plain_types.c
#include "../check.h"
int op_in_c(void);
int main(void)
{
    CHECK(op_in_c());
    PASS();
}
