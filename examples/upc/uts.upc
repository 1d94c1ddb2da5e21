/* UTS: unbalanced tree search. Count the nodes of a tree whose shape nobody knows beforehand: the
   number of a node's children comes out of its random state. Threads that run dry steal.

   Each thread works on a private stack. When that is well filled it puts its oldest nodes, roots
   of the largest subtrees, into a pool in shared memory; a lock guards each pool. Thieves take
   half of what they find.

   What it shows: locks, strict variables as signals that may be read without a lock, structs moved
   by upc_memget, detecting that all work is done.

   Check: thread 0 counts the same tree by simple recursion. */
#include <upc_relaxed.h>
#include <sched.h>
#include <stdio.h>
#include "common.h"

typedef struct {
    uint64_t state;
    int children;
} node;

#define CHUNK 16 /* nodes released at a time */
#define POOL 256 /* places in a pool */

/* One pool for each thread, all POOL nodes of it on that thread. */
shared [POOL] node pool[THREADS][POOL];
upc_lock_t *shared pool_lock[THREADS];
/* How many nodes are in the pool. Written under the lock, read also without it: a strict access
   takes effect before anything that follows it. */
strict shared int available[THREADS];

/* How many threads may hold work. Zero means that the search is over. */
strict shared int working;
upc_lock_t *working_lock;

shared long counted[THREADS], stolen[THREADS];

static long root_children = 2000, grain = 100;

/* Every node but the root has four children with a probability of just under 1/4. The grain is the
   work that a node takes. */
static node make_node(uint64_t parent, int number)
{
    node made = {mix(parent + (uint64_t)number * 0x632be59bd9b4e019u), 0};
    for (long i = 0; i < grain; i++)
        made.state = mix(made.state);
    made.children = made.state % 10000 < 2470 ? 4 : 0;
    return made;
}

static long count_by_recursion(node of)
{
    long nodes = 1;
    for (int i = 0; i < of.children; i++)
        nodes += count_by_recursion(make_node(of.state, i));
    return nodes;
}

/* The private stack: nodes bottom .. top - 1. */
static node *stack;
static long bottom, top, room;

static void push(node n)
{
    if (top == room) {
        room = room ? 2 * room : 1024;
        stack = realloc(stack, room * sizeof *stack);
        if (!stack) {
            fprintf(stderr, "uts: out of memory\n");
            upc_global_exit(1);
        }
    }
    stack[top++] = n;
}

/* Give away the oldest nodes if there are plenty and the pool has room. */
static void release(void)
{
    if (top - bottom < 2 * CHUNK || available[MYTHREAD] > POOL - CHUNK)
        return;
    upc_lock(pool_lock[MYTHREAD]);
    const int have = available[MYTHREAD];
    if (have <= POOL - CHUNK) {
        memcpy((node *)&pool[MYTHREAD][have], stack + bottom, CHUNK * sizeof(node));
        bottom += CHUNK;
        available[MYTHREAD] = have + CHUNK;
    }
    upc_unlock(pool_lock[MYTHREAD]);
}

/* Move nodes from a pool to the (empty) private stack: half of what is there, or everything if the
   pool is this thread's own. */
static int take(int victim)
{
    node taken[POOL];
    upc_lock(pool_lock[victim]);
    const int have = available[victim];
    const int number = victim == MYTHREAD ? have : (have + 1) / 2;
    if (number > 0) {
        upc_memget(taken, &pool[victim][have - number], number * sizeof(node));
        available[victim] = have - number;
    }
    upc_unlock(pool_lock[victim]);
    bottom = top = 0;
    for (int i = 0; i < number; i++)
        push(taken[i]);
    return number;
}

static void add_working(int change)
{
    upc_lock(working_lock);
    working += change;
    upc_unlock(working_lock);
}

/* Find work elsewhere; 0 when there is none left anywhere. A thread that looks around does not
   count as working, but one that steals does, and from before it touches the pool: so nodes are
   never in the hands of a thread that does not count. */
static int steal(void)
{
    add_working(-1);
    while (working > 0) {
        for (int i = 1; i < THREADS; i++) {
            const int victim = (MYTHREAD + i) % THREADS;
            if (available[victim] == 0)
                continue;
            add_working(1);
            const int number = take(victim);
            if (number > 0) {
                stolen[MYTHREAD] += number;
                return 1;
            }
            add_working(-1);
        }
        sched_yield(); /* if threads outnumber cores, let one with work run */
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct size sizes[] = {{"ROOT_CHILDREN", &root_children, 1, 1000000},
                                 {"GRAIN", &grain, 0, 1000000}};
    read_sizes(argc, argv, MYTHREAD == 0, sizes, 2);

    pool_lock[MYTHREAD] = upc_global_lock_alloc();
    working_lock = upc_all_lock_alloc();
    if (MYTHREAD == 0)
        working = THREADS;
    const node root = {42, (int)root_children};
    if (MYTHREAD == 0)
        push(root);
    upc_barrier;

    const double start = seconds();
    long nodes = 0;
    do {
        while (top > bottom) {
            const node next = stack[--top];
            nodes++;
            for (int i = 0; i < next.children; i++)
                push(make_node(next.state, i));
            release();
        }
    } while (take(MYTHREAD) > 0 || steal());
    counted[MYTHREAD] = nodes;
    upc_barrier;
    const double elapsed = seconds() - start;

    if (MYTHREAD == 0) {
        long total = 0, moved = 0;
        for (int t = 0; t < THREADS; t++) {
            total += counted[t];
            moved += stolen[t];
        }
        const long expected = count_by_recursion(root);
        printf("uts: %ld nodes, %ld of them stolen, %d threads: %.3f s\n", total, moved, THREADS,
               elapsed);
        if (total != expected) {
            fprintf(stderr, "uts: counted %ld nodes, expected %ld\n", total, expected);
            upc_global_exit(1);
        }
        printf("verification: passed\n");
    }
    free(stack);
    upc_lock_free(pool_lock[MYTHREAD]);
    upc_all_lock_free(working_lock);
    return 0;
}
