// mode: vipl
// run: 2
// run: 2 | env GASNET_CONDUIT=udp | env GASNET_NEIGHBORHOOD=off
// run: 2 | env GASNET_CONDUIT=netvm
// Handlers that are called for descriptors and for entries of completion queues: once each, in order, on another thread,
// and not when the object is gone.
#include "vipl_check.h"

#include <pthread.h>

#define MESSAGES 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t main_thread;
static int calls, contexts[64];
static VIP_DESCRIPTOR *descriptors[64];
static VIP_VI_HANDLE expected;

static void count(VIP_PVOID context, VIP_DESCRIPTOR *d) {
  pthread_mutex_lock(&lock);
  CHECK(!pthread_equal(pthread_self(), main_thread));
  contexts[calls] = *(int *)context;
  descriptors[calls++] = d;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static void on_descriptor(VIP_PVOID context, VIP_NIC_HANDLE of, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d) {
  CHECK(of == nic && vi == expected);
  CHECK(d->CS.Status & VIP_STATUS_DONE);
  count(context, d);
}

static void on_entry(VIP_PVOID context, VIP_NIC_HANDLE of, VIP_VI_HANDLE vi, VIP_BOOLEAN is_receive) {
  VIP_DESCRIPTOR *d = NULL;
  CHECK(of == nic && vi == expected && is_receive == VIP_TRUE);
  /* A handler may call the library. */
  OK(VipRecvDone(vi, &d));
  count(context, d);
}

static void wait_for(int n) {
  pthread_mutex_lock(&lock);
  while (calls < n) pthread_cond_wait(&changed, &lock);
  CHECK_EQUAL(calls, n);
  pthread_mutex_unlock(&lock);
}

static int numbers[64];

static void check_order(int n, int first) {
  int i;
  for (i = 0; i < n; i++) {
    CHECK_EQUAL(contexts[i], i);
    CHECK((char *)descriptors[i] == arena.descriptors[first + i].of);
  }
  calls = 0;
}

static void handlers_of_vis(void) {
  VIP_VI_HANDLE vi = new_vi(VIP_SERVICE_RELIABLE_DELIVERY);
  VIP_DESCRIPTOR *got;
  int i;
  expected = vi;
  CHECK_EQUAL(VipRecvNotify(vi, NULL, NULL), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipSendNotify(NULL, NULL, on_descriptor), VIP_INVALID_PARAMETER);
  for (i = 0; i < MESSAGES; i++) {
    OK(VipPostRecv(vi, simple(i, 64 * (VIP_UINT32)i, 64), memory));
    OK(VipRecvNotify(vi, &numbers[i], on_descriptor));
  }
  connect_vis(vi, "notify");
  for (i = 0; i < MESSAGES; i++) OK(VipPostSend(vi, simple(20 + i, 4096, 64), memory));
  wait_for(MESSAGES);
  check_order(MESSAGES, 0);
  CHECK_EQUAL(VipRecvDone(vi, &got), VIP_DESCRIPTOR_ERROR);
  CHECK(got == NULL);
  for (i = 0; i < MESSAGES; i++) OK(VipSendNotify(vi, &numbers[i], on_descriptor));
  wait_for(MESSAGES);
  check_order(MESSAGES, 20);
  /* One call for one registration; then the queue is looked at as before. */
  meet("notified");
  OK(VipPostRecv(vi, simple(0, 0, 64), memory));
  OK(VipDisconnect(vi));
  CHECK_EQUAL(VipRecvDone(vi, &got), VIP_DESCRIPTOR_ERROR);
  CHECK(got != NULL);
  /* Not called when the VI is gone. */
  OK(VipRecvNotify(vi, &numbers[0], on_descriptor));
  OK(VipDestroyVi(vi));
}

static void handlers_of_queues(void) {
  VIP_VI_ATTRIBUTES attributes = vi_attributes(VIP_SERVICE_RELIABLE_DELIVERY);
  VIP_CQ_HANDLE cq;
  VIP_VI_HANDLE vi;
  int i;
  OK(VipCreateCQ(nic, 16, &cq));
  OK(VipCreateVi(nic, &attributes, NULL, cq, &vi));
  expected = vi;
  CHECK_EQUAL(VipRecvNotify(vi, NULL, on_descriptor), VIP_INVALID_STATE);
  CHECK_EQUAL(VipCQNotify(cq, NULL, NULL), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipCQNotify(vi, NULL, on_entry), VIP_INVALID_PARAMETER);
  for (i = 0; i < MESSAGES; i++) {
    OK(VipPostRecv(vi, simple(i, 64 * (VIP_UINT32)i, 64), memory));
    OK(VipCQNotify(cq, &numbers[i], on_entry));
  }
  connect_vis(vi, "entries");
  for (i = 0; i < MESSAGES; i++) {
    VIP_DESCRIPTOR *got;
    OK(VipPostSend(vi, simple(20 + i, 4096, 64), memory));
    OK(VipSendWait(vi, SOON, &got));
  }
  wait_for(MESSAGES);
  check_order(MESSAGES, 0);
  meet("entries came");
  OK(VipDisconnect(vi));
  OK(VipDestroyVi(vi));
  OK(VipCQNotify(cq, &numbers[0], on_entry));
  OK(VipDestroyCQ(cq));
}

int main(void) {
  int i;
  for (i = 0; i < 64; i++) numbers[i] = i;
  main_thread = pthread_self();
  start();
  handlers_of_vis();
  handlers_of_queues();
  meet("end");
  CHECK_EQUAL(calls, 0);
  return finish();
}
