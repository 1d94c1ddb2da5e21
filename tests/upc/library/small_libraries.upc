// upc_nb.h (reached through upc.h), upc_castable.h, upc_tick.h and the old tick names.
// static: yes
#include "../check.h"
#include <upc_tick.h>
#include <upc_castable.h>

shared [100] char buf[100 * THREADS], buf2[100 * THREADS];

int main(void)
{
#if !UPC_CASTABLE_ALL || __UPC_TICK__ != 1 || __UPC_CASTABLE__ != 1 || __UPC_NB__ != 1
#error a feature macro is missing
#endif
    char mine[100];
    int right = (MYTHREAD + 1) % THREADS;
    for (int i = 0; i < 100; i++)
        mine[i] = (char)(MYTHREAD + i);
    upc_handle_t h = upc_memput_nb(&buf[100 * right], mine, 100);
    upc_sync(h);
    upc_barrier;
    h = upc_memcpy_nb(&buf2[100 * MYTHREAD], &buf[100 * right], 50);
    upc_memcpy_nbi(&buf2[100 * MYTHREAD + 50], &buf[100 * right + 50], 50);
    while (!upc_sync_attempt(h))
        ;
    upc_synci();
    char got[100];
    upc_memget_nbi(got, &buf2[100 * MYTHREAD], 100);
    CHECK(upc_synci_attempt());
    for (int i = 0; i < 100; i++)
        CHECK_EQ(got[i], (char)(MYTHREAD + i));
    upc_barrier;
    upc_sync(upc_memset_nb(&buf[100 * MYTHREAD], 7, 100));
    upc_memset_nbi(&buf2[100 * MYTHREAD], 8, 100);
    upc_synci();
    h = UPC_COMPLETE_HANDLE;
    upc_sync(h);
    CHECK(upc_sync_attempt(h));
    h = upc_memget_nb(got, &buf[100 * MYTHREAD], 100);
    upc_sync(h);
    CHECK(got[0] == 7 && got[99] == 7 && buf2[100 * MYTHREAD + 99] == 8);

    upc_barrier; // the others' parts are looked at below
    CHECK(upc_cast(NULL) == NULL);
    CHECK(upc_cast(&buf[100 * MYTHREAD]) == (void *)&buf[100 * MYTHREAD]);
    for (int t = 0; t < THREADS; t++) {
        upc_thread_info_t info = upc_thread_info(t);
        char *p = upc_cast(&buf[100 * t]);
        CHECK((p != NULL) == (info.guaranteedCastable == UPC_CASTABLE_ALL));
        CHECK(!p || p[5] == buf[100 * t + 5]);
    }

    upc_tick_t a = upc_ticks_now(), b;
    do
        b = upc_ticks_now();
    while (upc_ticks_to_ns(b - a) < 1000000);
    CHECK(a >= UPC_TICK_MIN && b <= UPC_TICK_MAX && b > a);
    bupc_tick_t c = bupc_ticks_now();
    CHECK(bupc_ticks_to_us(bupc_ticks_now() - c) < 1000000000);
    CHECK(bupc_tick_granularityus() > 0 && bupc_tick_overheadus() > 0);
    bupc_poll();
    upc_poll();
    PASS();
    return 0;
}
