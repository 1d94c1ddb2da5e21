// What C does to memory that this program's coarrays library has handed out.

#include <stdlib.h>

void *longer(int *at, size_t bytes) {
  int *moved = realloc(at, bytes);
  for (int i = 0; i < 100; i++)
    if (moved[i] != i + 1) abort();
  moved = realloc(moved, bytes * 20);
  for (int i = 0; i < 100; i++)
    if (moved[i] != i + 1) abort();
  return moved;
}

void gone(void *at) { free(at); }
