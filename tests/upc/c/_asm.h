static inline int asm_in_header(int x)
{
    int y;
    __asm__("movl %1, %0\n\tincl %0" : "=&r"(y) : "g"(x) : "cc");
    return y;
}
