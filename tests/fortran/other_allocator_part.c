// An allocator in the place of the C library's, which ends the program if it gets memory of anybody else.

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 64 << 20, HEAD = 32 };
static const uint64_t MARK = 0x616c6c6f636174ed;
static _Alignas(4096) unsigned char memory[ROOM];
static atomic_size_t used;

// In front of each block: the mark, and how many bytes it has. Nothing is used twice.
static void *take(size_t alignment, size_t bytes) {
  if (alignment < 16) alignment = 16;
  size_t whole = (bytes + HEAD + alignment + 15) & ~(size_t)15;
  size_t start = atomic_fetch_add(&used, whole);
  if (bytes > ROOM || start + whole > ROOM) return NULL;
  uintptr_t at = ((uintptr_t)memory + start + HEAD + alignment - 1) & ~(alignment - 1);
  ((uint64_t *)at)[-1] = MARK;
  ((uint64_t *)at)[-2] = bytes;
  return (void *)at;
}

static size_t size(void *at) {
  if (((uint64_t *)at)[-1] != MARK) {
    static const char text[] = "memory of another allocator\n";
    if (write(2, text, sizeof text - 1) < 0) {}
    abort();
  }
  return ((uint64_t *)at)[-2];
}

void *malloc(size_t bytes) { return take(16, bytes); }
void *calloc(size_t n, size_t bytes) { return n && bytes > ROOM / n ? NULL : take(16, n * bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return take(alignment, bytes); }
void *memalign(size_t alignment, size_t bytes) { return take(alignment, bytes); }
size_t malloc_usable_size(void *at) { return at ? size(at) : 0; }
int posix_memalign(void **to, size_t alignment, size_t bytes) {
  *to = take(alignment, bytes);
  return *to ? 0 : ENOMEM;
}
void free(void *at) {
  if (!at) return;
  size(at);
  ((uint64_t *)at)[-1] = 0;
}
void *realloc(void *at, size_t bytes) {
  if (!at) return malloc(bytes);
  size_t old = size(at);
  void *to = malloc(bytes);
  if (to) memcpy(to, at, old < bytes ? old : bytes);
  if (to) free(at);
  return to;
}
