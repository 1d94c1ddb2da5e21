// Objects carry the interface they were compiled for; linking compares.
// threads: 1
// static: no
// files: _old_config.trans.c
// expect-link-error: VERSION 3.
int old(void);
int main(void) { return old(); }
