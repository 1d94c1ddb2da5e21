// A function nobody defines is an error at the latest when linking.
// expect-link-error: no_such_function
#include <upc.h>
int main(void) { return no_such_function(1); }
