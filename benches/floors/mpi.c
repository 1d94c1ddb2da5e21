/* mpi [BYTES]: two MPI processes toss a message of so many bytes to and fro (MPI_Send, MPI_Recv), and one
   puts 8 bytes and 1 MiB into the other's window (MPI_Put, MPI_Win_flush), which waits in MPI meanwhile.
   Prints ns per round trip and per put of 8 bytes, and bytes per ns. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 5, MIB = 1 << 20 };

/* Process 1 is inside MPI until process 0 is done. */
static void meet(void) { MPI_Barrier(MPI_COMM_WORLD); }

static double puts_of(MPI_Win window, const char *from, int bytes, int count)
{
    meet();
    const double start = MPI_Wtime();
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < count && rank == 0; i++) {
        MPI_Put(from, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
        MPI_Win_flush(1, window);
    }
    const double each = (MPI_Wtime() - start) * 1e9 / count;
    meet();
    return each;
}

int main(int argc, char **argv)
{
    const int bytes = argc > 1 ? atoi(argv[1]) : 32, count = 20000;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    static char message[65536];
    char *const from = malloc(MIB), *const to = malloc(MIB);
    memset(from, 1, MIB);
    memset(to, 2, MIB);
    MPI_Win window;
    MPI_Win_create(to, MIB, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_lock_all(0, window);
    for (int batch = -1; batch < BATCHES; batch++) {
        meet();
        const double start = MPI_Wtime();
        for (int i = 0; i < count; i++) {
            if (rank == 0)
                MPI_Send(message, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(message, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 1)
                MPI_Send(message, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
        const double rtt = (MPI_Wtime() - start) * 1e9 / count;
        const double small = puts_of(window, from, 8, 2000), large = puts_of(window, from, MIB, 200);
        if (rank == 0 && batch >= 0)
            printf("rtt %.6g\nput8 %.6g\nbw %.6g\n", rtt, small, MIB / large);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
