// Files that are open when the program ends are closed: what was written is there, what was to be deleted is not.
// threads: 1 3
// static: no
#include <upc_io.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "check.h"

int main(void)
{
  char name[64];
  sprintf(name, "upc_io_at_exit_%ld.tmp", (long)getppid());
  upc_file_t *f = upc_all_fopen(name, UPC_RDWR | UPC_INDIVIDUAL_FP | UPC_CREATE | UPC_TRUNC | UPC_DELETE_ON_CLOSE, 0, NULL);
  CHECK(f);
  long v = MYTHREAD;
  upc_all_fseek(f, 8 * MYTHREAD, UPC_SEEK_SET);
  CHECK_EQ(upc_all_fwrite_local(f, &v, 8, 1, 0), 8);
  CHECK(access(name, F_OK) == 0);
  upc_barrier;
  if (MYTHREAD == 0)
    printf("passed\n");
  return 0;
}
