// A word that is put to near memory is stored once: its owner may have seen it, and set it to something else, before a second store.
#include <upc.h>
#include <upc_nb.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "check.h"

shared [] unsigned long *shared words[THREADS];
static int counter;
static unsigned long before;

// Counts stores of this thread to a word by the processor's debug registers; negative where the system does not let us.
static int count_stores_to(const void *word)
{
  struct perf_event_attr what;
  memset(&what, 0, sizeof what);
  what.size = sizeof what;
  what.type = PERF_TYPE_BREAKPOINT;
  what.bp_type = HW_BREAKPOINT_W;
  what.bp_addr = (unsigned long)word;
  what.bp_len = HW_BREAKPOINT_LEN_8;
  what.exclude_kernel = what.exclude_hv = 1;
  return (int)syscall(SYS_perf_event_open, &what, 0, -1, -1, 0);
}

static unsigned long stores(void)
{
  unsigned long now = 0, since;
  CHECK(read(counter, &now, sizeof now) == sizeof now);
  since = now - before;
  before = now;
  return since;
}

int main(void)
{
  words[MYTHREAD] = upc_alloc(2 * sizeof(unsigned long));
  shared [] unsigned long *there = words[MYTHREAD];
  volatile unsigned long *here = (unsigned long *)there;
  unsigned long value = 0x0807060504030201;
  counter = count_stores_to((const void *)here);
  if (counter >= 0) {
    *here = 1;
    if (stores() != 1) counter = -1;
  }
  if (counter < 0 && MYTHREAD == 0) printf("not tested: stores are not counted here\n");
  for (volatile size_t n = 1; counter >= 0 && n <= 8; n *= 2) {
    upc_memput(there, &value, n);
    CHECK_EQ(stores(), 1);
    upc_memset(there, 3, n);
    CHECK_EQ(stores(), 1);
    upc_memcpy(there, there + 1, n);
    CHECK_EQ(stores(), 1);
    upc_sync(upc_memput_nb(there, &value, n));
    CHECK_EQ(stores(), 1);
    upc_memget(&value, there, n);
    CHECK_EQ(value & 0xff, 1);
  }
  upc_barrier;
  PASS();
}
