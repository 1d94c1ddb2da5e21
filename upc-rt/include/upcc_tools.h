/* upcc_tools.h: GASNet's tools (gasnet_tools.h). Included by upcc_lib.h and, for all of them, by upcr.h. Functions of the C library go by
 * names of our own here, whatever the program declares. Orders of fences: 2 acquires, 3 releases, 5 is sequentially consistent. */
#ifndef __UPC_WEAK
#define __UPC_WEAK __attribute__((__weak__))
#endif
#if defined __UPC_USE_gasnett_sched_yield || defined __UPC_ALL_TOOLS
int __upc_c_yield(void) __asm__("sched_yield");
__UPC_WEAK int gasnett_sched_yield(void) { return __upc_c_yield(); }
#endif
#if defined __UPC_USE_gasnett_nsleep || defined __UPC_ALL_TOOLS
void __upc_nsleep(unsigned long);
__UPC_WEAK int gasnett_nsleep(unsigned long ns) { __upc_nsleep(ns); return 0; }
#endif
#if defined __UPC_USE_gasnett_spinloop_hint || defined __UPC_ALL_TOOLS
void __upc_pause(void);
__UPC_WEAK void gasnett_spinloop_hint(void) { __upc_pause(); }
#endif
#if defined __UPC_USE_gasnett_ticks_now || defined __UPC_ALL_TOOLS
unsigned long __upc_ticks_now(void);
__UPC_WEAK unsigned long gasnett_ticks_now(void) { return __upc_ticks_now(); }
#endif
#if defined __UPC_USE_gasnett_ticks_to_us || defined __UPC_ALL_TOOLS
__UPC_WEAK unsigned long gasnett_ticks_to_us(unsigned long ticks) { return ticks / 1000; }
#endif
#if defined __UPC_USE_gasnett_ticks_to_ns || defined __UPC_ALL_TOOLS
__UPC_WEAK unsigned long gasnett_ticks_to_ns(unsigned long ticks) { return ticks; }
#endif
#if defined __UPC_USE_gasnett_tick_granularityus || defined __UPC_ALL_TOOLS
double __upc_tick_granularity(void);
__UPC_WEAK double gasnett_tick_granularityus(void) { return __upc_tick_granularity(); }
#endif
#if defined __UPC_USE_gasnett_tick_overheadus || defined __UPC_ALL_TOOLS
double __upc_tick_overhead(void);
__UPC_WEAK double gasnett_tick_overheadus(void) { return __upc_tick_overhead(); }
#endif
#if defined __UPC_USE_gasnett_gettimeofday_us || defined __UPC_ALL_TOOLS
unsigned long __upc_time_of_day(void);
__UPC_WEAK unsigned long gasnett_gettimeofday_us(void) { return __upc_time_of_day(); }
#endif
#if defined __UPC_USE_gasnett_local_wmb || defined __UPC_ALL_TOOLS
__UPC_WEAK void gasnett_local_wmb(void) { __atomic_thread_fence(3); }
#endif
#if defined __UPC_USE_gasnett_local_rmb || defined __UPC_ALL_TOOLS
__UPC_WEAK void gasnett_local_rmb(void) { __atomic_thread_fence(2); }
#endif
#if defined __UPC_USE_gasnett_local_mb || defined __UPC_ALL_TOOLS
__UPC_WEAK void gasnett_local_mb(void) { __atomic_thread_fence(5); }
#endif
#if defined __UPC_USE_gasnett_compiler_fence || defined __UPC_ALL_TOOLS
__UPC_WEAK void gasnett_compiler_fence(void) { __atomic_signal_fence(5); }
#endif
#if defined __UPC_USE_gasnett_getenv || defined __UPC_ALL_TOOLS
char *__upc_getenv(const char *);
__UPC_WEAK char *gasnett_getenv(const char *key) { return __upc_getenv(key); }
#endif
#if defined __UPC_USE_gasnett_getenv_withdefault || defined __UPC_ALL_TOOLS
char *__upc_getenv(const char *);
__UPC_WEAK char *gasnett_getenv_withdefault(const char *key, const char *dflt) { char *v = __upc_getenv(key); return v ? v : (char *)dflt; }
#endif
#if defined __UPC_USE_gasnett_getenv_yesno_withdefault || defined __UPC_ALL_TOOLS
int __upc_env_yes(const char *, int);
__UPC_WEAK int gasnett_getenv_yesno_withdefault(const char *key, int dflt) { return __upc_env_yes(key, dflt); }
#endif
#if defined __UPC_USE_gasnett_getenv_int_withdefault || defined __UPC_ALL_TOOLS
long __upc_env_number(const char *, long, unsigned long);
__UPC_WEAK long gasnett_getenv_int_withdefault(const char *key, long dflt, unsigned long multiplier) { return __upc_env_number(key, dflt, multiplier); }
#endif
#if defined __UPC_USE_gasnett_getenv_dbl_withdefault || defined __UPC_ALL_TOOLS
double __upc_env_real(const char *, double);
__UPC_WEAK double gasnett_getenv_dbl_withdefault(const char *key, double dflt) { return __upc_env_real(key, dflt); }
#endif
#if defined __UPC_USE_gasnett_setenv || defined __UPC_ALL_TOOLS
int __upc_c_setenv(const char *, const char *, int) __asm__("setenv");
__UPC_WEAK void gasnett_setenv(const char *key, const char *value) { __upc_c_setenv(key, value, 1); }
#endif
#if defined __UPC_USE_gasnett_unsetenv || defined __UPC_ALL_TOOLS
int __upc_c_unsetenv(const char *) __asm__("unsetenv");
__UPC_WEAK void gasnett_unsetenv(const char *key) { __upc_c_unsetenv(key); }
#endif
#if defined __UPC_USE_gasnett_format_number || defined __UPC_ALL_TOOLS
void __upc_format_number(long, char *, unsigned long, int);
__UPC_WEAK char *gasnett_format_number(long value, char *buf, unsigned long size, int is_mem_size) { __upc_format_number(value, buf, size, is_mem_size); return buf; }
#endif
#if defined __UPC_USE_gasnett_parse_int || defined __UPC_ALL_TOOLS
long __upc_parse_number(const char *, unsigned long);
__UPC_WEAK long gasnett_parse_int(const char *text, unsigned long multiplier) { return __upc_parse_number(text, multiplier); }
#endif
#if defined __UPC_USE_gasnett_cpu_count || defined __UPC_ALL_TOOLS
int __upc_processors(void);
__UPC_WEAK int gasnett_cpu_count(void) { return __upc_processors(); }
#endif
#if defined __UPC_USE_gasnett_getPhysMemSz || defined __UPC_ALL_TOOLS
unsigned long __upc_memory(int);
__UPC_WEAK unsigned long gasnett_getPhysMemSz(int failure_is_fatal) { return __upc_memory(failure_is_fatal); }
#endif
#if defined __UPC_USE_gasnett_gethostname || defined __UPC_ALL_TOOLS
const char *__upc_host_name(void);
__UPC_WEAK const char *gasnett_gethostname(void) { return __upc_host_name(); }
#endif
#if defined __UPC_USE_gasnett_flush_streams || defined __UPC_ALL_TOOLS
int __upc_c_fflush(void *) __asm__("fflush");
__UPC_WEAK void gasnett_flush_streams(void) { __upc_c_fflush((void *)0); }
#endif
#if defined __UPC_USE_gasnett_checksum || defined __UPC_ALL_TOOLS
unsigned long __upc_checksum(const void *, unsigned long);
__UPC_WEAK unsigned long gasnett_checksum(const void *p, unsigned long size) { return __upc_checksum(p, size); }
#endif
#if defined __UPC_USE_gasnett_fatalerror || defined __UPC_ALL_TOOLS
void __upc_error(const char *) __attribute__((__noreturn__));
__UPC_WEAK void gasnett_fatalerror(const char *format, ...)
{
  char text[1024];
  __builtin_va_list list;
  __builtin_va_start(list, format);
  __builtin_vsnprintf(text, sizeof text, format, list);
  __builtin_va_end(list);
  __upc_error(text);
}
#endif
