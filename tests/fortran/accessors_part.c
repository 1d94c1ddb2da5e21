// Accesses by accessors, as gfortran 15 compiles them: static coarrays and accessors are registered before the main program, each access
// names an accessor by its number on this image.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 300000, WORD = 6 };

struct dimension { ptrdiff_t stride, lower, upper; };
struct descriptor {
  void *base;
  size_t offset, elem_len;
  int version;
  signed char rank, type;
  short attribute;
  ptrdiff_t span;
  struct dimension dim[1];
};
enum { INTEGER = 1, DERIVED = 5, CHARACTER = 6 };

void _gfortran_caf_register(size_t, int, void **, void *, int *, char *, size_t);
void _gfortran_caf_sync_all(int *, char *, size_t);
void _gfortran_caf_error_stop(int, bool);
void _gfortran_caf_register_accessor(int, void (*)(void));
void _gfortran_caf_register_accessors_finish(void);
int _gfortran_caf_get_remote_function_index(int);
void _gfortran_caf_get_from_remote(void *, const void *, const size_t *, int, size_t, void **, size_t *, void *, bool, int, void *, size_t,
                                   int *, void *, int *);
void _gfortran_caf_send_to_remote(void *, void *, const size_t *, int, size_t, const void *, const size_t *, const void *, int, void *,
                                  size_t, int *, void *, int *);
void _gfortran_caf_transfer_between_remotes(void *, void *, size_t *, int, int, void *, size_t, void *, const void *, const size_t *, int,
                                            int, void *, size_t, size_t, bool, int *, int *, void *, int *, void *, int *);
int32_t _gfortran_caf_is_present_on_remote(void *, int, int, void *, size_t);

// integer :: n[*]; integer :: a(LENGTH)[*]; type(t) :: d[*], where t has an integer, a pointer to integers and a deferred text.
struct t { int number; int *numbers; size_t count; char *text; size_t text_length; };
static void *n_token, *a_token, *d_token;
static int *n, *a;
static struct t *d;

struct bounds { ptrdiff_t first, last, step; };

static struct descriptor vector(void *base, size_t bytes, int type, size_t count) {
  return (struct descriptor){base, -1, bytes, 0, 1, type, 0, bytes, {{1, 1, count}}};
}

static void get_number(void *values, const int *image, void **to, int32_t *freed, void *from, void *token, size_t no, size_t *length,
                       const size_t *from_length) {
  *to = from;
  *freed = 0;
}

static void get_section(struct bounds *values, const int *image, struct descriptor *to, int32_t *freed, struct descriptor *from, void *token,
                        size_t no, size_t *length, const size_t *from_length) {
  size_t count = (values->last - values->first + values->step) / values->step;
  int *copy = malloc(count * sizeof(int) + 1);
  for (size_t i = 0; i < count; i++) copy[i] = ((int *)from->base)[values->first - 1 + i * values->step];
  *to = vector(copy, sizeof(int), INTEGER, count);
  *freed = 1;
}

static void set_section(struct bounds *values, const int *image, struct descriptor *to, const struct descriptor *from, void *token, size_t no,
                        const size_t *to_length, const size_t *from_length) {
  for (ptrdiff_t i = values->first, j = 0; i <= values->last; i += values->step)
    ((int *)to->base)[i - 1] = ((int *)from->base)[j++];
}

// d[i]%numbers(k): the pointer is followed by the owner.
static void get_element(ptrdiff_t *values, const int *image, void **to, int32_t *freed, struct t *from, void *token, size_t no, size_t *length,
                        const size_t *from_length) {
  *to = &from->numbers[*values - 1];
  *freed = 0;
}

static void set_element(ptrdiff_t *values, const int *image, struct t *to, const int *from, void *token, size_t no, const size_t *to_length,
                        const size_t *from_length) {
  to->numbers[*values - 1] = *from + 1000 * *image;
}

static void get_text(void *values, const int *image, void **to, int32_t *freed, struct t *from, void *token, size_t no, size_t *length,
                     const size_t *from_length) {
  *to = from->text;
  *length = from->text_length;
  *freed = 0;
}

static void has_text(void *values, const int *image, int32_t *result, struct t *from, void *token, size_t no) {
  *result = from->text != NULL;
}

enum { NUMBER = 0x11, SECTION = -0x22, SET_SECTION = 0x33, ELEMENT = 0x44, SET_ELEMENT = 0x55, TEXT = 0x66, HAS_TEXT = 0x77 };

__attribute__((constructor)) static void before(void) {
  _gfortran_caf_register_accessor(NUMBER, (void (*)(void))get_number);
  _gfortran_caf_register_accessor(SECTION, (void (*)(void))get_section);
  _gfortran_caf_register_accessor(SET_SECTION, (void (*)(void))set_section);
  _gfortran_caf_register_accessors_finish();
  struct descriptor scalar = {.elem_len = sizeof(int), .type = INTEGER, .span = sizeof(int)};
  _gfortran_caf_register(sizeof(int), 0, &n_token, &scalar, NULL, NULL, 0);
  n = scalar.base;
  struct descriptor array = vector(NULL, sizeof(int), INTEGER, LENGTH);
  _gfortran_caf_register(LENGTH * sizeof(int), 0, &a_token, &array, NULL, NULL, 0);
  a = array.base;
  struct descriptor object = {.elem_len = sizeof(struct t), .type = DERIVED, .span = sizeof(struct t)};
  _gfortran_caf_register(sizeof(struct t), 0, &d_token, &object, NULL, NULL, 0);
  d = object.base;
  // Of another file: after the first ones were complete.
  _gfortran_caf_register_accessor(ELEMENT, (void (*)(void))get_element);
  _gfortran_caf_register_accessor(SET_ELEMENT, (void (*)(void))set_element);
  _gfortran_caf_register_accessor(TEXT, (void (*)(void))get_text);
  _gfortran_caf_register_accessor(HAS_TEXT, (void (*)(void))has_text);
  _gfortran_caf_register_accessors_finish();
}

static void check(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "FAILED: %s\n", what);
  _gfortran_caf_error_stop(1, true);
}

static int accessor(int hash) {
  int index = _gfortran_caf_get_remote_function_index(hash);
  check(index >= 0, "an accessor has a number");
  return index;
}

static void get_array(int image, struct bounds bounds, struct descriptor *to, bool reshape) {
  struct descriptor like = vector(a, sizeof(int), INTEGER, LENGTH);
  size_t count = (bounds.last - bounds.first + bounds.step) / bounds.step;
  int stat = 9;
  _gfortran_caf_get_from_remote(a_token, &like, NULL, image, count * sizeof(int), &to->base, NULL, to, reshape, accessor(SECTION), &bounds,
                                sizeof bounds, &stat, NULL, NULL);
  check(stat == 0, "stat");
}

void use_accessors(int me, int images) {
  int next = me % images + 1, from = (me + images - 2) % images + 1;
  *n = 10 * me;
  for (int i = 0; i < LENGTH; i++) a[i] = i + 1 + 1000000 * me;
  static int numbers[4];
  for (int i = 0; i < 4; i++) numbers[i] = 100 * me + i + 1;
  *d = (struct t){me, numbers, 4, me % 2 ? strdup("Orange") : NULL, me};
  _gfortran_caf_sync_all(NULL, NULL, 0);

  int value = 0, *to = &value;
  _gfortran_caf_get_from_remote(n_token, NULL, NULL, next, sizeof value, (void **)&to, NULL, NULL, false, accessor(NUMBER), NULL, 0, NULL,
                                NULL, NULL);
  check(value == 10 * next, "a number");

  // b(1:3) = a(2:10:4)[next], and b = a(:)[next] with b that takes any shape.
  int few[3] = {0};
  struct descriptor fixed = vector(few, sizeof(int), INTEGER, 3);
  get_array(next, (struct bounds){2, 10, 4}, &fixed, false);
  for (int i = 0; i < 3; i++) check(few[i] == 2 + 4 * i + 1000000 * next, "a section");
  struct descriptor any = vector(NULL, sizeof(int), INTEGER, 0);
  get_array(next, (struct bounds){1, LENGTH, 1}, &any, true);
  check(any.dim[0].upper == LENGTH, "the new shape");
  for (int i = 0; i < LENGTH; i++) check(((int *)any.base)[i] == i + 1 + 1000000 * next, "a large array");
  get_array(me, (struct bounds){5, 6, 1}, &any, true);
  check(any.dim[0].upper == 2 && ((int *)any.base)[1] == 6 + 1000000 * me, "another shape");
  free(any.base);

  // d[next]%numbers(3).
  ptrdiff_t k = 3;
  to = &value;
  _gfortran_caf_get_from_remote(d_token, NULL, NULL, next, sizeof value, (void **)&to, NULL, NULL, false, accessor(ELEMENT), &k, sizeof k,
                                NULL, NULL, NULL);
  check(value == 100 * next + 3, "an element behind a pointer");
  for (int image = 1; image <= images; image++)
    check(_gfortran_caf_is_present_on_remote(d_token, image, accessor(HAS_TEXT), NULL, 0) == image % 2, "whether a component is there");
  check(_gfortran_caf_is_present_on_remote(NULL, 1, accessor(HAS_TEXT), NULL, 0) == 0, "no token");
  if (next % 2) {
    void *text = NULL;
    size_t length = 0, theirs = 0;
    _gfortran_caf_get_from_remote(d_token, NULL, &theirs, next, 1, &text, &length, NULL, true, accessor(TEXT), NULL, 0, NULL, NULL, NULL);
    check(length == (size_t)next && !memcmp(text, "Orange", length < WORD ? length : WORD), "a text with its length");
    free(text);
  }
  _gfortran_caf_sync_all(NULL, NULL, 0);

  // a(:)[next] = .., d[next]%numbers(2) = ..
  struct bounds all = {1, LENGTH, 1};
  int *source = malloc(LENGTH * sizeof(int));
  for (int i = 0; i < LENGTH; i++) source[i] = 7 * i + me;
  struct descriptor like = vector(a, sizeof(int), INTEGER, LENGTH), right = vector(source, sizeof(int), INTEGER, LENGTH);
  _gfortran_caf_send_to_remote(a_token, &like, NULL, next, LENGTH * sizeof(int), source, NULL, &right, accessor(SET_SECTION), &all,
                               sizeof all, NULL, NULL, NULL);
  free(source);
  k = 2;
  value = 5;
  _gfortran_caf_send_to_remote(d_token, NULL, NULL, next, sizeof value, &value, NULL, NULL, accessor(SET_ELEMENT), &k, sizeof k, NULL, NULL,
                               NULL);
  _gfortran_caf_sync_all(NULL, NULL, 0);
  for (int i = 0; i < LENGTH; i++) check(a[i] == 7 * i + from, "a large array written");
  check(numbers[1] == 5 + 1000 * from, "an element behind a pointer written, and who wrote it");
  _gfortran_caf_sync_all(NULL, NULL, 0);

  // a(1:3)[next] = a(7:9)[from]
  struct bounds first = {1, 3, 1}, seventh = {7, 9, 1};
  if (me == 1)
    _gfortran_caf_transfer_between_remotes(a_token, &like, NULL, next, accessor(SET_SECTION), &first, sizeof first, a_token, &like, NULL,
                                           from, accessor(SECTION), &seventh, sizeof seventh, 3 * sizeof(int), false, NULL, NULL, NULL, NULL,
                                           NULL, NULL);
  _gfortran_caf_sync_all(NULL, NULL, 0);
  if (me == (images == 1 ? 1 : 2))
    for (int i = 0; i < 3; i++) check(a[i] == 7 * (6 + i) + (images + images - 2) % images + 1, "a transfer");

  int stat = 0;
  to = &value;
  _gfortran_caf_get_from_remote(n_token, NULL, NULL, images + 1, sizeof value, (void **)&to, NULL, NULL, false, accessor(NUMBER), NULL, 0,
                                &stat, NULL, NULL);
  check(stat > 0, "an image that does not exist");
}
