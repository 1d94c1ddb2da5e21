// gasnet_nic_counters, gasnet_nic_counter: what the network has counted, by name.
// run: 1 2 | says passed
// run: 2 | env GASNET_CONDUIT=udp | env GASNET_NEIGHBORHOOD=off | says passed
// run: 2 | env GASNET_CONDUIT=netvm | env GASNET_NETVM_MEMORY=256K | says passed
// run: 2 | env GASNET_CONDUIT=netvm | env GASNET_NETVM_REGISTRATION=firehose | says passed
#include <gasnet.h>
#include <gasnet_nic.h>

#include "check.h"

static uint64_t counter(const char *name) {
  uint64_t value = 0;
  OK(gasnet_nic_counter(name, &value));
  return value;
}

int main(int argc, char **argv) {
  static gasnet_nic_counter_t all[128];
  const char *conduit = getenv("GASNET_CONDUIT"), *mode = getenv("GASNET_NETVM_REGISTRATION");
  const int netvm = conduit && !strcmp(conduit, "netvm");
  uint64_t value = 7;
  size_t count, i;
  start(&argc, &argv, NULL, 0);
  CHECK_EQUAL(gasnet_nic_counter("none of this name", &value), GASNET_ERR_BAD_ARG);
  CHECK_EQUAL(gasnet_nic_counter(NULL, &value), GASNET_ERR_BAD_ARG);
  CHECK_EQUAL(value, 7);
  count = gasnet_nic_counters(NULL, 0);
  CHECK(count <= 128);
  CHECK_EQUAL(gasnet_nic_counters(all, 128), count);
  for (i = 0; i < count; i++) CHECK(strlen(all[i].name) > 0 && strlen(all[i].name) < sizeof(all[i].name) - 1);
  if (netvm) {
    static const char *const names[] = {"hits",    "misses",     "moves",    "pins",     "unpins",
                                        "bounces", "lock waits", "page-ins", "page-outs"};
    const uint64_t commands = counter("commands"), outs = counter("page-outs"), pins = counter("pins");
    for (i = 0; i < sizeof(names) / sizeof(*names); i++) (void)counter(names[i]);
    /* twice through the whole segment of the neighbour, each page twice: where little may be in memory, pages come and go */
    for (i = 0; i < 4 * SEGMENT_BYTES / 4096; i++)
      gasnet_put_val(right_neighbour(), segment_of(right_neighbour()) + i / 2 * 4096 % SEGMENT_BYTES, i, 8);
    barrier();
    CHECK(counter("commands") > commands && counter("packets received") > 0);
    if (!mode) CHECK(counter("page-outs") > outs && counter("bounces") > 0);
    else if (!strncmp(mode, "firehose", 8)) CHECK(counter("pins") > pins && counter("hits") > 0);
  } else if (conduit && !strcmp(conduit, "udp")) {
    const char *near = getenv("GASNET_NEIGHBORHOOD");
    const uint64_t sent = counter("datagrams sent");
    gasnet_put_val(right_neighbour(), segment_of(right_neighbour()), 1, 8);
    barrier();
    if (gasnet_nodes() > 1 && near && !strcmp(near, "off")) CHECK(counter("datagrams sent") > sent);
  } else if (!conduit || !strcmp(conduit, "smp")) {
    CHECK_EQUAL(count, 0);
  }
  finish();
}
