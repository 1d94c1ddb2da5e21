// Every family of put, get, memset and value transfers, with every way to wait.
// run: 1 2 3 4 8 | says passed
// run: 2 3 | env GASNET_NEIGHBORHOOD=off | says passed
// run: 2 | env GASNET_CHECK=1 | says passed
#include <gasnet.h>

#include "check.h"

#define AREA 70000
static unsigned char *mine, *theirs;
static gasnet_node_t peer;

static unsigned pattern(unsigned seed, unsigned i) { return (seed * 31 + i * 7 + (i >> 8)) & 0xff; }

static void fill(unsigned char *p, size_t n, unsigned seed) {
  size_t i;
  for (i = 0; i < n; i++) p[i] = (unsigned char)pattern(seed, (unsigned)i);
}
static int matches(const unsigned char *p, size_t n, unsigned seed) {
  size_t i;
  for (i = 0; i < n; i++)
    if (p[i] != pattern(seed, (unsigned)i)) return 0;
  return 1;
}

/* puts by one way and gets by another, at an odd place, and looks at the bytes around */
static void transfer(int way, size_t n, size_t at, unsigned seed) {
  unsigned char *out = (unsigned char *)malloc(n + 2), *in = (unsigned char *)calloc(1, n + 2);
  gasnet_handle_t handle = GASNET_INVALID_HANDLE;
  fill(out, n, seed);
  in[n] = in[n + 1] = 0xEE;
  gasnet_put_val(peer, theirs + at + n, 0xAB, 1);
  switch (way) {
    case 0: gasnet_put(peer, theirs + at, out, n); break;
    case 1: gasnet_put_bulk(peer, theirs + at, out, n); break;
    case 2: handle = gasnet_put_nb(peer, theirs + at, out, n); memset(out, 0, n); break;
    case 3: handle = gasnet_put_nb_bulk(peer, theirs + at, out, n); break;
    case 4: gasnet_put_nbi(peer, theirs + at, out, n); memset(out, 0, n); gasnet_wait_syncnbi_puts(); break;
    case 5: gasnet_put_nbi_bulk(peer, theirs + at, out, n); gasnet_wait_syncnbi_all(); break;
    case 6:
      gasnet_begin_nbi_accessregion();
      gasnet_put_nbi_bulk(peer, theirs + at, out, n);
      handle = gasnet_end_nbi_accessregion();
      break;
  }
  while (gasnet_try_syncnb(handle) != GASNET_OK) {}
  handle = GASNET_INVALID_HANDLE;
  switch (way) {
    case 0: gasnet_get(in, peer, theirs + at, n); break;
    case 1: gasnet_get_bulk(in, peer, theirs + at, n); break;
    case 2: handle = gasnet_get_nb(in, peer, theirs + at, n); break;
    case 3: handle = gasnet_get_nb_bulk(in, peer, theirs + at, n); break;
    case 4: gasnet_get_nbi(in, peer, theirs + at, n); gasnet_wait_syncnbi_gets(); break;
    case 5: gasnet_get_nbi_bulk(in, peer, theirs + at, n); while (gasnet_try_syncnbi_all() != GASNET_OK) {} break;
    case 6:
      gasnet_begin_nbi_accessregion();
      gasnet_get_nbi_bulk(in, peer, theirs + at, n);
      handle = gasnet_end_nbi_accessregion();
      break;
  }
  gasnet_wait_syncnb(handle);
  CHECK(matches(in, n, seed));
  CHECK(in[n] == 0xEE && in[n + 1] == 0xEE);
  CHECK_EQUAL(gasnet_get_val(peer, theirs + at + n, 1), 0xAB);
  free(out);
  free(in);
}

static void values(void) {
  const gasnet_register_value_t value = 0xF1E2D3C4B5A69788ull;
  size_t n;
  for (n = 1; n <= 8; n++) {
    const gasnet_register_value_t expected = n == 8 ? value : value & (((gasnet_register_value_t)1 << (8 * n)) - 1);
    gasnet_valget_handle_t handle;
    gasnet_memset(peer, theirs, 0x77, 32);
    gasnet_put_val(peer, theirs + 3, value, n);
    CHECK(gasnet_get_val(peer, theirs + 3, n) == expected);
    CHECK_EQUAL(gasnet_get_val(peer, theirs + 3 + n, 1), 0x77);
    gasnet_wait_syncnb(gasnet_put_nb_val(peer, theirs + 11, value, n));
    gasnet_put_nbi_val(peer, theirs + 20, value, n);
    gasnet_wait_syncnbi_puts();
    handle = gasnet_get_nb_val(peer, theirs + 11, n);
    CHECK(gasnet_wait_syncnb_valget(handle) == expected);
    handle = gasnet_get_nb_val(peer, theirs + 20, n);
    CHECK(gasnet_wait_syncnb_valget(handle) == expected);
  }
}

static void memsets(void) {
  unsigned char in[300];
  int i;
  gasnet_memset(peer, theirs, 1, 300);
  gasnet_wait_syncnb(gasnet_memset_nb(peer, theirs + 100, 0x102, 100));
  gasnet_memset_nbi(peer, theirs + 200, -1, 100);
  gasnet_wait_syncnbi_puts();
  gasnet_get(in, peer, theirs, 300);
  for (i = 0; i < 300; i++) CHECK_EQUAL(in[i], i < 100 ? 1 : i < 200 ? 2 : 0xff);
}

static void lists(void) {
  enum { MANY = 65536 };
  static uint32_t in[MANY];
  gasnet_handle_t *handles = (gasnet_handle_t *)malloc(MANY * sizeof(*handles));
  gasnet_handle_t none[3] = { GASNET_INVALID_HANDLE, GASNET_INVALID_HANDLE, GASNET_INVALID_HANDLE };
  size_t i, left, many = MANY;
  OK(gasnet_try_syncnb(GASNET_INVALID_HANDLE));
  OK(gasnet_try_syncnb_all(none, 3));
  OK(gasnet_try_syncnb_some(none, 3));
  OK(gasnet_try_syncnb_all(NULL, 0));
  gasnet_wait_syncnb_some(none, 3);
  gasnet_wait_syncnb_all(none, 0);
  for (i = 0; i < many; i++) {
    uint32_t v = (uint32_t)(i * 2654435761u);
    handles[i] = gasnet_put_nb(peer, theirs + i * 4, &v, 4);
  }
  gasnet_wait_syncnb_all(handles, many);
  many = 2000; /* every turn of the next loop looks at all of them */
  for (i = 0; i < many; i++) handles[i] = gasnet_get_nb(&in[i], peer, theirs + i * 4, 4);
  do {
    (void)gasnet_try_syncnb_some(handles, many);
    for (left = i = 0; i < many; i++) left += handles[i] != GASNET_INVALID_HANDLE;
    if (left) gasnet_wait_syncnb_some(handles, many);
  } while (left);
  for (i = 0; i < many; i++) CHECK(in[i] == (uint32_t)(i * 2654435761u));
  many = MANY;
  for (i = 0; i < many; i++) {
    uint32_t v = (uint32_t)i;
    gasnet_put_nbi(peer, theirs + i * 4, &v, 4);
  }
  while (gasnet_try_syncnbi_puts() != GASNET_OK) {}
  gasnet_begin_nbi_accessregion();
  for (i = 0; i < many; i++) gasnet_get_nbi(&in[i], peer, theirs + i * 4, 4);
  handles[0] = gasnet_end_nbi_accessregion();
  while (gasnet_try_syncnb_all(handles, 1) != GASNET_OK) {}
  CHECK(handles[0] == GASNET_INVALID_HANDLE);
  for (i = 0; i < many; i++) CHECK(in[i] == i);
  free(handles);
}

int main(int argc, char **argv) {
  static const size_t sizes[] = { 0, 1, 2, 3, 4, 7, 8, 9, 63, 64, 65, 1000, 4096, 65535, 65536, 65537 };
  size_t s;
  int way;
  start(&argc, &argv, NULL, 0);
  mine = (unsigned char *)segment_of(gasnet_mynode());
  for (peer = 0; peer < gasnet_nodes(); peer++) {
    /* one writer at a time per segment: everybody works in the segment of the node `peer` further on */
    const gasnet_node_t step = peer;
    const gasnet_node_t target = (gasnet_mynode() + step) % gasnet_nodes();
    const gasnet_node_t keep = peer;
    barrier();
    peer = target;
    theirs = (unsigned char *)segment_of(target);
    for (way = 0; way <= 6; way++)
      for (s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
        transfer(way, sizes[s], (size_t)way * 5 + s, (unsigned)(way * 16 + (int)s + (int)gasnet_mynode()));
    values();
    memsets();
    if (step < 2) lists();
    peer = keep;
  }
  CHECK(mine != NULL && AREA < SEGMENT_BYTES);
  finish();
}
