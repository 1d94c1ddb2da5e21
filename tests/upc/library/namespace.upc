// Names of Berkeley's extensions in the namespace of UPC.
#define BUPC_USE_UPC_NAMESPACE 1
#include <upc_collective.h>
#include <bupc_collectivev.h>
#include "check.h"

shared [1] int cells[THREADS];

int main(void)
{
  upc_sem_t *s = upc_sem_alloc(0);
  int v = MYTHREAD + 1, got = 0;
  upc_sem_postN(s, 2);
  upc_sem_wait(s);
  CHECK(upc_sem_try(s) && !upc_sem_try(s));
  upc_sem_free(s);
  upc_waitsync(upc_memput_async(&cells[(MYTHREAD + 1) % THREADS], &v, sizeof v));
  upc_barrier;
  upc_memget_asynci(&got, &cells[MYTHREAD], sizeof got);
  upc_waitsynci();
  CHECK_EQ(got, (MYTHREAD + THREADS - 1) % THREADS + 1);
  CHECK_EQ(upc_thread_distance(0, 0), 0);
  CHECK(upc_castable(&cells[MYTHREAD]) && upc_thread_castable(MYTHREAD) && upc_inverse_cast(&got) == NULL);
  CHECK_EQ(upc_allv_reduce_all(int, v, UPC_ADD), THREADS * (THREADS + 1) / 2);
  upc_poll();
  PASS();
}
