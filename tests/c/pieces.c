// Vector, indexed and strided put and get: a column of a matrix, listed elements, pieces of any length.
// run: 1 2 3 | says passed
// run: 3 | env GASNET_NEIGHBORHOOD=off | says passed
// std: c99 c++98
#include <gasnet.h>
#include <gasnet_tools.h>

#include "check.h"

#if SIZEOF_INT != 4 || SIZEOF_VOID_P != 8
  #error sizes that clients test
#endif

enum { ROWS = 40, COLUMNS = 30, CELLS = ROWS * COLUMNS };

/* completes in each of the ways */
static void complete(int how, gasnet_handle_t h) {
  if (how == 1) gasnet_wait_syncnb(h);
  if (how == 2) gasnet_wait_syncnbi_all();
}

/* Lists as text fit in the buffers that are asked for, whatever they hold. */
static void texts(void) {
  char buf[1000];
  gasnet_memvec_t list[2];
  void *const addrs[2] = {(void *)(uintptr_t)-1, (void *)(uintptr_t)-1};
  const size_t strides[2] = {(size_t)-1, (size_t)-1}, count[3] = {8, 3, 2};
  const ptrdiff_t far_apart[2] = {-8, 4096};
  list[0].addr = list[1].addr = (void *)(uintptr_t)-1;
  list[0].len = (size_t)-1;
  list[1].len = 8;
  CHECK(gasnett_format_memveclist(buf, 2, list) == 7);
  CHECK(strlen(buf) < gasnett_format_memveclist_bufsz(2) && strstr(buf, "2 pieces, 7 bytes:"));
  CHECK(gasnett_format_addrlist(buf, 2, addrs, 5) == 10);
  CHECK(strlen(buf) < gasnett_format_addrlist_bufsz(2) && strstr(buf, "2 pieces of 5 bytes:"));
  CHECK(gasnett_format_putsgets(buf, NULL, 1, addrs[0], strides, addrs[1], strides, count, 2) == 48);
  CHECK(strlen(buf) < gasnett_format_putsgets_bufsz(2) && strstr(buf, "48 bytes, node 1") && strstr(buf, "count=[8, 3, 2]"));
  CHECK(gasnett_format_putvgetv(buf, 3, 2, list, 1, list) == 7);
  CHECK(strlen(buf) < gasnett_format_putvgetv_bufsz(2, 1) && strstr(buf, "node 3, to 2 pieces, 7 bytes:") &&
        strstr(buf, ", from 1 pieces,"));
  CHECK(gasnett_format_putvgetv(buf, (gex_TM_t)NULL, 3, 2, list, 1, list) == 7 && strstr(buf, "node 3, to 2 pieces"));
  CHECK(gasnett_format_putigeti(buf, 4, 2, addrs, 5, 1, addrs, 10) == 10);
  CHECK(strlen(buf) < gasnett_format_putigeti_bufsz(2, 1) && strstr(buf, "node 4, to 2 pieces of 5 bytes:") &&
        strstr(buf, ", from 1 pieces of 10 bytes:"));
  CHECK(gasnett_format_putigeti(buf, (gex_TM_t)NULL, 4, 2, addrs, 5, 1, addrs, 10) == 10);
  gasnett_format_strides(buf, 2, far_apart);
  CHECK(strlen(buf) < gasnett_format_strides_bufsz(2) && strstr(buf, "[-8, 4096]"));
  CHECK(gasnett_release_version() == 2025080000 && strcmp(gasnett_release_version_str(), "2025.8.0") == 0);
}

int main(int argc, char **argv) {
  gasnet_seginfo_t *segments;
  gasnet_node_t right;
  double *far, local[CELLS], back[CELLS];
  int how, i, j;
  start(&argc, &argv, NULL, 0);
  texts();
  segments = (gasnet_seginfo_t *)calloc(gasnet_nodes(), sizeof(*segments));
  OK(gasnet_getSegmentInfo(segments, (int)gasnet_nodes()));
  right = (gasnet_mynode() + 1) % gasnet_nodes();
  /* nobody else writes to this part of it */
  far = (double *)segments[right].addr;
  for (how = 0; how < 3; how++) {
    gasnet_handle_t h = GASNET_INVALID_HANDLE;
    for (i = 0; i < CELLS; i++) local[i] = i + 10000.0 * how + gasnet_mynode();
    gasnet_memset(right, far, 0, sizeof(local));
    { /* columns 3 to 6 of rows 2 to 21 here become columns 20 to 23 of rows 11 to 30 there */
      size_t strides[1], count[2];
      strides[0] = COLUMNS * sizeof(double);
      count[0] = 4 * sizeof(double);
      count[1] = 20;
      if (how == 0) gasnet_puts_bulk(right, far + 11 * COLUMNS + 20, strides, local + 2 * COLUMNS + 3, strides, count, 1);
      if (how == 1) h = gasnet_puts_nb_bulk(right, far + 11 * COLUMNS + 20, strides, local + 2 * COLUMNS + 3, strides, count, 1);
      if (how == 2) gasnet_puts_nbi_bulk(right, far + 11 * COLUMNS + 20, strides, local + 2 * COLUMNS + 3, strides, count, 1);
      complete(how, h);
      gasnet_get(back, right, far, sizeof(back));
      for (i = 0; i < ROWS; i++)
        for (j = 0; j < COLUMNS; j++) {
          const int inside = i >= 11 && i < 31 && j >= 20 && j < 24;
          CHECK(back[i * COLUMNS + j] == (inside ? local[(i - 9) * COLUMNS + j - 17] : 0));
        }
      memset(back, 0, sizeof(back));
      if (how == 0) gasnet_gets_bulk(back, strides, right, far + 11 * COLUMNS + 20, strides, count, 1);
      if (how == 1) h = gasnet_gets_nb_bulk(back, strides, right, far + 11 * COLUMNS + 20, strides, count, 1);
      if (how == 2) gasnet_gets_nbi_bulk(back, strides, right, far + 11 * COLUMNS + 20, strides, count, 1);
      complete(how, h);
      for (i = 0; i < 20; i++)
        for (j = 0; j < 4; j++) CHECK(back[i * COLUMNS + j] == local[(i + 2) * COLUMNS + j + 3]);
      /* no levels: one contiguous piece */
      count[0] = 5 * sizeof(double);
      gasnet_puts_bulk(right, far, NULL, local + 7, NULL, count, 0);
      gasnet_gets_bulk(back, NULL, right, far, NULL, count, 0);
      CHECK(back[4] == local[11]);
    }
    { /* every third element, backwards on the other side, in chunks of different lengths */
      void *there[100], *here[50];
      for (i = 0; i < 100; i++) there[i] = far + 3 * (99 - i);
      for (i = 0; i < 50; i++) here[i] = local + 4 * i;
      if (how == 0) gasnet_puti_bulk(right, 100, there, sizeof(double), 50, here, 2 * sizeof(double));
      if (how == 1) h = gasnet_puti_nb_bulk(right, 100, there, sizeof(double), 50, here, 2 * sizeof(double));
      if (how == 2) gasnet_puti_nbi_bulk(right, 100, there, sizeof(double), 50, here, 2 * sizeof(double));
      complete(how, h);
      gasnet_get(back, right, far, sizeof(back));
      for (i = 0; i < 100; i++) CHECK(back[3 * (99 - i)] == local[4 * (i / 2) + i % 2]);
      memset(back, 0, sizeof(back));
      for (i = 0; i < 50; i++) here[i] = back + 4 * i;
      if (how == 0) gasnet_geti_bulk(50, here, 2 * sizeof(double), right, 100, there, sizeof(double));
      if (how == 1) h = gasnet_geti_nb_bulk(50, here, 2 * sizeof(double), right, 100, there, sizeof(double));
      if (how == 2) gasnet_geti_nbi_bulk(50, here, 2 * sizeof(double), right, 100, there, sizeof(double));
      complete(how, h);
      for (i = 0; i < 100; i++) CHECK(back[4 * (i / 2) + i % 2] == local[4 * (i / 2) + i % 2]);
    }
    { /* pieces of 0, 1, 2, ... elements on this side, two large ones on the other */
      gasnet_memvec_t here[20], there[2];
      size_t total = 0, at = 0;
      for (i = 0; i < 20; i++) {
        here[i].addr = local + at;
        here[i].len = (size_t)i * sizeof(double);
        total += (size_t)i;
        at += (size_t)i + 2;
      }
      there[0].addr = far + 500;
      there[0].len = 33 * sizeof(double);
      there[1].addr = far + 100;
      there[1].len = (total - 33) * sizeof(double);
      if (how == 0) gasnet_putv_bulk(right, 2, there, 20, here);
      if (how == 1) h = gasnet_putv_nb_bulk(right, 2, there, 20, here);
      if (how == 2) gasnet_putv_nbi_bulk(right, 2, there, 20, here);
      complete(how, h);
      memset(back, 0, sizeof(back));
      for (i = 0; i < 20; i++) here[i].addr = back + ((double *)here[i].addr - local);
      if (how == 0) gasnet_getv_bulk(20, here, right, 2, there);
      if (how == 1) h = gasnet_getv_nb_bulk(20, here, right, 2, there);
      if (how == 2) gasnet_getv_nbi_bulk(20, here, right, 2, there);
      complete(how, h);
      for (i = 0, at = 0; i < 20; i++) {
        for (j = 0; j < i; j++) CHECK(back[at + (size_t)j] == local[at + (size_t)j]);
        at += (size_t)i + 2;
      }
    }
  }
  free(segments);
  finish();
}
