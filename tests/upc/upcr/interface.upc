// The runtime interface in use: every kind of pointer operation, access, completion, allocation, lock and barrier of upcr.h.
// files: _interface.trans.c
// flags: -extern-main
// expect: interface passed
int unused;
