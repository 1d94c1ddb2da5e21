/* start RANKS BARRIERS: fork, meet, end. Prints the KiB that a rank occupies. */
#include "floor.h"

/* A field of /proc/self/smaps_rollup, in KiB. */
static long occupied(const char *field)
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, field, strlen(field)) == 0)
            kib = strtol(line + strlen(field), NULL, 10);
    if (f)
        fclose(f);
    return kib;
}

int main(int argc, char **argv)
{
    const int ranks = (int)argument(argc, argv, 1, 256);
    const long count = argument(argc, argv, 2, 100);
    struct central *b = shared_memory(sizeof *b);
    long *sum = shared_memory(2 * sizeof *sum);
    const int rank = start_ranks(ranks);
    for (long i = 0; i < count; i++)
        central_barrier(b, (unsigned)ranks);
    __atomic_fetch_add(&sum[0], occupied("Rss:"), __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum[1], occupied("Pss:"), __ATOMIC_RELAXED);
    central_barrier(b, (unsigned)ranks);
    if (rank == 0) {
        report("rss", (double)sum[0] / ranks);
        report("pss", (double)sum[1] / ranks);
    }
    end_ranks(rank);
}
