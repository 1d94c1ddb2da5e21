// UPC_SHARED_HEAP_SIZE says how much heap there is; all threads that find too little fail with one message that says what to do.
// threads: 1 2 5
// env: UPC_SHARED_HEAP_SIZE=1
// expect-runtime: out of shared memory
// expect-once: UPC Runtime error:
// expect-once: raise UPC_SHARED_HEAP_SIZE
#include <upc.h>

int main(void)
{
    shared void *fits = upc_alloc(900 << 10), *does_not;
    if (fits == NULL)
        return 0;
    upc_barrier;
    // Not the same text on all threads.
    does_not = upc_alloc((200 << 10) + 1000 * MYTHREAD);
    return does_not == NULL;
}
