/* portable_platform.h: included by translated files, which test PLATFORM_ macros seldom. */
#ifndef _PORTABLE_PLATFORM_H
#define _PORTABLE_PLATFORM_H 1
#define PLATFORM_COMPILER_FAMILYNAME GNU
#define PLATFORM_OS_LINUX 1
#define PLATFORM_ARCH_64 1
#endif
