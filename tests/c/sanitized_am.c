// am.c under the sanitizers of addresses and of undefined behaviour, which watch the inline parts of gasnet_am.h.
// mode: par
// flags: -fsanitize=address,undefined -fno-sanitize-recover=all
// run: 1 2 | says passed
#include "am.c"
