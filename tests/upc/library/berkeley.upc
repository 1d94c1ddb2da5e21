// Berkeley's extensions: pointers, semaphores, asynchronous and non-contiguous copies.
// static: yes
#include "../check.h"
#include <string.h>

shared [5] int a[20 * THREADS];
shared [256] char room[256 * THREADS];
bupc_sem_t *shared sems[THREADS];

int main(void)
{
#ifndef __BERKELEY_UPC_RUNTIME__
#error the runtime has no name
#endif
    int left = (MYTHREAD + THREADS - 1) % THREADS, right = (MYTHREAD + 1) % THREADS;
    char text[200];
    shared [5] int *p = &a[7];
    CHECK_EQ(bupc_dump_shared(p, text, sizeof text), 0);
    CHECK(strstr(text, "phase=2") && strstr(text, "thread="));
    CHECK(bupc_dump_shared(NULL, text, sizeof text) == 0 && strcmp(text, "<NULL>") == 0);
    CHECK_EQ(upc_dump_shared(p, text, 10), -1);
    for (int i = 0; i < 20 * THREADS; i++) {
        shared void *q = bupc_ptradd(a, 5, sizeof(int), i);
        CHECK(q == (shared void *)&a[i]);
        CHECK_EQ(upc_phaseof(q), i % 5);
    }
    int *mine = (int *)&a[5 * MYTHREAD];
    CHECK(bupc_inverse_cast(mine + 1) == (shared void *)&a[5 * MYTHREAD + 1]);
    CHECK(bupc_inverse_cast(text) == NULL);
    shared void *back = bupc_local_to_shared(mine + 3, MYTHREAD, 3);
    CHECK(back == (shared void *)&a[5 * MYTHREAD + 3] && upc_phaseof(back) == 3);
    CHECK(bupc_cast(&a[5 * MYTHREAD]) == mine && bupc_castable(&a[5 * MYTHREAD]) && bupc_thread_castable(MYTHREAD));
    CHECK_EQ(bupc_thread_distance(MYTHREAD, MYTHREAD), BUPC_THREADS_SAME);
    CHECK_EQ(bupc_thread_distance(MYTHREAD, right), bupc_thread_distance(right, MYTHREAD));
    CHECK(bupc_getenv("PATH") != NULL && bupc_system("exit 3") >> 8 == 3);
    bupc_trace_printf(("nothing %d", 1));

    /* A chain of signals around the ring. */
    sems[MYTHREAD] = bupc_sem_alloc(0);
    upc_barrier;
    for (int round = 0; round < 20; round++) {
        char c = (char)(round + MYTHREAD);
        bupc_memput_signal(&room[256 * right], &c, 1, sems[right], 2);
        bupc_sem_wait(sems[MYTHREAD]);
        bupc_sem_waitN(sems[MYTHREAD], 1);
        CHECK_EQ(room[256 * MYTHREAD], (char)(round + left));
        upc_barrier;
    }
    CHECK(!bupc_sem_try(sems[MYTHREAD]));
    bupc_sem_postN(sems[MYTHREAD], 3);
    CHECK(bupc_sem_tryN(sems[MYTHREAD], 2) && bupc_sem_try(sems[MYTHREAD]) && !bupc_sem_try(sems[MYTHREAD]));
    bupc_sem_t *flag = bupc_sem_alloc(BUPC_SEM_BOOLEAN | BUPC_SEM_SPRODUCER | BUPC_SEM_SCONSUMER);
    bupc_sem_post(flag);
    bupc_sem_post(flag);
    CHECK(bupc_sem_try(flag) && !bupc_sem_try(flag));
    bupc_sem_free(flag);
    upc_barrier;
    bupc_sem_free(sems[MYTHREAD]);

    /* Asynchronous. */
    char buf[256], got[256];
    for (int i = 0; i < 256; i++)
        buf[i] = (char)(i ^ MYTHREAD);
    bupc_handle_t h[2] = { bupc_memput_async(&room[256 * right], buf, 256), BUPC_COMPLETE_HANDLE };
    bupc_waitsync_all(h, 2);
    upc_barrier;
    bupc_begin_accessregion();
    bupc_memget_asynci(got, &room[256 * MYTHREAD], 256);
    bupc_waitsync(bupc_end_accessregion());
    bupc_waitsynci();
    for (int i = 0; i < 256; i++)
        CHECK_EQ(got[i], (char)(i ^ left));
    upc_barrier;

    /* Pieces. */
    bupc_pmemvec_t from[3] = { { buf, 10 }, { buf + 100, 0 }, { buf + 50, 30 } };
    bupc_smemvec_t to[2] = { { &room[256 * right], 15 }, { &room[256 * right + 100], 25 } };
    bupc_memput_vlist(2, to, 3, from);
    upc_barrier;
    for (int i = 0; i < 40; i++)
        CHECK_EQ(room[256 * MYTHREAD + (i < 15 ? i : 85 + i)], (char)((i < 10 ? i : 40 + i) ^ left));
    upc_barrier;
    bupc_memput_fstrided(&room[256 * right], 4, 8, 6, buf, 3, 5, 8);
    upc_barrier;
    for (int i = 0; i < 24; i++)
        CHECK_EQ(room[256 * MYTHREAD + i / 4 * 8 + i % 4], (char)((i / 3 * 5 + i % 3) ^ left));
    shared const void *pick[2] = { &room[256 * MYTHREAD + 8], &room[256 * right] };
    void *drop[4] = { got, got + 20, got + 40, got + 60 };
    bupc_memget_ilist(4, drop, 2, 2, pick, 4);
    CHECK(got[0] == room[256 * MYTHREAD + 8] && got[21] == room[256 * MYTHREAD + 11] && got[40] == room[256 * right]);
    upc_barrier;
    /* A 3 x 4 x 5 box out of a 4 x 5 x 6 one. */
    size_t ss[2] = { 6, 30 }, ds[2] = { 5, 20 }, count[3] = { 5, 4, 3 };
    bupc_waitsync(bupc_memput_strided_async(&room[256 * right], ds, buf, ss, count, 2));
    upc_barrier;
    for (int i = 0; i < 60; i++)
        CHECK_EQ(room[256 * MYTHREAD + i], (char)((i / 20 * 30 + i / 5 % 4 * 6 + i % 5) ^ left));
    PASS();
    return 0;
}
