// upc_types.h: operations, types and flags are distinct.
// threads: 1
#include "../check.h"
#include <upc_types.h>
int main(void)
{
    static const long long ops[] = {UPC_ADD, UPC_MULT, UPC_AND, UPC_OR, UPC_XOR, UPC_LOGAND, UPC_LOGOR, UPC_MIN, UPC_MAX};
    long long all = 0;
    for (int i = 0; i < 9; i++) {
        CHECK(ops[i] > 0 && ops[i] < 65536 && (ops[i] & (ops[i] - 1)) == 0 && !(all & ops[i]));
        all |= ops[i];
    }
    CHECKED("operations");
    static const long long types[] = {UPC_CHAR, UPC_UCHAR, UPC_SHORT, UPC_USHORT, UPC_INT, UPC_UINT, UPC_LONG, UPC_ULONG,
                                      UPC_LLONG, UPC_ULLONG, UPC_INT8, UPC_UINT8, UPC_INT16, UPC_UINT16, UPC_INT32,
                                      UPC_UINT32, UPC_INT64, UPC_UINT64, UPC_FLOAT, UPC_DOUBLE, UPC_LDOUBLE, UPC_PTS};
    for (int i = 0; i < 22; i++)
        for (int j = 0; j < i; j++)
            CHECK(types[i] != types[j]);
    CHECKED("types");
    static const long long flags[] = {UPC_IN_ALLSYNC, UPC_IN_MYSYNC, UPC_IN_NOSYNC, UPC_OUT_ALLSYNC, UPC_OUT_MYSYNC, UPC_OUT_NOSYNC};
    all = 0;
    for (int i = 0; i < 6; i++) {
        CHECK(flags[i] > 0 && flags[i] < 64 && !(all & flags[i]));
        all |= flags[i];
    }
    CHECKED("flags");
    upc_op_t op = UPC_ADD | UPC_XOR;
    upc_type_t type = UPC_PTS;
    upc_flag_t flag = UPC_IN_ALLSYNC | UPC_OUT_NOSYNC;
    switch (op) {
    case UPC_ADD | UPC_XOR:
        break;
    default:
        CHECK(0);
    }
    CHECK(type == UPC_PTS && flag && (upc_op_t)1.5 == 1 && (upc_type_t)1.5 == 1 && (upc_flag_t)1.5 == 1);
    PASS();
}
