/* Counters under locks, attempts, many locks at once, locks freed while held; 2,000 cycles of alloc and free. */
#include "program.h"

SHARED(counter, 16);

static int user_main(int argc, char **argv)
{
  (void)argc; (void)argv;
  unsigned t = 0, gt = 0;
  unsigned long all = __upc_lock_alloc(1, &t), o;
  CHECK(all);
  int rounds = argc > 1 ? atoi(argv[1]) : 2000;
  for (int i = 0; i < rounds; i++) {
    if (i % 3) __upc_lock(t, all);
    else while (!__upc_lock_attempt(t, all)) ;
    long v = read_long(0, counter.offset);
    CHECK(read_long(0, counter.offset + 8) == -v);
    write_long(0, counter.offset, v + 1);
    write_long(0, counter.offset + 8, -(v + 1));
    __upc_unlock(t, all);
  }
  __upc_barrier(1, 1);
  CHECK(read_long(0, counter.offset) == (long)rounds * THREADS);
  /* own locks, held many at a time, in any order */
  enum { N = 300 };
  static unsigned long own[N];
  for (int i = 0; i < N; i++) {
    own[i] = __upc_lock_alloc(0, &gt);
    CHECK((int)gt == ME && own[i] % 64 == 0);
    __upc_lock(gt, own[i]);
    CHECK(!__upc_lock_attempt(gt, own[i]));
  }
  for (int i = 0; i < N; i++) __upc_unlock(ME, own[(i * 7) % N]);
  for (int i = 0; i < N; i++) __upc_lock_free(ME, own[i], 0);
  /* alloc, lock, free while held: neither memory nor queue places leak */
  unsigned long first = 0;
  for (int i = 0; i < 70000; i++) {
    o = __upc_lock_alloc(0, &gt);
    if (!first) first = o;
    CHECK(o - first < 4096 || first - o < 4096);
    __upc_lock(gt, o);
    __upc_lock_free(gt, o, 0);
  }
  /* a lock held by another thread is freed here: its place in the queue goes back to that thread */
  unsigned long slot = __upc_alloc_global(THREADS, 8, 1);
  int left = (ME + THREADS - 1) % THREADS;
  for (int i = 0; i < 50; i++) {
    o = __upc_lock_alloc(0, &gt);
    __upc_lock(gt, o);
    write_long(ME, slot, o);
    __upc_barrier(0, 0);
    __upc_lock_free(left, read_long(left, slot), 0);
    __upc_barrier(0, 0);
  }
  __upc_free(0, slot, 1);
  __upc_lock_free(t, all, 1);
  __upc_lock_free(0, 0, 0);
  if (ME == 0) printf("locks ok\n");
  return 0;
}
