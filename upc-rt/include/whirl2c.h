/* whirl2c.h: the types and operators by which translated files name those of their intermediate language. */
#ifndef WHIRL2C_H
#define WHIRL2C_H 1
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef int8_t _INT8;
typedef int16_t _INT16;
typedef int32_t _INT32;
typedef int64_t _INT64;
typedef uint8_t _UINT8;
typedef uint16_t _UINT16;
typedef uint32_t _UINT32;
typedef uint64_t _UINT64;
typedef int32_t _BOOLEAN;
typedef float _IEEE32;
typedef double _IEEE64;
typedef long double _IEEE80;
typedef long double _IEEE128;
typedef long double _QUAD;
typedef struct { _IEEE32 realpart, imagpart; } _COMPLEX32;
typedef struct { _IEEE64 realpart, imagpart; } _COMPLEX64;
typedef struct { _QUAD realpart, imagpart; } _COMPLEXQD;
typedef char *_STRING;
typedef void *_POINTER;

#define __W2C_MIN(a, b) ((a) < (b) ? (a) : (b))
#define __W2C_MAX(a, b) ((a) > (b) ? (a) : (b))
#define _I4MIN(a, b) __W2C_MIN((_INT32)(a), (_INT32)(b))
#define _I8MIN(a, b) __W2C_MIN((_INT64)(a), (_INT64)(b))
#define _U4MIN(a, b) __W2C_MIN((_UINT32)(a), (_UINT32)(b))
#define _U8MIN(a, b) __W2C_MIN((_UINT64)(a), (_UINT64)(b))
#define _F4MIN(a, b) __W2C_MIN((_IEEE32)(a), (_IEEE32)(b))
#define _F8MIN(a, b) __W2C_MIN((_IEEE64)(a), (_IEEE64)(b))
#define _I4MAX(a, b) __W2C_MAX((_INT32)(a), (_INT32)(b))
#define _I8MAX(a, b) __W2C_MAX((_INT64)(a), (_INT64)(b))
#define _U4MAX(a, b) __W2C_MAX((_UINT32)(a), (_UINT32)(b))
#define _U8MAX(a, b) __W2C_MAX((_UINT64)(a), (_UINT64)(b))
#define _F4MAX(a, b) __W2C_MAX((_IEEE32)(a), (_IEEE32)(b))
#define _F8MAX(a, b) __W2C_MAX((_IEEE64)(a), (_IEEE64)(b))
#define _I4ABS(a) abs((_INT32)(a))
#define _I8ABS(a) llabs((_INT64)(a))
#define _F4ABS(a) fabsf(a)
#define _F8ABS(a) fabs(a)
#define _F4SQRT(a) sqrtf(a)
#define _F8SQRT(a) sqrt(a)
#define _F4RSQRT(a) (1.0f / sqrtf(a))
#define _F8RSQRT(a) (1.0 / sqrt(a))
#define _F4RECIP(a) (1.0f / (a))
#define _F8RECIP(a) (1.0 / (a))

#endif
