// One mistake in a name, a type or a call draws one message, with what may have been meant.
// rule: types
upc_flags_t flags = 3; // expect-error: unknown type name `upc_flags_t`; include <upc.h>
shraed int x, *y, z[3]; // expect-error: unknown type name `shraed`
int types(void)
{
    upc_ticks start = 0; // expect-error: unknown type name `upc_ticks`
    node a, b[4], *c = &a; // expect-error: unknown type name `node`
    return flags + x + *y + z[0] + (int)start + a + b[1] + *c;
}
// rule: names
int names(int threads)
{
    upc_bariier; // expect-error: did you mean `upc_barrier`?
    return threds; // expect-error: did you mean `threads`?
    return (int)upc_alloc; // expect-error: include <upc.h>
    return UPCALLOC; // expect-error: is not declared
}
// rule: calls
static int three(int a, shared int *p, int b) { return a + *p + b; }
int calls(void)
{
    return three(1, 2); // expect-error: it takes 3, here are 2
}
int main(void) { return 0; }
