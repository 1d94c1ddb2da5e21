// Files that are open when the program ends are closed: what was written is there, what was to be deleted is not.
// threads: 1 3
// static: no
// then: test $(stat -c %s "$SCRATCH/kept") = $((8 * COUNT)) && test ! -e "$SCRATCH/deleted" && rm "$SCRATCH/kept"
#include <upc_io.h>
#include <unistd.h>
#include "check.h"

int main(void)
{
    char kept[500], deleted[500];
    snprintf(kept, sizeof kept, "%s/kept", getenv("SCRATCH"));
    snprintf(deleted, sizeof deleted, "%s/deleted", getenv("SCRATCH"));
    const int flags = UPC_RDWR | UPC_INDIVIDUAL_FP | UPC_CREATE | UPC_TRUNC;
    upc_file_t *f = upc_all_fopen(kept, flags, 0, NULL), *g = upc_all_fopen(deleted, flags | UPC_DELETE_ON_CLOSE, 0, NULL);
    CHECK(f && g);
    long v = 100 + MYTHREAD;
    upc_all_fseek(f, 8 * MYTHREAD, UPC_SEEK_SET);
    CHECK_EQ(upc_all_fwrite_local(f, &v, 8, 1, 0), 8);
    CHECK_EQ(upc_all_fwrite_local(g, &v, 8, 1, 0), 8);
    CHECK(access(deleted, F_OK) == 0);
    PASS();
}
