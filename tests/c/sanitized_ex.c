// ex_random.c under the sanitizers of addresses and of undefined behaviour, which watch the inline parts of gasnetex.h.
// mode: par
// flags: -fsanitize=address,undefined -fno-sanitize-recover=all
// run: 2 | args 1 6 | says passed
// run: 3 | args 4 4 | env GASNET_NEIGHBORHOOD=off | says passed
#include "ex_random.c"
