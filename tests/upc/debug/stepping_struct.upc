// The same with pointers-to-shared of 16 bytes.
// threads: 1
// static: no
// flags: -g -O0 -fupc-pts=struct
// gdb: break visit
// gdb: run
// gdb: print p
// gdb: print head
// gdb: upc-type p
// gdb: upc-print p
// gdb: next
// gdb: next
// gdb: next
// gdb: finish
// gdb: print nothing
// gdb: continue
// expect: visit (p=(thread 0, phase 3, 0x
// expect: = {value = 7, next = (thread 0, phase 3, 0x
// expect: shared [4] int *
// expect: 1234
// expect: int sum = 0;
// expect: sum += p[0];
// expect: sum += head.value;
// expect: return sum;
// expect: = (null)
// expect: 1241 here
// expect: exited normally
#include <upc.h>
#include <stdio.h>

shared [4] int table[4*THREADS];
struct node { int value; shared [4] int *next; };

int visit(shared [4] int *p, struct node head)
{
  int sum = 0;
  sum += p[0];
  sum += head.value;
  return sum;
}

int main(void)
{
  shared [4] int *q = &table[3];
  shared void *nothing = NULL;
  struct node head = { 7, q };
  table[3] = 1234;
  printf("%d here\n", visit(q, head) + (nothing != NULL));
  return 0;
}
