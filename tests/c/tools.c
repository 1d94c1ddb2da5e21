// The tools alone, without gasnet.h: timers, numbers, atomics, locks, keys, counting, backtraces.
// mode: tools
// std: gnu11 gnu++98
// flags: -D_GNU_SOURCE=1
// run: 1 | says passed | says my own backtrace
#include <gasnet_fwd.h>
#include <gasnet_tools.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _GASNET_H
  #error the tools must not need gasnet.h
#endif

static int failures;
#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      failures++;                                                          \
      printf("ERROR: %s:%d: %s\n", __FILE__, __LINE__, #condition);        \
    }                                                                      \
  } while (0)

GASNETT_BEGIN_EXTERNC
static int my_backtrace(int fd) {
  (void)fd;
  printf("my own backtrace\n");
  return 0;
}
GASNETT_END_EXTERNC
gasnett_backtrace_type_t gasnett_backtrace_user = { "MINE", my_backtrace, 1 };

GASNETT_THREADKEY_DECLARE(key);
GASNETT_THREADKEY_DEFINE(key);

#define THREADS 4
#define EACH 20000
static gasnett_atomic_t shared = gasnett_atomic_init(0);
static gasnett_atomic64_t wide = gasnett_atomic64_init(0);
static gasnett_mutex_t mutex = GASNETT_MUTEX_INITIALIZER;
static gasnett_cond_t changed = GASNETT_COND_INITIALIZER;
static gasnett_rwlock_t rwlock = GASNETT_RWLOCK_INITIALIZER;
static int plain, ready;

static void *work(void *arg) {
  int i;
  CHECK(gasnett_threadkey_get(key) == NULL);
  gasnett_threadkey_set(key, arg);
  for (i = 0; i < EACH; i++) {
    gasnett_atomic_increment(&shared, 0);
    (void)gasnett_atomic64_add(&wide, ((uint64_t)1 << 32) + 1, GASNETT_ATOMIC_REL);
    gasnett_mutex_lock(&mutex);
    plain++;
    gasnett_mutex_unlock(&mutex);
    gasnett_rwlock_rdlock(&rwlock);
    gasnett_rwlock_unlock(&rwlock);
  }
  CHECK(gasnett_threadkey_get(key) == arg);
  gasnett_mutex_lock(&mutex);
  ready++;
  gasnett_cond_broadcast(&changed);
  gasnett_mutex_unlock(&mutex);
  return NULL;
}

static void timers(void) {
  const gasnett_tick_t first = gasnett_ticks_now();
  const uint64_t clock = gasnett_gettimeofday_us();
  uint64_t ticks, wall;
  gasnett_tick_t now, last = first;
  gasnett_nsleep(50000000);
  now = gasnett_ticks_now();
  wall = gasnett_gettimeofday_us() - clock;
  ticks = gasnett_ticks_to_us(now - first);
  CHECK(ticks >= 49000 && (double)ticks > (double)wall * 0.95 && (double)ticks < (double)wall * 1.05 + 100);
  CHECK(gasnett_ticks_to_ns(now - first) / 1000 - ticks + 1 <= 2);
  for (ticks = 0; ticks < 100000; ticks++) {
    now = gasnett_ticks_now();
    CHECK(now >= last && now > GASNETT_TICK_MIN && now < GASNETT_TICK_MAX);
    last = now;
  }
  CHECK(gasnett_tick_granularityus() > 0 && gasnett_tick_granularityus() < 100);
  CHECK(gasnett_tick_overheadus() > 0 && gasnett_tick_overheadus() < 100);
}

static void numbers(void) {
  char text[64];
  int i;
  for (i = 0; i < 62; i++) {
    const int64_t x = (int64_t)1 << i;
    CHECK(gasnett_parse_int(gasnett_format_number(x, text, sizeof(text), 1), 1) == x);
    CHECK(gasnett_parse_int(gasnett_format_number(x - 1, text, sizeof(text), 0), 0) == x - 1);
  }
  CHECK(strlen(gasnett_format_number((int64_t)1 << 60, text, 4, 0)) == 3);
  gasnett_setenv("GASNETT_TEST", "3MB");
  CHECK(gasnett_getenv_int_withdefault("GASNETT_TEST", 1, 1) == 3 << 20);
  gasnett_setenv("GASNETT_TEST", "2.5");
  CHECK(gasnett_getenv_dbl_withdefault("GASNETT_TEST", 1) == 2.5);
  gasnett_setenv("GASNETT_TEST", "yes");
  CHECK(gasnett_getenv_yesno_withdefault("GASNETT_TEST", 0));
  CHECK(strcmp(gasnett_getenv_withdefault("GASNETT_TEST", "x"), "yes") == 0);
  gasnett_unsetenv("GASNETT_TEST");
  CHECK(gasnett_getenv("GASNETT_TEST") == NULL);
  CHECK(!gasnett_getenv_yesno_withdefault("GASNETT_TEST", 0));
  CHECK(gasnett_getenv_int_withdefault("GASNETT_TEST", 17, 0) == 17);
}

static void atomics(void) {
  gasnett_atomic32_t a = gasnett_atomic32_init(5);
  gasnett_strongatomic64_t b = gasnett_atomic64_init(0);
  double d = 0;
  gasnett_atomic_set(&shared, GASNETT_ATOMIC_MAX, 0);
  gasnett_atomic_increment(&shared, GASNETT_ATOMIC_MB_PRE | GASNETT_ATOMIC_MB_POST);
  CHECK(gasnett_atomic_read(&shared, GASNETT_ATOMIC_RMB_PRE) == 0);
  gasnett_atomic_decrement(&shared, 0);
  CHECK(gasnett_atomic_signed(gasnett_atomic_read(&shared, 0)) == -1);
  gasnett_atomic_set(&shared, 1, GASNETT_ATOMIC_WMB_POST);
  CHECK(gasnett_atomic_decrement_and_test(&shared, GASNETT_ATOMIC_ACQ_IF_TRUE));
  CHECK(gasnett_atomic32_add(&a, 3, 0) == 8);
  CHECK(gasnett_atomic32_subtract(&a, 10, 0) == (uint32_t)-2);
  CHECK(!gasnett_atomic32_compare_and_swap(&a, 1, 2, 0));
  CHECK(gasnett_atomic32_compare_and_swap(&a, (uint32_t)-2, 2, GASNETT_ATOMIC_ACQ_IF_FALSE));
  CHECK(gasnett_atomic32_swap(&a, 9, 0) == 2 && gasnett_atomic32_read(&a, 0) == 9);
  gasnett_strongatomic64_set(&b, (uint64_t)1 << 40, 0);
  CHECK(gasnett_strongatomic64_add(&b, 1, 0) == ((uint64_t)1 << 40) + 1);
  gasnett_atomic64_set((gasnett_atomic64_t *)&d, (uint64_t)0x4000000000000000, 0);
  CHECK(d == 2.0);
}

/* every processor of the process in turn, also after the thread was bound to one */
static void affinity(void) {
  const int processors = gasnett_cpu_count();
  int turn, rank, seen[3];
  for (turn = 0; turn < 2; turn++) {
    for (rank = 0; rank < 3; rank++) {
      CHECK(gasnett_set_affinity(rank) == 0);
      seen[rank] = sched_getcpu();
    }
    CHECK((seen[0] == seen[1]) == (processors == 1));
    CHECK((seen[0] == seen[2]) == (processors <= 2));
  }
}

static void names(void) {
  char text[100];
  CHECK(gasnett_format_dt(NULL, GEX_DT_I32 | GEX_DT_USER) == sizeof("GEX_DT_I32|GEX_DT_USER"));
  CHECK(gasnett_format_dt(text, GEX_DT_I32 | GEX_DT_USER) == 23 && strcmp(text, "GEX_DT_I32|GEX_DT_USER") == 0);
  CHECK(gasnett_format_op(text, GEX_OP_SWAP | GEX_OP_FADD | GEX_OP_USER_NC) == strlen(text) + 1);
  CHECK(strcmp(text, "GEX_OP_FADD|GEX_OP_SWAP|GEX_OP_USER_NC") == 0);
  CHECK(gasnett_format_ti(text, GEX_TI_EP | GEX_TI_SRCRANK) == strlen(text) + 1);
  CHECK(strcmp(text, "GEX_TI_SRCRANK|GEX_TI_EP") == 0);
  CHECK(gasnett_format_ti(text, 0) == 8 && strcmp(text, "(empty)") == 0);
  CHECK(gasnett_format_ti(text, GEX_TI_ALL + 1) == 10 && strcmp(text, "(invalid)") == 0);
  CHECK(gasnett_format_dt(text, GEX_DT_USER << 1) == 10 && gasnett_format_op(text, 1U << 12) == 10);
}

int main(void) {
  static int numbers_of[THREADS];
  pthread_t threads[THREADS];
  char zeros[100], copy[100];
  int i;
  timers();
  numbers();
  atomics();
  gasnett_atomic_set(&shared, 0, 0);
  for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, &numbers_of[i]) == 0);
  gasnett_mutex_lock(&mutex);
  while (ready < THREADS) gasnett_cond_wait(&changed, &mutex);
  gasnett_mutex_unlock(&mutex);
  for (i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  CHECK(gasnett_atomic_read(&shared, 0) == THREADS * EACH && plain == THREADS * EACH);
  CHECK(gasnett_atomic64_read(&wide, 0) == (((uint64_t)1 << 32) + 1) * THREADS * EACH);
  gasnett_threadkey_init(key);
  CHECK(gasnett_threadkey_get_noinit(key) == NULL);
  /* Realm names these */
  (void)_gasneti_threadkey_init;
  (void)_gasnett_trace_printf_noop;

  memset(zeros, 0, sizeof(zeros));
  zeros[3] = zeros[50] = 1;
  CHECK(gasnett_count0s(zeros, sizeof(zeros)) == 98);
  CHECK(gasnett_count0s_copy(copy + 1, zeros, 99) == 97 && memcmp(copy + 1, zeros, 99) == 0);
  CHECK(gasnett_count0s_uint32_t(0x00110000) == 3 && gasnett_count0s_uint64_t(0) == 8);
  CHECK(gasnett_checksum(zeros, 100) == gasnett_checksum(zeros, 100));
  CHECK(gasnett_checksum(zeros, 100) != gasnett_checksum(zeros, 99));
  CHECK(gasnett_cpu_count() > 0 && gasnett_getPhysMemSz(1) > 1 << 20);
  CHECK(gasnett_gethostname()[0] != 0 && strstr(gasnett_exe_name(), "tools") != NULL);
  CHECK((uintptr_t)gasnett_mmap(GASNETT_PAGESIZE) % GASNETT_PAGESIZE == 0);
  CHECK(1 << GASNETT_PAGESHIFT == GASNETT_PAGESIZE);
  affinity();
  names();
  gasnett_local_mb();
  gasnett_spinloop_hint();
  gasnett_backtrace_init("tools");
  CHECK(gasnett_print_backtrace(1) == 0);
  gasnett_setenv("GASNET_BACKTRACE_TYPE", "EXECINFO");
  CHECK(gasnett_print_backtrace(1) == 0);
  gasnett_flush_streams();
  if (!failures) printf("passed\n");
  return failures != 0;
}
