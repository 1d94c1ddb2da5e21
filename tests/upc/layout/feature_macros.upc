// Feature macros have their values before any header is included.
// threads: 1
#if __UPC_COLLECTIVE__ != 1 || __UPC_TICK__ != 1
#error a required library is missing
#endif
#if __UPC_ATOMIC__ != 1 || __UPC_CASTABLE__ != 1 || __UPC_NB__ != 1 || __UPC_IO__ != 2 || __UPC_PUPC__ != 1
#error an optional library is missing
#endif
#if __BERKELEY_UPC_RUNTIME__ != 1 || __BERKELEY_UPC_RUNTIME_RELEASE__ < 2 || !defined __BERKELEY_UPC_RUNTIME_MINOR__
#error the runtime has no release
#endif
#if defined __BERKELEY_UPC__ || defined __BERKELEY_UPC_MINOR__ || defined __BERKELEY_UPC_PATCHLEVEL__
#error not the Berkeley translator
#endif
#if UPC_MAX_BLOCK_SIZE < 1048576
#error blocks
#endif
#if defined THREADS != defined __UPC_STATIC_THREADS__
#error THREADS is a macro in the static environment
#endif
#include "check.h"
int main(void)
{
    CHECK_EQ(__UPC__, 1);
    PASS();
}
