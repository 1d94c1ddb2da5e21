// mode: vipl
// run: 2
// run: 2 | env GASNET_CONDUIT=udp | env GASNET_NEIGHBORHOOD=off
// run: 2 | env GASNET_CONDUIT=netvm
// run: 1 | args log | says a descriptor was refused
// run: 1 | args quiet | never a descriptor was refused
// The handler of errors, what it is told, and what the levels of reliability make of a message without a receive.
#include "vipl_check.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int errors;
static VIP_ERROR_DESCRIPTOR seen[16];
static int mark;

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error) {
  pthread_mutex_lock(&lock);
  CHECK(context == &mark);
  if (errors < 16) seen[errors] = *error;
  errors++;
  pthread_mutex_unlock(&lock);
}

/* Waits for an error of this kind, and forgets all. */
static void await_error(VIP_VI_HANDLE vi, VIP_ERROR_CODE code, VIP_RESOURCE_CODE resource, void *d) {
  int i, found = 0;
  pthread_mutex_lock(&lock);
  while (!found) {
    for (i = 0; i < errors; i++) {
      if (seen[i].ErrorCode != code || seen[i].ViHandle != vi) continue;
      CHECK(seen[i].NicHandle == nic && seen[i].CQHandle == NULL);
      CHECK(seen[i].ResourceCode == resource && seen[i].DescriptorPtr == d);
      found++;
    }
    /* Errors come in while the program calls the library. */
    pthread_mutex_unlock(&lock);
    state_of(vi);
    pthread_mutex_lock(&lock);
  }
  CHECK_EQUAL(found, 1);
  errors = 0;
  pthread_mutex_unlock(&lock);
}

static void bad_posts(void) {
  VIP_VI_HANDLE vi = new_vi(VIP_SERVICE_RELIABLE_DELIVERY);
  char *d = (char *)simple(0, 0, 8);
  CHECK_EQUAL(VipPostSend(vi, (VIP_DESCRIPTOR *)(void *)(d + 32), memory), VIP_INVALID_PARAMETER);
  await_error(vi, VIP_ERROR_POST_DESC, VIP_RESOURCE_DESCRIPTOR, d + 32);
  CHECK_EQUAL(VipPostRecv(vi, (VIP_DESCRIPTOR *)(void *)d, memory + 99), VIP_INVALID_PARAMETER);
  await_error(vi, VIP_ERROR_POST_DESC, VIP_RESOURCE_DESCRIPTOR, d);
  OK(VipDestroyVi(vi));
}

/* A message for which no receive is posted. */
static void without_receive(VIP_RELIABILITY_LEVEL level) {
  VIP_VI_HANDLE vi = new_vi(level);
  VIP_DESCRIPTOR *got;
  int reliable = level != VIP_SERVICE_UNRELIABLE;
  connect_vis(vi, "no receive");
  if (rank == 1) {
    OK(VipPostSend(vi, simple(0, 0, 64), memory));
    CHECK_EQUAL(VipSendWait(vi, SOON, &got), reliable ? VIP_DESCRIPTOR_ERROR : VIP_SUCCESS);
    CHECK_EQUAL(got->CS.Status,
                VIP_STATUS_DONE | VIP_STATUS_OP_SEND | (reliable ? VIP_STATUS_TRANSPORT_ERROR : 0));
    if (reliable) await_error(vi, VIP_ERROR_CONN_LOST, VIP_RESOURCE_VI, NULL);
  } else if (reliable) {
    await_error(vi, VIP_ERROR_RECVQ_EMPTY, VIP_RESOURCE_VI, NULL);
  }
  meet("no receive was there");
  CHECK_EQUAL(state_of(vi), reliable ? VIP_STATE_ERROR : VIP_STATE_CONNECTED);
  meet("both have looked");
  OK(VipDisconnect(vi));
  OK(VipDestroyVi(vi));
  pthread_mutex_lock(&lock);
  errors = 0;
  pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv) {
  start();
  if (argc > 1) {
    VIP_VI_HANDLE vi = new_vi(VIP_SERVICE_UNRELIABLE);
    VIP_RETURN result;
    if (strcmp(argv[1], "quiet") == 0) OK(VipErrorCallback(nic, &mark, on_error));
    /* The default handler prints a line, and the program goes on. */
    result = VipPostSend(vi, (VIP_DESCRIPTOR *)(void *)(arena.descriptors[0].of + 8), memory);
    CHECK_EQUAL(result, VIP_INVALID_PARAMETER);
    if (strcmp(argv[1], "quiet") == 0) await_error(vi, VIP_ERROR_POST_DESC, VIP_RESOURCE_DESCRIPTOR, arena.descriptors[0].of + 8);
    return finish();
  }
  CHECK_EQUAL(VipErrorCallback(NULL, &mark, on_error), VIP_INVALID_PARAMETER);
  OK(VipErrorCallback(nic, &mark, on_error));
  bad_posts();
  without_receive(VIP_SERVICE_UNRELIABLE);
  without_receive(VIP_SERVICE_RELIABLE_DELIVERY);
  without_receive(VIP_SERVICE_RELIABLE_RECEPTION);
  OK(VipErrorCallback(nic, NULL, NULL));
  return finish();
}
