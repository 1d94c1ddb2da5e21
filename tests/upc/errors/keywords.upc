// UPC's keywords are reserved.
// static: no
#include <upc.h>
// rule: reserved
int strict = 1; // expect-error:
int relaxed(void); // expect-error:
int f(int upc_forall); // expect-error:
struct s {
    int upc_barrier; // expect-error:
};
enum e { upc_wait }; // expect-error:
int upc_notify; // expect-error:
int upc_fence; // expect-error:
int upc_localsizeof; // expect-error:
int upc_blocksizeof; // expect-error:
int upc_elemsizeof; // expect-error:
int MYTHREAD; // expect-error:
int UPC_MAX_BLOCK_SIZE; // expect-error:
int shared = 1; // expect-error:
int THREADS; // expect-error:
int main(void)
{
    return 0;
}
