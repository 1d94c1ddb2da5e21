// gasnet.h brings the system's headers that GASNet's own brings: clients use these names without including
// them.
// mode: seq par
// run: 1 | says passed: 4 letters, 0
#include <gasnet.h>

int main(int argc, char **argv) {
  size_t length = strlen("four");
  char *copy = (char *)malloc(length + 1);
  ssize_t written = 0;
  off_t at = 0;
  if (copy == NULL) abort();
  memcpy(copy, "four", length + 1);
  errno = 0;
  if (gasnet_init(&argc, &argv) != GASNET_OK || gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) != GASNET_OK) abort();
  if (getpid() <= 0 || (uint64_t)INT_MAX > UINT64_MAX || PATH_MAX < 256 || errno == EINVAL) abort();
  sleep(0);
  printf("passed: %" PRIu64 " letters, %d\n", (uint64_t)length, (int)(written + at));
  free(copy);
  gasnet_exit(0);
  return 0;
}
