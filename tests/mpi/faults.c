/* A layer over MPI, loaded in front of it (LD_PRELOAD), in which something goes wrong; MPI_FAULT says what:
 *   refused   large puts are refused for ever;
 *   busy      two of three puts and gets are refused, after the self-test;
 *   lost      puts of rank 1 complete and never arrive, those of the self-test's size;
 *   failing   gets of rank 1 fail;
 *   create    rank 1 cannot make windows;
 *   separate  windows have a public and a private memory;
 *   single    MPI is for one thread only. */
#include <mpi.h>

#include <stdlib.h>
#include <string.h>

/* Bytes of the self-test's puts and gets. */
#define TEST 4096

static int is(const char *fault) {
  const char *wanted = getenv("MPI_FAULT");
  return wanted && !strcmp(wanted, fault);
}

static int rank(void) {
  int mine = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &mine);
  return mine;
}

static int busy(int n) {
  static int calls;
  return n != TEST && is("busy") && calls++ % 3 != 0;
}

int MPI_Rput(const void *at, int n, MPI_Datatype type, int to, MPI_Aint where, int n_there, MPI_Datatype type_there, MPI_Win win,
             MPI_Request *request) {
  if (busy(n) || (is("refused") && n > TEST)) return MPI_ERR_OTHER;
  if (is("lost") && rank() == 1 && n == TEST) n = n_there = 0;
  return PMPI_Rput(at, n, type, to, where, n_there, type_there, win, request);
}

int MPI_Rget(void *at, int n, MPI_Datatype type, int from, MPI_Aint where, int n_there, MPI_Datatype type_there, MPI_Win win,
             MPI_Request *request) {
  if (busy(n) || (is("failing") && rank() == 1)) return MPI_ERR_OTHER;
  return PMPI_Rget(at, n, type, from, where, n_there, type_there, win, request);
}

int MPI_Win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win) {
  int result = PMPI_Win_create(base, size, unit, info, comm, win);
  return is("create") && rank() == 1 ? MPI_ERR_OTHER : result;
}

int MPI_Win_get_attr(MPI_Win win, int key, void *value, int *there) {
  static int separate = MPI_WIN_SEPARATE;
  int result = PMPI_Win_get_attr(win, key, value, there);
  if (is("separate") && key == MPI_WIN_MODEL) *(int **)value = &separate;
  return result;
}

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *provided) {
  if (!is("single")) return PMPI_Init_thread(argc, argv, wanted, provided);
  int result = PMPI_Init_thread(argc, argv, MPI_THREAD_SINGLE, provided);
  *provided = MPI_THREAD_SINGLE;
  return result;
}
