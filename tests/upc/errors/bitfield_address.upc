// The address of a bit-field.
#include <upc.h>
struct s {
    unsigned a : 3;
    int b;
};
shared struct s s;
int main(void)
{
    shared [] int *fine = &s.b;
    shared void *p = &s.a; // expect-error: bit-field
    shared struct s *q = &s;
    p = &q->a; // expect-error: bit-field
    return fine == p;
}
