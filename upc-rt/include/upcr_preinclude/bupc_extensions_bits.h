/* bupc_extensions_bits.h: the flags of semaphores. Plain C. */
#ifndef _BUPC_EXTENSIONS_BITS_H
#define _BUPC_EXTENSIONS_BITS_H 1

#define BUPC_SEM_BOOLEAN   1
#define BUPC_SEM_INTEGER   2
#define BUPC_SEM_SPRODUCER 4
#define BUPC_SEM_MPRODUCER 8
#define BUPC_SEM_SCONSUMER 16
#define BUPC_SEM_MCONSUMER 32
#define BUPC_SEM_MAXVALUE  65535

#endif
