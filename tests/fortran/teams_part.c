// Teams as gfortran 16 compiles them: values of team variables, with stat= and errmsg=, get_team, and names that change team associates.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

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
enum { INTEGER = 1, STATIC = 0, ALLOCATED = 1, MAP_EXISTING = 9, FAILED_IMAGE = 6001 };
enum { INITIAL, PARENT, CURRENT };

int _gfortran_caf_this_image(void *);
int _gfortran_caf_num_images(void *, int32_t *);
void _gfortran_caf_form_team(int, void **, int *, int *, char *, size_t);
void _gfortran_caf_change_team(void *, int *, char *, size_t);
void _gfortran_caf_end_team(int *, char *, size_t);
void _gfortran_caf_sync_team(void *, int *, char *, size_t);
int _gfortran_caf_team_number(void *);
void *_gfortran_caf_get_team(int32_t *);
int _gfortran_caf_image_status(int, void *);
void _gfortran_caf_fail_image(void);
void _gfortran_caf_register(size_t, int, void **, void *, int *, char *, size_t);
void _gfortran_caf_deregister(void **, int, int *, char *, size_t);
void _gfortran_caf_get(void *, size_t, int, void *, void *, void *, int, int, bool, int *);
void _gfortran_caf_sync_all(int *, char *, size_t);
void _gfortran_caf_error_stop(int, bool);

static void *token;
static int *a;

__attribute__((constructor)) static void before(void) {
  struct descriptor array = {NULL, -1, sizeof(int), 0, 1, INTEGER, 0, sizeof(int), {{1, 1, 4}}};
  _gfortran_caf_register(4 * sizeof(int), STATIC, &token, &array, NULL, NULL, 0);
  a = array.base;
}

static void check(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "FAILED: %s\n", what);
  _gfortran_caf_error_stop(1, false);
}

static void *level(int32_t which) { return _gfortran_caf_get_team(&which); }

static int read(void *token, ptrdiff_t offset, int image) {
  int value = -1;
  struct descriptor from = {a, 0, sizeof(int), 0, 0, INTEGER, 0, sizeof(int)}, to = from;
  to.base = &value;
  _gfortran_caf_get(token, offset, image, &from, NULL, &to, 4, 4, false, NULL);
  return value;
}

void use_teams(void) {
  int me = _gfortran_caf_this_image(NULL), n = _gfortran_caf_num_images(NULL, NULL), status = 99;
  char text[40];
  void *initial = _gfortran_caf_get_team(NULL), *halves = NULL, *reversed = NULL;
  for (int i = 0; i < 4; i++) a[i] = 10 * me + i;
  check(initial && initial == level(INITIAL) && initial == level(PARENT) && initial == level(CURRENT), "levels of the initial team");
  check(_gfortran_caf_team_number(initial) == -1 && _gfortran_caf_team_number(NULL) == -1, "its number");

  int index = n - me + 1;
  _gfortran_caf_form_team(7, &reversed, &index, &status, text, sizeof text);
  check(status == 0 && _gfortran_caf_num_images(reversed, NULL) == n, "a team of all");
  check(_gfortran_caf_this_image(reversed) == index, "with the images in another order");
  index = n + 1;
  void *none = NULL;
  _gfortran_caf_form_team(8, &none, &index, &status, text, sizeof text);
  check(status != 0 && strstr(text, "new_index"), "a number that no image can have");
  _gfortran_caf_form_team(1 + me % 2, &halves, NULL, &status, NULL, 0);
  check(status == 0 && _gfortran_caf_team_number(halves) == 1 + me % 2, "halves");

  int32_t number = 1 + me % 2;
  check(_gfortran_caf_num_images(NULL, &number) == _gfortran_caf_num_images(halves, NULL), "num_images of a number");
  _gfortran_caf_sync_team(halves, &status, NULL, 0);
  check(status == 0, "sync team");
  _gfortran_caf_sync_all(NULL, NULL, 0);
  _gfortran_caf_change_team(halves, &status, NULL, 0);
  check(status == 0 && _gfortran_caf_get_team(NULL) == halves && level(PARENT) == initial && level(INITIAL) == initial, "levels inside");
  int mine = _gfortran_caf_this_image(NULL), size = _gfortran_caf_num_images(NULL, NULL);
  check(size == (me % 2 ? (n + 1) / 2 : n / 2) && mine == (me + 1) / 2, "its images");
  check(_gfortran_caf_num_images(initial, NULL) == n && _gfortran_caf_this_image(initial) == me, "those of the initial team");
  number = -1;
  check(_gfortran_caf_num_images(NULL, &number) == n, "by its number");

  // change team (halves, part[*] => a(3:4))
  void *part = token;
  struct descriptor of = {a + 2, -1, sizeof(int), 0, 1, INTEGER, 0, sizeof(int), {{1, 1, 2}}};
  _gfortran_caf_register(2 * sizeof(int), MAP_EXISTING, &part, &of, NULL, NULL, 0);
  check(part != token, "a name of its own");
  int other = mine % size + 1, in_all = 2 * other - me % 2;
  check(read(part, 0, other) == 10 * in_all + 2 && read(part, sizeof(int), other) == 10 * in_all + 3, "elements by the name");
  void *made = NULL;
  struct descriptor fresh = {NULL, -1, sizeof(int), 0, 1, INTEGER, 0, sizeof(int), {{1, 1, 4}}};
  _gfortran_caf_register(4 * sizeof(int), ALLOCATED, &made, &fresh, &status, NULL, 0);
  check(status == 0, "allocate in a team");
  if (me % 2) _gfortran_caf_deregister(&part, 0, &status, NULL, 0);
  check(status == 0 && (!part || me % 2 == 0), "the name is given up");
  _gfortran_caf_sync_all(NULL, NULL, 0);
  _gfortran_caf_end_team(&status, NULL, 0);
  check(status == 0 && _gfortran_caf_get_team(NULL) == initial && !part && !made, "the end deallocates, names too");
  check(read(token, 0, n) == 10 * n, "the coarray stays");

  // Images that have failed are told of where there is stat=.
  _gfortran_caf_sync_all(NULL, NULL, 0);
  if (n < 3) return;
  if (me == n) _gfortran_caf_fail_image();
  memset(text, 'x', sizeof text);
  void *rest = NULL;
  _gfortran_caf_form_team(3, &rest, NULL, &status, text, sizeof text);
  check(status == FAILED_IMAGE && strstr(text, "has failed") && rest, "form team with stat=");
  check(_gfortran_caf_num_images(rest, NULL) == n - 1 && _gfortran_caf_image_status(n, NULL) == FAILED_IMAGE, "the others");
  _gfortran_caf_change_team(reversed, &status, NULL, 0);
  check(status == FAILED_IMAGE, "change team with stat=");
  _gfortran_caf_end_team(&status, NULL, 0);
  check(status == FAILED_IMAGE, "end team with stat=");
  _gfortran_caf_change_team(rest, NULL, NULL, 0);
  _gfortran_caf_sync_all(NULL, NULL, 0);
  _gfortran_caf_end_team(NULL, NULL, 0);
}
