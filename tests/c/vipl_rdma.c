// mode: vipl
// run: 2
// run: 2 | env GASNET_CONDUIT=udp | env GASNET_NEIGHBORHOOD=off
// run: 2 | env GASNET_CONDUIT=netvm
// RDMA: writes and reads, with immediate data and with a fence, and what is refused. Rank 1 works on memory of rank 0.
#include "vipl_check.h"

static unsigned char shared[4096];
static struct {
  VIP_UINT64 at;
  VIP_MEM_HANDLE handle, closed;
} *place;

static VIP_VI_HANDLE open_vi(const char *name, VIP_RELIABILITY_LEVEL level) {
  VIP_VI_ATTRIBUTES of = vi_attributes(level);
  VIP_VI_HANDLE vi;
  of.EnableRdmaWrite = VIP_TRUE;
  of.EnableRdmaRead = level != VIP_SERVICE_UNRELIABLE;
  OK(VipCreateVi(nic, &of, NULL, NULL, &vi));
  if (rank == 0) OK(VipPostRecv(vi, descriptor(50, 0), memory));
  connect_vis(vi, name);
  return vi;
}

static void close_vi(VIP_VI_HANDLE vi) {
  VIP_DESCRIPTOR *got;
  OK(VipDisconnect(vi));
  while (VipRecvDone(vi, &got) != VIP_DESCRIPTOR_ERROR || got) CHECK(got->CS.Status & VIP_STATUS_DONE);
  OK(VipDestroyVi(vi));
}

/* A descriptor for bytes of the peer and bytes of the arena. */
static VIP_DESCRIPTOR *rdma(int i, VIP_UINT16 control, VIP_MEM_HANDLE handle, VIP_UINT32 there, VIP_UINT32 here,
                            VIP_UINT32 len) {
  VIP_DESCRIPTOR *d = descriptor(i, control);
  d->DS[0].Remote.Data.AddressBits = place->at + there;
  d->DS[0].Remote.Handle = handle;
  d->CS.SegCount = 1;
  add(d, here, len);
  return d;
}

static VIP_UINT32 status(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *d) {
  VIP_DESCRIPTOR *got = NULL;
  VIP_RETURN result;
  OK(VipPostSend(vi, d, memory));
  result = VipSendWait(vi, SOON, &got);
  CHECK(got == d);
  CHECK_EQUAL(result, got && got->CS.Status & VIP_STATUS_ERROR_MASK ? VIP_DESCRIPTOR_ERROR : VIP_SUCCESS);
  return got ? got->CS.Status : 0;
}

static void owner(void) {
  VIP_VI_HANDLE vi;
  VIP_DESCRIPTOR *got, *d;
  VIP_MEM_ATTRIBUTES open = memory_attributes(VIP_TRUE, VIP_TRUE), closed = memory_attributes(VIP_FALSE, VIP_TRUE);
  unsigned i;
  for (i = 0; i < sizeof shared; i++) shared[i] = (unsigned char)i;
  OK(VipRegisterMem(nic, shared, sizeof shared, &open, &place->handle));
  OK(VipRegisterMem(nic, shared, sizeof shared, &closed, &place->closed));
  place->at = (VIP_UINT64)(uintptr_t)shared;
  /* Tells the peer where. */
  vi = new_vi(VIP_SERVICE_RELIABLE_RECEPTION);
  d = simple(0, 0, sizeof *place);
  connect_vis(vi, "where");
  OK(VipPostSend(vi, d, memory));
  OK(VipSendWait(vi, SOON, &got));
  close_vi(vi);
  vi = open_vi("rdma", VIP_SERVICE_RELIABLE_DELIVERY);
  OK(VipRecvWait(vi, SOON, &got));
  CHECK_EQUAL(got->CS.Status, VIP_STATUS_DONE | VIP_STATUS_OP_REMOTE_RDMA_WRITE | VIP_STATUS_IMMEDIATE);
  CHECK_EQUAL(got->CS.ImmediateData, 77);
  CHECK_EQUAL(got->CS.Length, 100);
  /* What came before it is here, too; nothing else has taken a receive. */
  CHECK_EQUAL(VipRecvDone(vi, &got), VIP_DESCRIPTOR_ERROR);
  for (i = 0; i < 100; i++) CHECK_EQUAL(shared[1000 + i], 0xaa);
  for (i = 0; i < 100; i++) CHECK_EQUAL(shared[2000 + i], 0xbb);
  CHECK_EQUAL(shared[999], (unsigned char)999);
  CHECK_EQUAL(shared[1100], (unsigned char)1100);
  meet("checked");
  meet("refused");
  for (i = 0; i < 900; i++) CHECK_EQUAL(shared[i], (unsigned char)i);
  while (state_of(vi) != VIP_STATE_ERROR) {
  }
  close_vi(vi);
}

static void user(void) {
  VIP_VI_HANDLE vi;
  VIP_DESCRIPTOR *got, *d = simple(0, 0, sizeof *place);
  unsigned i;
  vi = new_vi(VIP_SERVICE_RELIABLE_RECEPTION);
  OK(VipPostRecv(vi, d, memory));
  connect_vis(vi, "where");
  OK(VipRecvWait(vi, SOON, &got));
  close_vi(vi);
  vi = open_vi("rdma", VIP_SERVICE_RELIABLE_DELIVERY);
  memset(&arena.bytes[1000], 0xaa, 100);
  memset(&arena.bytes[1200], 0xbb, 100);
  CHECK_EQUAL(status(vi, rdma(1, VIP_CONTROL_OP_RDMAREAD, place->handle, 10, 3000, 500)),
              VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_READ);
  for (i = 0; i < 500; i++) CHECK_EQUAL(arena.bytes[3000 + i], (unsigned char)(10 + i));
  CHECK_EQUAL(arena.bytes[3500], 0);
  CHECK_EQUAL(status(vi, rdma(2, VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_QFENCE, place->handle, 1000, 1000, 100)),
              VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE);
  d = rdma(3, VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE, place->handle, 2000, 1200, 100);
  d->CS.ImmediateData = 77;
  CHECK_EQUAL(status(vi, d), VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE | VIP_STATUS_IMMEDIATE);
  meet("checked");
  /* Memory that others may only read: the write is refused, and a reliable connection ends with it. */
  CHECK_EQUAL(status(vi, rdma(5, VIP_CONTROL_OP_RDMAREAD, place->closed, 0, 3000, 8)),
              VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_READ);
  CHECK_EQUAL(status(vi, rdma(4, VIP_CONTROL_OP_RDMAWRITE, place->closed, 0, 1000, 100)),
              VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE | VIP_STATUS_RDMA_PROT_ERROR);
  CHECK_EQUAL(state_of(vi), VIP_STATE_ERROR);
  meet("refused");
  close_vi(vi);
}

int main(void) {
  start();
  place = (void *)arena.bytes;
  if (rank == 0) owner();
  else user();
  return finish();
}
