// Arguments, standard input on thread 0, environment on all.
// threads: 1 2 4
// args: one --two -n=3
// stdin: hello there
// env: PROGRAM_SETTING=some value
#include "check.h"
#include <string.h>

int main(int argc, char *argv[])
{
    CHECK_EQ(argc, 4);
    CHECK(strcmp(argv[1], "one") == 0);
    CHECK(strcmp(argv[2], "--two") == 0);
    CHECK(strcmp(argv[3], "-n=3") == 0);
    CHECK(argv[4] == NULL);
    CHECK(getenv("PROGRAM_SETTING") && strcmp(getenv("PROGRAM_SETTING"), "some value") == 0);
    char line[100] = "";
    if (MYTHREAD == 0) {
        CHECK(fgets(line, sizeof line, stdin) != NULL);
        CHECK(strcmp(line, "hello there\n") == 0);
    }
    PASS();
}
