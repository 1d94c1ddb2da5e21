/* upcc_abi.h: what the C emitted by upcc is written against.
 *
 * Freestanding: no system header, only reserved names, so that nothing a user declares can collide.
 * Words: a *place* (struct __upc_w) is (offset, thread, phase), the working form of every address in shared memory;
 * a __upc_pts is the form in which a pointer-to-shared is stored. Offsets are bytes from the start of a thread's segment.
 * B is a block size in elements (0: indefinite), E the size of an element in bytes; both are constants at every use.
 *
 * The emitted file defines, before it includes this one:
 *   __UPC_STATIC_THREADS N   when the number of threads was given at compile time
 *   __UPC_PTS_STRUCT 1       for 16-byte pointers-to-shared
 *   __UPC_SPLIT 1            when relaxed writes need not be complete at once
 *   __UPC_AGGREGATE 1        when relaxed writes, and atomic operations without results, may travel with others
 *   __UPC_PIC 1              when a shared object may be made of it (-fPIC)
 *   __UPC_USE_<function> 1   for each library function that it calls and does not define
 * The end is the constructor of a shared object.
 */
#ifndef __UPCC_ABI_H
#define __UPCC_ABI_H 1

#define __UPC_ABI 3
#define __UPC_IN static __inline__ __attribute__((__always_inline__, __unused__))
#define __UPC_SF static __attribute__((__unused__))
#define __UPC_COLD static __attribute__((__noinline__, __cold__, __unused__))
#define __UPC_LIKELY(x) __builtin_expect(!!(x), 1)

/* ---- what the runtime fills in before any user code runs; constant afterwards, so compilers may hoist every field ---- */
struct __upc_rt {
  unsigned mythread, threads;
  unsigned first, mapped;    /* threads first .. first+mapped-1 are directly addressable by this process */
  char *base;                /* (t, o) is at base + t*stride + o */
  unsigned long stride;      /* 1 << 34 in programs with packed pointers */
  unsigned long recip;       /* ceil(2^(63+shift) / threads): division by the number of threads without a divide */
  unsigned shift;            /* ceil(log2(threads)) */
};
extern const struct __upc_rt __upc_rt;

struct __upc_shvar { unsigned long offset; };   /* the proxy of a shared variable: same offset on every thread */
struct __upc_shrec {                            /* one per definition, in section upc_shvars */
  struct __upc_shvar *proxy;
  unsigned long bytes_per_thread, align;
  const char *name;
  unsigned flags;                               /* 1: it has an initialiser; 2: compiled with -fsanitize=upc; 4: bytes times THREADS */
  unsigned long bytes, block;                   /* of all of it, in blocks of so many bytes, 0: in one; bytes 0: not said */
};
typedef void (*__upc_initfn)(void);             /* in section upc_inits */
struct __upc_image {
  unsigned abi, struct_pts;
  int static_threads;
  int (*main)(int, char **);
  const struct __upc_shrec *shrec_begin, *shrec_end;
  const __upc_initfn *init_begin, *init_end;
  unsigned long heap_bytes;
  const char *name;
  const struct __upc_linked *linked;
};
/* what upcc was told when it linked the program: heap per thread or 0; whether less is an error, and worth a warning (-1: not said) */
struct __upc_linked { unsigned long heap_bytes; int require_size, size_warn; };

struct __upc_object {                           /* what an object file was compiled for, in section upc_objects */
  unsigned abi, struct_pts;
  int static_threads;
  const char *source;
};
struct __upc_library {                          /* a shared object: its constructor registers it */
  unsigned abi;
  const char *name;                             /* null: as the dynamic linker says */
  const struct __upc_object *object_begin, *object_end;
  const struct __upc_shrec *shrec_begin, *shrec_end;
  const __upc_initfn *init_begin, *init_end;
};

int __upc_run(int, char **, const struct __upc_image *);
void __upc_register(const struct __upc_library *);
void __upc_get(void *, unsigned, unsigned long, unsigned long);
void __upc_put(unsigned, unsigned long, const void *, unsigned long);
void __upc_put_later(unsigned, unsigned long, const void *, unsigned long);
void __upc_put_batched(unsigned, unsigned long, const void *, unsigned long);
void __upc_get_ahead(void *, unsigned, unsigned long, unsigned long);
void __upc_arrived(void);
void __upc_copy(unsigned, unsigned long, unsigned, unsigned long, unsigned long);
void __upc_set(unsigned, unsigned long, int, unsigned long);
void __upc_fence(void);
void __upc_strict_fence(void);
void __upc_before_look(void);
void __upc_look(unsigned, unsigned long, const void *, unsigned long);
void __upc_poll(void);
void __upc_notify(int, int);
void __upc_wait(int, int);
void __upc_barrier(int, int);
/* whether a upc_forall is around; each thread of the operating system has its own, as OpenMP makes them */
__thread int __upc_forall_depth __attribute__((__weak__));
unsigned long __upc_alloc_local(unsigned long);
unsigned long __upc_alloc_global(unsigned long, unsigned long, int);
void __upc_free(unsigned, unsigned long, int);
unsigned long __upc_lock_alloc(int, unsigned *);
void __upc_lock_free(unsigned, unsigned long, int);
void __upc_lock(unsigned, unsigned long);
int __upc_lock_attempt(unsigned, unsigned long);
void __upc_unlock(unsigned, unsigned long);
void __upc_global_exit(int) __attribute__((__noreturn__));

/* ---- threads ---- */
#ifdef __UPC_STATIC_THREADS
#define __UPC_T ((unsigned long)(__UPC_STATIC_THREADS))
#define __UPC_THREADS ((int)(__UPC_STATIC_THREADS))
#else
#define __UPC_T ((unsigned long)__upc_rt.threads)
#define __UPC_THREADS ((int)__upc_rt.threads)
#endif
#define __UPC_MYTHREAD ((int)__upc_rt.mythread)

/* n / THREADS for 0 <= n < 2^63 */
__UPC_IN unsigned long __upc_udivt(unsigned long __n)
{
#ifdef __UPC_STATIC_THREADS
  return __n / __UPC_T;
#else
  return (unsigned long)(((unsigned __int128)(__n << 1) * __upc_rt.recip) >> 64) >> __upc_rt.shift;
#endif
}

/* floor(n / THREADS) */
__UPC_IN long __upc_divt(long __n)
{
#ifdef __UPC_STATIC_THREADS
  if ((__UPC_T & (__UPC_T - 1)) == 0)
    return __n >> __builtin_ctzl(__UPC_T);
#endif
  long __s = __n >> 63;
  return (long)__upc_udivt((unsigned long)(__n ^ __s)) ^ __s;
}

/* floor(n / B), B > 0 */
__UPC_IN long __upc_divb(long __n, unsigned long __b)
{
  if ((__b & (__b - 1)) == 0)
    return __n >> __builtin_ctzl(__b);
  long __s = __n >> 63;
  return (long)((unsigned long)(__n ^ __s) / __b) ^ __s;
}

/* ---- places and pointers ---- */
struct __upc_w {
  unsigned long o, t, ph;
#ifdef __UPC_SANITIZE
  unsigned long fo, ft;   /* the place that it was computed from; fo 0: it was not */
#endif
};

#ifdef __UPC_PTS_STRUCT
typedef struct __upc_pts_s { unsigned long addr; unsigned thread, phase; } __upc_pts;
#define __UPC_NULL ((__upc_pts){0, 0, 0})
#define __UPC_NULLINIT {0, 0, 0}
#define __UPC_MAXTHREADS 0x7fffffffu
__UPC_IN struct __upc_w __upc_u(__upc_pts __p)
{
  struct __upc_w __w = { __p.addr, __p.thread, __p.phase };
  return __w;
}
__UPC_IN __upc_pts __upc_p(struct __upc_w __w)
{
  __upc_pts __p = { __w.o, (unsigned)__w.t, (unsigned)__w.ph };
  return __p;
}
__UPC_IN char *__upc_at(struct __upc_w __w)
{
  return __upc_rt.base + (__w.t * __upc_rt.stride + __w.o);
}
__UPC_IN unsigned long __upc_bits(__upc_pts __p)
{
  return (unsigned long)__p.thread << 48 ^ __p.addr;
}
#else
typedef unsigned long __upc_pts;
#define __UPC_NULL ((__upc_pts)0)
#define __UPC_NULLINIT 0
#define __UPC_AB 34
#define __UPC_TB 10
#define __UPC_AM ((1ul << __UPC_AB) - 1)
__UPC_IN struct __upc_w __upc_u(__upc_pts __p)
{
  struct __upc_w __w = { __p & __UPC_AM, __p >> __UPC_AB & ((1ul << __UPC_TB) - 1), __p >> (__UPC_AB + __UPC_TB) };
  return __w;
}
__UPC_IN __upc_pts __upc_p(struct __upc_w __w)
{
  return (__w.o & __UPC_AM) | __w.t << __UPC_AB | __w.ph << (__UPC_AB + __UPC_TB);
}
__UPC_IN char *__upc_at(struct __upc_w __w)
{
  return __upc_rt.base + ((__w.t << __UPC_AB) + __w.o);
}
__UPC_IN unsigned long __upc_bits(__upc_pts __p)
{
  return __p;
}
#endif

#define __UPC_NULLW ((struct __upc_w){ 0, 0, 0 })
/* where a shared variable starts */
#define __UPC_VAR(proxy) ((struct __upc_w){ (proxy).offset, 0, 0 })
#ifdef __UPC_PTS_STRUCT
#define __UPC_VARP(proxy) ((__upc_pts){ (proxy).offset, 0, 0 })
#else
#define __UPC_VARP(proxy) ((__upc_pts)(proxy).offset)
#endif

__UPC_IN int __upc_near(struct __upc_w __w)
{
  return __UPC_LIKELY((unsigned long)(__w.t - __upc_rt.first) < __upc_rt.mapped);
}
/* address of an object known to be the calling thread's own */
__UPC_IN char *__upc_mine(unsigned long __o)
{
#ifdef __UPC_PTS_STRUCT
  return __upc_rt.base + ((unsigned long)__upc_rt.mythread * __upc_rt.stride + __o);
#else
  return __upc_rt.base + (((unsigned long)__upc_rt.mythread << __UPC_AB) + __o);
#endif
}

/* w + d elements of E bytes, by block size: indefinite, 1, B. With a u, d is not negative. */
__UPC_IN struct __upc_w __upc_add0(struct __upc_w __w, long __d, unsigned long __e)
{
  __w.o += (unsigned long)__d * __e;
  return __w;
}
__UPC_IN struct __upc_w __upc_add1(struct __upc_w __w, long __d, unsigned long __e)
{
  long __n = (long)__w.t + __d, __q = __upc_divt(__n);
  __w.t = (unsigned long)__n - (unsigned long)__q * __UPC_T;
  __w.o += (unsigned long)__q * __e;
  return __w;
}
__UPC_IN struct __upc_w __upc_add1u(struct __upc_w __w, unsigned long __d, unsigned long __e)
{
  unsigned long __n = __w.t + __d, __q = __upc_udivt(__n);
  __w.t = __n - __q * __UPC_T;
  __w.o += __q * __e;
  return __w;
}
__UPC_IN struct __upc_w __upc_addb(struct __upc_w __w, long __d, unsigned long __b, unsigned long __e)
{
  long __f = (long)__w.ph + __d, __nb = __upc_divb(__f, __b);
  unsigned long __ph = (unsigned long)__f - (unsigned long)__nb * __b;
  long __n = (long)__w.t + __nb, __q = __upc_divt(__n);
  __w.t = (unsigned long)__n - (unsigned long)__q * __UPC_T;
  __w.o += (__ph - __w.ph + (unsigned long)__q * __b) * __e;
  __w.ph = __ph;
  return __w;
}
__UPC_IN struct __upc_w __upc_addbu(struct __upc_w __w, unsigned long __d, unsigned long __b, unsigned long __e)
{
  unsigned long __f = __w.ph + __d, __nb = __f / __b, __ph = __f - __nb * __b;
  unsigned long __n = __w.t + __nb, __q = __upc_udivt(__n);
  __w.t = __n - __q * __UPC_T;
  __w.o += (__ph - __w.ph + __q * __b) * __e;
  __w.ph = __ph;
  return __w;
}
__UPC_IN struct __upc_w __upc_add(struct __upc_w __w, long __d, unsigned long __b, unsigned long __e)
{
  if (__b == 0)
    return __upc_add0(__w, __d, __e);
  return __b == 1 ? __upc_add1(__w, __d, __e) : __upc_addb(__w, __d, __b, __e);
}
/* element i, not negative, of a declared array at offset o */
__UPC_IN struct __upc_w __upc_el0(unsigned long __o, unsigned long __i, unsigned long __e)
{
  struct __upc_w __w = { __o + __i * __e, 0, 0 };
  return __w;
}
__UPC_IN struct __upc_w __upc_el1(unsigned long __o, unsigned long __i, unsigned long __e)
{
  unsigned long __q = __upc_udivt(__i);
  struct __upc_w __w = { __o + __q * __e, __i - __q * __UPC_T, 0 };
  return __w;
}
__UPC_IN struct __upc_w __upc_elb(unsigned long __o, unsigned long __i, unsigned long __b, unsigned long __e)
{
  unsigned long __nb = __i / __b, __ph = __i - __nb * __b, __q = __upc_udivt(__nb);
  struct __upc_w __w = { __o + (__ph + __q * __b) * __e, __nb - __q * __UPC_T, __ph };
  return __w;
}

/* elements from v to w */
__UPC_IN long __upc_sub(struct __upc_w __w, struct __upc_w __v, unsigned long __b, unsigned long __e)
{
  long __d = (long)(__w.o - __v.o);
#ifndef __UPC_PTS_STRUCT
  __d = (long)((unsigned long)__d << (64 - __UPC_AB)) >> (64 - __UPC_AB);
#endif
  __d /= (long)__e;
  if (__b == 0)
    return __d;
  if (__b == 1)
    return __d * (long)__UPC_T + ((long)__w.t - (long)__v.t);
  long __p = (long)__w.ph - (long)__v.ph;
  return (__d - __p) * (long)__UPC_T + ((long)__w.t - (long)__v.t) * (long)__b + __p;
}

__UPC_IN int __upc_eq(struct __upc_w __w, struct __upc_w __v)
{
  return ((__w.o ^ __v.o) | (__w.t ^ __v.t)) == 0;
}
__UPC_IN int __upc_nonnull(struct __upc_w __w)
{
  return (__w.o | __w.t) != 0;
}
/* a member (or a byte offset) of an object */
__UPC_IN struct __upc_w __upc_off(struct __upc_w __w, unsigned long __n)
{
  __w.o += __n;
  __w.ph = 0;
  return __w;
}
/* the same, keeping the phase */
__UPC_IN struct __upc_w __upc_off2(struct __upc_w __w, unsigned long __n)
{
  __w.o += __n;
  return __w;
}
__UPC_IN struct __upc_w __upc_ph0(struct __upc_w __w)
{
  __w.ph = 0;
  return __w;
}
/* cast to a private pointer */
__UPC_IN void *__upc_priv(struct __upc_w __w)
{
  return __upc_nonnull(__w) ? (void *)__upc_at(__w) : (void *)0;
}
/* cast to an integer: the private address where there is one */
__UPC_IN unsigned long __upc_int(struct __upc_w __w)
{
  if (!__upc_nonnull(__w))
    return 0;
  return __upc_near(__w) ? (unsigned long)__upc_at(__w) : __upc_bits(__upc_p(__upc_ph0(__w)));
}
__UPC_IN int __upc_ismine(struct __upc_w __w)
{
  return __w.t == __upc_rt.mythread;
}
/* integer affinity of upc_forall */
__UPC_IN int __upc_turn(long __i)
{
  return (unsigned long)(__i - __upc_divt(__i) * (long)__UPC_T) == __upc_rt.mythread;
}
__UPC_IN int __upc_turnu(unsigned long __i)
{
  return __UPC_LIKELY((long)__i >= 0) ? __upc_turn((long)__i) : __i % __UPC_T == __upc_rt.mythread;
}
__UPC_IN void __upc_forall_end(const int *__saved)
{
  __upc_forall_depth = *__saved;
}

/* ---- the thread's own part of an array, from the element at w on; B > 0. Distances are numbers of elements. ---- */
/* where the thread's first block begins: below 0 if w is inside it */
__UPC_IN long __upc_first(struct __upc_w __w, unsigned long __b)
{
  unsigned long __me = __upc_rt.mythread, __d = __me >= __w.t ? __me - __w.t : __me + __UPC_T - __w.t;
  return __b == 1 ? (long)__d : (long)(__d * __b) - (long)__w.ph;
}
/* a place in a row of r elements, as the place of the row among rows */
__UPC_IN struct __upc_w __upc_row(struct __upc_w __w, unsigned long __r)
{
  __w.ph /= __r;
  return __w;
}
/* its address; threads before that of w have wrapped into the next row */
__UPC_IN char *__upc_own(struct __upc_w __w, unsigned long __b, unsigned long __e)
{
  unsigned long __o = __b == 1 ? __w.o : __w.o - __w.ph * __e;
  return __upc_mine(__upc_rt.mythread >= __w.t ? __o : __o + __b * __e);
}
/* how many of the n elements are the thread's own, its first block being at s */
__UPC_IN long __upc_owned(long __s, long __n, unsigned long __b)
{
  if (__n <= __s)
    return 0;
  unsigned long __m = (unsigned long)(__n - __s), __q = __upc_udivt(__m / __b), __r = __m - __q * __b * __UPC_T;
  return (long)(__q * __b + (__r < __b ? __r : __b)) + (__s < 0 ? __s : 0);
}
/* how far it is from number a, not negative, to the next that is the thread's turn */
__UPC_IN long __upc_turns(long __a)
{
  unsigned long __t = (unsigned long)__a - __upc_udivt((unsigned long)__a) * __UPC_T, __me = __upc_rt.mythread;
  return (long)(__me >= __t ? __me - __t : __me + __UPC_T - __t);
}
/* how many turns there are in m numbers, the first being one */
__UPC_IN long __upc_share(long __m)
{
  return __m <= 0 ? 0 : (long)__upc_udivt((unsigned long)__m - 1) + 1;
}
/* has what is n bytes further on fetched; it need not be there */
__UPC_IN void __upc_touch(const void *__p, unsigned long __n)
{
  const char *__q = (const char *)((unsigned long)__p + __n);
  __builtin_prefetch(__q);
  __builtin_prefetch(__q + 64);
}
/* runs of elements: streams.rs of the runtime */
void *__upc_gather(unsigned, unsigned, unsigned long, unsigned long, unsigned long, unsigned long, unsigned long, unsigned);
void __upc_scatter(unsigned, unsigned, unsigned long, unsigned long, unsigned long, unsigned long, unsigned long, unsigned);
void __upc_start(unsigned, unsigned long, unsigned, unsigned long, unsigned long);
void *__upc_buffer(unsigned);
void __upc_moved(void);
unsigned __upc_is_private(const void *);

/* ---- -fsanitize=upc: every access, every cast to a private pointer and all arithmetic are looked at; calls of the library say where
 * they are. The emitted text has #line directives, so __FILE__ and __LINE__ are those of the UPC source. ---- */
#define __UPC_READS 0
#define __UPC_WRITES 1
#define __UPC_UPDATES 2
#ifdef __UPC_SANITIZE
void __upc_sanitize(void);
void __upc_here(const char *, int);
void __upc_check_access(const struct __upc_w *, unsigned long, int, const char *, int);
void __upc_check_cast(unsigned long, unsigned long, const char *, int);
void __upc_bad_phase(unsigned long, unsigned long, const char *, int) __attribute__((__noreturn__));
void __upc_bad_step(unsigned long, unsigned long, long, unsigned long, const char *, int) __attribute__((__noreturn__));
static __upc_initfn __upc_sanitize_p __attribute__((__section__("upc_inits"), __used__)) = __upc_sanitize;
/* pointers hold offsets of so many bits */
#ifdef __UPC_PTS_STRUCT
#define __UPC_OFFSET_BITS 48
#else
#define __UPC_OFFSET_BITS __UPC_AB
#endif
__UPC_IN struct __upc_w __upc_from(struct __upc_w __r, struct __upc_w __w)
{
  if (!__r.fo) {
    __r.fo = __w.o;
    __r.ft = __w.t;
  }
  return __r;
}
__UPC_IN struct __upc_w __upc_stepped(struct __upc_w __w, long __d, unsigned long __b, unsigned long __e, const char *__f, int __l)
{
  long __n;   /* four times: the steps of the computation, with a phase and a thread, do not overflow either */
  if (__upc_nonnull(__w) && __w.ph >= (__b ? __b : 1))
    __upc_bad_phase(__w.ph, __b, __f, __l);
  if (__builtin_mul_overflow(__d, (long)__e * 4, &__n))
    __upc_bad_step(__w.t, __w.o, __d, __e, __f, __l);
  struct __upc_w __r = __upc_add(__w, __d, __b, __e);
  if (__r.o >> __UPC_OFFSET_BITS)
    __upc_bad_step(__w.t, __w.o, __d, __e, __f, __l);
  return __upc_from(__r, __w);
}
__UPC_IN struct __upc_w __upc_part(struct __upc_w __w, unsigned long __n)
{
  return __upc_from(__upc_off(__w, __n), __w);
}
__UPC_IN int __upc_checked(const struct __upc_w *__w, unsigned long __n, int __how, const char *__f, int __l)
{
  __upc_check_access(__w, __n, __how, __f, __l);
  return __upc_near(*__w);
}
__UPC_IN void *__upc_cast(struct __upc_w __w, const char *__f, int __l)
{
  if (__upc_nonnull(__w))
    __upc_check_cast(__w.t, __w.o, __f, __l);
  return __upc_priv(__w);
}
#define __upc_add(w, d, b, e) __upc_stepped(w, d, b, e, __FILE__, __LINE__)
#define __upc_off(w, n) __upc_part(w, n)
#define __upc_priv(w) __upc_cast(w, __FILE__, __LINE__)
/* whether the n bytes at w, a variable, are near */
#define __UPC_NEAR(w, n, how) __upc_checked(&(w), n, how, __FILE__, __LINE__)
#else
#define __UPC_NEAR(w, n, how) __upc_near(w)
#endif

/* ---- accesses: T is the unqualified type of the object (spelled so that `T x` and `T *` work), w its place, Q nothing or
 * volatile; each argument is evaluated once ---- */
#define __UPC_GETQ(Q, T, w) __extension__({ \
  const struct __upc_w __upc_a = (w); T __upc_r; \
  if (__UPC_NEAR(__upc_a, sizeof(T), __UPC_READS)) __upc_r = *(T Q *)__upc_at(__upc_a); \
  else { T __upc_s; __upc_get(&__upc_s, (unsigned)__upc_a.t, __upc_a.o, sizeof(T)); __upc_r = __upc_s; } \
  __upc_r; })
#define __UPC_PUTQ(f, Q, T, w, v) __extension__({ \
  const struct __upc_w __upc_a = (w); T __upc_r = (v); \
  if (__UPC_NEAR(__upc_a, sizeof(T), __UPC_WRITES)) *(T Q *)__upc_at(__upc_a) = __upc_r; \
  else { T __upc_s = __upc_r; f((unsigned)__upc_a.t, __upc_a.o, &__upc_s, sizeof(T)); } \
  __upc_r; })
#define __UPC_GET(T, w) __UPC_GETQ(, T, w)
#define __UPC_PUT(T, w, v) __UPC_PUTQ(__UPC_PUT_WHOLE, , T, w, v)
#define __UPC_GETV(T, w) __UPC_GETQ(volatile, T, w)
#define __UPC_PUTV(T, w, v) __UPC_PUTQ(__upc_put, volatile, T, w, v)
/* Relaxed writes may be under way, or wait for others that go to the same thread, until the next fence. */
#ifdef __UPC_AGGREGATE
#define __UPC_PUT_LATER __upc_put_batched
#define __UPC_PUT_WHOLE __upc_put_batched
#define __UPC_RELAXED 2   /* order of an atomic operation */
#define __UPC_BATCHED 4   /* in how a transfer is started */
#else
#ifdef __UPC_SPLIT
#define __UPC_PUT_LATER __upc_put_later
#else
#define __UPC_PUT_LATER __upc_put
#endif
#define __UPC_PUT_WHOLE __upc_put
#define __UPC_RELAXED 0
#define __UPC_BATCHED 0
#endif
/* Scalars. S says how the value passes to and from the functions for far objects: by its size in bytes, or as f or d. */
#define __UPC_FAR(S, U) \
  __UPC_COLD U __upc_get##S(unsigned long __t, unsigned long __o) \
  { \
    U __v; \
    __upc_get(&__v, (unsigned)__t, __o, sizeof __v); \
    return __v; \
  } \
  __UPC_COLD void __upc_put##S(unsigned long __t, unsigned long __o, U __v) \
  { \
    __UPC_PUT_LATER((unsigned)__t, __o, &__v, sizeof __v); \
  }
__UPC_FAR(1, unsigned char)
__UPC_FAR(2, unsigned short)
__UPC_FAR(4, unsigned)
__UPC_FAR(8, unsigned long)
__UPC_FAR(f, float)
__UPC_FAR(d, double)
#define __UPC_RAW1(v) ((unsigned char)(v))
#define __UPC_RAW2(v) ((unsigned short)(v))
#define __UPC_RAW4(v) ((unsigned)(v))
#define __UPC_RAW8(v) ((unsigned long)(v))
#define __UPC_RAWf(v) (v)
#define __UPC_RAWd(v) (v)
#define __UPC_LD(T, S, w) __extension__({ \
  const struct __upc_w __upc_a = (w); \
  (T)(__UPC_NEAR(__upc_a, sizeof(T), __UPC_READS) ? *(T *)__upc_at(__upc_a) : (T)__upc_get##S(__upc_a.t, __upc_a.o)); })
#define __UPC_ST(T, S, w, v) __extension__({ \
  const struct __upc_w __upc_a = (w); T __upc_r = (v); \
  if (__UPC_NEAR(__upc_a, sizeof(T), __UPC_WRITES)) *(T *)__upc_at(__upc_a) = __upc_r; \
  else __upc_put##S(__upc_a.t, __upc_a.o, __UPC_RAW##S(__upc_r)); \
  __upc_r; })
/* the same as calls */
#define __UPC_LDX(T, S, w) __extension__({ const struct __upc_w __upc_a = (w); (T)__upc_get##S(__upc_a.t, __upc_a.o); })
#define __UPC_STX(T, S, w, v) __extension__({ \
  const struct __upc_w __upc_a = (w); T __upc_r = (v); \
  __upc_put##S(__upc_a.t, __upc_a.o, __UPC_RAW##S(__upc_r)); \
  __upc_r; })
/* x op= v, v of type V, computed in the type of the cast c; the value is the new one, or (O) the old one */
__UPC_COLD void *__upc_fetch(void *__s, unsigned long __t, unsigned long __o, unsigned long __n)
{
  __upc_get(__s, (unsigned)__t, __o, __n);
  return __s;
}
#define __UPC_RMW2(T, w, c, op, V, v, value) __extension__({ \
  const struct __upc_w __upc_a = (w); const V __upc_v = (v); T __upc_s; \
  T *const __upc_q = (T *)(__UPC_NEAR(__upc_a, sizeof(T), __UPC_UPDATES) ? (void *)__upc_at(__upc_a) \
                           : __upc_fetch(&__upc_s, __upc_a.t, __upc_a.o, sizeof(T))); \
  T __upc_l = *__upc_q; T __upc_r = (T)(c __upc_l op __upc_v); \
  *__upc_q = __upc_r; \
  if (!__UPC_LIKELY(__upc_q != &__upc_s)) __UPC_PUT_LATER((unsigned)__upc_a.t, __upc_a.o, &__upc_s, sizeof(T)); \
  value; })
#define __UPC_RMW(T, w, c, op, V, v) __UPC_RMW2(T, w, c, op, V, v, __upc_r)
#define __UPC_RMWO(T, w, c, op, V, v) __UPC_RMW2(T, w, c, op, V, v, __upc_l)
/* reads that are under way together: where the object is, or will be after __upc_arrive */
__UPC_COLD void *__upc_fetch_ahead(void *__s, unsigned long __t, unsigned long __o, unsigned long __n)
{
  __upc_get_ahead(__s, (unsigned)__t, __o, __n);
  return __s;
}
#define __UPC_AHEAD(w, s, n) __extension__({ \
  const struct __upc_w __upc_a = (w); \
  __UPC_NEAR(__upc_a, n, __UPC_READS) ? (void *)__upc_at(__upc_a) : __upc_fetch_ahead(s, __upc_a.t, __upc_a.o, n); })
__UPC_IN void __upc_arrive(void)
{
  if (!__UPC_LIKELY(__upc_rt.mapped == __upc_rt.threads))
    __upc_arrived();
}
/* Functions for the accesses of a file: K names block and element size; n bytes inside the element d further on than p. */
#define __UPC_OUTLINE static __attribute__((__noinline__, __unused__))
typedef unsigned char __upc_raw1;
typedef unsigned short __upc_raw2 __attribute__((__may_alias__));
typedef unsigned __upc_raw4 __attribute__((__may_alias__));
typedef unsigned long __upc_raw8 __attribute__((__may_alias__));
typedef float __upc_rawf;
typedef double __upc_rawd;
#define __UPC_OUT_MV(K, B, E) \
  __UPC_OUTLINE __upc_pts __upc_mv##K(__upc_pts __p, long __d) \
  { \
    return __upc_p(__upc_add(__upc_u(__p), __d, B, E)); \
  }
#define __UPC_OUT_LD(K, S, B, E) \
  __UPC_OUTLINE __upc_raw##S __upc_ld##K##_##S(__upc_pts __p, long __d, unsigned long __n) \
  { \
    const struct __upc_w __w = __upc_off(__upc_add(__upc_u(__p), __d, B, E), __n); \
    return __UPC_NEAR(__w, sizeof(__upc_raw##S), __UPC_READS) ? *(__upc_raw##S *)__upc_at(__w) : __upc_get##S(__w.t, __w.o); \
  }
#define __UPC_OUT_ST(K, S, B, E) \
  __UPC_OUTLINE void __upc_st##K##_##S(__upc_pts __p, long __d, unsigned long __n, __upc_raw##S __v) \
  { \
    const struct __upc_w __w = __upc_off(__upc_add(__upc_u(__p), __d, B, E), __n); \
    if (__UPC_NEAR(__w, sizeof(__upc_raw##S), __UPC_WRITES)) *(__upc_raw##S *)__upc_at(__w) = __v; \
    else __upc_put##S(__w.t, __w.o, __v); \
  }
#define __UPC_OUT_AD(K, S, B, E) \
  __UPC_OUTLINE void *__upc_ad##K##_##S(__upc_pts __p, long __d, unsigned long __n, struct __upc_w *__a, void *__s, unsigned long __z) \
  { \
    const struct __upc_w __w = __upc_off(__upc_add(__upc_u(__p), __d, B, E), __n); \
    if (__UPC_NEAR(__w, __z, __UPC_UPDATES)) return __upc_at(__w); \
    *__a = __w; \
    return __upc_fetch(__s, __w.t, __w.o, __z); \
  }
#define __UPC_OUT_AH(K, S, B, E) \
  __UPC_OUTLINE void *__upc_ah##K##_##S(__upc_pts __p, long __d, unsigned long __n, void *__s, unsigned long __z) \
  { \
    const struct __upc_w __w = __upc_off(__upc_add(__upc_u(__p), __d, B, E), __n); \
    return __UPC_NEAR(__w, __z, __UPC_READS) ? __upc_at(__w) : __upc_fetch_ahead(__s, __w.t, __w.o, __z); \
  }
/* the last of several */
#define __UPC_OUT_AL(K, S, B, E) \
  __UPC_OUTLINE void *__upc_al##K##_##S(__upc_pts __p, long __d, unsigned long __n, void *__s, unsigned long __z) \
  { \
    const struct __upc_w __w = __upc_off(__upc_add(__upc_u(__p), __d, B, E), __n); \
    void *const __q = __UPC_NEAR(__w, __z, __UPC_READS) ? __upc_at(__w) : __upc_fetch_ahead(__s, __w.t, __w.o, __z); \
    __upc_arrive(); \
    return __q; \
  }
#define __UPC_STO(T, S, f, p, d, n, v) __extension__({ T __upc_r = (v); f(p, d, n, __UPC_RAW##S(__upc_r)); __upc_r; })
#define __UPC_RMWX2(T, at, c, op, V, v, value) __extension__({ \
  const V __upc_v = (v); struct __upc_w __upc_a; T __upc_s; T *const __upc_q = (T *)at; \
  T __upc_l = *__upc_q; T __upc_r = (T)(c __upc_l op __upc_v); \
  *__upc_q = __upc_r; \
  if (!__UPC_LIKELY(__upc_q != &__upc_s)) __UPC_PUT_LATER((unsigned)__upc_a.t, __upc_a.o, &__upc_s, sizeof(T)); \
  value; })
#define __UPC_RMWX(T, at, c, op, V, v) __UPC_RMWX2(T, at, c, op, V, v, __upc_r)
#define __UPC_RMWXO(T, at, c, op, V, v) __UPC_RMWX2(T, at, c, op, V, v, __upc_l)
/* an object that is known to be the calling thread's own */
#define __UPC_MINE(T, w) (*(T *)__upc_mine((w).o))

/* strict: ordered with everything before and after, for all observers */
static unsigned __upc_spins __attribute__((__unused__));
__UPC_IN void __upc_sbefore(int __store)
{
  if (!__UPC_LIKELY(__upc_rt.mapped == __upc_rt.threads)) {
    __upc_strict_fence();
  } else if (__store) {
    __atomic_thread_fence(4); /* acquire and release */
  } else {
    __atomic_thread_fence(5); /* sequentially consistent */
    if ((++__upc_spins & 63) == 0)   /* a flag may be spun on */
      __upc_poll();
  }
}
__UPC_IN void __upc_safter(int __store)
{
  if (!__UPC_LIKELY(__upc_rt.mapped == __upc_rt.threads))
    __upc_strict_fence();
  else if (__store)
    __atomic_thread_fence(5); /* sequentially consistent */
  else
    __atomic_thread_fence(4); /* acquire and release */
}
/* a read that the program may wait with in a loop: the runtime is told what it found, of others' memory always, else now and then */
__UPC_IN void __upc_lbefore(void)
{
  if (!__UPC_LIKELY(__upc_rt.mapped == __upc_rt.threads))
    __upc_before_look();
  else
    __atomic_thread_fence(5); /* sequentially consistent */
}
__UPC_IN int __upc_telling(void)
{
  return !__UPC_LIKELY(__upc_rt.mapped == __upc_rt.threads) || !__UPC_LIKELY((++__upc_spins & 63) != 0);
}
/* in a loop that only waits, by relaxed reads: their result may need progress of this thread */
__UPC_IN void __upc_waits(void)
{
  if (__upc_telling()) __upc_poll();
}
/* the same by reads through a private pointer: others change only shared memory */
__UPC_IN void __upc_waits_for(const volatile void *__p)
{
  unsigned long __at = (unsigned long)__p - (unsigned long)__upc_rt.base - __upc_rt.first * __upc_rt.stride;
  if (__at < __upc_rt.mapped * __upc_rt.stride)
    __upc_waits();
}
#define __UPC_LAFTER(T, w, x) do { \
  if (__upc_telling()) { T __upc_y = (x); __upc_look((unsigned)(w).t, (w).o, &__upc_y, sizeof(T)); } \
  else __atomic_thread_fence(4); } while (0)
#define __UPC_GETS(T, w) __extension__({ \
  const struct __upc_w __upc_b = (w); T __upc_x; \
  __upc_lbefore(); __upc_x = __UPC_GETQ(volatile, T, __upc_b); __UPC_LAFTER(T, __upc_b, __upc_x); \
  __upc_x; })
/* a structure that has read-only members */
#define __UPC_GETK(T, w) __extension__({ \
  const struct __upc_w __upc_a = (w); T __upc_s; const T *__upc_q = &__upc_s; \
  if (__UPC_NEAR(__upc_a, sizeof(T), __UPC_READS)) __upc_q = (const T *)__upc_at(__upc_a); \
  else __upc_get((char *)&__upc_s, (unsigned)__upc_a.t, __upc_a.o, sizeof(T)); \
  *__upc_q; })
#define __UPC_GETKV(T, w) __UPC_GETK(T, w)
#define __UPC_GETKS(T, w) __extension__({ \
  const struct __upc_w __upc_b = (w); __upc_sbefore(0); \
  const T __upc_x = __UPC_GETK(T, __upc_b); __upc_safter(0); \
  __upc_x; })
#define __UPC_PUTS(T, w, v) __extension__({ \
  const struct __upc_w __upc_b = (w); T __upc_x = (v); \
  __upc_sbefore(1); (void)__UPC_PUTQ(__upc_put, volatile, T, __upc_b, __upc_x); __upc_safter(1); \
  __upc_x; })

/* bit-field F of the structure T at w: only bytes lo .. lo+n-1, those that hold the field, are touched */
#define __UPC_BFGET(T, w, F, lo, n) __extension__({ \
  const struct __upc_w __upc_a = (w), __upc_c = __upc_off2(__upc_a, lo); T __upc_s; const T *__upc_q = &__upc_s; \
  if (__UPC_NEAR(__upc_c, n, __UPC_READS)) __upc_q = (const T *)__upc_at(__upc_a); \
  else __upc_get((char *)&__upc_s + (lo), (unsigned)__upc_a.t, __upc_a.o + (lo), n); \
  __upc_q->F; })
#define __UPC_BFPUT(T, w, F, lo, n, v) __extension__({ \
  const struct __upc_w __upc_a = (w), __upc_c = __upc_off2(__upc_a, lo); T __upc_s, *__upc_q = &__upc_s; \
  __typeof__(__upc_q->F + 0) __upc_r = (v); \
  if (__UPC_NEAR(__upc_c, n, __UPC_WRITES)) __upc_q = (T *)__upc_at(__upc_a); \
  else __upc_get((char *)&__upc_s + (lo), (unsigned)__upc_a.t, __upc_a.o + (lo), n); \
  __upc_r = __upc_q->F = __upc_r; \
  if (__upc_q == &__upc_s) __upc_put((unsigned)__upc_a.t, __upc_a.o + (lo), (char *)&__upc_s + (lo), n); \
  __upc_r; })
#define __UPC_BFGETS(T, w, F, lo, n) __extension__({ \
  const struct __upc_w __upc_b = (w); __upc_lbefore(); \
  __auto_type __upc_x = __UPC_BFGET(T, __upc_b, F, lo, n); __UPC_LAFTER(__typeof__(__upc_x), __upc_b, __upc_x); \
  __upc_x; })
#define __UPC_BFPUTS(T, w, F, lo, n, v) __extension__({ \
  const struct __upc_w __upc_b = (w); __auto_type __upc_v = (v); __upc_sbefore(1); \
  __auto_type __upc_x = __UPC_BFPUT(T, __upc_b, F, lo, n, __upc_v); __upc_safter(1); \
  __upc_x; })

/* copies the calling thread's elements of a shared array out of the private image of its first n elements */
__attribute__((__unused__)) static void __upc_spread(struct __upc_w __w, const void *__img, unsigned long __n, unsigned long __total,
                                                     unsigned long __b, unsigned long __e)
{
  if (__n > __total)
    __n = __total;
  for (unsigned long __i = 0; __i < __n; __i++) {
    struct __upc_w __x = __upc_add(__w, (long)__i, __b, __e);
    if (__upc_ismine(__x))
      __builtin_memcpy(__upc_mine(__x.o), (const char *)__img + __i * __e, __e);
  }
}

/* ---- functions of upc.h that become inline code ---- */
#define __upc_threadof(p) ((unsigned long)__upc_u(p).t)
#define __upc_phaseof(p) ((unsigned long)__upc_u(p).ph)
#define __upc_addrfield(p) ((unsigned long)__upc_u(p).o)
#define __upc_resetphase(p) __upc_p(__upc_ph0(__upc_u(p)))
__UPC_IN unsigned long __upc_affinitysize(unsigned long __total, unsigned long __nbytes, unsigned long __t)
{
  if (__nbytes == 0 || __nbytes >= __total)
    return __t == 0 ? __total : 0;
  unsigned long __nb = __total / __nbytes, __q = __nb / __UPC_T, __cut = __nb % __UPC_T;
  if (__t < __cut)
    return (__q + 1) * __nbytes;
  return __t > __cut ? __q * __nbytes : __q * __nbytes + (__total - __nb * __nbytes);
}

#endif

/* ---- library functions: weak, in every object that uses them, so that a definition of the user's wins. The emitted file
 * includes this header a second time, at its end, with __UPC_LIBRARY defined. ---- */
#if defined __UPC_LIBRARY && !defined __UPCC_ABI_LIBRARY
#define __UPCC_ABI_LIBRARY 1
#undef __upc_add   /* whoever called is not here */
#undef __upc_off
#undef __upc_priv
#define __UPC_WEAK __attribute__((__weak__))
#ifdef __UPC_USE_upc_threadof
__UPC_WEAK unsigned long upc_threadof(__upc_pts p) { return __upc_threadof(p); }
#endif
#ifdef __UPC_USE_upc_phaseof
__UPC_WEAK unsigned long upc_phaseof(__upc_pts p) { return __upc_phaseof(p); }
#endif
#ifdef __UPC_USE_upc_addrfield
__UPC_WEAK unsigned long upc_addrfield(__upc_pts p) { return __upc_addrfield(p); }
#endif
#ifdef __UPC_USE_upc_resetphase
__UPC_WEAK __upc_pts upc_resetphase(__upc_pts p) { return __upc_resetphase(p); }
#endif
#ifdef __UPC_USE_upc_affinitysize
__UPC_WEAK unsigned long upc_affinitysize(unsigned long total, unsigned long nbytes, unsigned long t)
{
  return __upc_affinitysize(total, nbytes, t);
}
#endif
#ifdef __UPC_USE_upc_global_exit
__UPC_WEAK void upc_global_exit(int status) { __upc_global_exit(status); }
#endif
#ifdef __UPC_USE_upc_global_alloc
__UPC_WEAK __upc_pts upc_global_alloc(unsigned long nblocks, unsigned long nbytes)
{
  return __upc_p((struct __upc_w){ __upc_alloc_global(nblocks, nbytes, 0), 0, 0 });
}
#endif
#ifdef __UPC_USE_upc_all_alloc
__UPC_WEAK __upc_pts upc_all_alloc(unsigned long nblocks, unsigned long nbytes)
{
  return __upc_p((struct __upc_w){ __upc_alloc_global(nblocks, nbytes, 1), 0, 0 });
}
#endif
#ifdef __UPC_USE_upc_alloc
__UPC_WEAK __upc_pts upc_alloc(unsigned long nbytes)
{
  unsigned long o = __upc_alloc_local(nbytes);
  return o ? __upc_p((struct __upc_w){ o, __upc_rt.mythread, 0 }) : __UPC_NULL;
}
#endif
#ifdef __UPC_USE_upc_local_alloc
__UPC_WEAK __upc_pts upc_local_alloc(unsigned long nblocks, unsigned long nbytes)
{
  unsigned long n, o;
  o = __upc_alloc_local(__builtin_mul_overflow(nblocks, nbytes, &n) ? ~0ul : n);
  return o ? __upc_p((struct __upc_w){ o, __upc_rt.mythread, 0 }) : __UPC_NULL;
}
#endif
#ifdef __UPC_USE_upc_free
__UPC_WEAK void upc_free(__upc_pts p) { __upc_free((unsigned)__upc_u(p).t, __upc_u(p).o, 0); }
#endif
#ifdef __UPC_USE_upc_all_free
__UPC_WEAK void upc_all_free(__upc_pts p) { __upc_free((unsigned)__upc_u(p).t, __upc_u(p).o, 1); }
#endif
#ifdef __UPC_USE_upc_global_lock_alloc
__UPC_WEAK __upc_pts upc_global_lock_alloc(void)
{
  unsigned t = 0;
  unsigned long o = __upc_lock_alloc(0, &t);
  return __upc_p((struct __upc_w){ o, t, 0 });
}
#endif
#ifdef __UPC_USE_upc_all_lock_alloc
__UPC_WEAK __upc_pts upc_all_lock_alloc(void)
{
  unsigned t = 0;
  unsigned long o = __upc_lock_alloc(1, &t);
  return __upc_p((struct __upc_w){ o, t, 0 });
}
#endif
#ifdef __UPC_USE_upc_lock_free
__UPC_WEAK void upc_lock_free(__upc_pts p) { __upc_lock_free((unsigned)__upc_u(p).t, __upc_u(p).o, 0); }
#endif
#ifdef __UPC_USE_upc_all_lock_free
__UPC_WEAK void upc_all_lock_free(__upc_pts p) { __upc_lock_free((unsigned)__upc_u(p).t, __upc_u(p).o, 1); }
#endif
#ifdef __UPC_USE_upc_lock
__UPC_WEAK void upc_lock(__upc_pts p) { __upc_lock((unsigned)__upc_u(p).t, __upc_u(p).o); }
#endif
#ifdef __UPC_USE_upc_lock_attempt
__UPC_WEAK int upc_lock_attempt(__upc_pts p) { return __upc_lock_attempt((unsigned)__upc_u(p).t, __upc_u(p).o); }
#endif
#ifdef __UPC_USE_upc_unlock
__UPC_WEAK void upc_unlock(__upc_pts p) { __upc_unlock((unsigned)__upc_u(p).t, __upc_u(p).o); }
#endif
/* the bodies of all copies that are complete when they return */
__UPC_SF void __upc_memcpy(__upc_pts d, __upc_pts s, unsigned long n)
{
  struct __upc_w a = __upc_u(d), b = __upc_u(s);
  __upc_copy((unsigned)a.t, a.o, (unsigned)b.t, b.o, n);
}
__UPC_SF void __upc_memget(void *d, __upc_pts s, unsigned long n)
{
  struct __upc_w b = __upc_u(s);
  __upc_get(d, (unsigned)b.t, b.o, n);
}
__UPC_SF void __upc_memput(__upc_pts d, const void *s, unsigned long n)
{
  struct __upc_w a = __upc_u(d);
  __upc_put((unsigned)a.t, a.o, s, n);
}
__UPC_SF void __upc_memset(__upc_pts d, int c, unsigned long n)
{
  struct __upc_w a = __upc_u(d);
  __upc_set((unsigned)a.t, a.o, c, n);
}
#ifdef __UPC_USE_upc_memcpy
__UPC_WEAK void upc_memcpy(__upc_pts d, __upc_pts s, unsigned long n) { __upc_memcpy(d, s, n); }
#endif
#ifdef __UPC_USE_upc_memget
__UPC_WEAK void upc_memget(void *d, __upc_pts s, unsigned long n) { __upc_memget(d, s, n); }
#endif
#ifdef __UPC_USE_upc_memput
__UPC_WEAK void upc_memput(__upc_pts d, const void *s, unsigned long n) { __upc_memput(d, s, n); }
#endif
#ifdef __UPC_USE_upc_memset
__UPC_WEAK void upc_memset(__upc_pts d, int c, unsigned long n) { __upc_memset(d, c, n); }
#endif
#include "upcc_lib.h"   /* the libraries beyond upc.h */
#endif

/* ---- the constructor of a shared object. upcc -shared links one into it, the only contents of a file: __UPC_OBJECT_NAME is the name;
 * without __UPC_OBJECT_CHECKED its files may have been compiled for anything. Where another linker made the shared object (cc -shared),
 * the first of its files registers all; a file cannot know what is made of it, so each with -fPIC can do so, and does not in what upcc
 * has linked nor where the runtime is. Programs of other kinds may load objects of plain C alone. ---- */
#if (defined __UPC_OBJECT_NAME || defined __UPC_PIC) && !defined __UPC_REGISTERS
#define __UPC_REGISTERS 1
#define __UPC_HIDDEN_WEAK __attribute__((__weak__, __visibility__("hidden")))
#define __UPC_BOUNDS(type, section) \
  extern type const __start_##section[] __UPC_HIDDEN_WEAK; \
  extern type const __stop_##section[] __UPC_HIDDEN_WEAK;
__UPC_BOUNDS(struct __upc_object, upc_objects)
__UPC_BOUNDS(struct __upc_shrec, upc_shvars)
__UPC_BOUNDS(__upc_initfn, upc_inits)
void __upc_register(const struct __upc_library *) __attribute__((__weak__));
long __upc_c_write(int, const void *, unsigned long) __asm__("write");
#ifdef __UPC_OBJECT_NAME
const char __upc_has_constructor __attribute__((__visibility__("hidden"))) = 1;
#define __UPC_OBJECT_TEXT __UPC_OBJECT_NAME
#define __UPC_REGISTERED 0
#else
extern const char __upc_program __UPC_HIDDEN_WEAK, __upc_has_constructor __UPC_HIDDEN_WEAK;
int __upc_is_registered __UPC_HIDDEN_WEAK = 0;
#define __UPC_OBJECT_CHECKED 1
#define __UPC_OBJECT_NAME 0                     /* the runtime asks the dynamic linker */
#define __UPC_OBJECT_TEXT "one that upcc did not link"
#define __UPC_REGISTERED (&__upc_program || &__upc_has_constructor || __upc_is_registered++)
#endif
__attribute__((__constructor__(101))) static void __upc_loaded(void)
{
  static const struct __upc_library library = {
    __UPC_ABI, __UPC_OBJECT_NAME,
#ifdef __UPC_OBJECT_CHECKED
    __start_upc_objects, __stop_upc_objects,
#else
    0, 0,
#endif
    __start_upc_shvars, __stop_upc_shvars, __start_upc_inits, __stop_upc_inits
  };
  static const char text[] =
    "UPC Runtime error: the program's runtime does not know of shared objects with shared variables: " __UPC_OBJECT_TEXT "\n";
  if (__UPC_REGISTERED) return;
  if (__upc_register) {
    __upc_register(&library);
  } else if (__start_upc_shvars != __stop_upc_shvars) {
    __upc_c_write(2, text, sizeof text - 1);
    __builtin_abort();
  }
}
#endif
