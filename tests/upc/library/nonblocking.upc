// upc_nb.h: implicit transfers, the complete handle, and very many transfers at a time.
#include <upc_nb.h>
#include <string.h>
#include "check.h"

enum { N = 70000 };
shared [] int *shared arrays[THREADS];

int main(void)
{
  static int mine[N], got[N];
  static upc_handle_t handles[N];
  const int right = (MYTHREAD + 1) % THREADS;
  arrays[MYTHREAD] = upc_alloc(2 * N * sizeof(int));
  upc_barrier;
  shared [] int *there = arrays[right], *here = arrays[MYTHREAD];
  for (int i = 0; i < N; i++) mine[i] = i * 3 + MYTHREAD;
  upc_memput_nbi(there, mine, N * sizeof(int));
  upc_synci();
  upc_memcpy_nbi(there + N, there, N * sizeof(int));
  while (!upc_synci_attempt()) {}
  upc_memget_nbi(got, there + N, N * sizeof(int));
  upc_synci();
  CHECK(!memcmp(mine, got, sizeof mine));
  upc_memset_nbi(there + N, 1, 100 * sizeof(int));
  upc_synci();
  CHECK_EQ(there[N + 99], 0x01010101);
  CHECK_EQ(there[N + 100], 300 + MYTHREAD);
  CHECKED("implicit");
  upc_handle_t none = UPC_COMPLETE_HANDLE, zero;
  memset(&zero, 0, sizeof zero);
  CHECK(none == zero && upc_sync_attempt(none));
  upc_sync(none);
  upc_sync(UPC_COMPLETE_HANDLE);
  CHECKED("complete");
  for (int i = 0; i < N; i++) handles[i] = upc_memput_nb(there + i, &mine[N - 1 - i], sizeof(int));
  for (int i = N - 1; i >= 0; i--)
    if (i % 2) upc_sync(handles[i]);
    else while (!upc_sync_attempt(handles[i])) {}
  upc_barrier;
  for (int i = 0; i < N; i++) CHECK_EQ(here[i], (N - 1 - i) * 3 + (MYTHREAD + THREADS - 1) % THREADS);
  CHECKED("many");
  PASS();
}
