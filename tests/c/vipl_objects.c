// mode: vipl
// std: c99 c11 c17 c2x c++98 c++20
// compiler: gcc clang
// run: 1 2
// Network interfaces, tags, memory and virtual interfaces: what they say of themselves, and what is refused.
#include "vipl_check.h"

static void nics(void) {
  VIP_NIC_HANDLE other;
  VIP_NIC_ATTRIBUTES attributes;
  VIP_PROTECTION_HANDLE their_tag;
  VIP_MEM_ATTRIBUTES of;
  VIP_MEM_HANDLE handle;
  CHECK_EQUAL(VipOpenNic(NULL, &other), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipOpenNic("nic", NULL), VIP_INVALID_PARAMETER);
  OK(VipOpenNic("nic", &other));
  CHECK(other != nic);
  OK(VipQueryNic(other, &attributes));
  CHECK_EQUAL(attributes.NicAddressLen, 4);
  CHECK_EQUAL(attributes.ThreadSafe, VIP_TRUE);
  CHECK_EQUAL(attributes.ReliabilityLevelSupport, 7);
  CHECK_EQUAL(attributes.RDMAReadSupport, 6);
  CHECK(attributes.MaxDiscriminatorLen >= 16 && attributes.MaxTransferSize >= 65536);
  CHECK(strcmp(attributes.Name, "gasnet-rs") == 0);
  CHECK_EQUAL(VipQueryNic(other, NULL), VIP_INVALID_PARAMETER);
  /* Tags belong to a NIC, and all goes with it. */
  OK(VipCreatePtag(other, &their_tag));
  of = memory_attributes(VIP_FALSE, VIP_FALSE);
  of.Ptag = their_tag;
  CHECK_EQUAL(VipRegisterMem(nic, arena.bytes, 64, &of, &handle), VIP_INVALID_PTAG);
  OK(VipRegisterMem(other, arena.bytes, 64, &of, &handle));
  OK(VipCloseNic(other));
  CHECK_EQUAL(VipCloseNic(other), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipQueryNic(other, &attributes), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipQueryMem(other, arena.bytes, handle, &of), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipQueryNic(NULL, &attributes), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipQueryNic(&attributes, &attributes), VIP_INVALID_PARAMETER);
}

static void memories(void) {
  VIP_PROTECTION_HANDLE own;
  VIP_MEM_ATTRIBUTES of = memory_attributes(VIP_TRUE, VIP_FALSE), said;
  VIP_MEM_HANDLE first, second;
  OK(VipCreatePtag(nic, &own));
  CHECK(own != tag);
  OK(VipRegisterMem(nic, arena.bytes + 3, 100, &of, &first));
  OK(VipRegisterMem(nic, arena.bytes + 3, 100, &of, &second));
  CHECK(first != second);
  OK(VipQueryMem(nic, arena.bytes + 3, first, &said));
  CHECK(said.Ptag == tag && said.EnableRdmaWrite && !said.EnableRdmaRead);
  CHECK_EQUAL(VipQueryMem(nic, arena.bytes + 4, first, &said), VIP_INVALID_PARAMETER);
  of.Ptag = own;
  of.EnableRdmaRead = VIP_TRUE;
  OK(VipSetMemAttributes(nic, arena.bytes + 3, first, &of));
  OK(VipQueryMem(nic, arena.bytes + 3, first, &said));
  CHECK(said.Ptag == own && said.EnableRdmaWrite && said.EnableRdmaRead);
  of.Ptag = nic;
  CHECK_EQUAL(VipSetMemAttributes(nic, arena.bytes + 3, first, &of), VIP_INVALID_PTAG);
  CHECK_EQUAL(VipDestroyPtag(nic, own), VIP_ERROR_RESOURCE);
  OK(VipDeregisterMem(nic, arena.bytes + 3, first));
  CHECK_EQUAL(VipDeregisterMem(nic, arena.bytes + 3, first), VIP_INVALID_PARAMETER);
  OK(VipDeregisterMem(nic, arena.bytes + 3, second));
  OK(VipDestroyPtag(nic, own));
  CHECK_EQUAL(VipDestroyPtag(nic, own), VIP_INVALID_PTAG);
  of.Ptag = tag;
  CHECK_EQUAL(VipRegisterMem(nic, NULL, 64, &of, &first), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipRegisterMem(nic, arena.bytes, 0, &of, &first), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipRegisterMem(nic, arena.bytes, 64, NULL, &first), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipRegisterMem(nic, arena.bytes, 64, &of, NULL), VIP_INVALID_PARAMETER);
}

static void attributes_of_vis(void) {
  VIP_VI_ATTRIBUTES of = vi_attributes(VIP_SERVICE_RELIABLE_DELIVERY), said;
  VIP_VI_HANDLE vi;
  VIP_VI_STATE state;
  VIP_BOOLEAN sends, receives;
  VIP_DESCRIPTOR *got;
  of.ReliabilityLevel = 3;
  CHECK_EQUAL(VipCreateVi(nic, &of, NULL, NULL, &vi), VIP_INVALID_RELIABILITY_LEVEL);
  of = vi_attributes(VIP_SERVICE_RELIABLE_DELIVERY);
  of.MaxTransferSize = 0;
  CHECK_EQUAL(VipCreateVi(nic, &of, NULL, NULL, &vi), VIP_INVALID_MTU);
  of.MaxTransferSize = (VIP_ULONG)-1;
  CHECK_EQUAL(VipCreateVi(nic, &of, NULL, NULL, &vi), VIP_INVALID_MTU);
  of = vi_attributes(VIP_SERVICE_RELIABLE_DELIVERY);
  of.QoS = (VIP_QOS)~(uintptr_t)0;
  CHECK_EQUAL(VipCreateVi(nic, &of, NULL, NULL, &vi), VIP_INVALID_QOS);
  of = vi_attributes(VIP_SERVICE_UNRELIABLE);
  of.EnableRdmaRead = VIP_TRUE;
  CHECK_EQUAL(VipCreateVi(nic, &of, NULL, NULL, &vi), VIP_INVALID_RDMAREAD);
  of = vi_attributes(VIP_SERVICE_UNRELIABLE);
  of.Ptag = NULL;
  CHECK_EQUAL(VipCreateVi(nic, &of, NULL, NULL, &vi), VIP_INVALID_PTAG);
  of = vi_attributes(VIP_SERVICE_UNRELIABLE);
  CHECK_EQUAL(VipCreateVi(nic, &of, nic, NULL, &vi), VIP_INVALID_PARAMETER);
  of.QoS = (VIP_QOS)(uintptr_t)7;
  OK(VipCreateVi(nic, &of, NULL, NULL, &vi));
  OK(VipQueryVi(vi, &state, &said, &sends, &receives));
  CHECK_EQUAL(state, VIP_STATE_IDLE);
  CHECK(sends && receives && said.Ptag == tag && said.QoS == of.QoS && said.MaxTransferSize == BYTES);
  CHECK_EQUAL(said.ReliabilityLevel, VIP_SERVICE_UNRELIABLE);
  of = vi_attributes(VIP_SERVICE_RELIABLE_RECEPTION);
  of.EnableRdmaRead = VIP_TRUE;
  OK(VipSetViAttributes(vi, &of));
  OK(VipPostRecv(vi, simple(0, 0, 8), memory));
  OK(VipQueryVi(vi, &state, &said, &sends, &receives));
  CHECK(sends && !receives && said.EnableRdmaRead && !said.EnableRdmaWrite);
  CHECK_EQUAL(said.ReliabilityLevel, VIP_SERVICE_RELIABLE_RECEPTION);
  /* A send before there is a connection is flushed; descriptors keep a VI and their memory. */
  OK(VipPostSend(vi, simple(1, 0, 8), memory));
  CHECK_EQUAL(VipDestroyVi(vi), VIP_ERROR_RESOURCE);
  CHECK_EQUAL(VipDeregisterMem(nic, &arena, memory), VIP_ERROR_RESOURCE);
  CHECK_EQUAL(VipSendDone(vi, &got), VIP_DESCRIPTOR_ERROR);
  CHECK((char *)got == arena.descriptors[1].of);
  CHECK_EQUAL(VipRecvDone(vi, &got), VIP_NOT_DONE);
  CHECK(got == NULL);
  CHECK_EQUAL(VipQueryVi(NULL, &state, &said, &sends, &receives), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipDestroyPtag(nic, tag), VIP_ERROR_RESOURCE);
}

/* What cannot be a descriptor is refused when it is posted. */
static void descriptors(void) {
  VIP_VI_HANDLE vi = new_vi(VIP_SERVICE_RELIABLE_DELIVERY);
  VIP_DESCRIPTOR *d = simple(2, 0, 16), *got;
  VIP_PROTECTION_HANDLE own;
  VIP_MEM_ATTRIBUTES of = memory_attributes(VIP_FALSE, VIP_FALSE);
  VIP_MEM_HANDLE foreign;
  static VIP_DESCRIPTOR outside __attribute__((aligned(64)));
  CHECK_EQUAL(VipPostSend(vi, NULL, memory), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipPostSend(NULL, d, memory), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipPostSend(vi, (VIP_DESCRIPTOR *)(void *)((char *)d + 16), memory), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipPostSend(vi, d, memory + 1000), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipPostRecv(vi, &outside, memory), VIP_INVALID_PARAMETER);
  OK(VipCreatePtag(nic, &own));
  of.Ptag = own;
  OK(VipRegisterMem(nic, &arena, sizeof arena, &of, &foreign));
  CHECK_EQUAL(VipPostSend(vi, d, foreign), VIP_INVALID_PARAMETER);
  d->CS.Control = VIP_CONTROL_OP_RESERVED;
  CHECK_EQUAL(VipPostSend(vi, d, memory), VIP_INVALID_PARAMETER);
  d->CS.Control = 0x10;
  CHECK_EQUAL(VipPostSend(vi, d, memory), VIP_INVALID_PARAMETER);
  d->CS.Control = VIP_CONTROL_OP_RDMAWRITE;
  CHECK_EQUAL(VipPostRecv(vi, d, memory), VIP_INVALID_PARAMETER);
  d->CS.SegCount = 0;
  CHECK_EQUAL(VipPostSend(vi, d, memory), VIP_INVALID_PARAMETER);
  d = simple(2, 0, 16);
  d->CS.Length = 15;
  CHECK_EQUAL(VipPostSend(vi, d, memory), VIP_INVALID_PARAMETER);
  d->CS.SegCount = 1000;
  CHECK_EQUAL(VipPostRecv(vi, d, memory), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipSendDone(vi, &got), VIP_DESCRIPTOR_ERROR);
  CHECK(got == NULL);
  CHECK_EQUAL(VipSendDone(vi, NULL), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipRecvWait(vi, 10, &got), VIP_DESCRIPTOR_ERROR);
  CHECK(got == NULL);
  OK(VipDestroyVi(vi));
  CHECK_EQUAL(VipDestroyVi(vi), VIP_INVALID_PARAMETER);
}

int main(void) {
  VIP_NIC_ATTRIBUTES attributes;
  /* Nothing is open yet. */
  CHECK_EQUAL(VipQueryNic((VIP_NIC_HANDLE)&attributes, &attributes), VIP_INVALID_PARAMETER);
  start();
  nics();
  memories();
  attributes_of_vis();
  descriptors();
  return finish();
}
