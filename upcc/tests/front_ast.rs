//! The AST of expressions and declarations: conversions, strictness, layouts, constants.

use std::path::Path;
use std::process::Command;
use upcc::dump;
use upcc::front::{ast::FrontOptions, check};

fn dumped(text: &str, threads: Option<u32>) -> String {
    let opts = FrontOptions { static_threads: threads, ..FrontOptions::default() };
    let r = check(text, &opts);
    let said: Vec<String> = r.diagnostics.iter().map(ToString::to_string).collect();
    assert!(said.is_empty(), "{}", said.join("\n"));
    dump::unit(&r.unit)
}

#[track_caller]
fn same(text: &str, threads: Option<u32>, want: &str) {
    let got = dumped(text, threads);
    let clean = |s: &str| s.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n");
    assert_eq!(clean(&got), clean(want), "\n{got}");
}

#[test]
fn layouts_bind_to_the_ultimate_element() {
    same(
        "typedef int S[10]; shared [3] S t[3*THREADS]; shared [*] int a[4*THREADS][5]; shared [0] char c; int *shared p;",
        None,
        "typedef S: [10]int
         t: [3*THREADS][10]shared[3] int
         a: [4*THREADS][5]shared[20] int
         c: shared[] char
         p: shared[1] ptr(int)",
    );
    same("shared [*] int a[10]; shared [*] int s;", Some(3), "a: [10]shared[4] int\ns: shared[1] int");
}

#[test]
fn loads_and_stores_of_shared_objects() {
    same(
        "shared int x; int y; strict shared int s; struct q { int a; char b[4]; }; shared struct q g;
         void f(shared struct q *p) { y = x; x = y; x += 2.5; s++; g.a = p->b[y]; g = *p; }",
        None,
        "x: shared[1] int
         y: int
         s: shared[1] strict int
         declare nothing
         g: shared[1] struct q
         function f: fn(ptr(shared[1] struct q)) void (p) upc
         (= y (get x))
         (= x (load y))
         (+=:double x 2.5)
         (s! ++)
         (= (. g a) (arith:int (get ([] (shared-decay (-> (load p) b)) (load y)))))
         (= g (get (* (load p))))",
    );
}

#[test]
fn pragmas_decide_what_no_qualifier_does() {
    same(
        "shared int x; relaxed shared int r;\n#pragma upc strict\nvoid f(void) { x = 1; r = 1; {\n#pragma upc relaxed\nx = 2; } x = 3; }\n#pragma upc relaxed\nvoid g(void) { x = 4; }\n",
        None,
        "x: shared[1] int
         r: shared[1] relaxed int
         function f: fn() void () upc
         (= x! 1)
         (= r 1)
         block
         (= x 2)
         (= x! 3)
         function g: fn() void () upc
         (= x 4)",
    );
}

/// Preprocesses a text. `upc_strict.h` and `upc_relaxed.h` are the real ones, `upc.h` is empty.
fn preprocessed(name: &str, text: &str) -> String {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ast-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("upc.h"), "").unwrap();
    std::fs::write(dir.join("unit.upc"), text).unwrap();
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../upc-rt/include");
    let out = Command::new("cc")
        .args(["-E", "-dD", "-nostdinc", "-x", "c", "-I"])
        .args([dir.as_path(), Path::new("-I"), &ours, &dir.join("unit.upc")])
        .output()
        .unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn accesses_in_macros_and_headers_take_the_state_of_their_place() {
    let text = preprocessed(
        "places",
        "shared int x;
#pragma upc strict
#define SET(v) ((v) = x)
#define OPEN { _Pragma(\"upc strict\")
#pragma upc relaxed
void f(void) { SET(x); }
#include <upc_strict.h>
void g(void) { SET(x); }
#include <upc_relaxed.h>
void h(void) { SET(x); OPEN SET(x); } SET(x); }
#include <upc_strict.h>
#define strict relaxed
#pragma upc strict
#define upc other
#pragma upc strict
void i(void) { SET(x); }
",
    );
    same(
        &text,
        None,
        "x: shared[1] int
         function f: fn() void () upc
         (= x (get x))
         function g: fn() void () upc
         (= x! (get x!))
         function h: fn() void () upc
         (= x (get x))
         block
         (= x! (get x!))
         (= x (get x))
         function i: fn() void () upc
         (= x! (get x!))",
    );
}

#[test]
fn pointer_conversions_keep_or_reset_the_phase() {
    same(
        "shared [4] int *b; shared int *c; shared [] int *i; shared void *v; shared [4] char *bc; int *p;
         void f(void) { v = b; b = v; c = v; i = v; c = (shared int *)b; bc = (shared [4] char *)b;
           b = (shared [4] int *)(shared [4] const int *)b; p = (int *)b; b = 0; v = (void *)0; long l = (long)v; _Bool t = v; }",
        None,
        "b: ptr(shared[4] int)
         c: ptr(shared[1] int)
         i: ptr(shared[] int)
         v: ptr(shared[1] void)
         bc: ptr(shared[4] char)
         p: ptr(int)
         function f: fn() void () upc
         (= v (pts:ptr(shared[1] void) (load b)))
         (= b (pts:ptr(shared[4] int) (load v)))
         (= c (pts-reset:ptr(shared[1] int) (load v)))
         (= i (pts-reset:ptr(shared[] int) (load v)))
         (= c (cast pts-reset:ptr(shared[1] int) (load b)))
         (= bc (cast pts-reset:ptr(shared[4] char) (load b)))
         (= b (cast pts:ptr(shared[4] int) (cast pts:ptr(shared[4] const int) (load b))))
         (= p (cast local:ptr(int) (load b)))
         (= b (null-pts:ptr(shared[4] int) 0))
         (= v (null-pts:ptr(shared[1] void) (cast null:ptr(void) 0)))
         l: long = (cast pts-int:long (load v))
         t: _Bool = (pts-bool:_Bool (load v))",
    );
}

#[test]
fn members_of_shared_structs_are_indefinite() {
    same(
        "struct s { int a; struct { int b[2]; }; int bits : 3; }; shared [5] struct s x[5*THREADS];
         void f(int i) { shared [] int *p = &x[i].a; p = x[i].b; x[i].bits = 1; int n = sizeof x[i].b; }",
        None,
        "declare nothing
         x: [5*THREADS]shared[5] struct s
         function f: fn(int) void (i) upc
         p: ptr(shared[] int) = (& (. ([] (shared-decay x) (load i)) a))
         (= p (shared-decay (. ([] (shared-decay x) (load i)) - b)))
         (= (. ([] (shared-decay x) (load i)) bits) 1)
         n: int = (arith:int (size 8))",
    );
}

#[test]
fn forall_and_barriers() {
    same(
        "shared int a[THREADS]; void f(double d) { upc_forall(int i = 0; i < THREADS; i++; &a[i]) a[i] = i; upc_forall(;;;) ;
           upc_forall(;;;continue) ; upc_forall(;;; 1L) ; upc_barrier; upc_notify 3; upc_wait d; upc_fence; }",
        None,
        "a: [1*THREADS]shared[1] int
         function f: fn(double) void (d) upc
         i: int = 0
         forall declared; (< (load i) THREADS); (i ++); pts (& ([] (shared-decay a) (load i)))
         (= ([] (shared-decay a) (load i)) (load i))
         forall -; -; -; always
         empty
         forall -; -; -; always
         empty
         forall -; -; -; int 1L
         empty
         barrier -
         notify 3
         wait (arith:int (load d))
         fence",
    );
}

#[test]
fn sizes_of_shared_types() {
    let text = "shared [3] int a[10*THREADS]; enum { L = upc_localsizeof(a), B = upc_blocksizeof a, E = upc_elemsizeof(a),
        I = upc_blocksizeof(shared [] char), N = upc_localsizeof(shared [] int[7]), S = upc_localsizeof(shared int) };
        int v[] = { L, B, E, I, N, S };";
    for (threads, local) in [(None, 48), (Some(1), 40), (Some(4), 48)] {
        let opts = FrontOptions { static_threads: threads, ..FrontOptions::default() };
        let r = check(text, &opts);
        assert!(!r.failed());
        let value = |n: &str| {
            let d = r.unit.decls.iter().find(|d| r.unit.name(d.name) == n).unwrap();
            d.value.unwrap().int().unwrap()
        };
        assert_eq!(["L", "B", "E", "I", "N", "S"].map(value), [local, 3, 4, 0, 28, 4], "THREADS {threads:?}");
    }
}

#[test]
fn initialisers_are_matched_with_their_targets() {
    same(
        "struct p { int x, y; }; struct l { struct p a[2]; int n; } v[] = { 1, 2, 3, 4, 5, [3].a[1].y = 6, 7, { { 8 } } };
         char s[] = \"ab\\0\"; char t[2][3] = { \"ab\", { 'c' } }; int r[] = { [2 ... 4] = 1, 2 };
         union { int i; float f; } u = { .f = 1 }; int z = { 3 };",
        None,
        r#"declare nothing
         v: [5]struct l = {[0].0[0].0: 1, [0].0[0].1: 2, [0].0[1].0: 3, [0].0[1].1: 4, [0].1: 5, [3].0[1].1: 6, [3].1: 7, [4]: {.0: {[0].0: 8}}}
         s: [4]char = "ab\0"
         t: [2][3]char = {[0]: "ab", [1]: {[0]: (arith:char 'c')}}
         r: [6]int = {[2..=4]: 1, [5]: 2}
         u: union - = {.1: (arith:float 1)}
         z: int = {: 3}"#,
    );
}

#[test]
fn usual_conversions() {
    same(
        "void f(char c, unsigned u, long l, float g, _Complex double z, struct { unsigned b : 5; } *s) {
           c + c; u + l; u + c; g * 2; z + 1.0; s->b - 1; c ? u : l; -c; l << c; }",
        None,
        "function f: fn(char, unsigned int, long, float, complex double, ptr(struct -)) void (c, u, l, g, z, s)
         (+ (arith:int (load c)) (arith:int (load c)))
         (+ (arith:long (load u)) (load l))
         (+ (load u) (arith:unsigned int (arith:int (load c))))
         (* (load g) (arith:float 2))
         (+ (load z) 1.0)
         (- (arith:int (load (-> (load s) b))) 1)
         (? (load c) (arith:long (load u)) (load l))
         (- (arith:int (load c)))
         (<< (load l) (arith:int (load c)))",
    );
}

#[test]
fn a_node_without_upc_says_so() {
    let text = "shared int x; int y; void plain(int a) { y = a + 1; } void mixed(void) { y = 2; x = 3; }";
    let r = check(text, &FrontOptions::default());
    let upc: Vec<bool> = r.unit.items.iter().map(|i| i.has_upc).collect();
    assert_eq!(upc, [true, false, false, true]);
    let upcc::front::ast::ItemKind::Func(f) = &r.unit.items[3].kind else { panic!() };
    let stmts: Vec<bool> = f.body.stmts.iter().map(|s| s.has_upc).collect();
    assert_eq!(stmts, [false, true]);
}
