/* Goes into a shared object that defines shared variables. NAME tells objects apart that are made of this file, VALUE is
   what variables of it start with. */
#include <upc.h>

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define OWN(what) JOIN(NAME, what)
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__;                                                                       \
    } while (0)

extern shared int in_program[THREADS];
shared int in_all;
shared int OWN(scalar);
shared int OWN(cyclic)[3 * THREADS];
shared [4] double OWN(blocked)[10 * THREADS];
shared [] char OWN(whole)[10000];
shared int OWN(given) = VALUE;
shared [2] int OWN(list)[4 * THREADS] = {1, 2, 3, VALUE};
shared int *shared OWN(linked) = &OWN(cyclic)[1];
static shared long hidden[THREADS];
shared int *OWN(pointer) = &OWN(given);
int OWN(calls) = 7;
static int kept;

static int inside(int add)
{
    static shared [] int total[3];
    static shared int start = VALUE + 1;
    if (MYTHREAD == THREADS - 1)
        total[2] += add;
    upc_barrier;
    return start + total[2];
}

/* All variables have their first values; this thread's private ones, too. The line of a check that fails, or 0. */
int OWN(fresh)(void)
{
    EXPECT(OWN(scalar) == 0 && OWN(given) == VALUE && OWN(list)[2] == 3 && OWN(list)[3] == VALUE);
    EXPECT(OWN(linked) == &OWN(cyclic)[1] && OWN(pointer) == &OWN(given) && *OWN(pointer) == VALUE);
    for (int i = 0; i < 3 * THREADS; i++)
        EXPECT(OWN(cyclic)[i] == 0);
    for (int i = 0; i < 10 * THREADS; i++)
        EXPECT(OWN(blocked)[i] == 0 && upc_threadof(&OWN(blocked)[i]) == i / 4 % THREADS);
    for (int i = 0; i < 10000; i++)
        EXPECT(OWN(whole)[i] == 0);
    EXPECT(hidden[THREADS - 1] == 0 && OWN(calls) == 7 && kept == 0);
    upc_barrier;
    return 0;
}

/* Threads write and read each other's. */
int OWN(use)(void)
{
    int next = (MYTHREAD + 1) % THREADS;
    OWN(calls) += MYTHREAD;
    kept = MYTHREAD + VALUE;
    hidden[MYTHREAD] = 1000 + MYTHREAD;
    if (MYTHREAD == THREADS - 1) {
        OWN(scalar) = VALUE + 3;
        OWN(whole)[9999] = 'z';
    }
    upc_forall(int i = 0; i < 3 * THREADS; i++; &OWN(cyclic)[i])
        OWN(cyclic)[i] = i + VALUE;
    upc_forall(int i = 0; i < 10 * THREADS; i++; &OWN(blocked)[i])
        OWN(blocked)[i] = i / 2.0;
    upc_barrier;
    EXPECT(hidden[next] == 1000 + next && OWN(scalar) == VALUE + 3 && OWN(whole)[9999] == 'z');
    for (int i = 0; i < 3 * THREADS; i++)
        EXPECT(OWN(cyclic)[i] == i + VALUE);
    for (int i = 0; i < 10 * THREADS; i++)
        EXPECT(OWN(blocked)[i] == i / 2.0);
    EXPECT(OWN(calls) == 7 + MYTHREAD && kept == MYTHREAD + VALUE);
    EXPECT(inside(5) == VALUE + 6 && in_program[next] == next);
    EXPECT(upc_localsizeof(OWN(cyclic)) == 3 * sizeof(int));
    upc_barrier;
    if (MYTHREAD == 0)
        in_all += VALUE;
    upc_barrier;
    return 0;
}
