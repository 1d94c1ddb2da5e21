//! The passes of the optimiser, by the C that comes out and by what `--explain` says.

use std::path::Path;
use upcc::dump;
use upcc::emit::{EmitOptions, emit};
use upcc::front::{ast::FrontOptions, check};
use upcc::opt::{Optimiser, Passes};

/// The emitted C, from the first function on, and the lines of `--explain`.
fn translated(name: &str, text: &str, passes: Passes) -> (String, String) {
    let front = FrontOptions::default();
    let result = check(&format!("# 1 \"{name}\"\n#pragma upc relaxed\n# 1 \"{name}\"\n{text}"), &front);
    let said: Vec<String> = result.diagnostics.iter().map(|d| d.to_string()).collect();
    assert!(!result.failed(), "{said:?}\n{text}");
    let how = EmitOptions {
        source: name.into(),
        threads: None,
        pts_struct: false,
        lines: false,
        debug: false,
        sanitize: false,
        aggregate: false,
        openmp: false,
        pic: false,
        passes,
        heap_bytes: 0,
        own_headers: "/nowhere".into(),
        extern_main: false,
        iso_inline: true,
    };
    let (c, remarks) = emit(&result.unit, &Optimiser::new(&result.unit, how.passes), &how);
    (c, remarks.iter().map(|(file, line, text)| format!("{file}:{line}: {text}\n")).collect())
}

/// `UPCC_BLESS=1` writes the expectations anew.
#[test]
fn explanations() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explain/loops.upc");
    let text = std::fs::read_to_string(&path).unwrap();
    let (_, got) = translated("loops.upc", &text, Passes::all(true));
    let want = path.with_extension("txt");
    if std::env::var_os("UPCC_BLESS").is_some() {
        std::fs::write(&want, &got).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&want).unwrap_or_default(), got);
    // With everything switched off, every access is listed.
    let (_, all) = translated("loops.upc", &text, Passes::all(false));
    for line in 14..23 {
        let at = format!("loops.upc:{line}: ");
        assert!(!got.contains(&at), "{at} in\n{got}");
    }
    assert!(all.contains("loops.upc:17: write of `a[i]`") && all.contains("loops.upc:21: read of"), "{all}");
}

const HEAD: &str = "shared [64] double a[64 * THREADS], b[64 * THREADS];\nshared double c[64 * THREADS], d[64 * THREADS];\n\
     shared [8] double rows[9 * THREADS][8];\nshared [64] long n[64 * THREADS];\nshared [64] double *p, *q;\n\
     shared [64] double *shared rows_of[9 * THREADS];\ndouble *own, private[64], f(double);\n\
     long *shared [4] own_rows[9 * THREADS]; shared [] long *shared first;\nstruct table { long n; shared [64] double *at; struct table *next; } *table;\n\
     shared struct table *tables;\nlong k; volatile long *watched;\nstrict shared double s;\nshared double t;\n";

fn function(body: &str, passes: Passes) -> String {
    let text = format!("{HEAD}void here(long i, long j, long m) {{ double x = 0; {body} }}\n");
    let (c, _) = translated("body.upc", &text, passes);
    let at = c.find("void here").unwrap();
    c[at..].to_string()
}

/// Statements for which a pass does, and does not do, what this mark in the emitted C stands for.
fn held(pass: &str, mark: &str, done: &[&str], left: &[&str]) {
    let mut without = Passes::all(true);
    assert!(without.set(pass, false));
    for body in done {
        let with = function(body, Passes::all(true));
        assert!(with.contains(mark), "{pass}: no {mark} in\n{body}\n{with}");
        let c = function(body, without);
        assert!(!c.contains(mark), "-fno-upc-{pass}: {mark} in\n{body}\n{c}");
    }
    for body in left {
        let c = function(body, Passes::all(true));
        assert!(!c.contains(mark), "{pass}: {mark} in\n{body}\n{c}");
    }
}

#[test]
fn vector() {
    held(
        "vector",
        "GCC ivdep",
        &[
            "for (i = 0; i < m; i++) a[i] = b[i];",
            "for (i = 1; i < m; i++) a[i] = b[i - 1] + b[i + 1];",
            "for (i = 0; i < m; i++) a[i] += i;",
            "for (i = 0; i < m; i++) a[i] = t;",
            "for (i = 0; i < m; i++) { const double y = b[i]; a[i] = y * y; }",
            "upc_forall (i = 1; i < m; i++; &c[i]) c[i] = d[i - 1] + d[i + 1];",
            "upc_forall (i = 1; i < m; i++; &a[i]) a[i] = b[i - 1] + b[i];",
            "upc_forall (i = 0; i < m; i++; &a[i]) a[i] = b[i];",
            "for (j = 0; j < m; j++) upc_forall (i = 0; i < m; i++; &c[i]) c[i] = d[i + 1];",
        ],
        &[
            // The same array at another place.
            "for (i = 1; i < m; i++) a[i] = a[i - 1];",
            "for (i = 0; i < m; i++) { a[i] = 1; a[i + 1] = 2; }",
            "upc_forall (i = 1; i < m; i++; &a[i]) a[i] = a[i - 1] + b[i + 1];",
            // The pointers may point to the same memory.
            "for (i = 0; i < m; i++) p[i] = q[i];",
            "for (i = 0; i < m; i++) a[i] = q[i];",
            "for (i = 0; i < m; i++) a[i] = own[i];",
            "for (i = 0; i < m; i++) { a[i] = b[i]; own[i] = 0; }",
            "for (i = 0; i < m; i++) { a[i] = b[i]; t = i; }",
            // Nothing to gain.
            "for (i = 0; i < m; i++) x += a[i];",
            "for (i = 0; i < m; i++) { a[i] = x; x = b[i]; }",
            // Calls, jumps, conditions.
            "for (i = 0; i < m; i++) a[i] = f(b[i]);",
            "for (i = 0; i < m; i++) if (b[i] > 0) a[i] = 0;",
            "for (i = 0; i < m; i++) { if (i == 7) break; a[i] = b[i]; }",
            "for (i = 0; i < m; i++) { if (i == 7) continue; a[i] = b[i]; }",
            "for (i = 0; i < m; i++) { if (i == 7) goto out; a[i] = b[i]; } out:;",
            // Bounds and variables that change.
            "for (i = 0; i < m; i++) { a[i] = b[i]; m--; }",
            "for (i = 0; i < m; i++) { a[i] = b[i]; i++; }",
            "for (i = 0; i < k; i++) { a[i] = b[i]; f(i); }",
            "for (i = 0; i < m; i += 2) a[i] = b[i];",
            // Strict accesses and fences.
            "for (i = 0; i < m; i++) { a[i] = b[i]; s = 1; }",
            "for (i = 0; i < m; i++) { a[i] = b[i]; upc_fence; }",
        ],
    );
}

#[test]
fn rows() {
    held(
        "forall",
        "__upc_row(",
        &[
            "upc_forall (i = 0; i < m; i++; &rows[i][0]) for (j = 0; j < 8; j++) rows[i][j] = 0;",
            "upc_forall (i = 0; i < m; i++; &rows[i + 1][3]) rows[i + 1][j] = 0;",
        ],
        &[
            "upc_forall (i = 0; i < m; i++; &rows[i][i]) rows[i][0] = 0;",
            "upc_forall (i = 0; i < m; i++; &rows[j][0]) rows[i][0] = 0;",
            "upc_forall (i = 0; i < m; i++; &rows[2 * i][0]) rows[i][0] = 0;",
            "upc_forall (i = 0; i < m; i++; &rows[i][j]) rows[i][0] = 0;",
        ],
    );
}

#[test]
fn ahead() {
    held(
        "split-phase",
        "__UPC_AHEAD",
        &[
            "x = a[i] + b[j];",
            "double y = a[i]; x = c[j]; private[0] = x + y;",
            "x = a[i]; b[3] = x; x += d[j];",
            "if (a[i] > b[j]) x = 1;",
            "x = p[i] * q[j];",
            "x = a[i]; k = n[j]; p[1] = 0;",
            "n[i] = 1; x = a[i] + b[i];",
            "for (i = 0; i < m; i++) f(a[i] + c[i]);",
            "own[3] = a[i] + b[j];",
        ],
        &[
            "x = a[i];",
            "x = a[i] ? b[j] : c[j];",
            "x = a[i] && b[j];",
            // The place of the second is not known yet.
            "i = n[j]; x = a[i];",
            "x = a[n[i]];",
            "x = a[i]; i++; x += a[i];",
            "x = a[i]; *(long *)own = 2; x += a[k];",
            // A place that may be another each time it is looked at.
            "x = a[i] + b[*watched];",
            // Writes in between that may be to the same.
            "x = a[i]; p[0] = 1; x += b[j];",
            "x = a[i]; b[j] = 1; x += b[i];",
            "x = a[i]; a[j]++; x += a[i];",
            "x = a[i]; a[j] = 1; x += b[(long)own[3]];",
            // Calls and synchronisation in between.
            "x = a[i]; f(x); x += b[j];",
            "x = a[i]; upc_fence; x += b[j];",
            "x = a[i]; s = 1; x += b[j];",
            "x = a[i]; upc_barrier; x += b[j];",
            "x = a[i]; if (x > 0) return; x += b[j];",
            "x = a[i]; back: x += b[j]; if (x < 3) goto back;",
        ],
    );
}

#[test]
fn far_loops() {
    held(
        "coalesce",
        "__upc_gather(0, (unsigned)__upc_w2_0.t, __upc_w2_0.o, __upc_w2_0.ph, __upc_n2, 64, 8, 1)",
        &["for (i = 0; i < m; i++) x += b[i]; if (0) for (i = 0; i < m; i++) x += b[i];"],
        &[
            "for (i = 0; i < m; i++) x += f(b[i]);",
            // Not every iteration reads the element, which may not exist.
            "for (i = 0; i < m; i++) { if (i >= k) continue; x += b[i]; }",
        ],
    );
    // The thread's own elements are written in place, so others of the same array are not brought beforehand.
    let c = function("upc_forall (i = 1; i < m; i++; &a[i]) a[i] = a[i - 1] + b[i + 64];", Passes::all(true));
    assert!(!c.contains("__upc_gather"), "{c}");
    // An access that the first iteration may leave out: its place may be before the array.
    let c = function("for (i = 0; i < m; i++) if (i % 64) a[i] = a[i - 1] + 1;", Passes::all(true));
    assert!(c.contains("__upc_addb(__UPC_VAR(__upc_k_a), (long)(i - 1), 64, 8)"), "{c}");
}

/// Arguments of what may be a macro have no comma outside of parentheses, however deep the literal is that
/// has it.
#[test]
fn literals_in_arguments() {
    let c = function("own[0] = f(f((double){t, })) + f(t);", Passes::all(true));
    let inner = "(double){ __UPC_LD(double, d, __UPC_VAR(__upc_k_t)) }";
    assert!(c.contains(&format!("f((f(({inner})))) + f(__UPC_LD(")), "{c}");
    let c = function("t = f((f)((double){t, })); s = x;", Passes::all(true));
    assert!(c.contains(&format!("f((f(({inner}))))")) && c.contains(", x)"), "{c}");
}

/// A loop-invariant read is made once, before the loop, if there is a first iteration.
#[test]
fn reads_once() {
    held(
        "hoist",
        "> 0 ? ",
        &[
            "for (i = 0; i < m; i++) private[i] = rows_of[k][i];",
            "for (i = 0; i < m; i++) x += rows_of[j][i] * rows_of[j][i + 1];",
            "for (i = 0; i < m; i++) rows_of[j][i] = i;",
            "for (i = 0; i < m; i++) own[i] = rows_of[j + 1][i] + t;",
            "for (i = 0; i < m; i++) a[n[j] + i] = x;",
            "for (i = 0; i < m; i++) x += tables[j].at[i];",
            "for (i = 0; i < m; i++) x += tables->at[i + tables->n];",
            "for (i = 0; i < m; i++) x += table->at[i] * t;",
            "for (i = 0; i < m; i++) x += own_rows[j][i];",
            "for (i = 0; i < m; i++) x += a[first[0] + i];",
            "for (i = 0; i < m; i++) x += t;",
            "upc_forall (i = 0; i < m; i++; &a[i]) a[i] = rows_of[k][i + 1] + t;",
        ],
        &[
            // The pointer, what leads to it, or what may be the same memory changes.
            "for (i = 0; i < m; i++) { x += rows_of[k][i]; k++; }",
            "for (i = 0; i < m; i++) { x += rows_of[k][i]; rows_of[j] = p; }",
            "for (i = 0; i < m; i++) { x += rows_of[k][i]; tables[1].at = p; }",
            "for (i = 0; i < m; i++) { x += rows_of[k][i]; *(char *)own = 1; }",
            "for (i = 0; i < m; i++) { x += rows_of[k][i]; *(long *)own = 1; }",
            "for (i = 0; i < m; i++) { a[i] += rows_of[(long)own[3]][i]; }",
            "for (i = 0; i < m; i++) { x += tables[j].at[i]; tables[j] = tables[0]; }",
            "for (i = 0; i < m; i++) { x += tables->at[i]; tables++; }",
            "for (i = 0; i < m; i++) n[i] = n[0];",
            // Another element each time.
            "for (i = 0; i < m; i++) x += rows_of[i][k];",
            "for (i = 0; i < m; i++) x += own_rows[i][0];",
            // Not in the first iteration, maybe.
            "for (i = 0; i < m; i++) if (i > 3) x += rows_of[k][i];",
            "for (i = 0; i < m; i++) x += i && rows_of[k][i];",
            "for (i = 0; i < m; i++) { if (i == 3) continue; x += rows_of[k][i]; }",
            "for (i = 0; i < m; i++) { if (i == 3) break; x += rows_of[k][i]; }",
            // Something in the loop synchronises.
            "for (i = 0; i < m; i++) x += f(rows_of[k][i]);",
            "for (i = 0; i < m; i++) { x += rows_of[k][i]; upc_fence; }",
            "for (i = 0; i < m; i++) { x += rows_of[k][i]; upc_barrier; }",
            "for (i = 0; i < m; i++) { x += rows_of[k][i]; s = 1; }",
            "for (i = 0; i < m; i++) x += rows_of[k][i] * s;",
        ],
    );
    // Written alike, it is one read.
    let c = function(
        "for (i = 0; i < m; i++) rows_of[j][i] = rows_of[j][i] + rows_of[j][i + 1];",
        Passes::all(true),
    );
    assert_eq!(c.matches("> 0 ? ").count(), 1, "{c}");
}

/// The intermediate form of the programs in `tests/passes`, one for each module of `opt` and one for places:
/// as it is lowered, and what all passes make of it. `UPCC_BLESS=1` writes the expectations anew.
#[test]
fn intermediate_form() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes");
    let mut programs: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()).collect();
    programs.retain(|p| p.extension().is_some_and(|e| e == "upc"));
    programs.sort();
    for path in programs {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let relaxed = format!("#pragma upc relaxed\n# 1 \"{name}.upc\"\n{text}");
        let result = check(&format!("# 1 \"{name}.upc\"\n{relaxed}"), &FrontOptions::default());
        assert!(!result.failed(), "{:?}", result.diagnostics);
        let lowered = dump::ir::unit(&result.unit, Passes::all(false));
        let made = dump::ir::unit(&result.unit, Passes::all(true));
        let got = format!("lowered\n-------\n{lowered}\nafter all passes\n----------------\n{made}");
        let want = path.with_extension("txt");
        if std::env::var_os("UPCC_BLESS").is_some() {
            std::fs::write(&want, &got).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&want).unwrap_or_default(), got, "{name}");
        assert_ne!(lowered, made, "{name}");
    }
}

/// Each pass shows in the intermediate form, and not when it is switched off.
#[test]
fn passes_are_shown() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes");
    for (pass, program) in [
        ("forall", "forall"),
        ("privatise", "privatise"),
        ("coalesce", "stream"),
        ("split-phase", "ahead"),
        ("vector", "vector"),
        ("hoist", "hoist"),
        ("outline", "outline"),
    ] {
        let text = std::fs::read_to_string(folder.join(program).with_extension("upc")).unwrap();
        let text = format!("# 1 \"{program}.upc\"\n#pragma upc relaxed\n# 1 \"{program}.upc\"\n{text}");
        let result = check(&text, &FrontOptions::default());
        let shown = |passes| dump::ir::unit(&result.unit, passes).contains(&format!("    {pass}: "));
        let mut without = Passes::all(true);
        assert!(without.set(pass, false));
        // Where runs are not brought in bulk, they are split-phase.
        assert!(shown(Passes::all(true)) && (!shown(without) || pass == "coalesce"), "{pass}");
    }
}
