// GASNet's tools, which programs call where __BERKELEY_UPC_RUNTIME__ is defined; names that are the program's stay so.
// static: yes
// env: UPC_TOOLS_NUMBER=3KB
// env: UPC_TOOLS_YES=Yes
#include "check.h"
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef __BERKELEY_UPC_RUNTIME__
#error this compiler has the Berkeley runtime's interface
#endif
int gasnett_sched_yield(); /* as programs declare it that do not know the header */
static int MAX(int a, int b) { return a > b ? a : b; }
static int MIN(int a, int b) { return a < b ? a : b; }
strict shared int flag;

int main(void)
{
    if (MYTHREAD == THREADS - 1)
        flag = 7;
    while (flag != 7) {
        CHECK_EQ(gasnett_sched_yield(), 0);
        gasnett_spinloop_hint();
    }
    CHECK_EQ(MAX(2, 3) * MIN(4, 5), 12);
    CHECKED("yield");

    gasnett_tick_t then = gasnett_ticks_now();
    CHECK_EQ(gasnett_nsleep(2000000), 0);
    gasnett_tick_t passed = gasnett_ticks_now() - then;
    CHECK(gasnett_ticks_to_ns(passed) >= 2000000);
    CHECK(gasnett_ticks_to_us(passed) == gasnett_ticks_to_ns(passed) / 1000);
    CHECK(gasnett_tick_granularityus() > 0 && gasnett_tick_overheadus() > 0);
    CHECK(passed > GASNETT_TICK_MIN && passed < GASNETT_TICK_MAX);
    const uint64_t now = gasnett_gettimeofday_us(), seconds = time(NULL);
    /* time() may be a tick behind, and so in the second before. */
    CHECK(now / 1000000 <= seconds + 1 && seconds + 1 - now / 1000000 < 1000);
    CHECKED("time");

    CHECK_EQ(gasnett_getenv_int_withdefault("UPC_TOOLS_NUMBER", 5, 1), 3072);
    CHECK_EQ(gasnett_getenv_int_withdefault("UPC_TOOLS_NONE", -5, 1), -5);
    CHECK(gasnett_getenv_yesno_withdefault("UPC_TOOLS_YES", 0));
    CHECK(!gasnett_getenv_yesno_withdefault("UPC_TOOLS_NONE", 0));
    CHECK(strcmp(gasnett_getenv("UPC_TOOLS_NUMBER"), "3KB") == 0);
    CHECK(strcmp(gasnett_getenv_withdefault("UPC_TOOLS_NONE", "this"), "this") == 0);
    gasnett_setenv("UPC_TOOLS_NONE", "2.5");
    CHECK(gasnett_getenv_dbl_withdefault("UPC_TOOLS_NONE", 1.0) == 2.5);
    gasnett_unsetenv("UPC_TOOLS_NONE");
    CHECK(gasnett_getenv("UPC_TOOLS_NONE") == NULL);
    char text[20];
    CHECK(strcmp(gasnett_format_number(64 << 20, text, sizeof text, 1), "64 MB") == 0);
    CHECK_EQ(gasnett_parse_int(text, 1), 64 << 20);
    CHECKED("environment");

    char name[300] = "";
    gethostname(name, sizeof name - 1);
    CHECK(strcmp(gasnett_gethostname(), name) == 0);
    CHECK(gasnett_cpu_count() >= 1 && gasnett_cpu_count() <= sysconf(_SC_NPROCESSORS_CONF));
    CHECK(gasnett_getPhysMemSz(1) == (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
    CHECK(gasnett_checksum("upc", 3) != gasnett_checksum("cup", 3));
    CHECK(gasnett_checksum("upc", 3) == gasnett_checksum("upcc", 3));
    CHECK(gasnett_checksum(NULL, 0) == gasnett_checksum(name, 0));
    CHECKED("machine");

    gasnett_local_wmb();
    gasnett_local_rmb();
    gasnett_local_mb();
    gasnett_compiler_fence();
    gasnett_flush_streams();
    PASS();
    return 0;
    gasnett_fatalerror("never %d", 1);
}
