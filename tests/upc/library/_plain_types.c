#pragma upc c_code
#include <upc_types.h>
int op_in_c(void)
{
    int shared = 3;
    upc_op_t op = UPC_MAX;
    upc_flag_t f = UPC_IN_NOSYNC;
    upc_type_t t = UPC_LDOUBLE;
    return shared == 3 && op && f && t;
}
