// The other object of idents.c.
#include <gasnetex.h>

int part(void);
int part(void) { return (int)gex_System_QueryJobSize(); }
