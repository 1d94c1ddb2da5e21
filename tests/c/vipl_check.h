/* Helpers of the test programs of vipl.h: a NIC with a tag and registered memory, descriptors, and connections. */
#ifndef VIPL_CHECK_H
#define VIPL_CHECK_H

#include <vipl.h>

#include "expect.h"

static VIP_UINT32 rank MAYBE_UNUSED;
static VIP_NIC_HANDLE nic MAYBE_UNUSED;
static VIP_PROTECTION_HANDLE tag MAYBE_UNUSED;

#define CHECK_RANK rank
#define OK(call) CHECK_EQUAL((call), VIP_SUCCESS)

/* Longest wait for what must come. */
#define SOON ((VIP_ULONG)60000)

/* Registered memory: descriptors in front, then bytes. */
#define DESCRIPTORS 64
#define BYTES 65536
typedef struct {
  char of[256];
} slot_t;
static struct {
  slot_t descriptors[DESCRIPTORS];
  unsigned char bytes[BYTES];
} arena __attribute__((aligned(64)));
static VIP_MEM_HANDLE memory MAYBE_UNUSED;

MAYBE_UNUSED static VIP_MEM_ATTRIBUTES memory_attributes(VIP_BOOLEAN write, VIP_BOOLEAN read) {
  VIP_MEM_ATTRIBUTES attributes;
  attributes.Ptag = tag;
  attributes.EnableRdmaWrite = write;
  attributes.EnableRdmaRead = read;
  return attributes;
}

/* Opens the NIC and registers the arena. */
MAYBE_UNUSED static void start(void) {
  VIP_NIC_ATTRIBUTES attributes;
  VIP_MEM_ATTRIBUTES of;
  if (VipOpenNic("nic", &nic) != VIP_SUCCESS) {
    printf("ERROR: VipOpenNic\n");
    exit(1);
  }
  OK(VipQueryNic(nic, &attributes));
  memcpy(&rank, attributes.LocalNicAddress, sizeof rank);
  OK(VipCreatePtag(nic, &tag));
  of = memory_attributes(VIP_FALSE, VIP_FALSE);
  OK(VipRegisterMem(nic, &arena, sizeof arena, &of, &memory));
}

/* The end of a test. */
MAYBE_UNUSED static int finish(void) {
  if (check_failures == 0 && rank == 0) printf("passed\n");
  return check_failures != 0;
}

MAYBE_UNUSED static VIP_VI_ATTRIBUTES vi_attributes(VIP_RELIABILITY_LEVEL level) {
  VIP_VI_ATTRIBUTES attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.ReliabilityLevel = level;
  attributes.MaxTransferSize = BYTES;
  attributes.Ptag = tag;
  return attributes;
}

MAYBE_UNUSED static VIP_VI_HANDLE new_vi(VIP_RELIABILITY_LEVEL level) {
  VIP_VI_HANDLE vi = NULL;
  VIP_VI_ATTRIBUTES attributes = vi_attributes(level);
  OK(VipCreateVi(nic, &attributes, NULL, NULL, &vi));
  return vi;
}

/* An address with a text as discriminator. */
typedef union {
  VIP_NET_ADDRESS of;
  char room[sizeof(VIP_NET_ADDRESS) + 4 + 64];
} address_t;

MAYBE_UNUSED static address_t address(VIP_UINT32 of, const char *text) {
  address_t made;
  char *octets = made.room + 2 * sizeof(VIP_UINT16);
  memset(&made, 0, sizeof made);
  made.of.HostAddressLen = sizeof of;
  made.of.DiscriminatorLen = (VIP_UINT16)strlen(text);
  memcpy(octets, &of, sizeof of);
  memcpy(octets + sizeof of, text, strlen(text));
  return made;
}

/* A descriptor of the arena. */
MAYBE_UNUSED static VIP_DESCRIPTOR *descriptor(int i, VIP_UINT16 control) {
  VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(void *)&arena.descriptors[i];
  memset(d, 0, sizeof(slot_t));
  d->CS.Control = control;
  return d;
}

/* Adds bytes of the arena to a descriptor. */
MAYBE_UNUSED static void add(VIP_DESCRIPTOR *d, VIP_UINT32 at, VIP_UINT32 len) {
  VIP_DATA_SEGMENT *segments = d->Data;
  VIP_DATA_SEGMENT *segment = &segments[d->CS.SegCount++];
  segment->Data.AddressBits = (VIP_UINT64)(uintptr_t)&arena.bytes[at];
  segment->Handle = memory;
  segment->Length = len;
  d->CS.Length += len;
}

/* A descriptor with one segment. */
MAYBE_UNUSED static VIP_DESCRIPTOR *simple(int i, VIP_UINT32 at, VIP_UINT32 len) {
  VIP_DESCRIPTOR *d = descriptor(i, VIP_CONTROL_OP_SENDRECV);
  add(d, at, len);
  return d;
}

/* Rank 0 accepts, rank 1 asks, until they are connected. */
MAYBE_UNUSED static void connect_vis(VIP_VI_HANDLE vi, const char *name) {
  VIP_VI_ATTRIBUTES theirs;
  address_t server = address(0, name), client = address(1, "client"), from;
  VIP_CONN_HANDLE connection;
  VIP_RETURN result;
  if (rank == 0) {
    OK(VipConnectWait(nic, &server.of, SOON, &from.of, &theirs, &connection));
    OK(VipConnectAccept(connection, vi));
    return;
  }
  do {
    result = VipConnectRequest(vi, &client.of, &server.of, SOON, &theirs);
  } while (result == VIP_NO_MATCH);
  OK(result);
}

MAYBE_UNUSED static VIP_VI_STATE state_of(VIP_VI_HANDLE vi) {
  VIP_VI_STATE state = VIP_STATE_IDLE;
  VIP_VI_ATTRIBUTES attributes;
  VIP_BOOLEAN sends, receives;
  OK(VipQueryVi(vi, &state, &attributes, &sends, &receives));
  return state;
}

/* Sends a message without content and waits for one: both ranks have come so far. Uses descriptors 62 and 63. */
MAYBE_UNUSED static void meet(const char *name) {
  VIP_VI_HANDLE vi = new_vi(VIP_SERVICE_RELIABLE_RECEPTION);
  VIP_DESCRIPTOR *got;
  OK(VipPostRecv(vi, descriptor(62, 0), memory));
  connect_vis(vi, name);
  OK(VipPostSend(vi, descriptor(63, 0), memory));
  OK(VipSendWait(vi, SOON, &got));
  OK(VipRecvWait(vi, SOON, &got));
  OK(VipDisconnect(vi));
  OK(VipDestroyVi(vi));
}

#endif
