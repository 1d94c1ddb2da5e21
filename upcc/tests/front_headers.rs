//! All headers of the C library and of the compiler, in one unit, must be read without a word, and their
//! struct layouts and constants must agree with the C compiler's.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use upcc::front::{ast::FrontOptions, check};

const HEADERS: &str = "aio alloca ar argp argz arpa/inet assert byteswap complex cpio ctype dirent dlfcn elf endian envz err \
    errno error execinfo fcntl features fenv float fmtmsg fnmatch fstab fts ftw getopt glob gnu/libc-version grp iconv ifaddrs \
    inttypes iso646 langinfo libgen limits link locale malloc math mcheck memory mntent monetary mqueue net/if netdb netinet/in \
    netinet/tcp netinet/ip nl_types nss obstack paths poll printf pthread pty pwd regex resolv sched search semaphore setjmp \
    shadow signal spawn stab stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings syscall \
    sysexits syslog sys/epoll sys/eventfd sys/file sys/inotify sys/io sys/ioctl sys/ipc sys/mman sys/mount sys/msg sys/param \
    sys/personality sys/poll sys/prctl sys/ptrace sys/random sys/reboot sys/resource sys/select sys/sem sys/sendfile sys/shm \
    sys/signalfd sys/socket sys/stat sys/statfs sys/statvfs sys/syscall sys/sysinfo sys/time sys/timerfd sys/times sys/timex \
    sys/types sys/ucontext sys/uio sys/un sys/user sys/utsname sys/vfs sys/wait tar termios tgmath threads time ttyent uchar \
    ucontext ulimit unistd utime utmp utmpx wait wchar wctype wordexp x86intrin immintrin cpuid";

fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("front-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn preprocess(dir: &Path, text: &str) -> String {
    let c = dir.join("unit.c");
    std::fs::write(&c, text).unwrap();
    let out = Command::new("cc").args(["-E", "-O2", "-D_FORTIFY_SOURCE=2"]).arg(&c).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

fn all_headers(extra: &str) -> String {
    let mut text = "#define _GNU_SOURCE 1\n".to_owned();
    for h in HEADERS.split_whitespace() {
        _ = writeln!(text, "#if __has_include(<{h}.h>)\n#include <{h}.h>\n#endif");
    }
    text + extra
}

#[test]
fn headers_draw_no_diagnostic() {
    let dir = scratch("headers");
    let uses = "double complex z; int main(void) { z = csqrt(sin(z)); float f = fabs(1.0f); errno = 0;
        char b[10]; memcpy(b, \"x\", 2); snprintf(b, sizeof b, \"%d\", isnan(f) + (int)INFINITY); assert(f == 1.0f);
        struct stat st; stat(b, &st); va_list *ap = 0; (void)ap; atomic_int i; atomic_fetch_add(&i, 1);
        fd_set s; FD_ZERO(&s); FD_SET(1, &s); putc(getc(stdin), stdout); struct sockaddr *sa = 0; connect(1, sa, sizeof *sa); wait(0); return WEXITSTATUS(offsetof(struct stat, st_mode)); }\n";
    let text = preprocess(&dir, &all_headers(uses));
    let r = check(&text, &FrontOptions::default());
    let said: Vec<String> = r.diagnostics.iter().map(ToString::to_string).collect();
    assert!(said.is_empty(), "{}", said.join("\n"));
    assert!(r.unit.items.len() > 5000, "only {} items", r.unit.items.len());
    // The same text as if a user had written it: what is suppressed in system headers must not even arise.
    let mine: String = text
        .lines()
        .map(|l| match l.strip_prefix("# ") {
            Some(rest) => match rest.rfind('"') {
                Some(i) => format!("# {}\n", &rest[..=i]),
                None => format!("{l}\n"),
            },
            None => format!("{l}\n"),
        })
        .collect();
    let r = check(&mine, &FrontOptions { gnu_void: true, ..FrontOptions::default() });
    let said: Vec<String> = r.diagnostics.iter().map(ToString::to_string).collect();
    assert!(said.is_empty(), "{}", said.join("\n"));
}

#[test]
fn layouts_agree_with_the_c_compiler() {
    // Every assertion is evaluated by both compilers.
    let text = r#"
#include <stddef.h>
#include <sys/stat.h>
#include <pthread.h>
#include <ucontext.h>
#include <stdio.h>
#include <netinet/tcp.h>
#include <netinet/ip.h>
struct a { char c; int i : 5; int j : 28; short s; long long l : 40; char d; };
struct b { char c; long double l; _Complex float z; char e[]; };
struct c { char a; int b; } __attribute__((packed));
struct d { struct c c; long x __attribute__((packed)); char y; } __attribute__((aligned(32)));
union e { char c[5]; short s; int : 0; };
struct f { int a : 3, : 0, b : 3; unsigned char u : 8; unsigned v : 1; };
struct g { _Bool a : 1; char b; _Alignas(16) char c; __int128 i; };
#pragma pack(push, 2)
struct h { char a; int b; double d; short : 3; };
#pragma pack(pop)
struct i { char a; struct { int x; union { long y; char z; }; }; } ;
struct j { long a : 33; long b : 33; char c : 7; int d : 9; } __attribute__((packed));
typedef int wide __attribute__((aligned(64)));
struct k { char c; wide w; };
enum small { A, B } ; enum big { C = 1L << 40 }; enum packed { P = 1 } __attribute__((packed));
typedef int v4 __attribute__((vector_size(16)));
struct l { char c; v4 v; enum packed p; };
struct m {}; struct n { struct m m; int z[0]; char c; };
"#;
    let mut asserts = String::new();
    let dir = scratch("layout");
    // Ask the C compiler for the numbers, then check ours against them.
    let types = [
        "struct a",
        "struct b",
        "struct c",
        "struct d",
        "union e",
        "struct f",
        "struct g",
        "struct h",
        "struct i",
        "struct j",
        "struct k",
        "struct l",
        "struct m",
        "struct n",
        "enum small",
        "enum big",
        "enum packed",
        "wide",
        "v4",
        "struct stat",
        "pthread_mutex_t",
        "ucontext_t",
        "FILE",
        "struct tcp_info",
        "struct iphdr",
        "long double",
        "_Complex double",
        "pthread_attr_t",
        "__builtin_va_list",
    ];
    let members = [
        ("struct a", "s"),
        ("struct a", "d"),
        ("struct b", "z"),
        ("struct b", "e"),
        ("struct d", "y"),
        ("struct g", "c"),
        ("struct g", "i"),
        ("struct h", "d"),
        ("struct i", "z"),
        ("struct k", "w"),
        ("struct l", "v"),
        ("struct l", "p"),
        ("struct stat", "st_ctim"),
        ("ucontext_t", "uc_sigmask"),
        ("struct tcp_info", "tcpi_rtt"),
        ("struct iphdr", "saddr"),
    ];
    let mut program = format!("{text}\nint main(void) {{\n");
    for t in types {
        _ = writeln!(program, "printf(\"%zu %zu\\n\", sizeof({t}), _Alignof({t}));");
    }
    for (t, m) in members {
        _ = writeln!(program, "printf(\"%zu\\n\", offsetof({t}, {m}));");
    }
    program += "return 0; }\n";
    let (c, exe) = (dir.join("ask.c"), dir.join("ask"));
    std::fs::write(&c, program).unwrap();
    let ok = Command::new("cc").args(["-w", "-o"]).arg(&exe).arg(&c).status().unwrap();
    assert!(ok.success());
    let out = String::from_utf8(Command::new(&exe).output().unwrap().stdout).unwrap();
    let mut lines = out.lines();
    for t in types {
        let (size, align) = lines.next().unwrap().split_once(' ').unwrap();
        _ = writeln!(asserts, "_Static_assert(sizeof({t}) == {size}, \"size {t} {size}\");");
        _ = writeln!(asserts, "_Static_assert(_Alignof({t}) == {align}, \"align {t} {align}\");");
    }
    for (t, m) in members {
        let o = lines.next().unwrap();
        _ = writeln!(asserts, "_Static_assert(offsetof({t}, {m}) == {o}, \"offset {t} {m} {o}\");");
        _ = writeln!(asserts, "enum {{ x{} = (int)(size_t)&(({t} *)0)->{m} }};", asserts.len());
    }
    let text = preprocess(&dir, &format!("{text}\n{asserts}"));
    let r = check(&text, &FrontOptions::default());
    let said: Vec<String> = r.diagnostics.iter().map(ToString::to_string).collect();
    assert!(said.is_empty(), "{}", said.join("\n"));
}
