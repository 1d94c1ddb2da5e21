// Incomplete types in files named .c.
// files: _incomplete.c
// expect-error: incomplete
// static: no
int main(void) { return 0; }
