// Berkeley's extensions: casts, distances, signalling puts, access regions, and copies of many pieces.
#include <string.h>
#include <stdlib.h>
#include "check.h"

enum { ROOM = 4096 };
shared [ROOM] unsigned char area[ROOM * THREADS], other[ROOM * THREADS];
shared [1] int cells[THREADS];
bupc_sem_t *shared sems[THREADS];

static void fill(unsigned char *p, int n, int start)
{
  for (int i = 0; i < n; i++) p[i] = (unsigned char)(i * 5 + start);
}

int main(void)
{
  const int right = (MYTHREAD + 1) % THREADS;
  shared [] unsigned char *there = (shared [] unsigned char *)&area[ROOM * right], *far = (shared [] unsigned char *)&other[ROOM * right];
  unsigned char *here = (unsigned char *)&area[ROOM * MYTHREAD], local[ROOM], back[ROOM];

  CHECK(bupc_cast(&cells[MYTHREAD]) == (void *)&cells[MYTHREAD] && bupc_castable(&cells[MYTHREAD]));
  CHECK(bupc_thread_castable(MYTHREAD) && bupc_cast(NULL) == NULL);
  for (int t = 0; t < THREADS; t++) {
    CHECK((bupc_cast(&cells[t]) != NULL) == (bupc_castable(&cells[t]) != 0));
    CHECK((bupc_thread_castable(t) != 0) == (bupc_castable(&cells[t]) != 0));
    if (bupc_castable(&cells[t])) {
      cells[t] = cells[t];
      CHECK_EQ(*(int *)bupc_cast(&cells[t]), cells[t]);
    }
  }
  CHECKED("castable");
  for (int x = 0; x < THREADS; x++)
    for (int y = 0; y < THREADS; y++) {
      CHECK_EQ(bupc_thread_distance(x, y), bupc_thread_distance(y, x));
      CHECK((bupc_thread_distance(x, y) == BUPC_THREADS_SAME) == (x == y) && bupc_thread_distance(x, y) <= BUPC_THREADS_VERYFAR);
    }
  CHECKED("distance");
  bupc_trace_printf(("nothing %d", 1));
  bupc_trace_setmask("all");
  bupc_stats_setmask("");
  bupc_trace_settracelocal(1);
  CHECK(bupc_trace_getmask() && bupc_stats_getmask() && bupc_trace_gettracelocal() >= 0);
  CHECKED("tracing");

  sems[MYTHREAD] = bupc_sem_alloc(0);
  upc_barrier;
  fill(local, 100, MYTHREAD);
  bupc_memput_signal(there, local, 100, sems[right], 3);
  bupc_sem_waitN(sems[MYTHREAD], 3);
  fill(back, 100, (MYTHREAD + THREADS - 1) % THREADS);
  CHECK(!memcmp(here, back, 100));
  upc_barrier;
  bupc_memput_signal_async(there + 100, local, 100, sems[right], 1);
  bupc_sem_wait(sems[MYTHREAD]);
  CHECK(!memcmp(here + 100, back, 100));
  upc_barrier;
  bupc_sem_free(sems[MYTHREAD]);
  CHECKED("signals");

  bupc_begin_accessregion();
  bupc_memput_asynci(there, local, 50);
  bupc_memcpy_asynci(far, there + 100, 50);
  bupc_memset_asynci(far + 50, 9, 50);
  bupc_handle_t h = bupc_end_accessregion();
  bupc_waitsync(h);
  upc_memget(back, far, 100);
  CHECK(!memcmp(back, local, 50) && back[50] == 9 && back[99] == 9);
  CHECKED("regions");

  /* pieces of 0 to 40 bytes here, of 60 and the rest there */
  for (int async = 0; async < 2; async++) {
    bupc_pmemvec_t p[41];
    bupc_smemvec_t s[2], t[3];
    size_t total = 0, at = 0;
    fill(local, ROOM, 3 * MYTHREAD + async);
    for (int i = 0; i <= 40; i++) {
      p[i] = (bupc_pmemvec_t){ local + at, (size_t)i };
      at += (size_t)i + 3;
      total += (size_t)i;
    }
    s[0] = (bupc_smemvec_t){ there + 1000, 60 };
    s[1] = (bupc_smemvec_t){ there + 10, total - 60 };
    t[0] = (bupc_smemvec_t){ far + 2000, 1 };
    t[1] = (bupc_smemvec_t){ far, total - 11 };
    t[2] = (bupc_smemvec_t){ far + 3000, 10 };
    if (async) {
      bupc_waitsync(bupc_memput_vlist_async(2, s, 41, p));
      bupc_waitsync(bupc_memcpy_vlist_async(3, t, 2, s));
    } else {
      bupc_memput_vlist(2, s, 41, p);
      bupc_memcpy_vlist(3, t, 2, s);
    }
    memset(back, 0, ROOM);
    for (int i = 0; i <= 40; i++) p[i].addr = back + ((unsigned char *)p[i].addr - local);
    if (async) bupc_waitsync(bupc_memget_vlist_async(41, p, 3, t));
    else bupc_memget_vlist(41, p, 3, t);
    at = 0;
    for (int i = 0; i <= 40; i++) {
      CHECK(!memcmp(back + at, local + at, (size_t)i));
      at += (size_t)i + 3;
    }
  }
  CHECKED("vectors");

  for (int async = 0; async < 2; async++) {
    void *p[20];
    const void *q[20];
    shared void *s[40], *t[10];
    const shared void *u[40];
    for (int i = 0; i < 20; i++) q[i] = p[i] = local + 37 * i;
    for (int i = 0; i < 40; i++) u[i] = s[i] = there + 11 * (39 - i);
    for (int i = 0; i < 10; i++) t[i] = far + 50 * i;
    fill(local, ROOM, MYTHREAD + 77 + async);
    if (async) {
      bupc_waitsync(bupc_memput_ilist_async(40, s, 5, 20, q, 10));
      bupc_waitsync(bupc_memcpy_ilist_async(10, t, 20, 40, u, 5));
    } else {
      bupc_memput_ilist(40, s, 5, 20, q, 10);
      bupc_memcpy_ilist(10, t, 20, 40, u, 5);
    }
    memset(back, 0, ROOM);
    for (int i = 0; i < 20; i++) p[i] = back + 37 * i;
    for (int i = 0; i < 10; i++) u[i] = t[i];
    if (async) bupc_waitsync(bupc_memget_ilist_async(20, p, 10, 10, u, 20));
    else bupc_memget_ilist(20, p, 10, 10, u, 20);
    for (int i = 0; i < 20; i++) CHECK(!memcmp(back + 37 * i, local + 37 * i, 10));
  }
  CHECKED("indices");

  for (int async = 0; async < 2; async++) {
    fill(local, ROOM, MYTHREAD + 150 + async);
    if (async) {
      bupc_waitsync(bupc_memput_fstrided_async(there, 8, 20, 30, local, 12, 12, 20));
      bupc_waitsync(bupc_memcpy_fstrided_async(far, 240, 240, 1, there, 8, 20, 30));
      bupc_waitsync(bupc_memget_fstrided_async(back, 24, 30, 10, far, 240, 0, 1));
    } else {
      bupc_memput_fstrided(there, 8, 20, 30, local, 12, 12, 20);
      bupc_memcpy_fstrided(far, 240, 240, 1, there, 8, 20, 30);
      bupc_memget_fstrided(back, 24, 30, 10, far, 240, 0, 1);
    }
    for (int i = 0; i < 240; i++) CHECK(back[i / 24 * 30 + i % 24] == local[i]);
  }
  CHECKED("flat");

  for (int async = 0; async < 2; async++) {
    /* a box of 6 x 5 x 4 bytes in arrays of 20 x 10 and 16 x 8 rows */
    const size_t ds[2] = { 20, 200 }, ss[2] = { 16, 128 }, count[3] = { 6, 5, 4 };
    fill(local, ROOM, MYTHREAD + 31 + async);
    if (async) {
      bupc_waitsync(bupc_memput_strided_async(there, ds, local, ss, count, 2));
      bupc_waitsync(bupc_memcpy_strided_async(far, ss, there, ds, count, 2));
      bupc_waitsync(bupc_memget_strided_async(back, ds, far, ss, count, 2));
    } else {
      bupc_memput_strided(there, ds, local, ss, count, 2);
      bupc_memcpy_strided(far, ss, there, ds, count, 2);
      bupc_memget_strided(back, ds, far, ss, count, 2);
    }
    for (int k = 0; k < 4; k++)
      for (int j = 0; j < 5; j++)
        for (int i = 0; i < 6; i++) CHECK(back[200 * k + 20 * j + i] == local[128 * k + 16 * j + i]);
  }
  CHECKED("strided");
  PASS();
}
