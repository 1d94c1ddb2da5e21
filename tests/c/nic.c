// gasnet_nic.h: atomics, locks, queues, semaphores, monitors, channels, notifications, event queues, tripwires.
// run: 1 2 4 | says passed
// run: 3 | env GASNET_NEIGHBORHOOD=off | says passed
// run: 3 | env GASNET_CONDUIT=netvm | says passed
#include <gasnet.h>
#include <gasnet_nic.h>

#include "check.h"

#define ROUNDS 40

static gasnet_seginfo_t segments[64];
static uint64_t *home_words; /* at node 0 */

static uint64_t get(uint64_t *at) { return gasnet_get_val(0, at, 8); }
static void add(uint64_t *at, uint64_t n) { gasnet_put_val(0, at, get(at) + n, 8); }

static uint64_t handled;
static void handler(void *context, uint32_t number) { *(uint64_t *)context += number; }

int main(int argc, char **argv) {
  gasnet_node_t me, nodes, right, left;
  uint64_t i;
  start(&argc, &argv, NULL, 0);
  me = gasnet_mynode(), nodes = gasnet_nodes(), right = (me + 1) % nodes, left = (me + nodes - 1) % nodes;
  OK(gasnet_getSegmentInfo(segments, (int)nodes));
  home_words = (uint64_t *)segments[0].addr;
  memset(segments[me].addr, 0, 4096);
  CHECK_EQUAL(gasnet_nic_attach(8, 64), GASNET_ERR_BAD_ARG);
  CHECK_EQUAL(gasnet_nic_attach(0, segments[me].size + 64), GASNET_ERR_BAD_ARG);
  OK(gasnet_nic_attach(4096, segments[me].size / 2 / 64 * 64));
  barrier();

  { /* atomics */
    uint32_t *word = (uint32_t *)home_words + 100;
    int set;
    for (i = 0; i < ROUNDS; i++) (void)gasnet_nic_incr(0, word);
    set = gasnet_nic_test_and_set(0, word + 1);
    barrier();
    CHECK_EQUAL(gasnet_nic_swap(0, word + 2 + me, me), 0);
    CHECK_EQUAL(gasnet_nic_compare_swap(0, word, ROUNDS * nodes, ROUNDS * nodes), ROUNDS * nodes);
    CHECK(!gasnet_nic_test_and_set(0, word + 1));
    CHECK(set == 0 || set == 1);
    barrier();
    if (me == 0) CHECK_EQUAL(gasnet_nic_decr(0, word), ROUNDS * nodes);
    barrier();
  }
  { /* a lock and a semaphore of one keep additions apart */
    gasnet_nic_lock_t lock = gasnet_nic_lock_create(nodes - 1);
    gasnet_nic_sem_t sem = gasnet_nic_sem_create(0, 1);
    CHECK(lock && sem && !gasnet_nic_sem_create(0, 65536));
    for (i = 0; i < ROUNDS; i++) {
      gasnet_nic_lock_acquire(lock);
      add(home_words, 1);
      gasnet_nic_lock_release(lock);
      gasnet_nic_sem_wait(sem);
      add(home_words + 1, 1);
      OK(gasnet_nic_sem_signal(sem));
    }
    barrier();
    CHECK_EQUAL(get(home_words), ROUNDS * nodes);
    CHECK_EQUAL(get(home_words + 1), ROUNDS * nodes);
    CHECK_EQUAL(gasnet_nic_sem_value(sem), 1);
    barrier();
    if (me == 0) {
      CHECK(gasnet_nic_lock_try(lock) && gasnet_nic_sem_try(sem) && !gasnet_nic_sem_try(sem));
      gasnet_nic_lock_release(lock);
    }
    barrier();
    gasnet_nic_lock_destroy(lock);
    gasnet_nic_sem_destroy(sem);
  }
  { /* node 0 wakes all that wait in a queue; and all leave a monitor's room in turn */
    gasnet_nic_queue_t queue = gasnet_nic_queue_create(0), room = gasnet_nic_queue_create(0);
    gasnet_nic_monitor_t monitor = gasnet_nic_monitor_create(0);
    uint32_t *joined = (uint32_t *)home_words + 40;
    if (me == 0) {
      uint32_t woken = 0;
      CHECK(!gasnet_nic_queue_signal(room));
      while (woken < nodes - 1) woken += gasnet_nic_queue_broadcast(queue);
    } else {
      gasnet_nic_queue_insert(queue);
      (void)gasnet_nic_incr(0, joined);
      gasnet_nic_queue_wait(queue);
    }
    barrier();
    gasnet_nic_monitor_enter(monitor);
    while (get(home_words + 2) != me) gasnet_nic_monitor_wait(monitor);
    add(home_words + 2, 1);
    (void)gasnet_nic_monitor_broadcast(monitor);
    gasnet_nic_monitor_leave(monitor);
    barrier();
    CHECK_EQUAL(get(home_words + 2), nodes);
    barrier();
    gasnet_nic_queue_destroy(queue);
    gasnet_nic_queue_destroy(room);
    gasnet_nic_monitor_destroy(monitor);
  }
  if (nodes > 1) { /* the last node sends to the first */
    gasnet_nic_channel_t channel = gasnet_nic_channel_create(nodes - 1, 0, 4, 24);
    for (i = 0; i < ROUNDS; i++) {
      uint64_t message[3];
      message[0] = i, message[1] = i * i, message[2] = ~i;
      if (me == nodes - 1) gasnet_nic_channel_send(channel, message);
      if (me == 0) CHECK(memcmp(gasnet_nic_channel_receive(channel), message, 24) == 0);
    }
    if (me == 0) CHECK(!gasnet_nic_channel_ready(channel));
    barrier();
    gasnet_nic_channel_destroy(channel);
  }
  { /* data before its notification */
    gasnet_nic_notify_t notify = gasnet_nic_notify_create(4, 32);
    uint64_t *mine = (uint64_t *)segments[me].addr + 200, *theirs = (uint64_t *)segments[right].addr + 200;
    uint32_t number = 0;
    for (i = 1; i <= ROUNDS; i++) {
      const uint64_t value = i << 8 | me;
      OK(gasnet_nic_put_notify(notify, right, theirs, &value, 8, 3));
      gasnet_nic_notify_wait(notify, 3);
      CHECK(*(volatile uint64_t *)mine >> 8 >= i && (*(volatile uint64_t *)mine & 255) == left);
      barrier();
    }
    CHECK_EQUAL(gasnet_nic_notify(notify, right, 9), GASNET_ERR_BAD_ARG);
    OK(gasnet_nic_notify(notify, right, 2000 + me));
    OK(gasnet_nic_notify(notify, right, 2));
    barrier();
    CHECK(gasnet_nic_notify_next(notify, &number) && number == 2000 + left && !gasnet_nic_notify_next(notify, &number));
    CHECK_EQUAL(gasnet_nic_notify_pending(notify, 2), 1);
    OK(gasnet_nic_notify_arm(notify, 2, handler, &handled));
    CHECK_EQUAL(gasnet_nic_notify_dispatch(notify), 1);
    CHECK_EQUAL(handled, 2);
    barrier();
    gasnet_nic_notify_destroy(notify);
  }
  { /* the right neighbour trips wires, which raise events */
    gasnet_nic_watch_t watch = gasnet_nic_watch_create(4096, 3);
    gasnet_nic_events_t events = gasnet_nic_events_create(2);
    gasnet_nic_tripwire_t word = gasnet_nic_tripwire_create(watch, 64, 72, 0, 0, GASNET_NIC_WRITE);
    gasnet_nic_tripwire_t beside = gasnet_nic_tripwire_create(watch, 72, 80, 0, 0, GASNET_NIC_WRITE);
    gasnet_nic_tripwire_t looks = gasnet_nic_tripwire_create(watch, 0, 4096, 64, 8, GASNET_NIC_READ);
    gasnet_nic_source_t source = gasnet_nic_events_attach(events, 77), other = gasnet_nic_events_attach(events, 78);
    uint64_t value = 5, cookie = 0;
    CHECK(watch && events && word && beside && looks && source && other);
    CHECK(!gasnet_nic_events_attach(events, 79));
    CHECK(!gasnet_nic_tripwire_create(watch, 0, 8, 0, 0, GASNET_NIC_WRITE));
    gasnet_nic_tripwire_attach(word, source);
    gasnet_nic_tripwire_arm(word, 1);
    gasnet_nic_tripwire_arm(beside, 0);
    gasnet_nic_tripwire_arm(looks, 0);
    barrier();
    OK(gasnet_nic_put_signal(watch, left, 1024, &value, 8, 64, 9));
    OK(gasnet_nic_watch_put(watch, left, 64, &value, 8));
    OK(gasnet_nic_watch_get(watch, left, &value, 64, 8));
    CHECK_EQUAL(value, 5);
    CHECK_EQUAL(gasnet_nic_watch_put(watch, left, 4090, &value, 8), GASNET_ERR_BAD_ARG);
    gasnet_nic_events_wait(events);
    barrier();
    CHECK(gasnet_nic_events_get(events, &cookie) == 1 && cookie == 77 && !gasnet_nic_events_get(events, &cookie));
    gasnet_nic_tripwire_wait(word);
    CHECK(!gasnet_nic_tripwire_test(word) && !gasnet_nic_tripwire_pending(beside));
    CHECK_EQUAL(gasnet_nic_tripwire_pending(looks), 1);
    CHECK_EQUAL(*(uint64_t *)((char *)gasnet_nic_watch_memory(watch, me) + 1024), 5);
    gasnet_nic_events_deliver(other);
    gasnet_nic_events_detach(events, other);
    CHECK_EQUAL(gasnet_nic_events_get(events, &cookie), -1);
    barrier();
    gasnet_nic_tripwire_destroy(word);
    gasnet_nic_tripwire_destroy(beside);
    gasnet_nic_tripwire_destroy(looks);
    gasnet_nic_watch_destroy(watch);
    gasnet_nic_events_destroy(events);
  }
  { /* blocks of different sizes: node i has i + 1 words for everybody */
    size_t at[64], len[64], total = 0;
    uint32_t own[64], all[64 * 65 / 2 + 64], *part = all;
    gasnet_node_t n, k;
    const int flags = GASNET_COLL_LOCAL | GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC;
    for (n = 0; n < nodes; n++) at[n] = total, len[n] = 4 * (n + 1), total += len[n];
    for (k = 0; k <= me; k++) own[k] = me * 100 + k;
    gasnet_coll_gather_allv(GASNET_TEAM_ALL, all, at, len, own, flags);
    for (n = 0; n < nodes; n++)
      for (k = 0; k <= n; k++) CHECK_EQUAL(*part++, n * 100 + k);
    memset(own, 0, sizeof(own));
    gasnet_coll_wait_sync(
        gasnet_coll_scatterv_nb(GASNET_TEAM_ALL, own, len[me], nodes - 1, me == nodes - 1 ? all : NULL, at, len, flags));
    for (k = 0; k <= me; k++) CHECK_EQUAL(own[k], me * 100 + k);
    memset(all, 0, sizeof(all));
    gasnet_coll_gatherv(GASNET_TEAM_ALL, 0, all, at, len, own, len[me], flags);
    if (me == 0) CHECK_EQUAL(all[total / 4 - 1], (nodes - 1) * 101);
    for (n = 0; n < nodes; n++) at[n] = 4 * n, len[n] = 4, own[n] = me * 100 + n;
    gasnet_coll_exchangev(GASNET_TEAM_ALL, all, at, len, own, at, len, flags);
    for (n = 0; n < nodes; n++) CHECK_EQUAL(all[n], n * 100 + me);
  }
  finish();
}
