// gdb prints shared variables by their names, their elements and members, and MYTHREAD and THREADS. With two threads, each
// prints what the other has.
// threads: 1
// static: no
// flags: -g
// gdb: print total
// gdb: break visit
// gdb: run
// gdb: print MYTHREAD + 10 * THREADS
// gdb: print total
// gdb: print cells
// gdb: print rows
// gdb: print matrix
// gdb: print points
// gdb: print hidden
// gdb: print kinds
// gdb: print calls
// gdb: print elsewhere
// gdb: print $upc(rows, 3) + $upc(total)
// gdb: print $upc(points, 1).n[1]
// gdb: print $upc(p, 4)
// gdb: upc-print matrix[1][cells[1] + 2*THREADS]
// gdb: upc-print points[MYTHREAD + 1].x
// gdb: print matrix[1][cells[1] + 2*THREADS] + total
// gdb: print -pretty on -- points[MYTHREAD + 1].n[1] * 2
// gdb: print/x cells[2]
// gdb: print hidden[1].text[0]
// gdb: print i + total + elsewhere[1]
// gdb: upc-print total
// gdb: upc-print matrix[1]
// gdb: upc-type rows
// gdb: upc-type matrix
// gdb: upc-type hidden
// gdb: break end if $upc(cells, 2) == 4
// gdb: continue
// gdb: up
// gdb: print once
// gdb: print calls
// gdb: continue
// then: sh $SOURCES/_print_shared.sh
// expect: = <the UPC program has not started>
// expect: = 10
// expect: = 42
// expect: = {0, 1, 4}
// expect: = {0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5}
// expect: = {[0][0] = 0, [0][1] = 1, [0][2] = 2, [0][3] = 3, [1][0] = 100, [1][1] = 101, [1][2] = 102, [1][3] = 103}
// expect: = {{x = 0, n = {0, 0, 0}, next = (null)}, {x = 2.5, n = {0, 7, 0}, next = (thread 0, phase 0, 0x
// expect: = {{text = "ab"}, {text = "cd"}}
// expect: = {GREEN}
// expect: = {0, 0}
// expect: = {7, 8}
// expect: = 43.5
// expect: = 7
// expect: = 2.5
// expect: 103
// expect: = 145
// expect: = 14
// expect: = 0x4
// expect: = 99 'c'
// expect: = 52
// expect-stderr: a shared array needs all its subscripts here
// expect: shared [4] double [10*THREADS]
// expect: shared [2] int [2][4*THREADS]
// expect: shared [] struct text [2]
// expect: Breakpoint 2, end (
// expect: = 5
// expect: = {0, 2}
// expect: exited normally
#include <upc.h>
#include <stdio.h>

struct point { double x; int n[3]; shared int *next; };
struct text { char text[3]; };
enum kind { RED, GREEN };

shared int total = 42;
shared int cells[3*THREADS];
shared [4] double rows[10*THREADS];
shared [2] int matrix[2][4*THREADS];
shared struct point points[2*THREADS];
static shared [] struct text hidden[2];
shared enum kind kinds[THREADS];
extern shared [] long elsewhere[2];

__attribute__((noinline)) static int end(int sum)
{
  return sum + 1;
}

__attribute__((noinline)) static int visit(shared [4] double *p, int i)
{
  static shared [] int calls[2];
  static shared int once = 5;
  upc_barrier;
  if (MYTHREAD == 0)
    calls[1] += i;
  upc_barrier;
  return end((int)p[i] + once + calls[1]);
}

int main(void)
{
  upc_forall(int i = 0; i < 3*THREADS; i++; &cells[i])
    cells[i] = i * i;
  upc_forall(int i = 0; i < 10*THREADS; i++; &rows[i])
    rows[i] = i / 2.0;
  if (MYTHREAD == 0) {
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 4*THREADS; j++)
        matrix[i][j] = 100*i + j;
    struct point p = { 2.5, { 0, 7, 0 }, &cells[2] };
    struct text first = { "ab" }, second = { "cd" };
    points[1] = p;
    hidden[0] = first;
    hidden[1] = second;
    elsewhere[0] = 7;
    elsewhere[1] = 8;
  }
  kinds[MYTHREAD] = GREEN;
  upc_barrier;
  printf("%d\n", visit(&rows[1], 2));
  return 0;
}

shared [] long elsewhere[2];
