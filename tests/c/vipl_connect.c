// mode: vipl
// run: 2
// run: 2 | env GASNET_CONDUIT=udp | env GASNET_NEIGHBORHOOD=off
// run: 2 | env GASNET_CONDUIT=netvm
// Connections of clients, servers and peers: who is told what.
#include "vipl_check.h"

static VIP_VI_ATTRIBUTES theirs;

/* Asks until somebody waits for it. */
static VIP_RETURN ask(VIP_VI_HANDLE vi, const char *name) {
  address_t server = address(0, name), client = address(1, "client");
  VIP_RETURN result;
  do {
    result = VipConnectRequest(vi, &client.of, &server.of, SOON, &theirs);
  } while (result == VIP_NO_MATCH);
  return result;
}

static VIP_CONN_HANDLE await(const char *name) {
  address_t server = address(0, name), from;
  VIP_CONN_HANDLE connection = NULL;
  memset(&from, 0xff, sizeof from);
  OK(VipConnectWait(nic, &server.of, SOON, &from.of, &theirs, &connection));
  CHECK_EQUAL(from.of.HostAddressLen, 4);
  CHECK_EQUAL(from.of.DiscriminatorLen, 6);
  CHECK(memcmp(from.of.HostAddress, address(1, "client").of.HostAddress, 4 + 6) == 0);
  return connection;
}

static void refusals(void) {
  VIP_VI_HANDLE vi = new_vi(VIP_SERVICE_RELIABLE_DELIVERY);
  address_t here = address(rank, "client"), there = address(1 - rank, "nobody"), far = address(1000, "x"), from;
  VIP_CONN_HANDLE connection;
  CHECK_EQUAL(VipConnectRequest(vi, &here.of, &there.of, SOON, &theirs), VIP_NO_MATCH);
  CHECK_EQUAL(VipConnectRequest(vi, &here.of, &there.of, 0, &theirs), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipConnectRequest(vi, &there.of, &here.of, SOON, &theirs), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipConnectRequest(vi, &here.of, &far.of, SOON, &theirs), VIP_NOT_REACHABLE);
  CHECK_EQUAL(VipConnectRequest(vi, NULL, &there.of, SOON, &theirs), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipConnectRequest(vi, &here.of, &there.of, SOON, NULL), VIP_INVALID_PARAMETER);
  there.of.HostAddressLen = 6;
  CHECK_EQUAL(VipConnectRequest(vi, &here.of, &there.of, SOON, &theirs), VIP_INVALID_PARAMETER);
  here.of.DiscriminatorLen = 65;
  CHECK_EQUAL(VipConnectWait(nic, &here.of, 10, &from.of, &theirs, &connection), VIP_INVALID_PARAMETER);
  here = address(rank, "nobody comes");
  CHECK_EQUAL(VipConnectWait(nic, &here.of, 30, &from.of, &theirs, &connection), VIP_TIMEOUT);
  CHECK_EQUAL(VipConnectWait(nic, &far.of, 30, &from.of, &theirs, &connection), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipConnectReject(NULL), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipConnectAccept((VIP_CONN_HANDLE)vi, vi), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(VipConnectPeerDone(vi, NULL), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(state_of(vi), VIP_STATE_IDLE);
  OK(VipDisconnect(vi));
  OK(VipDestroyVi(vi));
}

static void server(void) {
  VIP_VI_ATTRIBUTES wrong = vi_attributes(VIP_SERVICE_RELIABLE_DELIVERY);
  VIP_VI_HANDLE vi = new_vi(VIP_SERVICE_RELIABLE_RECEPTION), other;
  VIP_CONN_HANDLE connection = await("reject");
  OK(VipConnectReject(connection));
  CHECK_EQUAL(VipConnectReject(connection), VIP_INVALID_PARAMETER);
  /* An accept that does not fit leaves the request, and the client hears nothing. */
  connection = await("attributes");
  CHECK_EQUAL(theirs.ReliabilityLevel, VIP_SERVICE_RELIABLE_DELIVERY);
  CHECK_EQUAL(theirs.MaxTransferSize, BYTES);
  CHECK(theirs.Ptag == NULL && !theirs.EnableRdmaWrite);
  CHECK_EQUAL(VipConnectAccept(connection, vi), VIP_INVALID_RELIABILITY_LEVEL);
  wrong.MaxTransferSize = 512;
  OK(VipSetViAttributes(vi, &wrong));
  CHECK_EQUAL(VipConnectAccept(connection, vi), VIP_INVALID_MTU);
  wrong = vi_attributes(VIP_SERVICE_RELIABLE_DELIVERY);
  wrong.QoS = (VIP_QOS)(uintptr_t)1;
  OK(VipSetViAttributes(vi, &wrong));
  CHECK_EQUAL(VipConnectAccept(connection, vi), VIP_INVALID_QOS);
  CHECK_EQUAL(VipConnectAccept(connection, NULL), VIP_INVALID_PARAMETER);
  wrong.QoS = NULL;
  wrong.EnableRdmaWrite = VIP_TRUE;
  OK(VipSetViAttributes(vi, &wrong));
  OK(VipConnectAccept(connection, vi));
  CHECK_EQUAL(VipConnectAccept(connection, vi), VIP_INVALID_PARAMETER);
  CHECK_EQUAL(state_of(vi), VIP_STATE_CONNECTED);
  CHECK_EQUAL(VipSetViAttributes(vi, &wrong), VIP_INVALID_STATE);
  CHECK_EQUAL(VipDestroyVi(vi), VIP_INVALID_STATE);
  /* One peer a VI: the next request needs another one. */
  connection = await("second");
  CHECK_EQUAL(VipConnectAccept(connection, vi), VIP_INVALID_STATE);
  other = new_vi(VIP_SERVICE_UNRELIABLE);
  OK(VipConnectAccept(connection, other));
  OK(VipDisconnect(vi));
  OK(VipDisconnect(other));
  OK(VipDestroyVi(vi));
  OK(VipDestroyVi(other));
  /* The client gives up before the answer. */
  vi = new_vi(VIP_SERVICE_RELIABLE_DELIVERY);
  connection = await("late");
  meet("given up");
  CHECK_EQUAL(VipConnectAccept(connection, vi), VIP_TIMEOUT);
  OK(VipDestroyVi(vi));
}

static void client(void) {
  VIP_VI_HANDLE vi = new_vi(VIP_SERVICE_RELIABLE_DELIVERY), other = new_vi(VIP_SERVICE_UNRELIABLE);
  address_t server = address(0, "late"), own = address(1, "client");
  VIP_RETURN result;
  CHECK_EQUAL(ask(vi, "reject"), VIP_REJECT);
  CHECK_EQUAL(state_of(vi), VIP_STATE_IDLE);
  OK(ask(vi, "attributes"));
  CHECK_EQUAL(theirs.EnableRdmaWrite, VIP_TRUE);
  CHECK_EQUAL(state_of(vi), VIP_STATE_CONNECTED);
  CHECK_EQUAL(ask(vi, "second"), VIP_INVALID_STATE);
  OK(ask(other, "second"));
  /* The other end goes: its VI is in error until this one is disconnected, too. */
  while (state_of(vi) != VIP_STATE_ERROR || state_of(other) != VIP_STATE_ERROR) {
  }
  CHECK_EQUAL(VipDestroyVi(vi), VIP_INVALID_STATE);
  OK(VipDisconnect(vi));
  CHECK_EQUAL(state_of(vi), VIP_STATE_IDLE);
  OK(VipDisconnect(other));
  OK(VipDestroyVi(other));
  do {
    result = VipConnectRequest(vi, &own.of, &server.of, 200, &theirs);
  } while (result == VIP_NO_MATCH);
  CHECK_EQUAL(result, VIP_TIMEOUT);
  meet("given up");
  OK(VipDestroyVi(vi));
}

static void peers(void) {
  VIP_VI_HANDLE vi = new_vi(VIP_SERVICE_RELIABLE_DELIVERY);
  VIP_VI_ATTRIBUTES own = vi_attributes(rank ? VIP_SERVICE_UNRELIABLE : VIP_SERVICE_RELIABLE_DELIVERY);
  address_t here = address(rank, "peer"), there = address(1 - rank, "peer");
  VIP_RETURN result;
  CHECK_EQUAL(VipConnectPeerDone(vi, &theirs), VIP_INVALID_STATE);
  CHECK_EQUAL(VipConnectPeerWait(vi, &theirs), VIP_INVALID_STATE);
  OK(VipConnectPeerRequest(vi, &here.of, &there.of, SOON));
  CHECK_EQUAL(VipConnectPeerRequest(vi, &here.of, &there.of, SOON), VIP_INVALID_STATE);
  while ((result = VipConnectPeerDone(vi, &theirs)) == VIP_NOT_DONE) {
  }
  OK(result);
  CHECK_EQUAL(state_of(vi), VIP_STATE_CONNECTED);
  CHECK_EQUAL(theirs.ReliabilityLevel, VIP_SERVICE_RELIABLE_DELIVERY);
  meet("peers are connected");
  OK(VipDisconnect(vi));
  meet("peers are disconnected");
  /* Two that do not agree: both hear it. */
  OK(VipSetViAttributes(vi, &own));
  OK(VipConnectPeerRequest(vi, &here.of, &there.of, SOON));
  CHECK_EQUAL(VipConnectPeerWait(vi, &theirs), VIP_INVALID_RELIABILITY_LEVEL);
  CHECK_EQUAL(state_of(vi), VIP_STATE_IDLE);
  there = address(1 - rank, "other");
  OK(VipConnectPeerRequest(vi, &here.of, &there.of, 30));
  CHECK_EQUAL(VipConnectPeerWait(vi, &theirs), VIP_TIMEOUT);
  OK(VipDestroyVi(vi));
  /* A rank that has left is not reachable. */
  meet("peers have waited");
}

int main(void) {
  start();
  refusals();
  if (rank == 0) server();
  else client();
  peers();
  return finish();
}
