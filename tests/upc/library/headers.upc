// Headers in any order, repeatedly, from all kinds of files; what upc.h brings along.
// threads: 1 3
// files: _headers_c.c
#include <upc_io.h>
#include <upc_collective.h>
#include <upc_castable.h>
#include <upc_atomic.h>
#include <upc_nb.h>
#include <upc_tick.h>
#include <upc_types.h>
#include <upc.h>
#include <upc_strict.h>
#include <upc_relaxed.h>
#include <bupc_collectivev.h>
#include <pupc.h>
#include <bupc_extensions.h>
#include <upc.h>
#include <upc_types.h>
#include <upc_tick.h>
#include <upc_nb.h>
#include <upc_atomic.h>
#include <upc_castable.h>
#include <upc_collective.h>
#include <upc_io.h>
#include "_headers.uph"
#include "_headers.h"
#include "../check.h"
shared int in_uph[THREADS];
int from_dot_c(void);
int main(void)
{
    in_uph[MYTHREAD] = 1;
    CHECK(from_dot_c());
    upc_sync(handle_in_header());
    CHECKED("any-order");
    int64_t wide = INT64_C(1) << 40;
    ptrdiff_t difference = -1;
    size_t size = offsetof(struct { char c; int i; }, i);
    void *p = malloc(size);
    CHECK(p != NULL && wide > 0 && difference < 0 && PRId64[0] != 0);
    free(p);
    upc_handle_t h = upc_memset_nb(&in_uph[MYTHREAD], 0, sizeof(int));
    upc_sync(h);
    CHECK_EQ(in_uph[MYTHREAD], 0);
    upc_flag_t flag = UPC_IN_ALLSYNC;
    CHECK(flag == UPC_IN_ALLSYNC);
    CHECKED("upc.h");
    PASS();
}
