//! No input makes the front end panic, hang or overflow its stack: truncations, mutations, deep nesting.

use std::fmt::Write as _;
use upcc::front::{ast::FrontOptions, check};

const SEED_TEXT: &str = r#"
# 1 "a.upc"
#pragma upc relaxed
typedef unsigned long size_t; typedef shared [4] int *pts_t;
struct s { int a : 3; union { float f; char b[4]; }; shared int *p; } __attribute__((packed));
enum e { A, B = 3, C };
shared [*] int arr[10*THREADS][3]; shared [] char *strict_p; strict shared int flag;
extern shared struct s gs[THREADS]; static int table[] = { [2] = 1, [4 ... 6] = 2, 3 };
int printf(const char *fmt, ...); void *malloc(size_t n);
static inline __attribute__((always_inline)) int add(int x, int y) { return x + y; }
int old(a, b) int a; char *b; { return a + *b; }
#pragma upc strict
int main(int argc, char **argv)
{
    int i, v[argc], (*q)[v[0] ? 3 : 4]; static shared double d[5*THREADS];
    pts_t p = (pts_t)&arr[1][2]; long n = p - (pts_t)arr;
    upc_forall (i = 0; i < 10*THREADS; i++; &arr[i]) { arr[i][0] += i << 2; if (i % 2) continue; }
    for (int k = 0, m = 3; k < m; ++k) switch (k) { case 0 ... 1: break; case B: goto out; default: ; }
    upc_barrier 3 + MYTHREAD; upc_notify; upc_wait; upc_fence;
    gs[MYTHREAD].a = 2; gs[0].b[i] = 'x'; strict_p = (shared [] char *)&gs[1].f;
    char *s = "a\n\x41" "b"; double z = 1.5e3 + 0x1p-3 * (i ?: 2);
    __typeof__(z) w = ({ int t = 3; t * z; }); __asm__ volatile ("nop" : "=r"(i) : "r"(n) : "memory");
    do { d[i] = w--, (void)0; } while (!upc_threadof(p) && i || ~argc);
    printf("%d %s %zu\n", add(_Generic(i, int: 1, default: 2), table[3]), s, sizeof(struct s) + upc_localsizeof(d));
    struct s loc = { .f = 1.0f, .p = 0 }; (struct s){ 1 }.a; __builtin_va_list ap; __builtin_va_start(ap, argv);
    int x = __builtin_va_arg(ap, int) + __builtin_offsetof(struct s, b[2]); void *l = &&out; goto *l;
out:
    return malloc(upc_blocksizeof(arr)) != 0 ? x : -loc.a;
}
"#;

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

fn run(text: &str, threads: Option<u32>, seed: &str) {
    let opts = FrontOptions { static_threads: threads, ..FrontOptions::default() };
    // A deep tree needs the large stack to be dropped, too.
    let body = || {
        let mut opts = opts.clone();
        opts.warn.all = true;
        let r = check(text, &opts);
        for d in &r.diagnostics {
            let _ = d.to_string();
        }
        if !r.failed() {
            let _ = upcc::dump::unit(&r.unit);
        }
    };
    let r = std::panic::catch_unwind(|| upcc::front::on_big_stack(body));
    assert!(r.is_ok(), "panic with {seed} on:\n{text}");
}

/// Splits into words, numbers, strings and single characters.
fn pieces(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let b = text.as_bytes();
    let mut i = 0;
    while i < b.len() {
        let start = i;
        let word = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
        if word(b[i]) {
            while i < b.len() && word(b[i]) {
                i += 1;
            }
        } else {
            i += 1;
        }
        out.push(&text[start..i]);
    }
    out
}

#[test]
fn the_seed_is_fine() {
    for threads in [None, Some(3)] {
        let opts = FrontOptions { static_threads: threads, ..FrontOptions::default() };
        let text =
            SEED_TEXT.replace("main(int argc", "size_t upc_threadof(shared void *);\nint main(int argc");
        let text = text.replace("int size_t", "size_t");
        let said: Vec<String> = check(&text, &opts).diagnostics.iter().map(ToString::to_string).collect();
        assert!(said.iter().all(|d| !d.contains("error:")), "{}", said.join("\n"));
    }
}

#[test]
fn truncations() {
    let step = if cfg!(debug_assertions) { 7 } else { 1 };
    for n in (0..SEED_TEXT.len()).step_by(step) {
        run(&SEED_TEXT[..n], (n % 2 == 0).then_some(2), &format!("truncation at {n}"));
    }
}

#[test]
fn mutations() {
    let seed: u64 = std::env::var("UPCC_FUZZ_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0x5eed_cafe);
    let rounds: u32 = std::env::var("UPCC_FUZZ_ROUNDS").ok().and_then(|s| s.parse().ok()).unwrap_or(1500);
    println!("seed {seed} (set UPCC_FUZZ_SEED to repeat, UPCC_FUZZ_ROUNDS for more)");
    let mut rng = Rng(seed | 1);
    let base = pieces(SEED_TEXT);
    let odd = [
        "shared",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        ";",
        "*",
        "THREADS",
        "0",
        "-1",
        "99999999999999999999",
        "\"",
        "'",
        "\\",
        "#",
        "\n",
        "int",
        "struct",
        "typedef",
        "=",
        ",",
        ":",
        "...",
        "void",
        "\u{e9}",
        "1.0",
        "sizeof",
        "__attribute__",
        "->",
        "&&",
        "static",
        "case",
    ];
    for round in 0..rounds {
        let mut p = base.clone();
        for _ in 0..=rng.below(6) {
            let (i, j) = (rng.below(p.len()), rng.below(p.len()));
            match rng.below(5) {
                0 => _ = p.remove(i),
                1 => p.swap(i, j),
                2 => p[i] = p[j],
                3 => p.insert(i, odd[rng.below(odd.len())]),
                _ => {
                    let end = (i + rng.below(30)).min(p.len());
                    let part: Vec<&str> = p[i..end].to_vec();
                    for (k, x) in part.into_iter().enumerate() {
                        p.insert((j + k).min(p.len()), x);
                    }
                }
            }
            if p.is_empty() {
                break;
            }
        }
        run(&p.concat(), (round % 3 == 0).then_some(4), &format!("seed {seed}, round {round}"));
    }
}

#[test]
fn deep_nesting_is_an_error_or_works() {
    let n = 100_000;
    let wrap = |open: &str, mid: &str, close: &str| format!("{}{mid}{}", open.repeat(n), close.repeat(n));
    for e in [
        wrap("(", "1", ")"),
        wrap("-", "1", ""),
        wrap("1+", "1", ""),
        wrap("x=", "1", ""),
        wrap("1?", "1", ":1"),
        wrap("1?1:", "1", ""),
        wrap("x[", "1", "]"),
        wrap("", "x", "[0]"),
        wrap("f(", "1", ")"),
        wrap("({", "1;", "})"),
        wrap("sizeof ", "x", ""),
        wrap("(int)", "1", ""),
        wrap("*&", "x", ""),
        wrap("1,", "1", ""),
        "(".repeat(n),
    ] {
        run(&format!("int x, f(int); void g(void) {{ x = {e}; }}"), None, "deep expression");
    }
    for d in [
        format!("int {};", wrap("(", "a", ")")),
        format!("int {}a;", "*".repeat(n)),
        format!("int a{};", "[1]".repeat(n)),
        format!("int a = {};", wrap("{", "1", "}")),
        wrap("struct {", "int a;", "} b;"),
        format!("void f(void) {}", wrap("{", ";", "}")),
        format!("void f(void) {{ {} ; }}", "if (1) ".repeat(n)),
        format!("void f(void) {{ {} ; }}", "if (1) ; else ".repeat(n)),
        format!("void f(void) {{ {} ; }}", "a: ".repeat(1000)),
        format!("void f(void) {{ switch (1) {{ {} ; }} }}", "case 1: ".repeat(n)),
        format!("void f{};", "(int a".repeat(n)),
        format!("int f{};", "(".repeat(n)),
        wrap("__typeof__(", "int", ") a;"),
        "shared ".repeat(n),
        "shared [".repeat(n),
        "__attribute__((".repeat(n),
    ] {
        run(&d, None, "deep declaration");
    }
}

#[test]
fn long_lists_are_fine() {
    let mut text = "int a[] = {".to_owned();
    for i in 0..50_000 {
        _ = write!(text, "{i}, ");
    }
    text += "};\nint f(int x) {\n";
    for i in 0..2_000 {
        _ = writeln!(text, "if (x == {i}) return {i}; else");
    }
    text += " return 0; }\nint s(int x) { return x";
    for i in 0..5_000 {
        _ = write!(text, " + {i}");
    }
    text += "; }\n";
    let r = check(&text, &FrontOptions::default());
    let said: Vec<String> = r.diagnostics.iter().map(ToString::to_string).collect();
    assert!(said.is_empty(), "{}", said.join("\n"));
}

/// Initialisers of arrays whose elements can take nothing, and have no end.
#[test]
fn empty_elements_are_passed_at_once() {
    for text in [
        "struct e { }; struct e a[1ul << 40] = { 1, 2 };",
        "struct e { }; struct e b[] = { 1 };",
        "struct e { }; struct o { struct e x, y[3]; } c[1ul << 40] = { 1, 2 };",
        "struct e { }; struct n { struct e x; int m; } d[2] = { 1, 2, 3 };",
        "struct u { int : 3; } v[1ul << 40][7] = { [5] = { 2 }, 3 };",
    ] {
        let r = check(text, &FrontOptions::default());
        assert!(
            r.diagnostics.iter().all(|d| d.message.contains("excess")) && !r.diagnostics.is_empty(),
            "{text}: {:?}",
            r.diagnostics
        );
    }
    let r = check("struct e { }; struct n { struct e x; int m; } d[2] = { 1, 2 };", &FrontOptions::default());
    assert!(r.diagnostics.is_empty(), "{:?}", r.diagnostics);
}

/// Types that contain themselves, which is an error, have no end either.
#[test]
fn types_within_themselves_are_left_alone() {
    for text in [
        "struct s { shared struct s m; }; struct s a = { 1, 2 };",
        "struct s { struct s m; }; struct s a = { 1, 2 };",
        "struct s { struct s m[]; }; struct s a = { 1, 2 };",
        "struct s { struct s m[2]; int n; }; struct s a[3] = { 1, 2 };",
        "union u { ; shared union u m = { 17 }; }; shared union u b = { 17 };",
    ] {
        assert!(check(text, &FrontOptions::default()).failed(), "{text}");
    }
}
