// Names of gasnet_portable_platform.h that an earlier header defined in another way, as mpi.h of Open MPI
// does: no warning, and our meanings hold.
// mode: seq
// std: c99 c++17
// compiler: gcc clang
// run: 1
#define PLATFORM_COMPILER_FAMILYNAME OTHER
#define PLATFORM_COMPILER_FAMILYID 77
#define PLATFORM_COMPILER_ID 77
#define PLATFORM_COMPILER_VERSION_INT(maj, min, pat) (((maj) << 16) | ((min) << 8) | (pat))
#define PLATFORM_COMPILER_VERSION PLATFORM_COMPILER_VERSION_INT(1, 2, 3)
#define PLATFORM_COMPILER_VERSION_STR "1.2.3"
#define PLATFORM_COMPILER_VERSION_GT(maj, min, pat) 0
#define PLATFORM_COMPILER_VERSION_GE(maj, min, pat) 0
#define PLATFORM_COMPILER_VERSION_EQ(maj, min, pat) 0
#define PLATFORM_COMPILER_VERSION_LE(maj, min, pat) 0
#define PLATFORM_COMPILER_VERSION_LT(maj, min, pat) 0
#define PLATFORM_COMPILER_C_LANGLVL 77
#define PLATFORM_COMPILER_CXX_LANGLVL 77
#define PLATFORM_OS_FAMILYNAME OTHER
#define PLATFORM_ARCH_FAMILYNAME OTHER
#include "gasnet.h"
#include "gasnet_tools.h"
#include "check.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

int main(int argc, char **argv) {
  OK(gasnet_init(&argc, &argv));
  OK(gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0));
#if defined(__clang__)
  CHECK(!strcmp(TEXT(PLATFORM_COMPILER_FAMILYNAME), "CLANG"));
  CHECK(PLATFORM_COMPILER_VERSION_EQ(__clang_major__, __clang_minor__, __clang_patchlevel__));
#else
  CHECK(!strcmp(TEXT(PLATFORM_COMPILER_FAMILYNAME), "GNU"));
  CHECK(PLATFORM_COMPILER_VERSION_EQ(__GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__));
#endif
  CHECK(PLATFORM_COMPILER_ID != 77 && strcmp(PLATFORM_COMPILER_VERSION_STR, "1.2.3"));
  CHECK(PLATFORM_COMPILER_VERSION_GT(1, 2, 3) && !PLATFORM_COMPILER_VERSION_LT(1, 2, 3));
#if defined(__linux__)
  CHECK(!strcmp(TEXT(PLATFORM_OS_FAMILYNAME), "LINUX"));
#endif
  CHECK(strcmp(TEXT(PLATFORM_ARCH_FAMILYNAME), "OTHER"));
  finish();
  return 0;
}
