/* Checks that are counted and told. Define CHECK_RANK, the number of this rank, before the first use. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
  #define MAYBE_UNUSED __attribute__((__unused__))
#endif

static int check_failures MAYBE_UNUSED;

#define CHECK(condition)                                                                        \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      check_failures++;                                                                         \
      printf("ERROR: rank %d: %s:%d: %s\n", (int)CHECK_RANK, __FILE__, __LINE__, #condition);   \
      fflush(stdout);                                                                           \
    }                                                                                           \
  } while (0)

#define CHECK_EQUAL(actual, expected)                                                           \
  do {                                                                                          \
    const long long actual_ = (long long)(actual), expected_ = (long long)(expected);           \
    if (actual_ != expected_) {                                                                 \
      check_failures++;                                                                         \
      printf("ERROR: rank %d: %s:%d: %s is %lld, not %lld\n", (int)CHECK_RANK, __FILE__, __LINE__, \
             #actual, actual_, expected_);                                                      \
      fflush(stdout);                                                                           \
    }                                                                                           \
  } while (0)

#endif
