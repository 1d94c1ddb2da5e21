/* gasnet_tools.h: GASNet's tools that UPC programs use. Included by upc.h, unless BUPC_DISABLE_EXTENSIONS is defined, and by upcr.h. */
#ifndef _GASNET_TOOLS_H
#define _GASNET_TOOLS_H 1

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* gives the processor to others; 0 */
int gasnett_sched_yield(void);
/* sleeps at least so many nanoseconds; 0 */
int gasnett_nsleep(uint64_t ns);
/* tells the processor that this is a loop that waits */
void gasnett_spinloop_hint(void);

/* the clock of upc_tick.h */
typedef uint64_t gasnett_tick_t;
#define GASNETT_TICK_MIN ((gasnett_tick_t)0)
#define GASNETT_TICK_MAX ((gasnett_tick_t)-1)
gasnett_tick_t gasnett_ticks_now(void);
uint64_t gasnett_ticks_to_us(gasnett_tick_t ticks);
uint64_t gasnett_ticks_to_ns(gasnett_tick_t ticks);
double gasnett_tick_granularityus(void);
double gasnett_tick_overheadus(void);
/* microseconds since 1970 */
uint64_t gasnett_gettimeofday_us(void);

/* order of private accesses: writes, reads, both, and for the compiler alone */
void gasnett_local_wmb(void);
void gasnett_local_rmb(void);
void gasnett_local_mb(void);
void gasnett_compiler_fence(void);

/* the environment, which is the same on all threads; numbers may end in a unit (KB, MB, ...) if the multiplier, the unit of those that do
 * not, is not 0 */
char *gasnett_getenv(const char *key);
char *gasnett_getenv_withdefault(const char *key, const char *dflt);
int gasnett_getenv_yesno_withdefault(const char *key, int dflt);
int64_t gasnett_getenv_int_withdefault(const char *key, int64_t dflt, uint64_t multiplier);
double gasnett_getenv_dbl_withdefault(const char *key, double dflt);
void gasnett_setenv(const char *key, const char *value);
void gasnett_unsetenv(const char *key);
char *gasnett_format_number(int64_t value, char *buf, size_t size, int is_mem_size);
int64_t gasnett_parse_int(const char *text, uint64_t multiplier);

/* the machine and the process */
int gasnett_cpu_count(void);
uint64_t gasnett_getPhysMemSz(int failure_is_fatal);
const char *gasnett_gethostname(void);
void gasnett_flush_streams(void);
/* the same number for the same bytes on all threads */
uint64_t gasnett_checksum(const void *p, size_t size);
/* ends the job with a message */
void gasnett_fatalerror(const char *format, ...) __attribute__((__noreturn__, __format__(__printf__, 1, 2)));

#ifdef __cplusplus
}
#endif
#endif
