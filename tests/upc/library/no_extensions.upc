// Without the extensions their names are the program's.
#define BUPC_DISABLE_EXTENSIONS 1
#include <upc.h>
#include <stdio.h>
static int bupc_poll(void) { return 4; }
struct bupc_handle_t { int bupc_sem_t; };
int main(void)
{
  struct bupc_handle_t upc_dump_shared = { 1 };
  upc_barrier;
  if (MYTHREAD == 0 && bupc_poll() + upc_dump_shared.bupc_sem_t == 5)
    printf("passed\n");
  return 0;
}
