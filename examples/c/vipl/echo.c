/* Echo: rank 0 serves all other ranks over virtual interfaces. It sends every line back in capitals.

   What it shows: registered memory and protection tags, VipConnectWait with accept and reject, one completion queue for all
   clients, immediate data, and what a program does where a call fails: nobody waits yet (ask again), the server rejects
   (ask with other attributes), the peer is gone (a flushed descriptor).

   Check: every client compares every answer.

   Build: cc echo.c -o echo $(pkg-config --cflags --libs vipl)
   Run:   gasnetrun -n 4 ./echo 20 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vipl.h>

#define LINE 64
#define LAST 1
#define PATIENCE 60000

/* What a connection needs: two descriptors, aligned as they must be, and a line for each. */
typedef struct {
  union {
    VIP_DESCRIPTOR of;
    char aligned[VIP_DESCRIPTOR_ALIGNMENT];
  } receive, send;
  char in[LINE], out[LINE];
} connection_t;

static VIP_NIC_HANDLE nic;
static VIP_PROTECTION_HANDLE tag;
static VIP_MEM_HANDLE memory;
static VIP_UINT32 rank, ranks;

/* Ends the program where a call fails that must not. */
static void must(VIP_RETURN result, const char *what) {
  if (result == VIP_SUCCESS) return;
  fprintf(stderr, "echo: rank %u: %s: error %d\n", (unsigned)rank, what, (int)result);
  abort();
}

/* Errors that no descriptor tells. That a client goes is none here: its receive comes back, too. */
static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error) {
  (void)context;
  if (error->ErrorCode == VIP_ERROR_CONN_LOST) return;
  fprintf(stderr, "echo: rank %u: error %d of a virtual interface\n", (unsigned)rank, (int)error->ErrorCode);
}

static connection_t *prepare(unsigned connections) {
  VIP_NIC_ATTRIBUTES attributes;
  VIP_AUTODISCOVERY_LIST all;
  VIP_MEM_ATTRIBUTES of;
  void *block = NULL;
  size_t bytes;
  must(VipOpenNic("nic", &nic), "VipOpenNic");
  must(VipQueryNic(nic, &attributes), "VipQueryNic");
  memcpy(&rank, attributes.LocalNicAddress, sizeof rank);
  must(VipErrorCallback(nic, NULL, on_error), "VipErrorCallback");
  must(VipQuerySystemManagementInfo(nic, VIP_SMI_AUTODISCOVERY, &all), "VipQuerySystemManagementInfo");
  ranks = (VIP_UINT32)all.NumAdAddrs;
  bytes = (connections + ranks) * sizeof(connection_t);
  block = aligned_alloc(VIP_DESCRIPTOR_ALIGNMENT, bytes);
  if (!block) must(VIP_ERROR_RESOURCE, "memory");
  must(VipCreatePtag(nic, &tag), "VipCreatePtag");
  of.Ptag = tag;
  of.EnableRdmaWrite = of.EnableRdmaRead = VIP_FALSE;
  must(VipRegisterMem(nic, block, bytes, &of, &memory), "VipRegisterMem");
  return (connection_t *)block;
}

static VIP_VI_HANDLE make_vi(VIP_RELIABILITY_LEVEL level, VIP_CQ_HANDLE receives) {
  VIP_VI_ATTRIBUTES of;
  VIP_VI_HANDLE vi;
  memset(&of, 0, sizeof of);
  of.ReliabilityLevel = level;
  of.MaxTransferSize = LINE;
  of.Ptag = tag;
  must(VipCreateVi(nic, &of, NULL, receives, &vi), "VipCreateVi");
  return vi;
}

static VIP_DESCRIPTOR *describe(VIP_DESCRIPTOR *d, char *line, VIP_UINT32 len) {
  memset(d, 0, sizeof *d);
  d->CS.SegCount = 1;
  d->CS.Length = len;
  d->DS[0].Local.Data.AddressBits = (VIP_UINT64)(uintptr_t)line;
  d->DS[0].Local.Handle = memory;
  d->DS[0].Local.Length = len;
  return d;
}

static void post_receive(VIP_VI_HANDLE vi, connection_t *c) {
  must(VipPostRecv(vi, describe(&c->receive.of, c->in, LINE), memory), "VipPostRecv");
}

static void send_line(VIP_VI_HANDLE vi, connection_t *c, VIP_UINT32 len, int last) {
  VIP_DESCRIPTOR *d = describe(&c->send.of, c->out, len);
  if (last) {
    d->CS.Control |= VIP_CONTROL_IMMEDIATE;
    d->CS.ImmediateData = LAST;
  }
  must(VipPostSend(vi, d, memory), "VipPostSend");
  must(VipSendWait(vi, PATIENCE, &d), "VipSendWait");
}

/* The address of a rank's end of this name. */
typedef union {
  VIP_NET_ADDRESS of;
  char room[8 + LINE];
} address_t;

static address_t address(VIP_UINT32 of, const char *name) {
  address_t a;
  memset(&a, 0, sizeof a);
  a.of.HostAddressLen = sizeof of;
  a.of.DiscriminatorLen = (VIP_UINT16)strlen(name);
  memcpy(a.room + 4, &of, sizeof of);
  memcpy(a.room + 8, name, strlen(name));
  return a;
}

/* Accepts reliable clients and rejects others, until all ranks are connected. */
static void accept_clients(VIP_VI_HANDLE *vis, connection_t *connections, VIP_CQ_HANDLE receives) {
  address_t here = address(0, "echo"), from;
  VIP_VI_ATTRIBUTES theirs;
  VIP_CONN_HANDLE request;
  unsigned n = 0;
  while (n + 1 < ranks) {
    must(VipConnectWait(nic, &here.of, PATIENCE, &from.of, &theirs, &request), "VipConnectWait");
    if (theirs.ReliabilityLevel != VIP_SERVICE_RELIABLE_DELIVERY) {
      must(VipConnectReject(request), "VipConnectReject");
      continue;
    }
    vis[n] = make_vi(theirs.ReliabilityLevel, receives);
    post_receive(vis[n], &connections[n]);
    must(VipConnectAccept(request, vis[n]), "VipConnectAccept");
    n++;
  }
}

static void serve(connection_t *connections) {
  VIP_VI_HANDLE *vis = (VIP_VI_HANDLE *)calloc(ranks, sizeof *vis), vi;
  VIP_CQ_HANDLE receives;
  VIP_BOOLEAN is_receive;
  unsigned i, left = ranks - 1;
  must(VipCreateCQ(nic, 2 * ranks, &receives), "VipCreateCQ");
  accept_clients(vis, connections, receives);
  while (left > 0) {
    VIP_DESCRIPTOR *d;
    connection_t *c;
    VIP_UINT32 len, k;
    int last;
    must(VipCQWait(receives, PATIENCE, &vi, &is_receive), "VipCQWait");
    for (i = 0; vis[i] != vi; i++) {
    }
    c = &connections[i];
    if (VipRecvDone(vi, &d) != VIP_SUCCESS) {
      /* The client has ended the connection: what was posted comes back as flushed. */
      must(VipDisconnect(vi), "VipDisconnect");
      must(VipDestroyVi(vi), "VipDestroyVi");
      vis[i] = NULL;
      left--;
      continue;
    }
    len = d->CS.Length;
    last = (d->CS.Status & VIP_STATUS_IMMEDIATE) != 0;
    for (k = 0; k < len; k++) c->out[k] = (char)toupper((unsigned char)c->in[k]);
    post_receive(vi, c);
    send_line(vi, c, len, last);
  }
  must(VipDestroyCQ(receives), "VipDestroyCQ");
  free(vis);
}

static VIP_RETURN ask(VIP_VI_HANDLE vi) {
  address_t here = address(rank, "client"), there = address(0, "echo");
  VIP_VI_ATTRIBUTES theirs;
  VIP_RETURN result;
  do {
    result = VipConnectRequest(vi, &here.of, &there.of, PATIENCE, &theirs);
  } while (result == VIP_NO_MATCH);
  return result;
}

/* Returns how many answers were wrong. */
static int use(connection_t *c, int lines) {
  VIP_VI_HANDLE vi = make_vi(VIP_SERVICE_UNRELIABLE, NULL);
  int i, wrong = 0;
  if (ask(vi) != VIP_REJECT) must(VIP_INVALID_STATE, "the server has taken an unreliable client");
  must(VipDestroyVi(vi), "VipDestroyVi");
  vi = make_vi(VIP_SERVICE_RELIABLE_DELIVERY, NULL);
  must(ask(vi), "VipConnectRequest");
  for (i = 0; i < lines; i++) {
    VIP_DESCRIPTOR *d;
    char expected[LINE];
    int last = i == lines - 1;
    post_receive(vi, c);
    snprintf(c->out, LINE, "line %d of rank %u", i, (unsigned)rank);
    snprintf(expected, LINE, "LINE %d OF RANK %u", i, (unsigned)rank);
    send_line(vi, c, (VIP_UINT32)strlen(expected) + 1, last);
    must(VipRecvWait(vi, PATIENCE, &d), "VipRecvWait");
    wrong += strcmp(c->in, expected) != 0 || ((d->CS.Status & VIP_STATUS_IMMEDIATE) != 0) != last;
  }
  must(VipDisconnect(vi), "VipDisconnect");
  must(VipDestroyVi(vi), "VipDestroyVi");
  return wrong;
}

int main(int argc, char **argv) {
  int lines = argc > 1 ? atoi(argv[1]) : 100, wrong = 0;
  connection_t *connections = prepare(1);
  if (rank == 0) serve(connections);
  else wrong = use(connections, lines);
  if (wrong) fprintf(stderr, "echo: rank %u: %d answers are wrong\n", (unsigned)rank, wrong);
  else if (rank == 0) printf("verification: passed (%u clients, %d lines each)\n", (unsigned)ranks - 1, lines);
  return wrong != 0;
}
