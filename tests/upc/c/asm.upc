// Inline assembly: operands, names, clobbers, labels; at file scope; in a header that is C.
// threads: 1 2
#include "check.h"
#if defined __x86_64__
#include "_asm.h"
__asm__(".globl from_assembly\n.type from_assembly, @function\nfrom_assembly:\n\tmovl $17, %eax\n\tret\n");
int from_assembly(void);
shared int sh[THREADS];
static int jumps(int x)
{
    asm goto("testl %0, %0\n\tjz %l[zero]" : : "r"(x) : "cc" : zero);
    return 1;
zero:
    return 2;
}
int main(void)
{
    int a = 3, b = 4, c;
    asm("leal (%1,%2), %0" : "=r"(c) : "r"(a), "r"(b));
    CHECK_EQ(c, 7);
    __asm__ __volatile__("addl %[by], %[to]" : [to] "+r"(a) : [by] "i"(5) : "cc");
    CHECK_EQ(a, 8);
    asm volatile("" ::: "memory");
    asm("" : "=m"(b) : "m"(a), "0"(b));
    CHECK_EQ(asm_in_header(41), 42);
    CHECK_EQ(from_assembly(), 17);
    CHECK(jumps(0) == 2 && jumps(5) == 1);
    sh[MYTHREAD] = 6;
    asm("imull %1, %0" : "=r"(c) : "r"(sh[MYTHREAD]), "0"(7));
    CHECK_EQ(c, 42);
    register long reg asm("r12") = 5;
    asm("addq $1, %0" : "+r"(reg));
    CHECK_EQ(reg, 6);
    PASS();
}
#else
int main(void) { PASS(); }
#endif
