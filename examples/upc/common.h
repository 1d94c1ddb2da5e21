/* Command-line sizes and a clock, shared by the examples. Plain C. */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One positional argument: where its value goes (holding the default) and what it may be. */
struct size {
    const char *name;
    long *value;
    long least, most;
};

static inline void print_usage(FILE *to, const char *program, const struct size *size, int count)
{
    fprintf(to, "usage: %s", program);
    for (int i = 0; i < count; i++)
        fprintf(to, " [%s", size[i].name);
    for (int i = 0; i < count; i++)
        fputc(']', to);
    for (int i = 0; i < count; i++)
        fprintf(to, "%s%s: %ld to %ld, default %ld", i ? "; " : "   ", size[i].name,
                size[i].least, size[i].most, *size[i].value);
    fputc('\n', to);
}

/* Read the sizes given on the command line. All threads see the same arguments, so all take the
   same way out; only the one with `speak` set prints. */
static inline void read_sizes(int argc, char **argv, int speak, const struct size *size, int count)
{
    const char *slash = strrchr(argv[0], '/');
    const char *program = slash ? slash + 1 : argv[0];

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            if (speak)
                print_usage(stdout, program, size, count);
            exit(0);
        }
    long read[8];
    for (int i = 1; i < argc; i++) {
        char *end = argv[i];
        int bad = i > count;
        if (!bad) {
            errno = 0;
            read[i - 1] = strtol(argv[i], &end, 10);
            bad = errno || end == argv[i] || *end || read[i - 1] < size[i - 1].least ||
                  read[i - 1] > size[i - 1].most;
        }
        if (bad) {
            if (speak) {
                if (i > count)
                    fprintf(stderr, "%s: too many arguments: %s\n", program, argv[i]);
                else
                    fprintf(stderr, "%s: bad %s: %s\n", program, size[i - 1].name, argv[i]);
                print_usage(stderr, program, size, count);
            }
            exit(2);
        }
    }
    for (int i = 1; i < argc; i++)
        *size[i - 1].value = read[i - 1];
}

/* Seconds since some fixed moment. */
static inline double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A 64-bit mixing function: random numbers that depend on the index alone, so that the input of a
   program is the same for every number of threads. */
static inline uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

#endif
