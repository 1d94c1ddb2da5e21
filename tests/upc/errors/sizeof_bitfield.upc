// No sizes of bit-fields.
#include <upc.h>
struct s {
    int a : 3;
    int b;
};
shared struct s s;
struct s private;
int main(void)
{
    int n = upc_elemsizeof(s.b);
    n += upc_localsizeof(s.a); // expect-error:
    n += upc_blocksizeof(s.a); // expect-error:
    n += upc_elemsizeof(s.a); // expect-error:
    n += sizeof(s.a); // expect-error:
    n += sizeof private.a; // expect-error:
    return n;
}
