// Constraints of C on declarations.
// static: no
// rule: specifiers
int float mixed; // expect-error:
long long long too_long; // expect-error:
signed unsigned both; // expect-error:
short double odd; // expect-error:
static extern int two_classes; // expect-error:
auto int no_auto; // expect-error:
register int no_register; // expect-error:
restrict int not_a_pointer; // expect-error:
int; // expect-warning:
unknown_type u; // expect-error: unknown_type
inline int not_a_function; // expect-error:
_Noreturn int not_a_function_either; // expect-error:
typedef int initialised = 3; // expect-error:
_Thread_local void thread_function(void); // expect-error:
// rule: tags
struct s {
    int a;
    int a; // expect-error: a
    int f(void); // expect-error:
    struct s self; // expect-error:
    int n : 40; // expect-error:
    int z : 0; // expect-error:
    double d : 3; // expect-error:
    void v; // expect-error:
    int list[]; // expect-error:
    int last;
};
struct s { int b; }; // expect-error:
union s tag_of_another_kind; // expect-error:
enum e { A, B, A }; // expect-error: A
enum not_constant { C = sizeof(int[3]) * 1.5 }; // expect-error:
enum none {}; // expect-error:
struct undefined object; // expect-error:
// rule: declarators
int negative[-1]; // expect-error:
int fractional[1.5]; // expect-error:
int n, not_constant_bound[n]; // expect-error:
int functions[3](void); // expect-error:
int returns_array(void)[3]; // expect-error:
int returns_function(void)(void); // expect-error:
int two_open[][]; // expect-error:
void nothing; // expect-error:
int static_bound[static 3]; // expect-error:
int star_bound[*]; // expect-error:
int twice(int a, int a); // expect-error: a
int void_parameter(int, void); // expect-error:
int no_name(...); // expect-error:
int storage(static int a); // expect-error:
_Alignas(1) int less_aligned; // expect-error:
_Alignas(3) int odd_alignment; // expect-error:
_Alignas(8) typedef int aligned_type; // expect-error:
// rule: redeclarations
int x;
long x; // expect-error: x
int function(int);
int function(char); // expect-error: function
int function; // expect-error: function
static int late;
int late; // expect-error: late
int early;
static int early; // expect-error: early
typedef int T;
typedef long T; // expect-error: T
int T; // expect-error: T
int defined = 1;
int defined = 2; // expect-error: defined
// rule: initialisers
int from_object = defined; // expect-error:
int *from_number = 1.5; // expect-error:
int by_zero = 1 / 0; // expect-error:
int bad_index[2] = {[2] = 1}; // expect-error:
struct { int m; } bad_member = {.n = 1}; // expect-error:
int array_from_scalar[3] = 3; // expect-error:
int call = function(1); // expect-error:
// rule: warned
int too_many[2] = {1, 2, 3}; // expect-warning:
char too_long_text[2] = "text"; // expect-warning:
_Static_assert(0, "fails"); // expect-error: fails
int main(void)
{
    // rule: blocks
    int y, y; // expect-error: y
    int z;
    extern int z; // expect-error: z
    static int f(void); // expect-error:
    extern int w = 3; // expect-error:
    static int kept[n]; // expect-error:
    static int from_local = y; // expect-error:
    struct unknown local; // expect-error:
    return 0;
}
