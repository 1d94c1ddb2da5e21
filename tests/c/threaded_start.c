// A program that has threads before gasnet_init cannot be forked into ranks: it is told so, and how to start it.
// mode: par
// run: 2 | status 5 | says threads
// run: 1 | status 0 | says started alone
#include <gasnet.h>

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *idle(void *unused) {
  (void)unused;
  for (;;) pause();
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, idle, NULL) != 0) return 1;
  if (gasnet_init(&argc, &argv) != GASNET_OK) return 5;
  if (gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) != GASNET_OK) return 1;
  if (gasnet_nodes() == 1) printf("started alone\n");
  gasnet_exit(0);
  return 0;
}
