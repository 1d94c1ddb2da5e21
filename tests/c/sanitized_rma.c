// rma.c under the sanitizers of addresses and of undefined behaviour, which watch the inline parts of gasnet.h.
// mode: par
// flags: -fsanitize=address,undefined -fno-sanitize-recover=all
// run: 1 2 | says passed
// run: 2 | env GASNET_NEIGHBORHOOD=off | says passed
#include "rma.c"
