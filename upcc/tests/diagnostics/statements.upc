// dynamic THREADS
struct s { int x; } s; double d; int *p; shared int *q; void nothing(void);
void f(void)
{
    barrier; barrier_notify; barrier_wait; fence; forall;
    upc_forall (int i = 0; i < 3; i++; d) ; upc_forall (;;; s) ; upc_forall (;;; p) ; upc_forall (;;; q) ;
    upc_barrier s; upc_notify nothing(); upc_wait 1.5; upc_barrier
    upc_fence
}
int g(void) { return; }
void h(void) { return 1; }
int main(void)
{
    break; continue; case 1: default: ;
    switch (1) { case 1: case 1: case 2 ... 5: case 4: default: default: ; }
    switch (d) { }
    goto nowhere;
    twice: ; twice: ;
    if (s) ;
    while (nothing()) ;
    else ;
    return;
}
#pragma upc strict junk
#pragma upc
#pragma upc lenient
void k(void) { int i;
#pragma upc strict
    i = (
#pragma upc relaxed
      1); }
#pragma upc end_upc_only
