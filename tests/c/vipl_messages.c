// mode: vipl
// run: 2
// run: 2 | env GASNET_CONDUIT=udp | env GASNET_NEIGHBORHOOD=off
// run: 2 | env GASNET_CONDUIT=netvm
// Messages: segments, immediate data, order, sizes, what is too long, what is flushed, and what a rank leaves behind that exits.
#include "vipl_check.h"

#define ROUNDS 200

static VIP_DESCRIPTOR *sent(VIP_VI_HANDLE vi) {
  VIP_DESCRIPTOR *got = NULL;
  OK(VipSendWait(vi, SOON, &got));
  return got;
}

static VIP_DESCRIPTOR *received(VIP_VI_HANDLE vi) {
  VIP_DESCRIPTOR *got = NULL;
  OK(VipRecvWait(vi, SOON, &got));
  return got;
}

/* Pieces of memory go into other pieces, with a number. */
static void segments(VIP_RELIABILITY_LEVEL level) {
  static const VIP_UINT32 lengths[] = {0, 1, 7, 64, 1000, 5000};
  VIP_VI_HANDLE vi = new_vi(level);
  VIP_DESCRIPTOR *d, *got;
  VIP_UINT32 i, at = 0;
  if (rank == 0) {
    memset(arena.bytes, 0xee, sizeof arena.bytes);
    d = descriptor(0, VIP_CONTROL_OP_SENDRECV);
    add(d, 100, 50);
    add(d, 200, 0);
    add(d, 300, 10000);
    OK(VipPostRecv(vi, d, memory));
    connect_vis(vi, "segments");
    got = received(vi);
    CHECK(got == d);
    CHECK_EQUAL(got->CS.Length, 6072);
    CHECK_EQUAL(got->CS.Status, VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE | VIP_STATUS_IMMEDIATE);
    CHECK_EQUAL(got->Control.ImmediateData, 0xabcdef01);
    for (i = 0; i < 6072; i++) {
      unsigned char byte = arena.bytes[i < 50 ? 100 + i : 300 + i - 50];
      if (byte != (unsigned char)(i * 7)) break;
    }
    CHECK_EQUAL(i, 6072);
    CHECK_EQUAL(arena.bytes[99], 0xee);
    CHECK_EQUAL(arena.bytes[150], 0xee);
    CHECK_EQUAL(arena.bytes[300 + 6022], 0xee);
  } else {
    d = descriptor(0, VIP_CONTROL_OP_SENDRECV | VIP_CONTROL_IMMEDIATE);
    d->CS.ImmediateData = 0xabcdef01;
    for (i = 0; i < 6; i++) {
      VIP_UINT32 k, to = 8192 * i;
      for (k = 0; k < lengths[i]; k++) arena.bytes[to + k] = (unsigned char)((at + k) * 7);
      add(d, to, lengths[i]);
      at += lengths[i];
    }
    connect_vis(vi, "segments");
    OK(VipPostSend(vi, d, memory));
    got = sent(vi);
    CHECK(got == d);
    CHECK_EQUAL(got->CS.Length, 6072);
    CHECK_EQUAL(got->CS.Status, VIP_STATUS_DONE | VIP_STATUS_OP_SEND | VIP_STATUS_IMMEDIATE);
  }
  meet("segments came");
  OK(VipDisconnect(vi));
  OK(VipDestroyVi(vi));
}

static void send_number(VIP_VI_HANDLE vi, VIP_UINT32 number) {
  memcpy(&arena.bytes[1024], &number, 4);
  OK(VipPostSend(vi, simple(2, 1024, 4), memory));
  CHECK_EQUAL(sent(vi)->CS.Length, 4);
}

/* Many messages both ways; the other end has always posted the next receive. Done, without waiting. */
static void rounds(VIP_RELIABILITY_LEVEL level) {
  VIP_VI_HANDLE vi = new_vi(level);
  VIP_DESCRIPTOR *got;
  VIP_RETURN result;
  VIP_UINT32 i;
  OK(VipPostRecv(vi, simple(0, 0, 4), memory));
  OK(VipPostRecv(vi, simple(1, 8, 4), memory));
  connect_vis(vi, "rounds");
  for (i = 0; i < ROUNDS; i++) {
    VIP_UINT32 seen, own = rank ? i : i + ROUNDS;
    if (rank == 0) send_number(vi, i);
    while ((result = VipRecvDone(vi, &got)) == VIP_NOT_DONE) CHECK(got == NULL);
    OK(result);
    CHECK((char *)got == arena.descriptors[i % 2].of);
    memcpy(&seen, &arena.bytes[8 * (i % 2)], 4);
    CHECK_EQUAL(seen, own);
    if (check_failures) exit(1);
    OK(VipPostRecv(vi, simple((int)(i % 2), 8 * (i % 2), 4), memory));
    if (rank == 1) send_number(vi, i + ROUNDS);
  }
  meet("rounds");
  OK(VipDisconnect(vi));
  while (VipRecvDone(vi, &got) != VIP_DESCRIPTOR_ERROR || got != NULL) CHECK(got->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR);
  while (VipSendDone(vi, &got) != VIP_DESCRIPTOR_ERROR || got != NULL) {
  }
  OK(VipDestroyVi(vi));
}

/* A message that is longer than the receive: told at both ends, and no byte too many is written. */
static void too_long(void) {
  VIP_VI_HANDLE vi = new_vi(VIP_SERVICE_RELIABLE_RECEPTION);
  VIP_DESCRIPTOR *got;
  memset(arena.bytes, 0x55, 100);
  if (rank == 0) {
    OK(VipPostRecv(vi, simple(0, 0, 10), memory));
    OK(VipPostRecv(vi, simple(1, 50, 10), memory));
  }
  connect_vis(vi, "long");
  if (rank == 0) {
    CHECK_EQUAL(VipRecvWait(vi, SOON, &got), VIP_DESCRIPTOR_ERROR);
    CHECK_EQUAL(got->CS.Status, VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE | VIP_STATUS_LENGTH_ERROR);
    CHECK_EQUAL(VipRecvWait(vi, SOON, &got), VIP_DESCRIPTOR_ERROR);
    CHECK_EQUAL(got->CS.Status, VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
    CHECK_EQUAL(arena.bytes[0], 0x55);
    CHECK_EQUAL(arena.bytes[10], 0x55);
  } else {
    OK(VipPostSend(vi, simple(0, 200, 11), memory));
    CHECK_EQUAL(VipSendWait(vi, SOON, &got), VIP_DESCRIPTOR_ERROR);
    CHECK_EQUAL(got->CS.Status, VIP_STATUS_DONE | VIP_STATUS_OP_SEND | VIP_STATUS_REMOTE_DESC_ERROR);
  }
  while (state_of(vi) != VIP_STATE_ERROR) {
  }
  /* What is posted now is flushed at once. */
  OK(VipPostRecv(vi, simple(2, 0, 10), memory));
  CHECK_EQUAL(VipRecvDone(vi, &got), VIP_DESCRIPTOR_ERROR);
  CHECK(got && got->CS.Status == (VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR));
  OK(VipDisconnect(vi));
  OK(VipDestroyVi(vi));
}

/* Memory that is not registered, or not for this VI, is an error of the descriptor. */
static void protection(void) {
  VIP_VI_HANDLE vi = new_vi(VIP_SERVICE_UNRELIABLE);
  VIP_DESCRIPTOR *got, *d = simple(0, 0, 8);
  connect_vis(vi, "protection");
  d->Data[0].Data.AddressBits -= 1000000;
  OK(VipPostSend(vi, d, memory));
  CHECK_EQUAL(VipSendWait(vi, SOON, &got), VIP_DESCRIPTOR_ERROR);
  CHECK_EQUAL(got->CS.Status, VIP_STATUS_DONE | VIP_STATUS_OP_SEND | VIP_STATUS_PROTECTION_ERROR);
  d = simple(0, 0, 8);
  d->Data[0].Handle = 0;
  OK(VipPostSend(vi, d, memory));
  CHECK_EQUAL(VipSendWait(vi, SOON, &got), VIP_DESCRIPTOR_ERROR);
  CHECK_EQUAL(got->CS.Status, VIP_STATUS_DONE | VIP_STATUS_OP_SEND | VIP_STATUS_PROTECTION_ERROR);
  CHECK_EQUAL(state_of(vi), VIP_STATE_CONNECTED);
  meet("protected");
  OK(VipDisconnect(vi));
  OK(VipDestroyVi(vi));
}

/* The last messages of a rank that exits at once arrive, and then its peer hears of the end. */
static void leave(void) {
  VIP_VI_HANDLE vi = new_vi(VIP_SERVICE_RELIABLE_DELIVERY);
  int i;
  for (i = 0; i < 20; i++) OK(VipPostRecv(vi, simple(i, 0, 8), memory));
  connect_vis(vi, "leave");
  if (rank == 1) {
    for (i = 20; i < 40; i++) OK(VipPostSend(vi, simple(i, 0, 8), memory));
    exit(check_failures != 0);
  }
  for (i = 0; i < 20; i++) CHECK_EQUAL(received(vi)->CS.Length, 8);
  while (state_of(vi) != VIP_STATE_ERROR) {
  }
}

int main(void) {
  start();
  segments(VIP_SERVICE_UNRELIABLE);
  segments(VIP_SERVICE_RELIABLE_DELIVERY);
  segments(VIP_SERVICE_RELIABLE_RECEPTION);
  rounds(VIP_SERVICE_UNRELIABLE);
  rounds(VIP_SERVICE_RELIABLE_DELIVERY);
  rounds(VIP_SERVICE_RELIABLE_RECEPTION);
  too_long();
  protection();
  leave();
  return finish();
}
