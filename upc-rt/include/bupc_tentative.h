/* bupc_tentative.h: bupc_extern.h for C that may or may not be linked into a UPC program: variables that are null unless the runtime is
 * there, which fills them in at start. */
#ifndef BUPC_TENTATIVE_H
#define BUPC_TENTATIVE_H 1

#include <stddef.h>

#define BUPC_TENTATIVE_VERSION_MAJOR 1
#define BUPC_TENTATIVE_VERSION_MINOR 3
#ifdef __cplusplus
extern "C" {
#define __BUPC_TENTATIVE(type, name, args) extern type (*name) args __attribute__((__weak__)); type (*name) args
#else
#define __BUPC_TENTATIVE(type, name, args) type (*name) args __attribute__((__common__))
#endif
#ifdef __cplusplus
int bupc_tentative_version_major __attribute__((__weak__)), bupc_tentative_version_minor __attribute__((__weak__));
#else
int bupc_tentative_version_major __attribute__((__common__)), bupc_tentative_version_minor __attribute__((__common__));
#endif
__BUPC_TENTATIVE(void, bupc_tentative_init, (int *argc, char ***argv));
__BUPC_TENTATIVE(void, bupc_tentative_init_reentrant, (int *argc, char ***argv, int (*pmain)(int, char **)));
__BUPC_TENTATIVE(void, bupc_tentative_exit, (int status));
__BUPC_TENTATIVE(int, bupc_tentative_mythread, (void));
__BUPC_TENTATIVE(int, bupc_tentative_threads, (void));
__BUPC_TENTATIVE(char *, bupc_tentative_getenv, (const char *name));
__BUPC_TENTATIVE(void, bupc_tentative_notify, (int value));
__BUPC_TENTATIVE(void, bupc_tentative_wait, (int value));
__BUPC_TENTATIVE(void, bupc_tentative_barrier, (int value));
__BUPC_TENTATIVE(void *, bupc_tentative_alloc, (size_t nbytes));
__BUPC_TENTATIVE(void *, bupc_tentative_all_alloc, (size_t nblocks, size_t blocksz));
__BUPC_TENTATIVE(void, bupc_tentative_free, (void *ptr, int thread));
__BUPC_TENTATIVE(void, bupc_tentative_all_free, (void *ptr, int thread));
__BUPC_TENTATIVE(int, bupc_tentative_threadof, (void *ptr));
__BUPC_TENTATIVE(void, bupc_tentative_process_thread_layout, (int *num_threads, int *first_thread));
__BUPC_TENTATIVE(void, bupc_tentative_config_info, (const char **upcr_config_str, const char **gasnet_config_str, const char **version_str,
                  int *runtime_major, int *runtime_minor, int *runtime_debug, int *runtime_pthreads, size_t *runtime_size));
#undef __BUPC_TENTATIVE
#ifdef __cplusplus
}
#endif
#endif
