// mode: vipl
// run: 2
// run: 2 | env GASNET_CONDUIT=udp | env GASNET_NEIGHBORHOOD=off
// run: 2 | env GASNET_CONDUIT=netvm
// Completion queues: every completion once, whose it is, places, sizes, and what is refused.
#include "vipl_check.h"

#define VIS 4

static void completions(void) {
  VIP_VI_HANDLE vis[VIS], of;
  VIP_VI_ATTRIBUTES attributes = vi_attributes(VIP_SERVICE_RELIABLE_DELIVERY);
  VIP_CQ_HANDLE cq;
  VIP_DESCRIPTOR *got;
  VIP_BOOLEAN is_receive;
  int i, sends[VIS] = {0}, receives[VIS] = {0};
  CHECK_EQUAL(VipCreateCQ(nic, 0, &cq), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipCreateCQ(nic, 1, NULL), VIP_INVALID_PARAMETER);
  OK(VipCreateCQ(nic, 2 * VIS, &cq));
  CHECK_EQUAL(VipCQDone(cq, &of, &is_receive), VIP_NOT_DONE);
  CHECK_EQUAL(VipCQWait(cq, 20, &of, &is_receive), VIP_TIMEOUT);
  for (i = 0; i < VIS; i++) {
    OK(VipCreateVi(nic, &attributes, cq, cq, &vis[i]));
    OK(VipPostRecv(vis[i], simple(i, 64 * (VIP_UINT32)i, 64), memory));
    connect_vis(vis[i], "queue");
  }
  CHECK_EQUAL(VipDestroyCQ(cq), VIP_ERROR_RESOURCE);
  meet("receives are posted");
  for (i = 0; i < VIS; i++) OK(VipPostSend(vis[i], simple(VIS + i, 4096, 64), memory));
  /* As many as there are places are posted: no more. */
  CHECK_EQUAL(VipPostRecv(vis[0], simple(20, 0, 64), memory), VIP_ERROR_RESOURCE);
  CHECK_EQUAL(VipResizeCQ(cq, 2 * VIS - 1), VIP_ERROR_RESOURCE);
  CHECK_EQUAL(VipSendWait(vis[0], 10, &got), VIP_INVALID_STATE);
  CHECK_EQUAL(VipRecvWait(vis[0], 10, &got), VIP_INVALID_STATE);
  for (i = 0; i < 2 * VIS; i++) {
    int which = 0;
    OK(VipCQWait(cq, SOON, &of, &is_receive));
    while (which < VIS - 1 && vis[which] != of) which++;
    CHECK(vis[which] == of);
    OK(is_receive ? VipRecvDone(of, &got) : VipSendDone(of, &got));
    CHECK((char *)got == arena.descriptors[which + (is_receive ? 0 : VIS)].of);
    (is_receive ? receives : sends)[which]++;
  }
  for (i = 0; i < VIS; i++) CHECK(sends[i] == 1 && receives[i] == 1);
  CHECK_EQUAL(VipCQDone(cq, &of, &is_receive), VIP_NOT_DONE);
  OK(VipResizeCQ(cq, 1));
  OK(VipPostRecv(vis[0], simple(0, 0, 64), memory));
  CHECK_EQUAL(VipPostRecv(vis[0], simple(1, 0, 64), memory), VIP_ERROR_RESOURCE);
  meet("all done");
  for (i = 0; i < VIS; i++) OK(VipDisconnect(vis[i]));
  /* What was flushed is told of, too. */
  OK(VipCQDone(cq, &of, &is_receive));
  CHECK(of == vis[0] && is_receive);
  CHECK_EQUAL(VipRecvDone(of, &got), VIP_DESCRIPTOR_ERROR);
  CHECK_EQUAL(got->CS.Status, VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
  for (i = 0; i < VIS; i++) OK(VipDestroyVi(vis[i]));
  OK(VipDestroyCQ(cq));
  CHECK_EQUAL(VipDestroyCQ(cq), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipCQDone(cq, &of, &is_receive), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipResizeCQ(cq, 10), VIP_INVALID_PARAMETER);
}

int main(void) {
  start();
  completions();
  return finish();
}
