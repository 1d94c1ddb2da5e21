// The runtime interface with pointers-to-shared of 16 bytes.
// files: _interface.trans.c _stencil_part.trans.c
// flags: -extern-main -fupc-pts=struct
// expect: interface passed
int unused;
