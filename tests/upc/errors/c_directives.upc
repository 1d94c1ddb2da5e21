// Errors that the preprocessor reports.
// expect-error: asked for
// static: no
#error asked for
int main(void) { return 0; }
