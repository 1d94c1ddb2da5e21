// -fsanitize=upc: a correct program runs as without, at any optimisation level.
// flags: -fsanitize=upc -O2
#include <upc_collective.h>
#include <upc_castable.h>
#include <string.h>
#include "check.h"

enum { N = 200 };
struct pair { int a, b : 5, c : 7; double d; };
shared [3] int a[3 * N * THREADS];
shared [] struct pair *shared lists[THREADS];
shared int total = 4;
strict shared int flag;
upc_lock_t *lock;

int main(void)
{
  shared void *nothing = NULL;
  shared [3] int *p = a;
  int sum = 0;
  upc_forall(int i = 0; i < 3 * N * THREADS; i++; &a[i]) a[i] = i;
  upc_barrier;
  for (int i = 0; i < 3 * N * THREADS; i += 7, p += 7) sum += *p - i;
  CHECK_EQ(sum, 0);
  p = &a[3 * N * THREADS];
  CHECK_EQ(p - a, 3 * N * THREADS);
  lists[MYTHREAD] = upc_alloc(10 * sizeof(struct pair));
  upc_barrier;
  shared [] struct pair *l = lists[(MYTHREAD + 1) % THREADS];
  l[3].b = 7;
  l[3].c = -9;
  l[3].d = 2.5;
  l[4] = l[3];
  CHECK(l[4].b == 7 && l[4].c == -9 && l[4].d == 2.5);
  CHECK(upc_cast(nothing) == NULL && nothing == NULL && upc_threadof(nothing) == 0 && (long)nothing == 0);
  lock = upc_all_lock_alloc();
  for (int i = 0; i < 5; i++) {
    upc_lock(lock);
    total += 1;
    upc_unlock(lock);
  }
  upc_barrier;
  CHECK_EQ(total, 4 + 5 * THREADS);
  flag = 1;
  CHECK_EQ(flag, 1);
  char buffer[40];
  upc_memget(buffer, a, 8);
  upc_memget(buffer, NULL, 0);
  static shared [4] int src[4 * THREADS], dst[4 * THREADS];
  src[4 * MYTHREAD] = MYTHREAD;
  upc_all_broadcast(dst, &src[4 * (THREADS - 1)], 4, UPC_IN_ALLSYNC | UPC_OUT_NOSYNC);
  CHECK_EQ(dst[4 * MYTHREAD], THREADS - 1);
  upc_free(NULL);
  upc_all_lock_free(lock);
  PASS();
}
