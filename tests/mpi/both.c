/* MPI and GASNet in one program, in turns: messages, puts and barriers of both, which must not meet. A rank that is inside MPI does not
 * listen to GASNet, so a barrier stands between the turns. Arguments: who initialises MPI (`mpi`, `gasnet`), who finalises it (`program`,
 * `gasnet`), and for which threads the program initialises it (a number of MPI_Init_thread's; none: MPI_Init). */
#include <gasnet.h>
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 50
enum { ASK = 200, ANSWER };

static volatile int answers;

static void ask(gasnet_token_t token, gasnet_handlerarg_t round) { gasnet_AMReplyShort1(token, ANSWER, round + 1); }

static void answer(gasnet_token_t token, gasnet_handlerarg_t round) {
  (void)token;
  answers += round;
}

static void check(int right, const char *what) {
  if (right) return;
  fprintf(stderr, "ERROR: rank %d: %s\n", (int)gasnet_mynode(), what);
  gasnet_exit(1);
}

static void barrier(void) {
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  check(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS) == GASNET_OK, "barrier");
}

int main(int argc, char **argv) {
  int mpi_first = argc > 1 && !strcmp(argv[1], "mpi");
  int by_program = argc > 2 && !strcmp(argv[2], "program");
  if (mpi_first && argc > 3) {
    /* In the order of the standard. */
    int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
    int wanted = levels[atoi(argv[3]) & 3], provided;
    if (MPI_Init_thread(&argc, &argv, wanted, &provided) != MPI_SUCCESS) return 1;
    if (provided != wanted) fprintf(stderr, "MPI has level %d for %d\n", provided, wanted);
  } else if (mpi_first && MPI_Init(&argc, &argv) != MPI_SUCCESS) {
    return 1;
  }
  if (gasnet_init(&argc, &argv) != GASNET_OK) return 1;
  gasnet_handlerentry_t handlers[] = {{ASK, (void (*)())ask}, {ANSWER, (void (*)())answer}};
  if (gasnet_attach(handlers, 2, GASNET_PAGESIZE, 0) != GASNET_OK) return 1;

  int me = (int)gasnet_mynode(), n = (int)gasnet_nodes(), right = (me + 1) % n, left = (me + n - 1) % n;
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check(rank == me && size == n, "the ranks are those of MPI");

  gasnet_seginfo_t *segments = malloc(sizeof *segments * (size_t)n);
  gasnet_getSegmentInfo(segments, n);
  long *mine = segments[me].addr;
  barrier();
  for (int round = 0; round < ROUNDS; round++) {
    /* A message of MPI's is under way while GASNet's come and go. */
    int sent = 1000 * me + round, got = -1;
    MPI_Request receive;
    MPI_Irecv(&got, 1, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, &receive);
    gasnet_put_val((gasnet_node_t)right, segments[right].addr, (gasnet_register_value_t)(1000 * me + round), sizeof(long));
    int before = answers;
    gasnet_AMRequestShort1((gasnet_node_t)right, ASK, round);
    GASNET_BLOCKUNTIL(answers == before + round + 1);
    barrier();
    MPI_Send(&sent, 1, MPI_INT, right, round, MPI_COMM_WORLD);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    check(got == 1000 * left + round, "a message of MPI's");
    check(*mine == 1000 * left + round, "a put");
    long sum = 0;
    MPI_Allreduce(mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    check(sum == 1000L * n * (n - 1) / 2 + (long)round * n, "a sum of MPI's over what GASNet put");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  barrier();
  if (me == 0) {
    /* Others leave meanwhile, which must not end this rank before its output is out. */
    usleep(100000);
    printf("both: passed\n");
  }
  if (by_program) MPI_Finalize();
  gasnet_exit(0);
  return 0;
}
