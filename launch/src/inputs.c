/* Loaded into ranks that are recorded or replayed: random numbers from a seed, and times of which the
 * recording knows. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Set by the runtime: called with a clock and the time that it shows, which it may change. */
void (*gasneti_clock_hook)(void *context, int clock, struct timespec *now);
void *gasneti_clock_context;

/* For debuggers (see.py), kept by the runtime: the event that comes next, the one before which to stop, and the
 * sender of the last message plus one with its handler. */
uint64_t gasneti_replay[4];

static uint64_t seed;
static uint64_t drawn;
static int (*real_clock)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("GASNETI_SEED");
    if (text) seed = strtoull(text, NULL, 16);
    real_clock = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
}

/* SplitMix64. */
static uint64_t next(void) {
    uint64_t z = seed + 0x9e3779b97f4a7c15u * (__atomic_fetch_add(&drawn, 1, __ATOMIC_RELAXED) + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

ssize_t getrandom(void *buffer, size_t length, unsigned flags) {
    unsigned char *at = buffer;
    size_t left = length;
    (void)flags;
    while (left > 0) {
        uint64_t word = next();
        size_t now = left < sizeof word ? left : sizeof word;
        memcpy(at, &word, now);
        at += now;
        left -= now;
    }
    return (ssize_t)length;
}

int getentropy(void *buffer, size_t length) {
    getrandom(buffer, length, 0);
    return 0;
}

/* The random numbers that programs read from the system's files: which descriptors are theirs. */
enum { DESCRIPTORS = 1024 };
static unsigned char is_random[DESCRIPTORS];

static int is_random_file(const char *path) {
    return path && (!strcmp(path, "/dev/urandom") || !strcmp(path, "/dev/random"));
}

static int noted(const char *path, int fd) {
    if (fd >= 0 && fd < DESCRIPTORS) __atomic_store_n(&is_random[fd], is_random_file(path), __ATOMIC_RELAXED);
    return fd;
}

/* The function of this name that this library stands before. */
#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* The mode is there if the flags ask for it. */
#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        mode_t mode = 0; \
        if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
            va_list more; \
            va_start(more, flags); \
            mode = va_arg(more, mode_t); \
            va_end(more); \
        } \
        return noted(path, real(path, flags, mode)); \
    }
OPENS(open)
OPENS(open64)

int close(int fd) {
    REAL(close);
    noted(NULL, fd);
    return real(fd);
}

ssize_t read(int fd, void *buffer, size_t length) {
    REAL(read);
    if (fd >= 0 && fd < DESCRIPTORS && __atomic_load_n(&is_random[fd], __ATOMIC_RELAXED))
        return getrandom(buffer, length, 0);
    return real(fd, buffer, length);
}

static ssize_t read_random(void *cookie, char *buffer, size_t length) {
    (void)cookie;
    return getrandom(buffer, length, 0);
}

static FILE *open_random(void) {
    cookie_io_functions_t functions = {.read = read_random};
    return fopencookie(NULL, "r", functions);
}

FILE *fopen(const char *restrict path, const char *restrict mode) {
    REAL(fopen);
    return is_random_file(path) ? open_random() : real(path, mode);
}

FILE *fopen64(const char *restrict path, const char *restrict mode) {
    REAL(fopen64);
    return is_random_file(path) ? open_random() : real(path, mode);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!real_clock) begin();
    int failed = real_clock(clock, now);
    if (!failed && gasneti_clock_hook) gasneti_clock_hook(gasneti_clock_context, clock, now);
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec exact;
    if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
    if (now) *now = exact.tv_sec;
    return exact.tv_sec;
}
