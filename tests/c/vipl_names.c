// mode: vipl
// run: 2
// run: 2 | env GASNET_CONDUIT=udp | env GASNET_NEIGHBORHOOD=off
// The name service, and the list of ranks.
#include "vipl_check.h"

static VIP_CHAR *text(const char *of) { return (VIP_CHAR *)(uintptr_t)of; }

static VIP_UINT32 rank_of(const address_t *of) {
  VIP_UINT32 number;
  CHECK_EQUAL(of->of.HostAddressLen, 4);
  CHECK_EQUAL(of->of.DiscriminatorLen, 0);
  memcpy(&number, of->room + 4, 4);
  return number;
}

int main(void) {
  address_t found;
  char name[32];
  VIP_ULONG len = sizeof name;
  VIP_AUTODISCOVERY_LIST list;
  VIP_ULONG i;
  start();
  CHECK_EQUAL(VipNSGetHostByName(nic, text("rank-0"), &found.of, 0), VIP_ERROR_NAMESERVICE);
  OK(VipNSInit(nic, NULL));
  found = address(1, "");
  OK(VipNSGetHostByAddr(nic, &found.of, name, &len));
  CHECK(strcmp(name, "rank-1") == 0);
  OK(VipNSGetHostByName(nic, text("rank-1"), &found.of, 0));
  CHECK_EQUAL(rank_of(&found), 1);
  CHECK_EQUAL(VipNSGetHostByName(nic, text("rank-1"), &found.of, 1), VIP_ERROR_NAMESERVICE);
  CHECK_EQUAL(VipNSGetHostByName(nic, text("rank-2"), &found.of, 0), VIP_ERROR_NAMESERVICE);
  CHECK_EQUAL(VipNSGetHostByName(nic, text("storage"), &found.of, 0), VIP_ERROR_NAMESERVICE);
  CHECK_EQUAL(VipNSGetHostByName(nic, NULL, &found.of, 0), VIP_INVALID_PARAMETER);
  meet("without names");
  OK(VipNSInit(nic, text("storage")));
  meet("names are published");
  OK(VipNSGetHostByName(nic, text("storage"), &found.of, 0));
  CHECK_EQUAL(rank_of(&found), 0);
  CHECK_EQUAL(VipNSGetHostByName(nic, text("storage"), &found.of, 2), VIP_ERROR_NAMESERVICE);
  OK(VipNSGetHostByName(nic, text("storage"), &found.of, 1));
  CHECK_EQUAL(rank_of(&found), 1);
  len = sizeof name;
  OK(VipNSGetHostByAddr(nic, &found.of, name, &len));
  CHECK(strcmp(name, "storage") == 0);
  CHECK_EQUAL(len, 8);
  len = 7;
  CHECK_EQUAL(VipNSGetHostByAddr(nic, &found.of, name, &len), VIP_ERROR_RESOURCE);
  CHECK_EQUAL(len, 8);
  meet("names were found");
  OK(VipNSShutdown(nic));
  CHECK_EQUAL(VipNSShutdown(nic), VIP_ERROR_NAMESERVICE);
  CHECK_EQUAL(VipQuerySystemManagementInfo(nic, 99, &list), VIP_ERROR_NOT_SUPPORTED);
  CHECK_EQUAL(VipQuerySystemManagementInfo(nic, VIP_SMI_AUTODISCOVERY, NULL), VIP_INVALID_PARAMETER);
  OK(VipQuerySystemManagementInfo(nic, VIP_SMI_AUTODISCOVERY, &list));
  CHECK_EQUAL(list.NumAdAddrs, 2);
  for (i = 0; i < 2; i++) {
    address_t other = address((VIP_UINT32)i, "");
    CHECK(memcmp((const char *)list.ADAddrArray + 8 * i, other.room, 8) == 0);
  }
  return finish();
}
