//! Deep and long inputs are translated, in a time that does not double with each level: every construct that
//! nests, nested so deeply that otherwise no end would come, and chains of thousands.

use std::fmt::Write as _;
use std::sync::mpsc;
use std::time::Duration;

use upcc::emit::{EmitOptions, emit};
use upcc::front::{ast::FrontOptions, check, on_big_stack};
use upcc::opt::{Optimiser, Passes};

const DEPTH: usize = 60;
/// Only what never ends takes so long.
const HANG: Duration = Duration::from_secs(300);

/// Front end and emission; what the front end says.
fn translate(text: &str) -> (Option<String>, Vec<String>) {
    let text = text.to_string();
    let (done, result) = mpsc::channel();
    std::thread::spawn(move || {
        let both = on_big_stack(|| {
            let result = check(&text, &FrontOptions::default());
            let said = result.diagnostics.iter().map(ToString::to_string).collect();
            let how = EmitOptions {
                source: "deep.upc".into(),
                threads: None,
                pts_struct: false,
                lines: true,
                debug: false,
                sanitize: false,
                aggregate: false,
                openmp: false,
                pic: false,
                passes: Passes::all(true),
                heap_bytes: 0,
                own_headers: "/nowhere".into(),
                extern_main: false,
                iso_inline: true,
            };
            let c = if result.failed() {
                None
            } else {
                Some(emit(&result.unit, &Optimiser::new(&result.unit, how.passes), &how).0)
            };
            (c, said)
        });
        drop(done.send(both));
    });
    result.recv_timeout(HANG).expect("it hangs")
}

/// The emitted C, of a text in which nothing is wrong. It does not grow out of proportion either.
fn translated(name: &str, text: &str) {
    let (c, said) = translate(text);
    let errors: Vec<&String> = said.iter().filter(|s| s.contains("error")).collect();
    assert!(errors.is_empty(), "{name}: {errors:?}\n{text}");
    let c = c.expect("no C");
    assert!(c.len() < 100_000 + 400 * text.len(), "{name}: {} bytes of C for {}", c.len(), text.len());
}

const HEAD: &str = "typedef unsigned long size_t; shared int sx, sa[10 * THREADS]; int f(int), x;\n\
                    typedef struct n { shared struct n *s; struct n *p; int v; } n; static shared n h;\n";

fn levels(open: &str, middle: &str, close: &str) -> String {
    format!("{}{middle}{}", open.repeat(DEPTH), close.repeat(DEPTH))
}

/// Levels with a number each.
fn numbered(open: &str, middle: &str, close: &str) -> String {
    let open: String = (0..DEPTH).map(|i| open.replace('#', &i.to_string())).collect();
    format!("{open}{middle}{}", close.repeat(DEPTH))
}

#[test]
fn types_made_of_types_many_times() {
    for (name, link) in [
        ("function pointers", "typedef A (*B)(A, A);"),
        ("parameters", "typedef int (*B)(A, A, A);"),
        ("functions", "typedef int B(A *, A *);"),
        ("pointers", "typedef A *B;"),
        ("pointers to arrays", "typedef A (*B)[2];"),
        ("arrays", "typedef A B[1];"),
        ("structures", "typedef struct { A *x, *y; } B;"),
        ("structures with functions", "typedef struct { A *(*x)(A *, A *); A *y; } B;"),
        ("unions", "typedef union { A x, y; } B;"),
        ("pointers to shared", "typedef shared A *B;"),
        ("functions with shared", "typedef shared int *(*B)(A, A);"),
        ("structures with shared", "typedef struct { shared A *x; shared A *y; } B;"),
        ("typeof", "typedef __typeof__(A (*)(A, A)) B;"),
        ("functions of typeof", "typedef __typeof__(*(A *)0) (*B)(A, A);"),
    ] {
        // Once outside of functions and once inside.
        for inside in [false, true] {
            let mut chains = String::new();
            for side in ["t", "u"] {
                let _ = write!(chains, "typedef int {side}0;");
                for i in 0..DEPTH {
                    let to = format!("{side}{}", i + 1);
                    chains += &link.replace('A', &format!("{side}{i}")).replace('B', &to);
                }
            }
            let (outer, inner) = if inside { ("", chains.as_str()) } else { (chains.as_str(), "") };
            // There are no shared functions.
            let shared = match name {
                "functions" => String::new(),
                _ => format!("shared t{DEPTH} *s = 0; a = (t{DEPTH} *)s; s += x; x = s == 0;"),
            };
            let body = format!(
                "t{DEPTH} *a = 0; u{DEPTH} *b = 0; x = sizeof(t{DEPTH} *) + (a != 0); {shared}
                 return b != 0;"
            );
            translated(name, &format!("{HEAD}{outer}\nint main(void) {{ {inner} {body} }}"));
        }
    }
}

/// Two chains that are the same type, or compatible, or neither, are compared, and shown in messages.
#[test]
fn types_made_of_types_are_compared() {
    let chain = |side: char, first: &str, link: &str| {
        let mut text = format!("typedef {first};");
        for i in 0..DEPTH {
            text += &link.replace('A', &format!("{side}{i}")).replace('B', &format!("{side}{}", i + 1));
        }
        text
    };
    let link = "typedef A (*B)(A, A);";
    let pairs = [
        ("int t0", "int u0", link),
        ("int t0", "enum { E } u0", link),
        ("int *t0", "shared int *u0", link),
        ("int t0", "int u0", "typedef A (*B)();"),
        ("int (*t0)[]", "int (*u0)[4]", link),
        ("int t0", "double u0", link),
    ];
    for (first, second, second_link) in pairs {
        let text = format!(
            "{HEAD}{}{}extern t{DEPTH} g(t{DEPTH}); extern u{DEPTH} g(u{DEPTH});
             int main(void) {{ t{DEPTH} a = 0; u{DEPTH} b = 0; struct {{ int x; }} s; a = b; b = a; s = *a; s = *&a;
             return 1 ? a == b : *(x ? &a : &b) == 0; }}",
            chain('t', first, link),
            chain('u', second, second_link)
        );
        let (_, said) = translate(&text);
        for message in said {
            assert!(message.len() < 20_000, "{} bytes: {}", message.len(), &message[..400]);
        }
    }
}

#[test]
fn expressions_and_initialisers() {
    for (open, middle, close) in [
        ("(", "sx", ")"),
        ("- ", "sx", ""),
        ("!", "sx", ""),
        ("sx + (", "sx", ")"),
        ("(", "sx", " + sx)"),
        ("(int)(long)", "sx", ""),
        ("sx ? sx : (", "sx", ")"),
        ("sx ? (", "sx", ") : sx"),
        ("(", "sx", " ? sx : x)"),
        ("(", "sx", " ?: sx)"),
        ("sx ?: (", "sx", ")"),
        ("sx && (", "sx", ")"),
        ("(sx, ", "sx", ")"),
        ("sa[", "0", "]"),
        ("sa[h.s->", "v", "]"),
        ("f(", "sx", ")"),
        ("sizeof(", "sx", ")"),
        ("sizeof(int(*)[", "1", "])"),
        ("({ int q = ", "sx", "; q; })"),
        ("({ sx += ", "sx", "; })"),
        ("({ sx; ", "sx", "; sx; })"),
        ("_Generic(sx, int: ", "sx", ", default: 0)"),
        ("_Generic(", "sx", ", int: sx, default: 0)"),
        ("__builtin_choose_expr(1, ", "sx", ", sx)"),
        ("(int){ ", "sx", " }"),
        ("(n){ 0, 0, ", "sx", " }.v"),
        ("(*&", "sx", ")"),
        ("h.s->", "v", ""),
        ("h.p->", "v", ""),
        ("h.s->p[", "0", "].v"),
    ] {
        if open.contains("->") && close.is_empty() || !open.contains("->") {
            let link = open.strip_prefix("h.").map_or(open.to_string(), str::to_string);
            let e = if link == open {
                levels(open, middle, close)
            } else {
                format!("h.{}{middle}", link.repeat(DEPTH))
            };
            let lvalue = matches!(open, "(*&" | "sa[" | "h.s->");
            let write = if lvalue { format!("{e} = 1; {e} += sx; {e}++;") } else { String::new() };
            let body = format!("x = {e}; sx = {e}; sx += {e}; {write} upc_barrier {e}; return {e};");
            translated(open, &format!("{HEAD}int main(void) {{ {body} }}"));
        }
    }
    for (name, body) in [
        ("assignments", format!("{}1; {}1;", "sx = ".repeat(DEPTH), "sx += ".repeat(DEPTH))),
        (
            "casts",
            format!("shared int *p = {}; *p = 1;", levels("(shared int *)(shared [2] int *)", "&sx", "")),
        ),
        (
            "pointers",
            format!(
                "shared int *p = sa; p = {}; p = {};",
                levels("x ? p : (", "p", ")"),
                levels("(", "p", " ?: p)")
            ),
        ),
        ("typeof", format!("{} k = sx; x = k;", levels("__typeof__(", "sa[0] + 1", ")"))),
        ("braces", format!("int q = {};", levels("{", "sx", "}"))),
        (
            "rows",
            format!(
                "shared [] int (*v){} = 0; (*v){} = 3;",
                "[2]".repeat(DEPTH / 3),
                "[1]".repeat(DEPTH / 3)
            ),
        ),
    ] {
        translated(name, &format!("{HEAD}int main(void) {{ {body} return 0; }}"));
    }
}

#[test]
fn declarators_and_structures() {
    let text = [
        format!("int {}p;", "*".repeat(DEPTH)),
        format!("shared int {}p;", "*shared ".repeat(DEPTH)),
        format!("int {}p{};", "(*".repeat(DEPTH), ")(int, shared int *)".repeat(DEPTH)),
        format!("int p({}int{});", "int (*)(".repeat(DEPTH), ")".repeat(DEPTH)),
        format!("shared [] int a{};", "[1]".repeat(DEPTH)),
        format!("shared [] int a{} = {};", "[1]".repeat(DEPTH), levels("{", "1", "}")),
        format!(
            "shared {} s; void g(void) {{ s.x++; }}",
            levels("struct { ", "int x;", " }").replace("} }", "}; }").replace("} }", "}; }")
        ),
        format!(
            "{} v = {{0}}; void g(void) {{ *v.x = 1; }}",
            levels("struct { ", "shared int *x;", " }").replace("} }", "}; }").replace("} }", "}; }")
        ),
        numbered("shared int g#(void) { ", "", "").replace("shared int", "int")
            + "return sx;"
            + &" } ".repeat(DEPTH),
    ];
    for text in text {
        // Functions in functions are for blocks.
        let text =
            if text.contains("g1(") { format!("int outer(void) {{ {text} return 0; }}") } else { text };
        translated(&text, &format!("{HEAD}{text}\nint main(void) {{ return 0; }}"));
    }
}

#[test]
fn statements_and_loops() {
    for (open, close) in [
        ("{ ", "}"),
        ("if (sx) ", ""),
        ("if (sx) sx++; else ", ""),
        ("if (sx) { ", "} else sx--;"),
        ("while (sx) ", ""),
        ("do ", " while (sx);"),
        ("switch (sx) { case 1: ", " default: ; }"),
        ("l#: ", ""),
        ("for (int i# = 0; i# < 3; i#++) ", ""),
        ("for (int i# = 0; i# < 3; i#++) { sa[i#] = i#; ", "}"),
        ("for (int i# = 0; i# < sx; i#++) { sa[i#] = sa[i# + 1]; ", "}"),
        ("upc_forall (int i# = 0; i# < 3; i#++; &sa[i#]) ", ""),
        ("upc_forall (int i# = 0; i# < 3; i#++; &sa[i#]) { sa[i#]++; ", "}"),
        ("upc_forall (int i# = 0; i# < 3; i#++; i#) sa[i#]++, x++; for (int k# = 0; k# < 9; k#++) ", ""),
        ("upc_forall (int i# = 0; i# < 3; i#++; continue) ", ""),
        ("for (int k# = 0; k# < 9; k#++) upc_forall (int i# = 0; i# < 3; i#++; i#) ", ""),
    ] {
        translated(
            open,
            &format!(
                "{HEAD}int main(void) {{ {} return 0; }}",
                numbered(open, "{ sx++; sa[x] = sx; }", close)
            ),
        );
    }
}

#[test]
fn chains_of_ten_thousand() {
    let arms = |arm: &str| -> String { (0..10_000).map(|i| arm.replace('#', &i.to_string())).collect() };
    for (name, body) in [
        ("else if", arms("if (x == #) return #;\nelse ") + "return 0;"),
        ("else if with shared", arms("if (sx == #) { sa[# % 10] = #; }\nelse ") + "return 0;"),
        (
            "else if in a loop",
            format!("for (int i = 0; i < 9; i++) {} sx++;", arms("if (sx == #) sa[i] = #;\nelse ")),
        ),
        ("conditions", format!("return {} 0;", arms("x == # ? # :\n"))),
        ("labels", format!("switch (x) {{ {} return sx; }}", arms("case #:\n"))),
        ("labels and statements", format!("switch (x) {{ {} }}", arms("case #: sx = #; break;\n"))),
    ] {
        translated(name, &format!("{HEAD}int main(void) {{ {body} return 1; }}"));
    }
}

/// Text that is nested too deeply gives that one error, and none about the parts that were not read.
#[test]
fn what_is_too_deep_is_said_alone() {
    let deep = |open: &str, close: &str| format!("{} sx++; {}", open.repeat(30_000), close.repeat(30_000));
    for body in [
        deep("{", "}"),
        deep("if (sx) {", "}"),
        deep("while (sx) ", ""),
        deep("if (sx) sx++; else ", ""),
        (0..30_000).map(|i| format!("a{i}: ")).collect::<String>() + ";",
        format!("sx = {}1{};", "(".repeat(9_000), ")".repeat(9_000)),
    ] {
        let (c, said) = translate(&format!("{HEAD}int main(void) {{ switch (x) {{ {body} }} }}"));
        assert!(c.is_none());
        let said: Vec<&String> = said.iter().filter(|s| s.contains("error:")).collect();
        assert!(said.len() == 1 && said[0].contains("nested too deeply"), "{}: {:.300}", said.len(), said[0]);
    }
}

/// A name of a file ends no line of the C.
#[test]
fn names_of_files_stay_strings() {
    let (c, _) = translate("# 1 \"a\\nb\\\"c\\\\d\\001.upc\"\nshared int x;\nint main(void) { return x; }\n");
    let c = c.expect("no C");
    assert!(
        c.contains(r#"#line 3 "a\012b\"c\\d\001.upc""#) || c.contains(r#" "a\012b\"c\\d\001.upc""#),
        "{c:.2000}"
    );
    assert!(c.lines().all(|l| !l.starts_with("b\"c")), "{c:.2000}");
}
