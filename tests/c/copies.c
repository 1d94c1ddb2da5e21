// Inline transfers of every length up to some blocks, at every alignment: all their bytes and no others, and no warning of a
// small object whose length the compiler does not know.
// std: c99 gnu11 gnu2x c++11 gnu++20
// compiler: gcc clang
// run: 1 2 | says passed
// run: 2 | env GASNET_NEIGHBORHOOD=off | says passed
// run: 2 | env GASNET_CHECK=1 | says passed
#include <gasnet.h>

#include "check.h"

enum { LONGEST = 300, AROUND = 32 };

static unsigned char byte_of(size_t i) { return (unsigned char)(i * 37 + (i >> 8) + 1); }

static void around(const unsigned char *p, size_t at, size_t nbytes) {
  size_t i;
  for (i = 0; i < at; i++) CHECK_EQUAL(p[i], 0xEE);
  for (i = 0; i < nbytes; i++) CHECK_EQUAL(p[at + i], byte_of(i));
  for (i = at + nbytes; i < at + nbytes + AROUND; i++) CHECK_EQUAL(p[i], 0xEE);
}

static void one(gasnet_node_t peer, unsigned char *theirs, size_t nbytes, size_t from, size_t to) {
  static unsigned char out[LONGEST + 2 * AROUND], in[LONGEST + 2 * AROUND], got[LONGEST + 2 * AROUND];
  size_t i;
  for (i = 0; i < nbytes; i++) out[from + i] = byte_of(i);
  gasnet_memset(peer, theirs, 0xEE, sizeof(in));
  gasnet_put(peer, theirs + to, out + from, nbytes);
  gasnet_get(in, peer, theirs, sizeof(in));
  around(in, to, nbytes);
  memset(got, 0xEE, sizeof(got));
  gasnet_get(got + from, peer, theirs + to, nbytes);
  around(got, from, nbytes);
}

/* objects that are smaller than the lengths that an inline copy has code for */
static void small(gasnet_node_t peer, unsigned char *theirs) {
  volatile size_t unknown; /* to the compiler */
  size_t i, length;
  uint64_t out = 0x0807060504030201u, in = 0;
  uint8_t first = 0;
  for (i = 1; i <= 8; i++) {
    unknown = i;
    length = unknown;
    gasnet_put(peer, theirs, &out, length);
    gasnet_get(&in, peer, theirs, length);
    CHECK(memcmp(&in, &out, length) == 0);
    if (length == 1) {
      gasnet_get(&first, peer, theirs, length);
      CHECK_EQUAL(first, *(unsigned char *)&out);
    }
  }
}

int main(int argc, char **argv) {
  gasnet_node_t peer;
  unsigned char *theirs;
  size_t nbytes, at;
  start(&argc, &argv, NULL, 0);
  peer = right_neighbour();
  theirs = (unsigned char *)segment_of(peer);
  for (nbytes = 0; nbytes <= LONGEST; nbytes++)
    for (at = 0; at < 16; at += nbytes < 80 ? 1 : 5) one(peer, theirs, nbytes, at, (at * 7 + nbytes) % 16);
  small(peer, theirs);
  finish();
}
