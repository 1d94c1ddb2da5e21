// -fsanitize=upc: a file is read beyond the end of an object.
// threads: 1 2
// static: no
// flags: -fsanitize=upc
// expect-runtime: beyond_file.upc:17)
// expect-stderr: writes 84 bytes of thread 0's shared memory, the last 4 of them after the end of the shared variable 'a' (80 bytes there)
#include <upc.h>
#include <upc_io.h>
#include "check.h"
shared [] int a[20];
shared int b[20 * THREADS];
int main(void)
{
  upc_file_t *f = upc_all_fopen("/dev/zero", UPC_RDONLY | UPC_INDIVIDUAL_FP, 0, NULL);
  CHECK(f != NULL);
  CHECK_EQ(upc_all_fread_shared(f, a, 0, sizeof(int), 20, 0), 80);
  CHECK_EQ(upc_all_fread_shared(f, a, 0, sizeof(int), 21, 0), 84);
  CHECK_EQ(b[0], 0);
  PASS();
}
