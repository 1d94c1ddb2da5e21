/* The parameters of active messages, for macros that make one function for each number of arguments.
 * Part of gasnetex.h; do not include it alone. */
#ifndef _GASNET_ARGS_H
#define _GASNET_ARGS_H

#include "gasnet_types.h"

/* GASNETI_Pn: n parameters after others; GASNETI_Ln: their names; GASNETI_An: an array gasneti_a of them */
#define GASNETI_P0
#define GASNETI_P1 , gex_AM_Arg_t gasneti_a0
#define GASNETI_P2 GASNETI_P1 , gex_AM_Arg_t gasneti_a1
#define GASNETI_P3 GASNETI_P2 , gex_AM_Arg_t gasneti_a2
#define GASNETI_P4 GASNETI_P3 , gex_AM_Arg_t gasneti_a3
#define GASNETI_P5 GASNETI_P4 , gex_AM_Arg_t gasneti_a4
#define GASNETI_P6 GASNETI_P5 , gex_AM_Arg_t gasneti_a5
#define GASNETI_P7 GASNETI_P6 , gex_AM_Arg_t gasneti_a6
#define GASNETI_P8 GASNETI_P7 , gex_AM_Arg_t gasneti_a7
#define GASNETI_P9 GASNETI_P8 , gex_AM_Arg_t gasneti_a8
#define GASNETI_P10 GASNETI_P9 , gex_AM_Arg_t gasneti_a9
#define GASNETI_P11 GASNETI_P10 , gex_AM_Arg_t gasneti_a10
#define GASNETI_P12 GASNETI_P11 , gex_AM_Arg_t gasneti_a11
#define GASNETI_P13 GASNETI_P12 , gex_AM_Arg_t gasneti_a12
#define GASNETI_P14 GASNETI_P13 , gex_AM_Arg_t gasneti_a13
#define GASNETI_P15 GASNETI_P14 , gex_AM_Arg_t gasneti_a14
#define GASNETI_P16 GASNETI_P15 , gex_AM_Arg_t gasneti_a15
#define GASNETI_L1 gasneti_a0
#define GASNETI_L2 GASNETI_L1, gasneti_a1
#define GASNETI_L3 GASNETI_L2, gasneti_a2
#define GASNETI_L4 GASNETI_L3, gasneti_a3
#define GASNETI_L5 GASNETI_L4, gasneti_a4
#define GASNETI_L6 GASNETI_L5, gasneti_a5
#define GASNETI_L7 GASNETI_L6, gasneti_a6
#define GASNETI_L8 GASNETI_L7, gasneti_a7
#define GASNETI_L9 GASNETI_L8, gasneti_a8
#define GASNETI_L10 GASNETI_L9, gasneti_a9
#define GASNETI_L11 GASNETI_L10, gasneti_a10
#define GASNETI_L12 GASNETI_L11, gasneti_a11
#define GASNETI_L13 GASNETI_L12, gasneti_a12
#define GASNETI_L14 GASNETI_L13, gasneti_a13
#define GASNETI_L15 GASNETI_L14, gasneti_a14
#define GASNETI_L16 GASNETI_L15, gasneti_a15

#define GASNETI_ARRAY(M) const gex_AM_Arg_t gasneti_a[M] = { GASNETI_PASTE(GASNETI_L, M) };
#define GASNETI_A0 const gex_AM_Arg_t *const gasneti_a = NULL;
#define GASNETI_A1 GASNETI_ARRAY(1)
#define GASNETI_A2 GASNETI_ARRAY(2)
#define GASNETI_A3 GASNETI_ARRAY(3)
#define GASNETI_A4 GASNETI_ARRAY(4)
#define GASNETI_A5 GASNETI_ARRAY(5)
#define GASNETI_A6 GASNETI_ARRAY(6)
#define GASNETI_A7 GASNETI_ARRAY(7)
#define GASNETI_A8 GASNETI_ARRAY(8)
#define GASNETI_A9 GASNETI_ARRAY(9)
#define GASNETI_A10 GASNETI_ARRAY(10)
#define GASNETI_A11 GASNETI_ARRAY(11)
#define GASNETI_A12 GASNETI_ARRAY(12)
#define GASNETI_A13 GASNETI_ARRAY(13)
#define GASNETI_A14 GASNETI_ARRAY(14)
#define GASNETI_A15 GASNETI_ARRAY(15)
#define GASNETI_A16 GASNETI_ARRAY(16)

/* FAMILY(n, parameters, array) for every number of arguments */
#define GASNETI_FOR_COUNTS(FAMILY) \
  FAMILY(0, GASNETI_P0, GASNETI_A0) \
  FAMILY(1, GASNETI_P1, GASNETI_A1) \
  FAMILY(2, GASNETI_P2, GASNETI_A2) \
  FAMILY(3, GASNETI_P3, GASNETI_A3) \
  FAMILY(4, GASNETI_P4, GASNETI_A4) \
  FAMILY(5, GASNETI_P5, GASNETI_A5) \
  FAMILY(6, GASNETI_P6, GASNETI_A6) \
  FAMILY(7, GASNETI_P7, GASNETI_A7) \
  FAMILY(8, GASNETI_P8, GASNETI_A8) \
  FAMILY(9, GASNETI_P9, GASNETI_A9) \
  FAMILY(10, GASNETI_P10, GASNETI_A10) \
  FAMILY(11, GASNETI_P11, GASNETI_A11) \
  FAMILY(12, GASNETI_P12, GASNETI_A12) \
  FAMILY(13, GASNETI_P13, GASNETI_A13) \
  FAMILY(14, GASNETI_P14, GASNETI_A14) \
  FAMILY(15, GASNETI_P15, GASNETI_A15) \
  FAMILY(16, GASNETI_P16, GASNETI_A16)

#endif
