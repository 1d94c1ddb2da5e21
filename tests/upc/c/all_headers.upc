// All headers of ISO C and POSIX in one file, with UPC's, the optimiser and the checks of the C library.
// threads: 1
// flags: -O2 -D_FORTIFY_SOURCE=2 -D_GNU_SOURCE
#include <upc.h>
#include <upc_atomic.h>
#include <upc_castable.h>
#include <upc_collective.h>
#include <upc_io.h>
#include <upc_nb.h>
#include <upc_tick.h>
#include <aio.h>
#include <alloca.h>
#include <arpa/inet.h>
#include <assert.h>
#include <byteswap.h>
#include <complex.h>
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fenv.h>
#include <float.h>
#include <fnmatch.h>
#include <ftw.h>
#include <getopt.h>
#include <glob.h>
#include <grp.h>
#include <iconv.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <iso646.h>
#include <langinfo.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <locale.h>
#include <malloc.h>
#include <math.h>
#include <mqueue.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nl_types.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <regex.h>
#include <sched.h>
#include <search.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <syslog.h>
#include <termios.h>
#include <tgmath.h>
#include <threads.h>
#include <time.h>
#include <uchar.h>
#include <ucontext.h>
#include <unistd.h>
#include <utime.h>
#include <utmpx.h>
#include <wchar.h>
#include <wctype.h>
#include <wordexp.h>
#if defined __x86_64__
#include <immintrin.h>
#include <x86intrin.h>
#include <cpuid.h>
#endif
#include "check.h"
shared [] char text[40];
int main(void)
{
    char buffer[20];
    memset(buffer, 0, sizeof buffer);
    strcpy(buffer, "checked");
    strncat(buffer, " copy", 10);
    snprintf(buffer + 12, 8, "%d", 7);
    CHECK(strcmp(buffer, "checked copy7") == 0);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(3, &set);
    CHECK(FD_ISSET(3, &set) && htons(0x0102) == 0x0201 && bswap_32(1) == 1 << 24);
    mbstate_t state = {0};
    wchar_t wide[8];
    const char *from = "wide";
    CHECK_EQ(mbsrtowcs(wide, &from, 8, &state), 4);
    errno = 0;
    CHECK(isnan(sqrt(-1.0)) && isfinite(1.0) && fpclassify(0.0) == FP_ZERO && signbit(-1.0));
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    CHECK(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
    struct stat st;
    CHECK(stat("/", &st) == 0 && S_ISDIR(st.st_mode) && WIFEXITED(0) && major(makedev(3, 4)) == 3);
    upc_memput(text, buffer, sizeof buffer);
    CHECK_EQ(text[0], 'c');
    assert(text[1] == 'h');
    PASS();
}
