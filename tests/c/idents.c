// Tools that read executables (UPC++'s upcxx-run) expect one line of each kind, of however many objects a program is made.
// mode: seq par
// compiler: gcc clang
// flags: -O0
// with: idents_part.c
// run: 2 | says passed
#include <gasnetex.h>

#include "check.h"

extern int part(void);

/* How often the running executable contains the text of a key, which must not be in it as written here. */
static int count(const char *kind) {
  static char text[1 << 16];
  char key[64];
  const size_t len = (size_t)snprintf(key, sizeof(key), "$%s: ", kind);
  size_t have = 0, got;
  int found = 0;
  FILE *file = fopen("/proc/self/exe", "rb");
  CHECK(file != NULL);
  while (file != NULL && (got = fread(text + have, 1, sizeof(text) - have, file)) > 0) {
    size_t i;
    have += got;
    for (i = 0; i + len <= have; i++) found += memcmp(text + i, key, len) == 0;
    /* what may be the beginning of a key */
    have = have < len ? have : len - 1;
    memmove(text, text + i, have);
  }
  if (file != NULL) fclose(file);
  return found;
}

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t ep;
  gex_TM_t world;
  OK(gex_Client_Init(&client, &ep, &world, "IDENTS", &argc, &argv, 0));
  CHECK_EQUAL(part(), gex_TM_QuerySize(world));
  CHECK_EQUAL(count("GASNetConduitName"), 1);
  CHECK_EQUAL(count("GASNetThreadModel"), 1);
  CHECK_EQUAL(count("GASNetSegment"), 1);
  finish();
  return 0;
}
