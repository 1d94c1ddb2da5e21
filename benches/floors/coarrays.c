/* The floor of Fortran programs with coarrays: a library that does for memory that is mapped here what must be done, and nothing
 * else. One process is both images. It is linked with the same compiled programs (benches/fortran). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct dimension {
    ptrdiff_t stride, lower, upper;
};

struct descriptor {
    char *base;
    size_t offset, elem_len;
    int version;
    signed char rank, type;
    short attribute;
    ptrdiff_t span;
    struct dimension dim[];
};

struct token {
    char *base[2];
};

enum { COMPONENT = 7, IN_COMPONENT = 8 };

void _gfortran_caf_init(int *argc, char ***argv) { (void)argc, (void)argv; }
void _gfortran_caf_finalize(void) {}
int _gfortran_caf_this_image(int distance) { return distance + 1; }
int _gfortran_caf_num_images(int distance, int failed) { return 2 + 0 * (distance + failed); }
void _gfortran_caf_sync_all(int *stat, char *msg, size_t len) { (void)stat, (void)msg, (void)len; }
void _gfortran_caf_sync_memory(int *stat, char *msg, size_t len) { (void)stat, (void)msg, (void)len; }
void _gfortran_caf_deregister(void **token, int kind, int *stat, char *msg, size_t len) {
    (void)token, (void)kind, (void)stat, (void)msg, (void)len;
}
void _gfortran_caf_error_stop_str(const char *text, size_t len, bool quiet) {
    (void)text, (void)len, (void)quiet;
    abort();
}

static void *zeros(size_t bytes) {
    bytes = (bytes + 63) / 64 * 64;
    void *memory = aligned_alloc(64, bytes);
    if (!memory) abort();
    return memset(memory, 0, bytes);
}

void _gfortran_caf_register(size_t bytes, int kind, struct token **token, struct descriptor *d, int *stat, char *msg, size_t len) {
    (void)msg, (void)len;
    if (stat) *stat = 0;
    if (kind == COMPONENT) {
        d->base = NULL;
        return;
    }
    /* Locks are counted, and have 8 bytes. */
    bytes *= 8;
    if (kind != IN_COMPONENT) {
        *token = zeros(sizeof **token);
        (*token)->base[1] = zeros(bytes);
    }
    d->base = zeros(bytes);
    if (kind != IN_COMPONENT) (*token)->base[0] = d->base;
}

static inline char *at(struct token *token, int image) {
    if ((unsigned)(image - 1) >= 2) abort();
    return token->base[image - 1];
}

/* Elements one after the other, of one dimension. */
static void each(char *to, ptrdiff_t to_step, const char *from, ptrdiff_t from_step, ptrdiff_t n, size_t bytes) {
    if (to_step == (ptrdiff_t)bytes && from_step == (ptrdiff_t)bytes) {
        memcpy(to, from, (size_t)n * bytes);
    } else if (bytes == 8) {
        for (; n > 0; n--, to += to_step, from += from_step) *(uint64_t *)to = *(const uint64_t *)from;
    } else {
        for (; n > 0; n--, to += to_step, from += from_step) memcpy(to, from, bytes);
    }
}

static ptrdiff_t step(const struct descriptor *d) { return d->rank ? d->dim[0].stride * d->span : 0; }

static inline void move(char *to, const struct descriptor *td, const char *from, const struct descriptor *fd) {
    if (td->rank == 0 && fd->rank == 0 && td->elem_len == 8) {
        *(uint64_t *)to = *(const uint64_t *)from;
        return;
    }
    const struct descriptor *shape = fd->rank ? fd : td;
    ptrdiff_t n = shape->rank ? shape->dim[0].upper - shape->dim[0].lower + 1 : 1;
    each(to, step(td), from, step(fd), n, td->elem_len);
}

void _gfortran_caf_get(struct token *token, size_t offset, int image, struct descriptor *from, void *vector, struct descriptor *to,
                       int from_kind, int to_kind, bool overlap, int *stat) {
    (void)vector, (void)from_kind, (void)to_kind, (void)overlap;
    move(to->base, to, at(token, image) + offset, from);
    if (stat) *stat = 0;
}

void _gfortran_caf_send(struct token *token, size_t offset, int image, struct descriptor *to, void *vector, struct descriptor *from,
                        int to_kind, int from_kind, bool overlap, int *stat, void *team) {
    (void)vector, (void)from_kind, (void)to_kind, (void)overlap, (void)team;
    move(at(token, image) + offset, to, from->base, from);
    if (stat) *stat = 0;
}

struct reference {
    struct reference *next;
    int type;
    size_t item_size;
    union {
        struct {
            ptrdiff_t offset, token_offset;
        } component;
        struct {
            unsigned char mode[15];
            int type;
            struct {
                ptrdiff_t start, end, stride;
            } dim[];
        } array;
    } u;
};

/* A value of the object, an element of an array of its component, or all of an array. */
void _gfortran_caf_get_by_ref(struct token *token, int image, struct descriptor *to, struct reference *r, int to_kind, int from_kind,
                              bool overlap, bool reallocate, int *stat, int type) {
    (void)to_kind, (void)from_kind, (void)overlap, (void)reallocate, (void)type;
    char *from = at(token, image);
    if (r->type == 0) {
        from += r->u.component.offset;
        if (r->next) {
            /* The other image's component is this one's: there is one process. */
            struct descriptor *d = (struct descriptor *)(at(token, 1) + r->u.component.offset);
            from = d->base + (r->next->u.array.dim[0].start - d->dim[0].lower) * d->span;
        }
        memcpy(to->base, from, to->elem_len);
    } else {
        memcpy(to->base, from, (size_t)(to->dim[0].upper - to->dim[0].lower + 1) * to->elem_len);
    }
    if (stat) *stat = 0;
}

void _gfortran_caf_atomic_op(int op, struct token *token, size_t offset, int image, void *value, void *old, int *stat, int type,
                             int kind) {
    (void)op, (void)old, (void)type, (void)kind;
    __atomic_fetch_add((int *)(at(token, image) + offset), *(int *)value, __ATOMIC_RELAXED);
    if (stat) *stat = 0;
}

void _gfortran_caf_lock(struct token *token, size_t index, int image, int *acquired, int *stat, char *msg, size_t len) {
    (void)acquired, (void)stat, (void)msg, (void)len;
    int *word = (int *)(at(token, image) + 8 * index), none = 0;
    while (!__atomic_compare_exchange_n(word, &none, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) none = 0;
}

void _gfortran_caf_unlock(struct token *token, size_t index, int image, int *stat, char *msg, size_t len) {
    (void)stat, (void)msg, (void)len;
    __atomic_store_n((int *)(at(token, image) + 8 * index), 0, __ATOMIC_RELEASE);
}
