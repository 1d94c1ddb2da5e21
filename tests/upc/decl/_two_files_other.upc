#include <upc.h>
#include "_two_files.uph"

shared int tentative;
shared int defined_there = 77;
shared [] int incomplete[7];
shared [4] double blocks[2 * THREADS];
static shared int own = 2;
extern int plain_c;

int read_tentative(void) { return tentative; }
int read_common(void) { return common.x; }
double read_block(int i) { return blocks[i]; }
shared int *give_own(void) { return &own; }
shared [] int *whole(void) { return incomplete; }
int read_plain_c(void) { return plain_c; }
