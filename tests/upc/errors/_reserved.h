/* A header of C that gets in the way of UPC's names. */
#ifndef RESERVED_H
#define RESERVED_H
  #  define THREADS 8
    /* over */ # /* several */ define /* comments */ \
    __UPC_STATIC_THREADS__ \
    2
#endif
