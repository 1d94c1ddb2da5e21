// A word that is put is stored once: its owner may have seen it, and set it to something else, before a second store.
// run: 1 | env GASNET_CONDUIT=smp | says passed
// run: 1 | env GASNET_CONDUIT=smp | env GASNET_NEIGHBORHOOD=off | says passed
#include <gasnet.h>

#include "check.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Counts stores of this thread to a word by the processor's debug registers; negative where the system does not let us. */
static int count_stores_to(const void *word) {
  struct perf_event_attr what;
  memset(&what, 0, sizeof(what));
  what.size = sizeof(what);
  what.type = PERF_TYPE_BREAKPOINT;
  what.bp_type = HW_BREAKPOINT_W;
  what.bp_addr = (uintptr_t)word;
  what.bp_len = HW_BREAKPOINT_LEN_8;
  what.exclude_kernel = what.exclude_hv = 1;
  return (int)syscall(SYS_perf_event_open, &what, 0, -1, -1, 0);
}

static int counter;
static uint64_t before;
static uint64_t stores(void) {
  uint64_t now = 0, since;
  if (read(counter, &now, sizeof(now)) != (ssize_t)sizeof(now)) CHECK(!"the counter can be read");
  since = now - before;
  before = now;
  return since;
}

int main(int argc, char **argv) {
  volatile uint64_t *word;
  volatile size_t length; /* not known to the compiler */
  uint64_t value = 0x0807060504030201u;
  gasnet_node_t me;
  start(&argc, &argv, NULL, 0);
  me = gasnet_mynode();
  word = (volatile uint64_t *)segment_of(me);
  counter = count_stores_to((const void *)word);
  if (counter >= 0) {
    *word = 1;
    if (stores() != 1) counter = -1;
  }
  if (counter < 0) printf("not tested: stores are not counted here\n");
  for (length = 1; counter >= 0 && length <= 8; length *= 2) {
    void *const to = (void *)(uintptr_t)word;
    gasnet_put(me, to, &value, length);
    CHECK_EQUAL(stores(), 1);
    gasnet_wait_syncnb(gasnet_put_nb_bulk(me, to, &value, length));
    CHECK_EQUAL(stores(), 1);
    gasnet_put_nbi(me, to, &value, length);
    gasnet_wait_syncnbi_puts();
    CHECK_EQUAL(stores(), 1);
    gasnet_put_val(me, to, value, length);
    CHECK_EQUAL(stores(), 1);
    gasnet_memset(me, to, 3, length);
    CHECK_EQUAL(stores(), 1);
    gasnet_wait_syncnb(gasnet_memset_nb(me, to, 4, length));
    CHECK_EQUAL(stores(), 1);
    gasnet_memset_nbi(me, to, 5, length);
    gasnet_wait_syncnbi_all();
    CHECK_EQUAL(stores(), 1);
    gasnet_get(&value, me, to, length);
    CHECK_EQUAL(value & 0xff, 5);
  }
  finish();
}
