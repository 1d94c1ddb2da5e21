// What generic and incomplete pointers cannot do.
#include <upc.h>
struct later;
shared struct later *incomplete;
int main(void)
{
    shared void *p = 0, *q = 0;
    int r = p == q;
    r += p < q; // expect-error:
    r += incomplete > incomplete; // expect-error:
    p++; // expect-error:
    p = p + 1; // expect-error:
    r += p[1]; // expect-error:
    r += q - p; // expect-error:
    incomplete++; // expect-error:
    r += *p; // expect-error:
    r += sizeof *p; // expect-error:
    r += sizeof(void); // expect-error:
    r += sizeof(struct later); // expect-error:
    r += upc_localsizeof(shared struct later); // expect-error:
    return r;
}
