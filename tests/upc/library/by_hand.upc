// What a build by hand asks upcc for: the C compiler and its options for parts that include upcr.h, the linker, its options and libraries.
// threads: 2
// files: _by_hand.trans.c
// then: e() { $BIN/upcc --echo-var=$1; } && cd $SCRATCH && $(e GASNET_CC) $(e GASNET_CFLAGS) $(e GASNET_MISC_CFLAGS) $(e GASNET_CPPFLAGS) $(e GASNET_MISC_CPPFLAGS) -c -o part.o $SOURCES/_by_hand.trans.c && $BIN/upcc -c -I$SOURCES/.. -o main.o $SOURCES/by_hand.upc && $(e GASNET_LD) $(e GASNET_LDFLAGS) -o by_hand main.o part.o $(e LIBS) && $BIN/upcrun -n $COUNT ./by_hand | grep passed
#include "../check.h"

int part(void);

int main(void)
{
    CHECK_EQ(part(), MYTHREAD + 3);
    PASS();
}
