// Copies of several pieces only start: they come back though the other thread, which has to help, does not listen.
// threads: 2
// static: no
// env: GASNET_CONDUIT=smp
// env: GASNET_NEIGHBORHOOD=off
// env: GASNET_CHECK=1
#include "../check.h"
#include <bupc_extensions.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KINDS 12
#define ROOM 64
/* for every kind of copy a room on each thread, and one of private memory */
shared [] char *shared room[THREADS];
static shared [] char *rooms[2];
static char mine[KINDS][ROOM], want[KINDS][ROOM];

static const char *file(const char *name)
{
    static char path[2][400];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[0], "%s/%s", getenv("SCRATCH"), name);
    return path[turn];
}

static void create(const char *name)
{
    FILE *f = fopen(file(name), "w");
    CHECK(f != NULL);
    fclose(f);
}

/* Without a call of the runtime. */
static void wait_for(const char *name)
{
    while (access(file(name), F_OK) != 0)
        usleep(1000);
    unlink(file(name));
}

/* Pieces of 4 bytes: at 0, 16 and 32 of the source they go to 0, 8 and 16. */
#define PIECES 3
#define PIECE 4
#define AT(i) ((i) * 16)
#define TO(i) ((i) * 8)

static bupc_handle_t start(int kind)
{
    const size_t from_stride[1] = { 16 }, to_stride[1] = { 8 }, count[2] = { PIECE, PIECES };
    shared [] char *here = rooms[0] + kind * ROOM, *there = rooms[1] + kind * ROOM;
    bupc_smemvec_t there_from[PIECES], there_to[PIECES], here_from[PIECES];
    bupc_pmemvec_t from[PIECES], to[PIECES];
    shared void *there_put[PIECES];
    shared const void *there_at[PIECES], *here_at[PIECES];
    const void *at[PIECES];
    void *put[PIECES];
    char *m = mine[kind];
    for (int i = 0; i < PIECES; i++) {
        there_at[i] = there_from[i].addr = there + AT(i);
        there_to[i].addr = there_put[i] = there + TO(i);
        here_at[i] = here_from[i].addr = here + AT(i);
        from[i].addr = m + AT(i);
        to[i].addr = m + TO(i);
        there_from[i].len = there_to[i].len = here_from[i].len = from[i].len = to[i].len = PIECE;
        at[i] = m + AT(i);
        put[i] = m + TO(i);
    }
    switch (kind) {
    case 0: return bupc_memget_vlist_async(PIECES, to, PIECES, there_from);
    case 1: return bupc_memget_ilist_async(PIECES, put, PIECE, PIECES, there_at, PIECE);
    case 2: return bupc_memget_fstrided_async(m, PIECE, 8, PIECES, there, PIECE, 16, PIECES);
    case 3: return bupc_memget_strided_async(m, to_stride, there, from_stride, count, 1);
    case 4: return bupc_memput_vlist_async(PIECES, there_to, PIECES, from);
    case 5: return bupc_memput_ilist_async(PIECES, there_put, PIECE, PIECES, at, PIECE);
    case 6: return bupc_memput_fstrided_async(there, PIECE, 8, PIECES, m, PIECE, 16, PIECES);
    case 7: return bupc_memput_strided_async(there, to_stride, m, from_stride, count, 1);
    case 8: return bupc_memcpy_vlist_async(PIECES, there_to, PIECES, here_from);
    case 9: return bupc_memcpy_ilist_async(PIECES, there_put, PIECE, PIECES, here_at, PIECE);
    case 10: return bupc_memcpy_fstrided_async(there, PIECE, 8, PIECES, here, PIECE, 16, PIECES);
    default: return bupc_memcpy_strided_async(there, to_stride, here, from_stride, count, 1);
    }
}

static char letter(int thread, int kind, int i) { return (char)(thread * 100 + kind * 7 + i); }

int main(void)
{
    room[MYTHREAD] = upc_alloc(KINDS * ROOM);
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < ROOM; i++) {
            room[MYTHREAD][k * ROOM + i] = letter(MYTHREAD, k, i);
            mine[k][i] = letter(0, k, i);
            /* what ends up: of gets in private memory, else in thread 1's room */
            want[k][i] = letter(k >= 4, k, i);
        }
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < PIECES * PIECE; i++)
            want[k][TO(i / PIECE) + i % PIECE] = letter(k < 4, k, AT(i / PIECE) + i % PIECE);
    upc_barrier;
    rooms[0] = room[0];
    rooms[1] = room[1];
    upc_barrier;
    if (MYTHREAD == 1) {
        create("asleep");
        wait_for("started");
    } else {
        bupc_handle_t handles[KINDS];
        wait_for("asleep");
        for (int k = 0; k < KINDS; k++)
            handles[k] = start(k);
        for (int k = 0; k < KINDS; k++)
            CHECK(!bupc_trysync(handles[k]));
        create("started");
        bupc_waitsync(handles[0]);
        bupc_waitsync_all(handles + 1, KINDS - 1);
        for (int k = 0; k < 4; k++)
            CHECK(memcmp(mine[k], want[k], ROOM) == 0);
    }
    upc_barrier;
    if (MYTHREAD == 1)
        for (int k = 4; k < KINDS; k++)
            CHECK(memcmp((char *)(room[1] + k * ROOM), want[k], ROOM) == 0);
    PASS();
}
