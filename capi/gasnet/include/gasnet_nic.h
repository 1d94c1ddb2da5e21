/* Synchronisation as a NIC does it: atomics, locks, wait queues, monitors, semaphores, channels, notifications,
 * tripwires, event queues. Not part of gasnet.h: include it after.
 *
 * Objects lie in a part of the segments that gasnet_nic_attach names. Making one is collective: all nodes make the
 * same ones in the same order. An object is for one thread of a node at a time. A _create function returns NULL where
 * there is no room, or where an argument is out of bounds; then it does so at all nodes. Memory is not given back. */
#ifndef _GASNET_NIC_H
#define _GASNET_NIC_H

#include "gasnet.h"

GASNETT_BEGIN_EXTERNC

/* collective, once, before any object: size bytes at this offset of every node's segment, multiples of 64 */
extern int gasnet_nic_attach(uintptr_t offset, uintptr_t size);

/* ---- atomics on 32-bit words of any segment; the owner uses them too ----------------------- */
extern int gasnet_nic_test_and_set(gasnet_node_t node, uint32_t *word); /* 1: this call set it */
extern uint32_t gasnet_nic_incr(gasnet_node_t node, uint32_t *word);    /* these return the old value */
extern uint32_t gasnet_nic_decr(gasnet_node_t node, uint32_t *word);
extern uint32_t gasnet_nic_swap(gasnet_node_t node, uint32_t *word, uint32_t value);
extern uint32_t gasnet_nic_compare_swap(gasnet_node_t node, uint32_t *word, uint32_t expected, uint32_t value);

/* ---- locks: first come, first served -------------------------------------------------------- */
typedef struct gasneti_nic_lock *gasnet_nic_lock_t;
extern gasnet_nic_lock_t gasnet_nic_lock_create(gasnet_node_t home);
extern void gasnet_nic_lock_destroy(gasnet_nic_lock_t lock);
extern void gasnet_nic_lock_acquire(gasnet_nic_lock_t lock);
extern int gasnet_nic_lock_try(gasnet_nic_lock_t lock); /* 1: taken */
extern void gasnet_nic_lock_release(gasnet_nic_lock_t lock);

/* ---- wait queues: a signal to an empty one is lost ------------------------------------------ */
typedef struct gasneti_nic_queue *gasnet_nic_queue_t;
extern gasnet_nic_queue_t gasnet_nic_queue_create(gasnet_node_t home);
extern void gasnet_nic_queue_destroy(gasnet_nic_queue_t queue);
extern void gasnet_nic_queue_insert(gasnet_nic_queue_t queue); /* then wait, and nothing between */
extern void gasnet_nic_queue_wait(gasnet_nic_queue_t queue);
extern int gasnet_nic_queue_signal(gasnet_nic_queue_t queue); /* 0: nobody waited */
extern uint32_t gasnet_nic_queue_broadcast(gasnet_nic_queue_t queue);

/* ---- counting semaphores, to 65535 ---------------------------------------------------------- */
typedef struct gasneti_nic_sem *gasnet_nic_sem_t;
extern gasnet_nic_sem_t gasnet_nic_sem_create(gasnet_node_t home, uint32_t value);
extern void gasnet_nic_sem_destroy(gasnet_nic_sem_t sem);
extern void gasnet_nic_sem_wait(gasnet_nic_sem_t sem);
extern int gasnet_nic_sem_try(gasnet_nic_sem_t sem);    /* 1: taken */
extern int gasnet_nic_sem_signal(gasnet_nic_sem_t sem); /* GASNET_OK; GASNET_ERR_BAD_ARG beyond 65535 */
extern uint32_t gasnet_nic_sem_value(gasnet_nic_sem_t sem);

/* ---- monitors: a lock with a condition; look again after a wait ----------------------------- */
typedef struct gasneti_nic_monitor *gasnet_nic_monitor_t;
extern gasnet_nic_monitor_t gasnet_nic_monitor_create(gasnet_node_t home);
extern void gasnet_nic_monitor_destroy(gasnet_nic_monitor_t monitor);
extern void gasnet_nic_monitor_enter(gasnet_nic_monitor_t monitor);
extern void gasnet_nic_monitor_leave(gasnet_nic_monitor_t monitor);
extern void gasnet_nic_monitor_wait(gasnet_nic_monitor_t monitor);
extern void gasnet_nic_monitor_wait_for(gasnet_nic_monitor_t monitor, gasnet_nic_queue_t condition);
extern int gasnet_nic_monitor_signal(gasnet_nic_monitor_t monitor);
extern uint32_t gasnet_nic_monitor_broadcast(gasnet_nic_monitor_t monitor);

/* ---- channels: messages of one size, read where they were written --------------------------- */
typedef struct gasneti_nic_channel *gasnet_nic_channel_t;
extern gasnet_nic_channel_t gasnet_nic_channel_create(gasnet_node_t from, gasnet_node_t to, uint32_t slots,
                                                      size_t nbytes);
extern void gasnet_nic_channel_destroy(gasnet_nic_channel_t channel);
extern int gasnet_nic_channel_ready(gasnet_nic_channel_t channel); /* to send at `from`, to receive at `to` */
extern void gasnet_nic_channel_send(gasnet_nic_channel_t channel, const void *message);
extern const void *gasnet_nic_channel_receive(gasnet_nic_channel_t channel); /* valid until the next call */

/* ---- notifications: event counts 0 .. events-1, and one-shot numbers from 1024 --------------- */
typedef struct gasneti_nic_notify *gasnet_nic_notify_t;
typedef void (*gasnet_nic_handler_t)(void *context, uint32_t number);
extern gasnet_nic_notify_t gasnet_nic_notify_create(uint32_t events, uint32_t places);
extern void gasnet_nic_notify_destroy(gasnet_nic_notify_t notify);
extern int gasnet_nic_notify(gasnet_nic_notify_t notify, gasnet_node_t node, uint32_t number);
extern int gasnet_nic_put_notify(gasnet_nic_notify_t notify, gasnet_node_t node, void *dst, const void *src,
                                 size_t nbytes, uint32_t number);
extern uint64_t gasnet_nic_notify_pending(gasnet_nic_notify_t notify, uint32_t number);
extern int gasnet_nic_notify_take(gasnet_nic_notify_t notify, uint32_t number);
extern void gasnet_nic_notify_wait(gasnet_nic_notify_t notify, uint32_t number);
extern int gasnet_nic_notify_next(gasnet_nic_notify_t notify, uint32_t *number); /* one-shot; 0: none */
extern int gasnet_nic_notify_arm(gasnet_nic_notify_t notify, uint32_t number, gasnet_nic_handler_t handler,
                                 void *context);
extern void gasnet_nic_notify_disarm(gasnet_nic_notify_t notify, uint32_t number);
extern uint64_t gasnet_nic_notify_dispatch(gasnet_nic_notify_t notify);

/* ---- event queues, which cannot overflow ----------------------------------------------------- */
typedef struct gasneti_nic_events *gasnet_nic_events_t;
typedef struct gasneti_nic_source *gasnet_nic_source_t;
extern gasnet_nic_events_t gasnet_nic_events_create(uint32_t sources);
extern void gasnet_nic_events_destroy(gasnet_nic_events_t queue);
extern gasnet_nic_source_t gasnet_nic_events_attach(gasnet_nic_events_t queue, uint64_t cookie); /* NULL: all in use */
extern void gasnet_nic_events_detach(gasnet_nic_events_t queue, gasnet_nic_source_t source);
extern void gasnet_nic_events_deliver(gasnet_nic_source_t source);
extern int gasnet_nic_events_get(gasnet_nic_events_t queue, uint64_t *cookie); /* 1; 0: empty; -1: of a source gone since */
extern void gasnet_nic_events_wait(gasnet_nic_events_t queue);
extern int gasnet_nic_events_fd(gasnet_nic_events_t queue); /* readable while not empty; GASNET_PAR; -1: not to be had */

/* ---- watched memory and tripwires ------------------------------------------------------------ */
#define GASNET_NIC_READ 1
#define GASNET_NIC_WRITE 2
typedef struct gasneti_nic_watch *gasnet_nic_watch_t;
typedef struct gasneti_nic_tripwire *gasnet_nic_tripwire_t;
extern gasnet_nic_watch_t gasnet_nic_watch_create(uint64_t nbytes, uint32_t wires);
extern void gasnet_nic_watch_destroy(gasnet_nic_watch_t watch); /* after its tripwires */
extern void *gasnet_nic_watch_memory(gasnet_nic_watch_t watch, gasnet_node_t node);
/* these return GASNET_OK, or GASNET_ERR_BAD_ARG outside of the watched memory */
extern int gasnet_nic_watch_put(gasnet_nic_watch_t watch, gasnet_node_t node, uint64_t at, const void *src,
                                size_t nbytes);
extern int gasnet_nic_put_signal(gasnet_nic_watch_t watch, gasnet_node_t node, uint64_t at, const void *src,
                                 size_t nbytes, uint64_t signal_at, uint64_t signal);
extern int gasnet_nic_watch_get(gasnet_nic_watch_t watch, gasnet_node_t node, void *dst, uint64_t at, size_t nbytes);
/* on width bytes of every stride of from .. to-1; stride 0: on all of them */
extern gasnet_nic_tripwire_t gasnet_nic_tripwire_create(gasnet_nic_watch_t watch, uint64_t from, uint64_t to,
                                                        uint64_t stride, uint64_t width, int access);
extern void gasnet_nic_tripwire_destroy(gasnet_nic_tripwire_t wire);
extern void gasnet_nic_tripwire_arm(gasnet_nic_tripwire_t wire, int once);
extern void gasnet_nic_tripwire_disarm(gasnet_nic_tripwire_t wire);
extern uint64_t gasnet_nic_tripwire_pending(gasnet_nic_tripwire_t wire);
extern int gasnet_nic_tripwire_test(gasnet_nic_tripwire_t wire); /* 1: it was tripped; that is taken */
extern void gasnet_nic_tripwire_wait(gasnet_nic_tripwire_t wire);
extern void gasnet_nic_tripwire_attach(gasnet_nic_tripwire_t wire, gasnet_nic_source_t source); /* NULL: none */

/* ---- what the network has counted at this node ----------------------------------------------- */
/* The names are those that GASNET_STATS=1 prints; docs/netvm-live.md explains those of the conduit netvm: hits, misses,
 * moves, pins, unpins, bounces, lock waits, page-ins, page-outs, and others. */
typedef struct {
  char name[56];
  uint64_t value;
} gasnet_nic_counter_t;
extern size_t gasnet_nic_counters(gasnet_nic_counter_t *counters, size_t room); /* returns how many there are */
extern int gasnet_nic_counter(const char *name, uint64_t *value); /* GASNET_ERR_BAD_ARG: there is none of that name */

GASNETT_END_EXTERNC

#endif
