// Writes of bytes and short words by different threads, side by side, do not disturb each other.
// threads: 2 3 5 8
#include "check.h"
shared [] char bytes[64];
shared [] short words[64];
struct cell {
    char a, b;
    short c;
    unsigned low : 4;
    unsigned : 0;
    unsigned high : 4;
};
shared [] struct cell cells[8];
int main(void)
{
    for (int round = 0; round < 200; round++) {
        for (int i = MYTHREAD; i < 64; i += THREADS) {
            bytes[i] = (char)(round + i);
            words[i] = (short)(round * i);
        }
        for (int i = 0; i < 8; i++) {
            if (MYTHREAD == 0) {
                cells[i].a = (char)round;
                cells[i].low = round;
            }
            if (MYTHREAD == 1) {
                cells[i].b = (char)-round;
                cells[i].high = round + 1;
            }
            if (MYTHREAD == THREADS - 1)
                cells[i].c = (short)(7 * round);
        }
        upc_barrier;
        for (int i = 0; i < 64; i++) {
            CHECK_EQ(bytes[i], (char)(round + i));
            CHECK_EQ(words[i], (short)(round * i));
        }
        for (int i = 0; i < 8; i++) {
            CHECK(cells[i].a == (char)round && cells[i].b == (char)-round);
            CHECK_EQ(cells[i].c, (short)(7 * round));
            CHECK_EQ(cells[i].low, round % 16);
            CHECK_EQ(cells[i].high, (round + 1) % 16);
        }
        upc_barrier;
    }
    PASS();
}
