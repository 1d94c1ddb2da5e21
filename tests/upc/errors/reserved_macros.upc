// The names that UPC predefines are no macros of the program's.
#include <upc.h>
#include "_reserved.h"
// rule: defined
#define MYTHREAD 0 // expect-error: MYTHREAD
#define THREADS 4 // expect-error: THREADS
#define UPC_MAX_BLOCK_SIZE 16 // expect-error: UPC_MAX_BLOCK_SIZE
#define __UPC__ 1 // expect-error: __UPC__
#define __UPC_VERSION__(a, b) a // expect-error: __UPC_VERSION__
#define __UPC_STATIC_THREADS__ 1 // expect-error: __UPC_STATIC_THREADS__
// rule: undefined
#undef MYTHREAD // expect-error: MYTHREAD
#undef THREADS // expect-error: THREADS
#undef __UPC__ // expect-error: __UPC__
#undef __UPC_STATIC_THREADS__ // expect-error: __UPC_STATIC_THREADS__
#ifndef upc_barrier
#define MY_THREADS THREADS
#define upc_own 1
#else
#define MYTHREAD 1
#endif
#ifdef NOT_DEFINED_ANYWHERE
#undef UPC_MAX_BLOCK_SIZE
#endif
static const char *text = "\
#define MYTHREAD 3";
#define STRING "#define THREADS"
int main(void) { return text == 0; }
