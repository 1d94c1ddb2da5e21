/* Names for the compiler, operating system and processor, one spelling each.
 * A name is defined to 1 when it applies and left undefined otherwise. */
#ifndef GASNET_RS_PORTABLE_PLATFORM_H
#define GASNET_RS_PORTABLE_PLATFORM_H

/* Other headers have these names too, such as Open MPI's mpi.h. */
#undef PLATFORM_COMPILER_FAMILYNAME
#undef PLATFORM_COMPILER_FAMILYID
#undef PLATFORM_COMPILER_ID
#undef PLATFORM_COMPILER_IDSTR
#undef PLATFORM_COMPILER_VERSION
#undef PLATFORM_COMPILER_VERSION_STR
#undef PLATFORM_COMPILER_VERSION_INT
#undef PLATFORM_COMPILER_VERSION_GT
#undef PLATFORM_COMPILER_VERSION_GE
#undef PLATFORM_COMPILER_VERSION_EQ
#undef PLATFORM_COMPILER_VERSION_LE
#undef PLATFORM_COMPILER_VERSION_LT
#undef PLATFORM_COMPILER_C_LANGLVL
#undef PLATFORM_COMPILER_CXX_LANGLVL
#undef PLATFORM_OS_FAMILYNAME
#undef PLATFORM_ARCH_FAMILYNAME

#define PLATFORM_STRINGIFY_HELPER(x) #x
#define PLATFORM_STRINGIFY(x) PLATFORM_STRINGIFY_HELPER(x)

/* ---- compiler ---- */
#if defined(__clang__)
  #define PLATFORM_COMPILER_CLANG 1
  #define PLATFORM_COMPILER_FAMILYNAME CLANG
  #define PLATFORM_COMPILER_FAMILYID 19
  #ifdef __cplusplus
    #define PLATFORM_COMPILER_CLANG_CXX 1
  #else
    #define PLATFORM_COMPILER_CLANG_C 1
  #endif
  #define PLATFORM_COMPILER_VERSION \
    (__clang_major__ * 65536 + __clang_minor__ * 256 + __clang_patchlevel__)
  #define PLATFORM_COMPILER_VERSION_STR \
    PLATFORM_STRINGIFY(__clang_major__) "." PLATFORM_STRINGIFY(__clang_minor__) "." \
    PLATFORM_STRINGIFY(__clang_patchlevel__)
#elif defined(__GNUC__)
  #define PLATFORM_COMPILER_GNU 1
  #define PLATFORM_COMPILER_FAMILYNAME GNU
  #define PLATFORM_COMPILER_FAMILYID 1
  #ifdef __cplusplus
    #define PLATFORM_COMPILER_GNU_CXX 1
  #else
    #define PLATFORM_COMPILER_GNU_C 1
  #endif
  #define PLATFORM_COMPILER_VERSION \
    (__GNUC__ * 65536 + __GNUC_MINOR__ * 256 + __GNUC_PATCHLEVEL__)
  #define PLATFORM_COMPILER_VERSION_STR \
    PLATFORM_STRINGIFY(__GNUC__) "." PLATFORM_STRINGIFY(__GNUC_MINOR__) "." \
    PLATFORM_STRINGIFY(__GNUC_PATCHLEVEL__)
#else
  #error gasnet-rs headers need gcc, clang or a compiler that speaks their extensions
#endif
#ifdef __cplusplus
  #define PLATFORM_COMPILER_ID (PLATFORM_COMPILER_FAMILYID + 10000)
#else
  #define PLATFORM_COMPILER_ID PLATFORM_COMPILER_FAMILYID
#endif
#define PLATFORM_COMPILER_IDSTR \
  "|COMPILER_FAMILY:" PLATFORM_STRINGIFY(PLATFORM_COMPILER_FAMILYNAME) \
  "|COMPILER_VERSION:" PLATFORM_COMPILER_VERSION_STR "|"
#define PLATFORM_COMPILER_VERSION_INT(maj, min, pat) ((maj) * 65536 + (min) * 256 + (pat))
#define PLATFORM_COMPILER_VERSION_GT(maj, min, pat) \
  (PLATFORM_COMPILER_VERSION > PLATFORM_COMPILER_VERSION_INT(maj, min, pat))
#define PLATFORM_COMPILER_VERSION_GE(maj, min, pat) \
  (PLATFORM_COMPILER_VERSION >= PLATFORM_COMPILER_VERSION_INT(maj, min, pat))
#define PLATFORM_COMPILER_VERSION_EQ(maj, min, pat) \
  (PLATFORM_COMPILER_VERSION == PLATFORM_COMPILER_VERSION_INT(maj, min, pat))
#define PLATFORM_COMPILER_VERSION_LE(maj, min, pat) \
  (PLATFORM_COMPILER_VERSION <= PLATFORM_COMPILER_VERSION_INT(maj, min, pat))
#define PLATFORM_COMPILER_VERSION_LT(maj, min, pat) \
  (PLATFORM_COMPILER_VERSION < PLATFORM_COMPILER_VERSION_INT(maj, min, pat))
#ifdef __STDC_VERSION__
  #define PLATFORM_COMPILER_C_LANGLVL __STDC_VERSION__
#endif
#ifdef __cplusplus
  #define PLATFORM_COMPILER_CXX_LANGLVL __cplusplus
#endif

/* ---- operating system ---- */
#if defined(__linux__)
  #define PLATFORM_OS_LINUX 1
  #define PLATFORM_OS_FAMILYNAME LINUX
#else
  #define PLATFORM_OS_UNKNOWN 1
  #define PLATFORM_OS_FAMILYNAME UNKNOWN
#endif

/* ---- processor ---- */
#if defined(__LP64__) || defined(_LP64)
  #define PLATFORM_ARCH_64 1
  #define _PLATFORM_ARCH_64 1
#else
  #define PLATFORM_ARCH_32 1
  #define _PLATFORM_ARCH_32 1
#endif
#if defined(__x86_64__)
  #define PLATFORM_ARCH_X86_64 1
  #define PLATFORM_ARCH_FAMILYNAME X86_64
#elif defined(__i386__)
  #define PLATFORM_ARCH_X86 1
  #define PLATFORM_ARCH_FAMILYNAME X86
#elif defined(__aarch64__)
  #define PLATFORM_ARCH_AARCH64 1
  #define PLATFORM_ARCH_FAMILYNAME AARCH64
#elif defined(__arm__)
  #define PLATFORM_ARCH_ARM 1
  #define PLATFORM_ARCH_FAMILYNAME ARM
#elif defined(__powerpc__) || defined(__powerpc64__)
  #define PLATFORM_ARCH_POWERPC 1
  #define PLATFORM_ARCH_FAMILYNAME POWERPC
#elif defined(__riscv)
  #define PLATFORM_ARCH_RISCV 1
  #define PLATFORM_ARCH_FAMILYNAME RISCV
#else
  #define PLATFORM_ARCH_UNKNOWN 1
  #define PLATFORM_ARCH_FAMILYNAME UNKNOWN
#endif
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  #define PLATFORM_ARCH_BIG_ENDIAN 1
#else
  #define PLATFORM_ARCH_LITTLE_ENDIAN 1
#endif

#endif
