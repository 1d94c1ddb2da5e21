//! C programs written the way upcc emits them, on 1 to 4 threads, through shared memory and through frames.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Compiles a program of `tests/c` against the static library, once.
fn program(name: &str, flags: &[&str]) -> PathBuf {
    let exe = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}{}", flags.join("")));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(format!("{name}.c"));
    let out = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-Werror"])
        .args(flags)
        .arg("-o")
        .arg(&exe)
        .arg(source)
        .arg(library())
        .args(["-lm", "-lpthread", "-ldl"])
        .output()
        .expect("a C compiler");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    exe
}

/// The static library that cargo built beside this test.
fn library() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let deps = std::env::current_exe().expect("this test").parent().expect("a folder").to_path_buf();
        let archives = deps.read_dir().expect("readable").flatten().map(|e| e.path()).filter(|p| {
            let name = p.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libupc") && name.ends_with(".a")
        });
        let newest = archives.max_by_key(|p| p.metadata().and_then(|m| m.modified()).ok());
        newest.expect("libupc.a beside the test")
    })
}

struct Run {
    threads: u32,
    frames: bool,
    env: &'static [(&'static str, &'static str)],
}

const SHARED: Run = Run { threads: 3, frames: false, env: &[("UPC_SHARED_HEAP_SIZE", "300")] };

impl Run {
    fn run(&self, exe: &Path, args: &[&str]) -> Output {
        let mut c = Command::new("timeout");
        c.arg("60").arg(exe).args(args).env("GASNET_PSHM_NODES", self.threads.to_string());
        c.env("GASNET_NEIGHBORHOOD", if self.frames { "off" } else { "on" });
        c.envs(self.env.iter().copied()).output().expect("timeout(1)")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn everywhere(name: &str, flags: &[&str], args: &[&str], want: &str) {
    let exe = program(name, flags);
    for threads in 1..=4 {
        for frames in [false, true] {
            let out = Run { threads, frames, env: &[] }.run(&exe, args);
            let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
            assert!(out.status.success(), "{threads} threads, frames {frames}: {stdout}{stderr}");
            assert_eq!((stdout.as_str(), stderr.as_str()), (want, ""), "{threads} threads, frames {frames}");
        }
    }
}

#[test]
fn data_copies_and_allocation() {
    everywhere("basics", &[], &["one", "two words"], "basics ok\n");
}

#[test]
fn locks() {
    everywhere("locks", &[], &["300"], "locks ok\n");
}

#[test]
fn berkeley_runtime_interface() {
    everywhere("upcr", &[], &["arg"], "upcr ok\n");
}

#[test]
fn collective_functions() {
    everywhere("collectives", &[], &[], "collectives ok\n");
    everywhere("collectives", &["-D__UPC_PTS_STRUCT=1"], &[], "collectives ok\n");
}

#[test]
fn atomic_operations() {
    everywhere("atomics", &[], &[], "atomics ok\n");
    everywhere("atomics", &["-D__UPC_PTS_STRUCT=1"], &[], "atomics ok\n");
    let exe = program("atomics", &["-DBAD"]);
    for (how, want) in [
        ("add-null", "operand1 must not be NULL for UPC_ADD"),
        ("cswap-null", "operand2 must not be NULL for UPC_CSWAP"),
        ("get-null", "fetch_ptr must not be NULL for UPC_GET"),
        ("foreign-op", "UPC_XOR is not among the operations of the domain"),
        ("pts-null", "operand1 must not be NULL for UPC_SET"),
        ("no-domain", "not a domain"),
        ("bad-op", "UPC_ADD does not exist for type 22"),
        ("bad-type", "no atomic operations on type 1"),
    ] {
        let (_, stderr, status) = end(&exe, &SHARED, how);
        assert!(stderr.starts_with("UPC Runtime error: ") && stderr.contains(want), "{how}: {stderr}");
        assert!(status.is_some_and(|s| s != 0 && s < 124), "{how}: {status:?}");
    }
}

#[test]
fn agreeing_barriers() {
    let exe = program("ends", &["-DAGREE"]);
    for (threads, frames) in [(1, false), (2, false), (3, true), (4, false)] {
        let out = Run { threads, frames, env: &[] }.run(&exe, &["agree"]);
        assert_eq!(
            (text(&out.stdout), out.status.code()),
            ("agreed\n".into(), Some(0)),
            "{}",
            text(&out.stderr)
        );
    }
}

/// Runs `ends` one way; standard output with its lines sorted, standard error, exit code.
fn end(exe: &Path, run: &Run, how: &str) -> (String, String, Option<i32>) {
    let out = run.run(exe, &[how]);
    let stdout = text(&out.stdout);
    let mut lines: Vec<_> = stdout.lines().collect();
    lines.sort_unstable();
    (lines.join("|"), text(&out.stderr), out.status.code())
}

#[test]
fn orderly_ends() {
    let exe = program("ends", &["-DORDERLY"]);
    for frames in [false, true] {
        let run = Run { frames, ..SHARED };
        for (how, want, code) in [
            ("serve", "thread 0: no newline|thread 1: no newline|thread 2: no newline", 0),
            ("exit", "thread 0: atexit|thread 1: atexit|thread 2: atexit", 3),
            ("fork", "thread 0: forked|thread 1: forked|thread 2: forked", 0),
        ] {
            let (stdout, stderr, status) = end(&exe, &run, how);
            assert_eq!(
                (stdout.as_str(), stderr.as_str(), status),
                (want, "", Some(code)),
                "{how}, frames {frames}"
            );
        }
        for (how, code) in [("global", 5), ("global-spin", 6)] {
            let began = Instant::now();
            let (stdout, _, status) = end(&exe, &run, how);
            assert_eq!(status, Some(code), "{how}");
            for t in 0..3 {
                assert!(stdout.contains(&format!("thread {t}: before")), "{how}: {stdout}");
            }
            assert!(began.elapsed() < Duration::from_secs(10), "{how} took {:?}", began.elapsed());
        }
    }
}

#[test]
fn wrong_programs_end_with_a_message() {
    let exe = program("ends", &["-DWRONG"]);
    for frames in [false, true] {
        let run = Run { frames, ..SHARED };
        for (how, want) in [
            ("notify2", "upc_notify: notified twice"),
            ("wait", "upc_wait: there was no upc_notify"),
            ("barrier-inside", "upc_barrier: between upc_notify and upc_wait"),
            ("alloc-inside", "upc_all_alloc: a collective function was called between"),
            ("mismatch", "barrier mismatch detected"),
            ("wait-mismatch", "barrier mismatch detected"),
            ("left-alone", "barrier mismatch detected"),
            ("oom", "out of shared memory: upc_alloc"),
            ("oom-global", "out of shared memory: upc_global_alloc"),
            ("oom-huge", "out of shared memory: upc_global_alloc"),
            ("free2", "freed twice"),
            ("free-static", "a shared variable"),
            ("free-inside", "16 bytes inside an allocated object"),
            ("free-wild", "is not a shared address"),
            ("relock", "already holds this lock"),
            ("unlock", "no other thread does"),
            ("unlock-other", "thread 0 does"),
            ("lock-null", "null pointer"),
            ("outside", "outside"),
        ] {
            let (_, stderr, status) = end(&exe, &run, how);
            assert!(stderr.starts_with("UPC Runtime error: "), "{how}: {stderr}");
            assert!(stderr.lines().next().unwrap_or("").contains(want), "{how}: {stderr}");
            assert!(status.is_some_and(|s| s != 0 && s < 124), "{how}: {status:?}");
        }
    }
    let (_, stderr, status) = end(&exe, &SHARED, "lock-freed");
    assert!(stderr.contains("the pointer does not point to a lock") && status == Some(1), "{stderr}");
}

#[test]
fn a_mismatch_can_be_a_warning() {
    let exe = program("ends", &["-DWARN"]);
    let run = Run { env: &[("UPC_BARRIER_MISMATCH_WARNS", "yes")], ..SHARED };
    let (stdout, stderr, status) = end(&exe, &run, "mismatch");
    assert_eq!(status, Some(0));
    assert_eq!(stdout, "thread 0: went on|thread 1: went on|thread 2: went on");
    assert!(stderr.contains("barrier mismatch detected") && !stderr.contains("error"), "{stderr}");
    // Who asks for it hears it, and nothing else.
    let run = Run { env: &[("UPC_BARRIER_MISMATCH_WARNS", "yes"), ("UPC_QUIET", "yes")], ..SHARED };
    let (_, stderr, status) = end(&exe, &run, "mismatch");
    assert!(stderr.contains("barrier mismatch detected") && status == Some(0), "{stderr}");
    let run = Run { env: &[("UPC_BARRIER_MISMATCH_WARNS", "no")], ..SHARED };
    assert_eq!(end(&exe, &run, "mismatch").2, Some(1));
}

#[test]
fn a_static_thread_count_is_the_default_and_the_law() {
    let exe = program("basics", &["-DSTATIC_THREADS=2"]);
    let mut c = Command::new("timeout");
    let out =
        c.arg("60").arg(&exe).args(["one", "two words"]).env_remove("GASNET_PSHM_NODES").output().unwrap();
    assert_eq!(text(&out.stdout), "basics ok\n", "{}", text(&out.stderr));
    let out = Run { threads: 3, ..SHARED }.run(&exe, &["one", "two words"]);
    assert!(text(&out.stderr).starts_with("UPC Runtime error: "), "{}", text(&out.stderr));
    assert!(out.status.code().is_some_and(|c| c != 0 && c < 124));
}

#[test]
fn settings_that_cannot_be_met_are_errors() {
    let exe = program("ends", &["-DSETTINGS"]);
    for (value, want) in [("plenty", "not understood"), ("100GB", "allocate sufficient shared memory")] {
        let run: &'static [(&str, &str)] = if value == "plenty" {
            &[("UPC_SHARED_HEAP_SIZE", "plenty")]
        } else {
            &[("UPC_SHARED_HEAP_SIZE", "100GB")]
        };
        let (_, stderr, status) = end(&exe, &Run { env: run, ..SHARED }, "serve");
        assert!(stderr.starts_with("UPC Runtime error: ") && stderr.contains(want), "{stderr}");
        assert!(status.is_some_and(|s| s != 0 && s < 124));
    }
}
