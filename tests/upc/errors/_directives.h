#define IN_HEADER 4
#ifdef IN_HEADER
#define IN_HEADER 4
#define IN_HEADER 6
#undef IN_HEADER
#define IN_HEADER 4
#endif /* fine */
