//! Warnings of the C compiler in UPC programs: those that it gives of the same in C, at the same lines, and
//! no others.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A folder to work in, with an installation without a runtime library.
fn installation(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("warnings-{name}"));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(dir.join("bin")).unwrap();
    fs::create_dir_all(dir.join("include")).unwrap();
    fs::hard_link(env!("CARGO_BIN_EXE_upcc"), dir.join("bin/upcc")).unwrap();
    let headers = fs::canonicalize(repository().join("upc-rt/include")).unwrap();
    std::os::unix::fs::symlink(headers, dir.join("include/upc")).unwrap();
    dir
}

fn run(program: &Path, args: &[&str], file: &Path) -> Output {
    let folder = file.parent().unwrap();
    Command::new(program)
        .args(args)
        .arg(file.file_name().unwrap())
        .current_dir(folder)
        .env("LC_ALL", "C")
        .env("HOME", "/nonexistent")
        .output()
        .unwrap()
}

fn upcc(dir: &Path, args: &[&str], file: &Path) -> Output {
    let object = dir.join(format!("{:?}.o", std::thread::current().id()));
    run(&dir.join("bin/upcc"), &[&["-c", "-o", object.to_str().unwrap()], args].concat(), file)
}

/// File and line of each warning, or error that was one.
fn lines(out: &Output) -> BTreeSet<(String, u32)> {
    let text = String::from_utf8_lossy(&out.stderr);
    let place = |l: &str| {
        let (place, _) = l.split_once(": warning: ").or_else(|| l.split_once(": error: "))?;
        let mut parts = place.split(':');
        Some((parts.next()?.to_string(), parts.next()?.parse().ok()?))
    };
    text.lines().filter_map(place).collect()
}

fn text(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

/// At least nine of ten lines that the C compiler warns of, and no other: of each of the programs.
#[test]
fn planted_mistakes_are_found_as_in_c() {
    let dir = installation("planted");
    let file = repository().join("upcc/tests/warnings/planted.upc");
    let marked = fs::read_to_string(&file).unwrap().lines().filter(|l| l.ends_with("//!")).count();
    for options in [&["-Wall", "-Wextra", "-Wshadow"][..], &["-Wall"], &["-Wall", "-O0"]] {
        let ours = upcc(&dir, options, &file);
        let level: &[&str] = if options.contains(&"-O0") { &[] } else { &["-O2"] };
        let c = [&["-x", "c", "-std=gnu17", "-S", "-o", "/dev/null"], level, options].concat();
        let theirs = run(Path::new("cc"), &c, &file);
        assert!(ours.status.success(), "{}", text(&ours));
        let (ours, theirs, said) = (lines(&ours), lines(&theirs), text(&ours));
        let found = ours.intersection(&theirs).count();
        let missed: Vec<_> = theirs.difference(&ours).collect();
        let others: Vec<_> = ours.difference(&theirs).collect();
        assert!(10 * found >= 9 * theirs.len(), "{options:?}: {found} of {}: {missed:?}", theirs.len());
        assert!(others.is_empty(), "{options:?}: {others:?}\n{said}");
        assert!(!said.contains("__upcc"), "{said}");
        if options.len() == 3 {
            assert!(theirs.len() >= 60 && marked >= 60, "{} lines, {marked} marks", theirs.len());
        }
    }
}

/// Warnings of the C compiler that test programs cause on purpose: file and option.
const MEANT: &[(&str, &str)] = &[
    ("access/bitfields", "overflow"),
    ("access/contexts", "unused-value"),
    ("access/evaluation", "unused-value"),
    ("access/operators", "overflow"),
    ("access/unaligned", "address-of-packed-member"),
    ("c/attributes", "attributes"),
    ("c/declarations", "unused-variable"),
    ("c/enums", "switch"),
    ("c/other_pragmas", "unknown-pragmas"),
    ("c/standard_attributes", "deprecated-declarations"),
    ("c/strings", "multichar"),
    ("debug/wild_pointer", "array-bounds"),
    ("decl/initialisers", "overflow"),
    ("decl/local_names", "unused-function"),
    ("decl/local_types", "parentheses"),
    ("library/atomic_lost_read", "uninitialized"),
    ("library/atomic_no_operand_and", "uninitialized"),
    ("library/mismatched_size", "restrict"),
    ("openmp/ignored", "unknown-pragmas"),
    ("pointers/everywhere", "unused-value"),
    ("pointers/null", "address"),
    ("pointers/private_in_shared", "sequence-point"),
    ("settings/debug_malloc", "uninitialized"),
];

/// The tests of UPC and the examples draw no warning but those that are meant.
#[test]
fn correct_programs_draw_none() {
    let dir = installation("correct");
    let root = fs::canonicalize(repository()).unwrap();
    let folders = fs::read_dir(root.join("tests/upc")).unwrap().map(|f| f.unwrap().path());
    let mut sources: Vec<PathBuf> = folders
        .chain([root.join("examples/upc")])
        .filter(|f| f.is_dir() && !f.ends_with("errors"))
        .flat_map(|f| fs::read_dir(f).unwrap().map(|f| f.unwrap().path()))
        .filter(|f| f.extension().is_some_and(|e| e == "upc"))
        .filter(|f| !f.file_name().unwrap().to_string_lossy().starts_with('_'))
        .collect();
    sources.sort();
    // Looks at one program. The result is the mistake, if there is one; `None` for a program that is left
    // out.
    let look = |file: &PathBuf| -> Option<Option<String>> {
        let source = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
        // Of these upcc says something itself, or C of 1989 has its warnings.
        if ["expect-error", "expect-warning", "expect-diagnostic", "gnu89"].iter().any(|w| source.contains(w))
        {
            return None;
        }
        let flags =
            source.lines().filter_map(|l| l.strip_prefix("// flags: ")).flat_map(str::split_whitespace);
        let mut args: Vec<&str> = ["-Wall"].into_iter().chain(flags).collect();
        if source.contains("// static: only") {
            args.extend(["-T", "4"]);
        }
        if file.ends_with("jacobi_openmp.upc") {
            args.push("-fopenmp");
        }
        let checks = format!("-I{}", root.join("tests/upc").display());
        args.push(&checks);
        let out = upcc(&dir, &args, file);
        let said = text(&out);
        assert!(!said.contains("__upcc_"), "{}: {said}", file.display());
        let name = file.with_extension("").display().to_string();
        let meant = |l: &str| {
            MEANT.iter().any(|(f, option)| name.ends_with(f) && l.contains(&format!("[-W{option}")))
                // Of no option, and so in C.
                || l.contains("'noreturn' function does return")
                || l.contains("matching constraint does not allow")
                || l.contains("declared inside parameter list")
        };
        let bad: Vec<&str> = said
            .lines()
            .filter(|l| l.contains(": warning: ") || l.contains(": error: "))
            .filter(|l| !meant(l))
            .collect();
        let is_right = out.status.success() && bad.is_empty();
        Some((!is_right).then(|| format!("{name}: {}\n{}", out.status, bad.join("\n"))))
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let looked: Vec<Option<String>> = std::thread::scope(|scope| {
        let (look, sources) = (&look, &sources);
        let part = |n| move || sources.iter().skip(n).step_by(threads).filter_map(look).collect::<Vec<_>>();
        let parts: Vec<_> = (0..threads).map(|n| scope.spawn(part(n))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    let (seen, wrong) = (looked.len(), looked.into_iter().flatten().collect::<Vec<_>>());
    assert!(seen > 250, "{seen}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Options and pragmas decide as in C.
#[test]
fn options_and_pragmas_decide() {
    let dir = installation("options");
    let file = dir.join("a.upc");
    fs::write(
        &file,
        "#include <upc.h>\nshared int a[THREADS];\nint f(void)\n{\n    int spare;\n    return a[0];\n}\n\
         #pragma GCC diagnostic ignored \"-Wunused-variable\"\nint g(void)\n{\n    int quiet;\n    return a[0];\n}\n",
    )
    .unwrap();
    let at = |args: &[&str]| {
        let out = upcc(&dir, args, &file);
        let lines: Vec<u32> = lines(&out).into_iter().map(|l| l.1).collect();
        (out.status.success(), lines, text(&out))
    };
    assert_eq!(at(&[]).1, []);
    assert_eq!(at(&["-Wupc"]).1, []);
    let (ok, lines, said) = at(&["-Wall"]);
    assert!(ok && lines == [5], "{said}");
    assert!(said.contains("a.upc: In function 'f'") && said.contains("    5 |     int spare;"), "{said}");
    assert_eq!(at(&["-Wunused-variable"]).1, [5]);
    assert_eq!(at(&["-Wall", "-Wno-unused-variable"]).1, []);
    assert_eq!(at(&["-Wall", "-w"]).1, []);
    for error in [&["-Wall", "-Werror"][..], &["-Werror=unused-variable"]] {
        let (ok, lines, said) = at(error);
        assert!(!ok && lines == [5] && !dir.join("out.o").exists(), "{said}");
    }
    assert!(at(&["-Wall", "-Werror", "-Wno-error=unused-variable"]).0);
    let (ok, _, said) = at(&["-Wfrobnicate"]);
    assert!(!ok && said.contains("unknown option '-Wfrobnicate'"), "{said}");
}

/// A mistake that both upcc and the C compiler see gives one message.
#[test]
fn nothing_is_said_twice() {
    let dir = installation("twice");
    let file = dir.join("a.upc");
    fs::write(
        &file,
        "#include <upc.h>\nint f(int *p, unsigned *u)\n{\n    p = u;\n    strcpy((char *)p, \"x\");\n    1 / 0;\n    return *p;\n}\n",
    )
    .unwrap();
    let said = text(&upcc(&dir, &["-Wall"], &file));
    for line in [4, 5] {
        let count = said.lines().filter(|l| l.starts_with(&format!("a.upc:{line}:"))).count();
        assert_eq!(count, 1, "{line}\n{said}");
    }
    assert_eq!(said.matches("division by zero").count(), 1, "{said}");
}
