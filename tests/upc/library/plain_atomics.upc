// Berkeley's atomic operations without domains, on all types.
#include "check.h"

#define CHECK_TYPE(X, T)                                                            \
  static shared T cell_##X[THREADS];                                                \
  static void check_##X(void)                                                       \
  {                                                                                 \
    shared T *p = &cell_##X[(MYTHREAD + 1) % THREADS];                               \
    T own = 40;                                                                     \
    bupc_atomic##X##_set_relaxed(p, 40);                                            \
    CHECK(bupc_atomic##X##_read_strict(p) == 40);                                   \
    CHECK(bupc_atomic##X##_fetchadd_relaxed(p, 3) == 40);                           \
    CHECK(bupc_atomic##X##_swap_strict(p, 12) == 43);                               \
    CHECK(bupc_atomic##X##_fetchor_strict(p, 3) == 12);                             \
    CHECK(bupc_atomic##X##_fetchand_relaxed(p, 9) == 15);                           \
    CHECK(bupc_atomic##X##_fetchxor_relaxed(p, 1) == 9);                            \
    CHECK(bupc_atomic##X##_cswap_relaxed(p, 8, 100) == 8);                          \
    CHECK(bupc_atomic##X##_cswap_strict(p, 8, 200) == 100);                         \
    CHECK(bupc_atomic##X##_mswap_strict(p, 0xf0, 0x35) == 100);                     \
    CHECK(bupc_atomic##X##_fetchnot_relaxed(p) == 0x34);                            \
    CHECK(bupc_atomic##X##_read_relaxed(p) == (T)~(T)0x34);                         \
    CHECK(bupc_atomic##X##_fetchadd_private(&own, 2) == 40 && own == 42);           \
    CHECK(bupc_atomic##X##_cswap_private(&own, 42, 5) == 42 && own == 5);           \
    CHECK(bupc_atomic##X##_mswap_private(&own, 1, 0) == 5 && own == 4);             \
    CHECK(bupc_atomic##X##_fetchnot_private(&own) == 4 && own == (T)~(T)4);         \
    bupc_atomic##X##_set_private(&own, 9);                                          \
    CHECK(bupc_atomic##X##_read_private(&own) == 9);                                \
    bupc_atomic##X##_set_strict(p, 0);                                              \
    upc_barrier;                                                                    \
    for (int i = 0; i < 50; i++) bupc_atomic##X##_fetchadd_relaxed(cell_##X, 1);     \
    upc_barrier;                                                                    \
    CHECK(bupc_atomic##X##_read_relaxed(cell_##X) == (T)(50 * THREADS));            \
  }
CHECK_TYPE(I, int)
CHECK_TYPE(UI, unsigned int)
CHECK_TYPE(L, long)
CHECK_TYPE(UL, unsigned long)
CHECK_TYPE(I32, int32_t)
CHECK_TYPE(U32, uint32_t)
CHECK_TYPE(I64, int64_t)
CHECK_TYPE(U64, uint64_t)

shared double d;
shared float f;

int main(void)
{
  check_I();
  check_UI();
  check_L();
  check_UL();
  check_I32();
  check_U32();
  check_I64();
  check_U64();
  if (MYTHREAD == THREADS - 1) {
    bupc_atomicD_set_strict(&d, 2.5);
    CHECK(bupc_atomicD_swap_relaxed(&d, -1.25) == 2.5 && bupc_atomicD_read_relaxed(&d) == -1.25);
    CHECK(bupc_atomicD_cswap_strict(&d, -1.25, 8) == -1.25 && d == 8);
    bupc_atomicF_set_relaxed(&f, 0.5f);
    CHECK(bupc_atomicF_swap_strict(&f, 3) == 0.5f && bupc_atomicF_read_strict(&f) == 3);
  }
  upc_barrier;
  if (MYTHREAD == 0)
    printf("passed\n");
  bupc_exit(0);
}
