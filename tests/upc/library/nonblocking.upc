// upc_nb.h: implicit transfers, the complete handle, and very many transfers at a time. Transfers with threads whose memory is
// not mapped go on after the call: their handles stay open until they are waited for, one by one or some of many.
#include <upc_nb.h>
#include <upc_castable.h>
#include <bupc_extensions.h>
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
  upc_barrier;
  enum { PIECES = 64, PIECE = N / PIECES };
  bupc_handle_t pieces[PIECES];
  int open = 0;
  for (int i = 0; i < PIECES; i++) {
    pieces[i] = i % 2 ? bupc_memget_async(got + i * PIECE, there + i * PIECE, PIECE * sizeof(int))
                      : bupc_memcpy_async(there + N + i * PIECE, here + i * PIECE, PIECE * sizeof(int));
    open += pieces[i] != BUPC_COMPLETE_HANDLE;
  }
  CHECK(upc_cast(there) ? open == 0 : open > 0);
  for (int left = open; left > 0;) {   // each call ends at least one, those that it ended become complete handles
    int still = 0;
    if (left % 2 || !bupc_trysync_some(pieces, PIECES)) bupc_waitsync_some(pieces, PIECES);
    for (int i = 0; i < PIECES; i++) still += pieces[i] != BUPC_COMPLETE_HANDLE;
    CHECK(still < left);
    left = still;
  }
  CHECK(bupc_trysync_some(pieces, PIECES) && bupc_trysync_all(pieces, PIECES) && bupc_trysync_all(pieces, 0));
  upc_barrier;
  const int left = (MYTHREAD + THREADS - 1) % THREADS;
  for (int i = 0; i < PIECES * PIECE; i++) {
    if (i / PIECE % 2) CHECK_EQ(got[i], (N - 1 - i) * 3 + MYTHREAD);
    else CHECK_EQ(here[N + i], (N - 1 - i) * 3 + (left + THREADS - 1) % THREADS);
  }
  upc_handle_t set = upc_memset_nb(there, 2, 100000);
  while (!upc_sync_attempt(set)) {}
  upc_barrier;
  CHECK_EQ(here[0], 0x02020202);
  CHECKED("some");
  PASS();
}
