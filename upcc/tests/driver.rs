//! The driver `upcc` as a user meets it: files, messages, exit statuses. Everything up to the object file;
//! programs are linked and run by the suite of UPC programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An installation without a runtime library, and a directory to work in.
struct Installation {
    dir: PathBuf,
}

/// Copies a folder with all that is in it.
fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let from = entry.unwrap().path();
        let to = to.join(from.file_name().unwrap());
        if from.is_dir() {
            copy_all(&from, &to);
        } else {
            fs::copy(&from, to).unwrap();
        }
    }
}

impl Installation {
    fn new(name: &str) -> Installation {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("driver-{name}"));
        let _ = fs::remove_dir_all(&dir);
        for d in ["bin", "include/upc", "work", "tmp"] {
            fs::create_dir_all(dir.join(d)).unwrap();
        }
        // No copy: while another test starts a process, that holds the new file open for writing, and it
        // cannot be run.
        fs::hard_link(env!("CARGO_BIN_EXE_upcc"), dir.join("bin/upcc")).unwrap();
        let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../upc-rt/include");
        copy_all(&headers, &dir.join("include/upc"));
        Installation { dir }
    }
    fn file(&self, name: &str, text: &str) -> &Installation {
        fs::write(self.dir.join("work").join(name), text).unwrap();
        self
    }
    fn upcc(&self, args: &[&str]) -> Output {
        self.upcc_with(args, &[])
    }
    fn upcc_with(&self, args: &[&str], env: &[(&str, &str)]) -> Output {
        let out = Command::new(self.dir.join("bin/upcc"))
            .args(args)
            .current_dir(self.dir.join("work"))
            .env("TMPDIR", self.dir.join("tmp"))
            .env("HOME", &self.dir)
            .envs(env.iter().copied())
            .output()
            .unwrap();
        let left: Vec<_> = fs::read_dir(self.dir.join("tmp")).unwrap().collect();
        assert!(left.is_empty(), "temporary files left behind: {left:?}");
        out
    }
    /// Runs it, wants success and silence on standard error; returns standard output.
    fn ok(&self, args: &[&str]) -> String {
        let o = self.upcc(args);
        let err = String::from_utf8_lossy(&o.stderr);
        assert!(o.status.success() && err.is_empty(), "{args:?}: {}\n{err}", o.status);
        String::from_utf8(o.stdout).unwrap()
    }
    /// Runs it, wants failure; returns standard error.
    fn fails(&self, args: &[&str]) -> String {
        let o = self.upcc(args);
        let err = String::from_utf8_lossy(&o.stderr).into_owned();
        assert_eq!(o.status.code(), Some(1), "{args:?}: {err}");
        assert!(err.contains("error"), "{err}");
        err
    }
    fn has(&self, name: &str) -> bool {
        self.dir.join("work").join(name).exists()
    }
    fn read(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.dir.join("work").join(name)).unwrap()).into_owned()
    }
}

const HELLO: &str = "#include <upc.h>\n#include <stdio.h>\nshared int a[THREADS];\n\
                     int main(void) { a[MYTHREAD] = 1; upc_barrier; printf(\"%d\\n\", a[0]); return 0; }\n";

#[test]
fn says_what_is_wrong_with_the_command_line() {
    let p = Installation::new("usage");
    p.file("a.upc", HELLO).file("b.upc", "int b;\n");
    for (args, word) in [
        (&[][..], "no input files"),
        (&["none.upc"], "no such file: 'none.upc'"),
        (&["-c", "-o", "x.o", "a.upc", "b.upc"], "one output file"),
        (&["-T", "0", "a.upc"], "at least 1"),
        (&["-T", "2147483647", "a.upc"], "at most 1024 threads"),
        (&["-netwrok=smp", "a.upc"], "did you mean '-network'?"),
        (&["-fupc-thread-4", "a.upc"], "-fupc-threads-N"),
        (&["--nonsense", "a.upc"], "--help"),
        (&["--cc=no-such-compiler", "-c", "a.upc"], "no-such-compiler"),
        (&["a.upc"], "libupc.a"),
    ] {
        let err = p.fails(args);
        assert!(err.starts_with("upcc: error: ") && err.contains(word), "{args:?}: {err}");
    }
    assert!(p.ok(&["--help"]).contains("usage: upcc"));
    assert!(p.ok(&["-help"]).contains("-fupc-threads-N"));
    assert!(p.ok(&["-version"]).starts_with("upcc (gasnet-rs)"));
    assert!(p.ok(&["-print-include-dir"]).trim().ends_with("include/upc"));
}

#[test]
fn predefines_the_macros_of_both_environments() {
    let p = Installation::new("macros");
    p.file("m.upc", "V __UPC_VERSION__\nT THREADS\nS __UPC_STATIC_THREADS__\nD __UPC_DYNAMIC_THREADS__\nB UPC_MAX_BLOCK_SIZE\n");
    let dynamic = p.ok(&["-E", "m.upc"]);
    for line in ["V 201311L", "T THREADS", "S __UPC_STATIC_THREADS__", "D 1", "B 1048576"] {
        assert!(dynamic.lines().any(|l| l == line), "{line}: {dynamic}");
    }
    p.ok(&["-E", "-T4", "-fupc-pts=struct", "-o", "m.i", "m.upc"]);
    for line in ["T 4", "S 1", "D __UPC_DYNAMIC_THREADS__", "B 2147483647"] {
        assert!(p.read("m.i").lines().any(|l| l == line), "{line}");
    }
}

/// Every header is the one that gcc takes, whatever folders are named in whatever order; but `<...>` also
/// finds what lies beside the source, last of all.
#[test]
fn headers_are_searched_for_as_gcc_does() {
    let p = Installation::new("folders");
    let work = p.dir.join("work");
    for folder in ["src", "other"] {
        fs::create_dir_all(work.join(folder)).unwrap();
        for header in ["mine.h", "regex.h", "upc_collective.h"] {
            p.file(&format!("{folder}/{header}"), &format!("from_{folder};\n"));
        }
    }
    fs::create_dir_all(work.join("third")).unwrap();
    p.file("third/asks.h", "#include \"mine.h\"\n#include <regex.h>\n");
    std::os::unix::fs::symlink("src", work.join("link")).unwrap();
    let absolute = work.join("src");
    let absolute = absolute.to_str().unwrap();
    p.file("src/angled.c", "#include <mine.h>\n").file("src/quoted.c", "#include \"mine.h\"\n");
    p.file("src/system.c", "#include <upc_collective.h>\n")
        .file("src/far.c", "#include \"../third/asks.h\"\n");

    let mut searches: Vec<(Vec<String>, &str)> = Vec::new();
    let kinds = ["-I", "-iquote", "-isystem", "-idirafter"];
    for spelling in ["src", "src/", "./src", "other/../src", "link", absolute] {
        searches.push((vec!["-I".into(), spelling.into()], ""));
    }
    for first in kinds {
        searches.push((vec![format!("{first}src")], ""));
        for second in kinds {
            searches.push((vec![format!("{first}other"), second.into(), "src".into()], ""));
            searches.push((vec![format!("{first}src"), format!("{second}other")], ""));
        }
        searches.push((vec![format!("{first}other")], "other:link/"));
    }
    searches.push((vec![], absolute));
    searches.push((vec!["-Wp,-Isrc".into()], ""));
    searches.push((["-iprefix", "./s", "-iwithprefixbefore", "rc"].map(String::from).into(), ""));
    searches.push((["-iprefix", "./s", "-iwithprefix", "rc"].map(String::from).into(), ""));
    searches.push((vec![], ""));

    let lines = |o: &Output| {
        let text = String::from_utf8_lossy(&o.stdout).into_owned();
        let kept = text.lines().filter(|l| l.starts_with("from_"));
        o.status.success().then(|| kept.map(String::from).collect::<Vec<_>>())
    };
    let include = p.dir.join("include/upc");
    for (folders, cpath) in searches {
        for source in ["angled", "quoted", "system", "far"] {
            let source = format!("src/{source}.c");
            let env = [("CPATH", cpath)];
            let mut words: Vec<&str> = folders.iter().map(String::as_str).collect();
            words.extend(["-E", &source]);
            let ours = lines(&p.upcc_with(&words, &env));
            let gcc = |more: &[&str]| {
                let mut cc = Command::new("cc");
                cc.args(&words).arg("-isystem").arg(&include).args(more).current_dir(&work);
                lines(&cc.envs(env).output().unwrap())
            };
            // Beside the source comes what is nowhere else; not if the user wants that folder for quoted
            // names alone.
            let quoted = folders.iter().any(|w| w.starts_with("-iquote"));
            let beside = || if quoted { None } else { gcc(&["-idirafter", "src"]) };
            let expected = gcc(&[]).or_else(beside);
            assert_eq!(ours, expected, "{folders:?}, CPATH={cpath:?}, {source}");
        }
    }
}

#[test]
fn source_from_standard_input_has_the_headers_of_the_working_folder() {
    let p = Installation::new("input");
    p.file("here.h", "#define HERE 1\n")
        .file("a.upc", "#include \"here.h\"\n#include <here.h>\nshared int a[HERE];\n");
    let out = Command::new(p.dir.join("bin/upcc"))
        .args(["-x", "upc", "-T", "1", "-c", "-o", "a.o", "-"])
        .current_dir(p.dir.join("work"))
        .stdin(fs::File::open(p.dir.join("work/a.upc")).unwrap())
        .output()
        .unwrap();
    assert!(out.status.success() && out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(p.has("a.o"));
}

#[test]
fn makes_what_is_asked_for_and_prints_nothing() {
    let p = Installation::new("outputs");
    p.file("a.upc", HELLO)
        .file("b.c", "#include \"b.h\"\nint f(void) { return B; }\n")
        .file("b.h", "#define B 1\n");
    assert_eq!(p.ok(&["-c", "a.upc", "b.c"]), "");
    assert!(p.has("a.o") && p.has("b.o"));
    assert!(p.read("a.o").contains("U 1 packed dynamic a.upc\nM\nV d 1 1 1 4 a\n"));
    assert_eq!(p.ok(&["-S", "-T", "4", "a.upc"]), "");
    assert!(p.read("a.s").contains("U 1 packed 4 a.upc"));
    assert_eq!(p.ok(&["-trans", "a.upc"]), "");
    assert!(p.read("a.trans.c").contains("upcc_abi.h"));
    assert_eq!(
        p.ok(&["-c", "-save-temps", "-MMD", "-o", "sub.o", "b.c", "-O3", "-march=native", "-std=gnu99"]),
        ""
    );
    assert!(p.has("b.i") && p.has("b.trans.c") && p.has("sub.o"));
    assert!(p.read("sub.d").starts_with("sub.o:") && p.read("sub.d").contains("b.h"));
    assert_eq!(p.ok(&["-MM", "b.c"]), "b.o: b.c b.h\n");
    // The preprocessed text is a source, too.
    assert_eq!(p.ok(&["-c", "-o", "c.o", "b.i"]), "");
    assert!(p.has("c.o"));
}

#[test]
fn a_dump_is_printed_and_makes_no_file() {
    let p = Installation::new("dump");
    p.file("a.upc", HELLO);
    for (form, shown) in [("ast", "main"), ("ir", "shared")] {
        let dump = format!("--dump={form}");
        for args in
            [vec![dump.as_str(), "a.upc"], vec![&dump, "-o", "prog", "a.upc"], vec!["-c", &dump, "a.upc"]]
        {
            let text = p.ok(&args);
            assert!(text.contains(shown), "{args:?}: {text}");
            let files: Vec<_> =
                fs::read_dir(p.dir.join("work")).unwrap().map(|f| f.unwrap().file_name()).collect();
            assert_eq!(files, ["a.upc"], "{args:?}");
        }
    }
    p.file("bad.upc", "int f(void) { return y; }\n");
    p.fails(&["--dump=ast", "bad.upc"]);
}

#[test]
fn a_failed_compile_leaves_no_output() {
    let p = Installation::new("failure");
    p.file("bad.upc", "shared int x;\nint f(void) { return y; }\n")
        .file("bad.o", "old")
        .file("inc.upc", "#include \"none.h\"\n");
    let err = p.fails(&["-c", "bad.upc"]);
    assert!(err.starts_with("bad.upc:2:"), "{err}");
    p.file("out.o", "old");
    p.fails(&["-c", "-o", "out.o", "bad.upc"]);
    assert!(!p.has("out.o"));
    assert!(p.fails(&["-c", "inc.upc"]).contains("none.h"));
    p.fails(&["-c", "-o", "/dev/null", "bad.upc"]);
    assert!(Path::new("/dev/null").exists());
}

#[test]
fn a_dry_run_only_shows_the_commands() {
    let p = Installation::new("dry");
    p.file("a.upc", HELLO);
    let o = p.upcc(&["-###", "a.upc", "-o", "prog", "-lfoo"]);
    let err = String::from_utf8_lossy(&o.stderr);
    assert!(o.status.success() && !p.has("prog"));
    assert_eq!(err.lines().count(), 5, "{err}");
    let link = err.lines().last().unwrap();
    assert!(link.contains("-lfoo") && link.contains("libupc.a") && link.contains(" -lm "), "{link}");
    let lib = p.dir.join("lib");
    assert!(link.ends_with(&format!("-Wl,-rpath,{}", lib.display())), "{link}");
}

#[test]
fn configuration_files_and_variables() {
    let p = Installation::new("conf");
    p.file("a.upc", "1 A\n2 B\n3 C\n4 D\n").file("mine.conf", "default_options = -DA=mine\n");
    fs::create_dir_all(p.dir.join("etc")).unwrap();
    fs::write(p.dir.join("etc/upcc.conf"), "# of the installation\ndefault_options = -DA=etc -DB=etc\n")
        .unwrap();
    fs::write(p.dir.join(".upccrc"), "default_options = -UB \\\n -DB=home -DC=home\n").unwrap();
    let says = |args: &[&str], env: &[(&str, &str)]| {
        let o = p.upcc_with(&[args, &["-E", "a.upc"]].concat(), env);
        let text = String::from_utf8(o.stdout).unwrap();
        text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(says(&[], &[]), "1 etc 2 home 3 home 4 D");
    assert_eq!(says(&["-norc"], &[]), "1 etc 2 etc 3 C 4 D");
    assert_eq!(says(&[], &[("UPCC_NORC", "1")]), "1 etc 2 etc 3 C 4 D");
    assert_eq!(says(&["-conf=mine.conf"], &[]), "1 mine 2 home 3 home 4 D");
    assert_eq!(says(&["-UC"], &[("UPCC_FLAGS", "-DD=flags")]), "1 etc 2 home 3 C 4 flags");
    assert!(p.fails(&["-conf", "none", "-E", "a.upc"]).contains("cannot read 'none'"));
    let confs = p.ok(&["-show-confs"]);
    assert!(
        confs.starts_with("default\n") && confs.contains("etc/upcc.conf\n") && confs.contains(".upccrc\n"),
        "{confs}"
    );
}

#[test]
fn information_for_scripts() {
    let p = Installation::new("info");
    p.file("a.upc", HELLO);
    fs::create_dir_all(p.dir.join("lib")).unwrap();
    fs::write(p.dir.join("lib/libgasnet_mpi-x.so"), "").unwrap();
    assert_eq!(p.ok(&["-echo-var", "CONDUITS"]), "smp udp mpi\n");
    assert_eq!(p.ok(&["--echo-var=VERSION"]), format!("{}\n", env!("CARGO_PKG_VERSION")));
    for (name, end) in [
        ("PREFIX", "driver-info"),
        ("INCLUDEDIR", "include/upc"),
        ("LIBDIR", "lib"),
        ("UPCRUN", "bin/upcrun"),
        ("CC", "cc"),
        ("GASNET_LD", "cc"),
        ("GASNET_CFLAGS", "-O2"),
        ("GASNET_LDFLAGS", "driver-info/lib"),
        ("GASNET_CPPFLAGS", "include/upc"),
        ("GASNET_MISC_CPPFLAGS", ""),
        ("LIBS", "lib/libupc.a -lpthread -ldl -lm"),
    ] {
        assert!(p.ok(&["-echo-var", name]).trim_end().ends_with(end), "{name}");
    }
    assert!(p.fails(&["-echo-var", "NOTHING"]).contains("no configuration variable 'NOTHING'"));
    assert!(p.ok(&["-show-sizes"]).starts_with("pointer-to-shared: 8 bytes, block size up to 1048576"));
    let mpi = [("MPICC", "gcc")];
    assert!(
        String::from_utf8_lossy(&p.upcc_with(&["-print-mpicc"], &mpi).stdout).trim_end().ends_with("/gcc")
    );
    let shown = p.upcc_with(&["-uses-mpi", "-###", "-c", "a.upc"], &mpi);
    assert!(String::from_utf8_lossy(&shown.stderr).lines().next().unwrap().contains("/gcc "));
    assert!(p.ok(&["-E", "-network=udp", "-dM", "a.upc"]).contains("__BERKELEY_UPC_UDP_CONDUIT__ 1"));
}

#[test]
fn outputs_and_stages_of_links() {
    let p = Installation::new("links");
    p.file("prog.upc", HELLO);
    let link = |args: &[&str]| {
        let o = p.upcc(&[&["-###", "prog.upc"], args].concat());
        String::from_utf8_lossy(&o.stderr).lines().last().unwrap().to_string()
    };
    assert!(link(&[]).contains(" -o a.out "));
    assert!(link(&["-smart-output"]).contains(" -o prog "));
    assert!(link(&["-smart-output", "-o", "x"]).contains(" -o x "));
    assert!(link(&["-link-with", "gcc"]).contains("/gcc "));
    assert!(link(&["-Wl,-z,now", "-pg", "-s"]).contains(" -pg ") && link(&["-s"]).contains(" -s "));
    // The link's own object.
    assert!(link(&["-shared-heap=64"]).contains("upc-link.o"));
    // Options for one stage each.
    let all = p.upcc(&["-###", "-Wp,-DP=1", "-Wc,-fc", "-Wl,-l1", "-Wu,x", "-Ww,y", "prog.upc"]);
    let text = String::from_utf8_lossy(&all.stderr).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("-Wp,-DP=1") && !lines[0].contains("-fc"), "{text}");
    assert!(lines[2].contains(" -fc ") && !lines[2].contains("-DP=1"), "{text}");
    assert!(lines[4].contains("-Wl,-l1") && !text.contains("-Wu,x") && !text.contains("-Ww,y"), "{text}");
}

#[test]
fn lines_and_temporary_files() {
    let p = Installation::new("flow");
    p.file("a.upc", HELLO);
    p.ok(&["-trans", "a.upc"]);
    assert!(p.read("a.trans.c").contains("#line"));
    p.ok(&["-trans", "-nolines", "a.upc"]);
    assert!(!p.read("a.trans.c").contains("#line"));
    p.ok(&["-c", "-save-all-temps", "a.upc"]);
    assert!(p.has("a.i") && p.has("a.o"));
    fs::remove_file(p.dir.join("work/a.i")).unwrap();
    p.ok(&["-c", "-save-temps", "-nosave-temps", "a.upc"]);
    assert!(!p.has("a.i"));
    let o = p.upcc(&["-v", "-c", "a.upc"]);
    assert!(o.status.success() && String::from_utf8_lossy(&o.stderr).contains(" -E "));
}

/// A header beside the source that is called as one of our libraries' comes first.
#[test]
fn a_librarys_name_beside_the_source() {
    let p = Installation::new("own-library");
    p.file("upc_collective.h", "mine\n");
    p.file("a.upc", "#include <upc_collective.h>\n#include <upc_tick.h>\n");
    let o = p.upcc(&["-E", "a.upc"]);
    let text = String::from_utf8(o.stdout).unwrap();
    assert!(o.status.success() && text.contains("mine") && text.contains("upc_ticks_now"), "{text}");
}

/// Preprocessed text by both names, digits in groups, another installation's network.
#[test]
fn what_other_installations_write() {
    let p = Installation::new("others");
    p.file("a.upc", "int digits = 1'000 + 0x1'0;\n_Static_assert(1'000 == 1000, \"\");\n");
    assert!(p.upcc(&["-std=gnu2x", "-c", "a.upc"]).status.success());
    let o = p.upcc(&["-std=gnu17", "-c", "a.upc"]);
    assert!(!o.status.success() && !String::from_utf8_lossy(&o.stderr).contains("bug in upcc"));
    p.file("b.upci", "shared int x; int f(void) { return x; }\n");
    assert!(p.upcc(&["-c", "b.upci"]).status.success() && p.has("b.o"));
    let o = p.upcc(&["-network=ibv", "-###", "b.o"]);
    assert!(String::from_utf8_lossy(&o.stderr).contains("there is no network 'ibv' here"));
}

/// Shared objects may define shared variables: a constructor registers them. Their files go together as those
/// of a program do.
#[test]
fn shared_objects_define_shared_variables() {
    let p = Installation::new("library");
    p.file("a.upc", "shared int x;\nint f(void) { return x; }\n");
    p.file("b.upc", "int f(void) { static shared int once; return once++; }\n");
    p.file("c.upc", "extern shared int x;\nint f(void) { return x; }\n");
    for source in ["a.upc", "b.upc", "c.upc"] {
        p.ok(&["-shared", "-fPIC", "-o", "l\"$.so", source]);
        let made = p.read("l\"$.so");
        let has = |text: &str| made.contains(&format!("{text}\0"));
        assert!(has("__upc_register") && has("l\"_.so") && has("upc_objects"));
        assert_eq!(has("upc_shvars"), source != "c.upc");
    }
    p.ok(&["-shared", "-fPIC", "-fupc-pts=struct", "-o", "liba.so", "a.upc"]);
    let err = p.fails(&["-shared", "-fPIC", "-o", "libc.so", "c.upc", "-L.", "-la"]);
    assert!(err.contains("'a.upc' with -fupc-pts=struct"), "{err}");
    assert!(!p.has("libc.so"));
}
