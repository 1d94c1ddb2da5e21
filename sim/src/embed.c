/* Linked into programs that run on the simulated cluster as shared objects: the end of one of them is the end of a simulated
   rank, not of the process that simulates all of them. */
#include <stdlib.h>

static void (*leave)(int);
static struct { void (*plain)(void); void (*full)(int, void *); void *argument; } hooks[64];
static int count;

void gasnet_embed_leave_v1(void (*how)(int)) { leave = how; }

int on_exit(void (*hook)(int, void *), void *argument) {
  if (count == 64) return -1;
  hooks[count].plain = 0;
  hooks[count].full = hook;
  hooks[count++].argument = argument;
  return 0;
}

int atexit(void (*hook)(void)) {
  if (count == 64) return -1;
  hooks[count].full = 0;
  hooks[count++].plain = hook;
  return 0;
}

__attribute__((noreturn)) void _exit(int code) {
  for (;;) leave(code);
}

void exit(int code) {
  while (count > 0) {
    count--;
    if (hooks[count].full) hooks[count].full(code, hooks[count].argument);
    else hooks[count].plain();
  }
  _exit(code);
}
