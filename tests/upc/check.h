/* Checks for UPC test programs. A failed check ends the job with status 1. */
#ifndef CHECK_H
#define CHECK_H

#include <upc.h>
#include <stdio.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: thread %d of %d: failed: %s\n", __FILE__, __LINE__, MYTHREAD,   \
                    THREADS, #condition);                                                          \
            upc_global_exit(1);                                                                    \
        }                                                                                          \
    } while (0)

/* Compare whole numbers and show both. */
#define CHECK_EQ(left, right)                                                                      \
    do {                                                                                           \
        const long long left_ = (long long)(left), right_ = (long long)(right);                    \
        if (left_ != right_) {                                                                     \
            fprintf(stderr, "%s:%d: thread %d of %d: %s is %lld, not %lld\n", __FILE__, __LINE__,  \
                    MYTHREAD, THREADS, #left, left_, right_);                                      \
            upc_global_exit(1);                                                                    \
        }                                                                                          \
    } while (0)

/* The rule of that name has been checked: a line of docs/upc-conformance.md can name it. */
#define CHECKED(name)                                                                              \
    do {                                                                                           \
        if (MYTHREAD == 0)                                                                         \
            printf("checked: %s\n", name);                                                         \
    } while (0)

/* The last statement of main: all threads got here. */
#define PASS()                                                                                     \
    do {                                                                                           \
        upc_barrier;                                                                               \
        if (MYTHREAD == 0)                                                                         \
            printf("passed\n");                                                                    \
        return 0;                                                                                  \
    } while (0)

#endif
