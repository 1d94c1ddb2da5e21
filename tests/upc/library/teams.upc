// Berkeley's teams: splits, broadcasts and exchanges in rows and columns, several under way.
// env: UPC_SHARED_HEAP_SIZE=16
#include <upc_collective.h>
#include "check.h"

enum { N = 1000, M = 16 };   /* M: at least THREADS */
shared [N] int src[N * THREADS], dst[N * THREADS];
shared [M] int from[M * THREADS], to[M * THREADS];

int main(void)
{
  bupc_team_t parity = bupc_team_split(BUPC_TEAM_ALL, MYTHREAD % 2, MYTHREAD);
  bupc_team_t pairs = bupc_team_split(BUPC_TEAM_ALL, MYTHREAD / 2, THREADS - MYTHREAD);
  const int members = (THREADS - MYTHREAD % 2 + 1) / 2, mine = MYTHREAD / 2;
  int *own = (int *)&src[N * MYTHREAD], *got = (int *)&dst[N * MYTHREAD];
  for (int round = 0; round < 6; round++) {
    const upc_flag_t flags[] = { 0, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC, UPC_IN_MYSYNC | UPC_OUT_MYSYNC };
    const upc_flag_t f = flags[round % 3];
    const int root = (round % members) * 2 + MYTHREAD % 2;   /* a thread of this team */
    for (int i = 0; i < N; i++) own[i] = 1000 * MYTHREAD + i + round;
    upc_barrier;
    bupc_coll_wait(bupc_team_broadcast(parity, dst, &src[N * root], N * sizeof(int), f));
    for (int i = 0; i < N; i++) CHECK_EQ(got[i], 1000 * root + i + round);
    upc_barrier;
    /* member j of the team gets element `its number` of this thread */
    int *a = (int *)&from[M * MYTHREAD], *b = (int *)&to[M * MYTHREAD];
    for (int j = 0; j < members; j++) a[j] = 100 * mine + j;
    upc_barrier;
    bupc_coll_handle_t h = bupc_team_exchange(parity, to, from, sizeof(int), f);
    bupc_coll_handle_t g = bupc_team_gather_all(pairs, dst, src, sizeof(int), f);
    bupc_coll_wait(g);
    bupc_coll_wait(h);
    for (int j = 0; j < members; j++) CHECK_EQ(b[j], 100 * j + mine);
    /* the higher thread of a pair comes first */
    const int partner = MYTHREAD ^ 1;
    if (partner < THREADS) CHECK_EQ(got[1], 1000 * (MYTHREAD & ~1) + round);
    CHECK_EQ(got[0], 1000 * (partner < THREADS ? MYTHREAD | 1 : MYTHREAD) + round);
    upc_barrier;
    bupc_coll_wait(bupc_team_scatter(BUPC_TEAM_ALL, to, &from[0], sizeof(int), f));
    upc_barrier;
    bupc_coll_wait(bupc_team_gather(bupc_team_all, &dst[N * (THREADS - 1)], src, sizeof(int), f));
    if (MYTHREAD == THREADS - 1)
      for (int t = 0; t < THREADS; t++) CHECK_EQ(got[t], 1000 * t + round);
    upc_barrier;
  }
  bupc_load_coll_tuning_file(parity, "none");
  PASS();
}
