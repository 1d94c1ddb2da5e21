/* bupc_extern.h: a UPC program's threads as C and C++ see them. Addresses are private ones, of the caller's part of shared memory.
 *
 * A C main starts the threads with bupc_init and ends with bupc_exit; its UPC functions are compiled by upcc with -extern-main, or linked
 * with -link-with. */
#ifndef BUPC_EXTERN_H
#define BUPC_EXTERN_H 1

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void bupc_init(int *argc, char ***argv);
void bupc_init_reentrant(int *argc, char ***argv, int (*pmain)(int, char **));
void bupc_exit(int status);
int bupc_extern_mythread(void);
int bupc_extern_threads(void);
char *bupc_extern_getenv(const char *name);
void bupc_extern_notify(int value);
void bupc_extern_wait(int value);
void bupc_extern_barrier(int value);
void *bupc_extern_alloc(size_t nbytes);
void *bupc_extern_all_alloc(size_t nblocks, size_t blocksz);
void bupc_extern_free(void *ptr, int thread);
void bupc_extern_all_free(void *ptr, int thread);
int bupc_extern_threadof(void *ptr);
void bupc_extern_process_thread_layout(int *num_threads, int *first_thread);
void bupc_extern_config_info(const char **upcr_config_str, const char **gasnet_config_str, const char **version_str,
                  int *runtime_major, int *runtime_minor, int *runtime_debug, int *runtime_pthreads, size_t *runtime_size);

#ifdef __cplusplus
}
#endif
#endif
