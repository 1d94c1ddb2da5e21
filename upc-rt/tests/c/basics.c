/* Static data, initialisers, copies of all kinds, allocation from every thread. */
#include "program.h"

SHARED(counter, 8);
SHARED(table, 4096 * 8);
SHARED(big, 1 << 20);
static void init(void) { write_long(ME, table.offset, 1000 + ME); if (ME == 0) write_long(0, counter.offset, 42); }
INIT(init);

static int user_main(int argc, char **argv)
{
  CHECK(argc == 3 && !strcmp(argv[1], "one") && !strcmp(argv[2], "two words"));
  CHECK(counter.offset && table.offset && big.offset && table.offset % 64 == 0);
  CHECK(read_long(0, counter.offset) == 42);
  for (int t = 0; t < THREADS; t++) {
    CHECK(read_long(t, table.offset) == 1000 + t);
    CHECK(read_long(t, big.offset + (1 << 20) - 8) == 0);
  }
  __upc_barrier(0, 0);
  /* copies: put, get, copy between any two threads, set */
  int right = (ME + 1) % THREADS, left = (ME + THREADS - 1) % THREADS;
  char *buf = malloc(300000), *back = malloc(300000);
  for (int n = 1; n < 300000; n = n * 5 + 3) {
    for (int i = 0; i < n; i++) buf[i] = (char)(i * 7 + n + ME);
    __upc_put(right, big.offset + ME % 7, buf, n);
    __upc_barrier(1, 1);
    __upc_get(back, ME, big.offset + left % 7, n);
    for (int i = 0; i < n; i++) CHECK(back[i] == (char)(i * 7 + n + left));
    __upc_copy(left, big.offset + 400000, right, big.offset + ME % 7, n);
    __upc_fence();
    __upc_barrier(2, 1);
    __upc_get(back, left, big.offset + 400000, n);
    CHECK(!memcmp(back, buf, n));
    __upc_barrier(3, 1);
    __upc_set(right, big.offset + 5, 0x5a, n);
    __upc_barrier(4, 1);
    __upc_get(back, ME, big.offset + 5, n);
    for (int i = 0; i < n; i++) CHECK(back[i] == 0x5a);
    __upc_barrier(5, 1);
  }
  /* everybody allocates, the neighbour frees */
  enum { N = 2000 };
  static unsigned long mine[N];
  unsigned long slots = __upc_alloc_global(THREADS, N * 8, 1);
  CHECK(slots);
  for (int i = 0; i < N; i++) {
    mine[i] = __upc_alloc_local(1 + i * 37 % 9000);
    CHECK(mine[i] && mine[i] % 16 == 0);
    write_long(ME, mine[i], ME * N + i);
    write_long(ME, slots + i * 8, mine[i]);
  }
  __upc_barrier(6, 1);
  for (int i = 0; i < N; i++) {
    unsigned long o = read_long(right, slots + i * 8);
    CHECK(read_long(right, o) == right * N + i);
    __upc_free(right, o, 0);
  }
  __upc_barrier(7, 1);
  __upc_free(0, slots, 1);
  /* objects for all, by single threads at the same time */
  for (int round = 0; round < 50; round++) {
    unsigned long bytes = 8 * (1 + (round * 131 + ME * 17) % 3000);
    unsigned long o = __upc_alloc_global(THREADS, bytes, 0);
    for (int t = 0; t < THREADS; t++) {
      write_long(t, o, o + t + ME);
      write_long(t, o + bytes - 8, o + t - ME);
    }
    for (int t = 0; t < THREADS; t++)
      CHECK(read_long(t, o) == (long)o + t + ME && (bytes == 8 || read_long(t, o + bytes - 8) == (long)o + t - ME));
    __upc_free(0, o, 0);
  }
  CHECK(__upc_alloc_local(0) == 0 && __upc_alloc_global(0, 5, 0) == 0 && __upc_alloc_global(5, 0, 1) == 0);
  __upc_free(0, 0, 0);
  /* collective results agree */
  unsigned long o = 0;
  for (int i = 0; i < 100; i++) {
    o = __upc_alloc_global(THREADS, 64, 1);
    write_long(ME, o, o);
    CHECK(read_long(right, o) == 0 || read_long(right, o) == (long)o || 1);
    __upc_barrier(0, 0);
    CHECK(read_long(right, o) == (long)o);
    __upc_free(0, o, 1);
  }
  __upc_barrier(0, 0);
  if (ME == 0) printf("basics ok\n");
  return 0;
}
