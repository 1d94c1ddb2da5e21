//! An installation as clients find it: each way in which they ask how to compile and link builds a client
//! that runs, the manual pages render, and the Debian package comes and goes without a trace.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Context, End};
use crate::clients::CONDUITS;
use crate::programs::Tally;
use crate::stage::{self, Parts};
use crate::{build, files, man, package, sh};

/// Longest time for building or running a client.
const CLIENT_LIMIT: Duration = Duration::from_secs(200);

/// The result of a part; `Some` is the tool that is missing.
type Report = Result<Option<String>, String>;
/// A part: it is given the installation where it was made, and moved.
type Part = fn(&Path, &Path) -> Report;

pub fn run(context: &mut Context) -> End {
    for (program, package) in [("cmake", "cmake"), ("pkg-config", "pkg-config"), ("groff", "groff-base")] {
        if sh::which(program).is_none() {
            sh::install_debian(&[package]);
        }
    }
    // Moved after it was made: nothing but the pkg-config files may know where it was.
    let (made, moved) = (sh::target().join("installed"), sh::target().join("installed-moved"));
    let prepared = stage::stage(&made, Parts::ALL).and_then(|()| man::lay_down(&made)).and_then(|()| {
        let _ = fs::remove_dir_all(&moved);
        let mut copy = Command::new("cp");
        copy.arg("-a").arg(&made).arg(&moved);
        done(copy, Path::new("."))
    });
    if let Err(why) = prepared {
        return End::Failed(why);
    }
    let mut tally = Tally::default();
    let mut untested = Vec::new();
    let parts: [(&str, Part); 8] = [
        ("fragments", fragments),
        ("variables", variables),
        ("flags", flags),
        ("vipl", vipl),
        ("cmake", cmake),
        ("fortran", fortran),
        ("pages", pages),
        ("deb", deb),
    ];
    for (name, part) in parts {
        match part(&made, &moved) {
            Ok(None) => tally.passed += 1,
            Ok(Some(why)) => untested.push(format!("{name}: {why}")),
            Err(why) => {
                tally.failed += 1;
                say!("FAILED {name}\n{why}");
            }
        }
    }
    match context.add(tally) {
        End::Passed(text) if !untested.is_empty() => {
            End::Passed(format!("{text}; not tested: {}", untested.join("; ")))
        }
        end => end,
    }
}

fn sources() -> PathBuf {
    sh::root().join("tests/installed")
}

/// An empty folder for what a part makes.
fn scratch(name: &str) -> Result<PathBuf, String> {
    let folder = sh::target().join("installed-clients").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

/// Runs a command that must end well and say nothing on standard error.
fn said(mut command: Command, folder: &Path) -> Result<String, String> {
    command.current_dir(folder);
    let shown = sh::show(&command);
    let outcome = sh::capture(command, CLIENT_LIMIT)?;
    if outcome.status == Some(0) && outcome.stderr.is_empty() {
        return Ok(outcome.stdout);
    }
    Err(format!("{shown}\n{}", outcome.report()))
}

fn done(command: Command, folder: &Path) -> Result<(), String> {
    said(command, folder).map(drop)
}

/// Runs a client; it must say how many ranks it has, and for which network it was compiled.
fn passes(mut run: Command, ranks: u32, conduit: &str) -> Result<(), String> {
    run.env_remove("GASNET_SPAWNFN");
    let shown = sh::show(&run);
    let expected = format!("passed: {ranks} ranks, for {}\n", conduit.to_uppercase());
    let said = said(run, Path::new("."))?;
    if said == expected { Ok(()) } else { Err(format!("{shown}\n  said '{said}' instead of '{expected}'")) }
}

fn launched(prefix: &Path, launcher: &str, ranks: u32, program: &Path) -> Command {
    let mut run = Command::new(prefix.join("bin").join(launcher));
    run.arg("-np").arg(ranks.to_string()).arg(program);
    run
}

/// Makefiles that include a fragment.
fn fragments(_: &Path, prefix: &Path) -> Report {
    if sh::which("make").is_none() {
        return Ok(Some("no make".to_string()));
    }
    for (conduit, mode, launcher) in
        [("smp", "seq", "gasnetrun_smp"), ("udp", "par", "amudprun"), ("udp", "parsync", "gasnetrun_udp")]
    {
        let out = scratch(&format!("fragment-{conduit}-{mode}"))?;
        let mut make = Command::new("make");
        let fragment = prefix.join(format!("include/{conduit}-conduit/{conduit}-{mode}.mak"));
        make.arg(format!("FRAGMENT={}", fragment.display())).arg(format!("OUT={}", out.display()));
        done(make, &sources())?;
        for program in ["client", "client++"] {
            passes(launched(prefix, launcher, 2, &out.join(program)), 2, conduit)?;
        }
    }
    Ok(None)
}

/// Programs that ask pkg-config for variables.
fn variables(prefix: &Path, _: &Path) -> Report {
    if sh::which("pkg-config").is_none() {
        return Ok(Some("no pkg-config".to_string()));
    }
    let out = scratch("variables")?;
    for conduit in CONDUITS {
        let program = out.join(conduit);
        let mut compile = Command::new("./variables.sh");
        compile.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
        compile.arg(format!("gasnet-{conduit}-seq")).arg(&program);
        done(compile, &sources())?;
        let mut direct = Command::new(&program);
        direct.env("GASNET_PSHM_NODES", "3");
        passes(direct, 3, conduit)?;
    }
    let mut run = launched(prefix, "amudprun", 2, &out.join("udp"));
    run.env("GASNET_SUPERNODE_MAXSIZE", "1").env("GASNET_MASTERIP", "127.0.0.1");
    passes(run, 2, "udp").map(|()| None)
}

/// Programs that ask pkg-config for flags, as most do.
fn flags(prefix: &Path, _: &Path) -> Report {
    if sh::which("pkg-config").is_none() {
        return Ok(Some("no pkg-config".to_string()));
    }
    let out = scratch("flags")?;
    for (package, conduit) in
        [("gasnet-par", "smp"), ("gasnet-everything-seq", "smp"), ("gasnet-udp-par", "udp")]
    {
        let mut ask = Command::new("pkg-config");
        ask.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).args(["--cflags", "--libs", package]);
        let words = said(ask, &out)?;
        if package.contains("everything") {
            continue;
        }
        let program = out.join(package);
        let mut compile = Command::new("cc");
        compile.arg("client.c").args(words.split_whitespace()).arg("-o").arg(&program);
        done(compile, &sources())?;
        passes(launched(prefix, "gasnetrun", 2, &program), 2, conduit)?;
    }
    Ok(None)
}

/// A program of `vipl.h`, as pkg-config says.
fn vipl(prefix: &Path, _: &Path) -> Report {
    if sh::which("pkg-config").is_none() {
        return Ok(Some("no pkg-config".to_string()));
    }
    let program = scratch("vipl")?.join("echo");
    let mut ask = Command::new("pkg-config");
    ask.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).args(["--cflags", "--libs", "vipl"]);
    let words = said(ask, &sources())?;
    let mut compile = Command::new("cc");
    compile.arg("echo.c").args(words.split_whitespace()).arg("-o").arg(&program);
    done(compile, &sh::root().join("examples/c/vipl"))?;
    let said = said(launched(prefix, "gasnetrun", 2, &program), Path::new("."))?;
    if said.contains("verification: passed") { Ok(None) } else { Err(said) }
}

/// `find_package(GASNet)`.
fn cmake(_: &Path, prefix: &Path) -> Report {
    if sh::which("cmake").is_none() {
        return Ok(Some("no cmake".to_string()));
    }
    let out = scratch("cmake")?;
    let configure = |release: &str, folder: &str| {
        let mut configure = Command::new("cmake");
        configure.arg("-S").arg(sources()).arg("-B").arg(out.join(folder));
        configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
        configure.arg(format!("-DWANTED_RELEASE={release}"));
        done(configure, &out)
    };
    let release = stage::site(prefix)?.release;
    configure(&release, "right")?;
    if configure("9999.1", "wrong").is_ok() {
        return Err("a release that there is not yet was found".to_string());
    }
    let mut make = Command::new("cmake");
    make.arg("--build").arg(out.join("right"));
    done(make, &out)?;
    for (target, conduit) in [("client-seq", "smp"), ("client-udp-par", "udp")] {
        passes(launched(prefix, "gasnetrun", 2, &out.join("right").join(target)), 2, conduit)?;
    }
    Ok(None)
}

/// Fortran programs with coarrays: by `caf` as the compiler of a project, by a package of CMake, and by
/// gfortran with what pkg-config says.
fn fortran(made: &Path, moved: &Path) -> Report {
    if let Some(lacking) =
        ["gfortran", "cmake", "pkg-config"].into_iter().find(|tool| sh::which(tool).is_none())
    {
        return Ok(Some(format!("no {lacking}")));
    }
    let (sources, out) = (sources().join("fortran"), scratch("fortran")?);
    let runs = |prefix: &Path, program: &Path| passes(launched(prefix, "cafrun", 2, program), 2, "fortran");
    let package = format!("-DOpenCoarrays_DIR={}", moved.join("share/caf-gasnet/cmake").display());
    for (folder, compiler, option) in
        [("compiler", moved.join("bin/caf"), "-DWITH_PACKAGE=OFF"), ("package", "gfortran".into(), &package)]
    {
        let folder = out.join(folder);
        let mut configure = Command::new("cmake");
        configure.env("FC", compiler).arg("-S").arg(&sources).arg("-B").arg(&folder).arg(option);
        done(configure, &out)?;
        let mut make = Command::new("cmake");
        make.arg("--build").arg(&folder);
        done(make, &out)?;
        runs(moved, &folder.join("client"))?;
    }
    let mut ask = Command::new("pkg-config");
    ask.env("PKG_CONFIG_PATH", made.join("lib/pkgconfig")).args(["--libs", "caf-gasnet"]);
    let words = said(ask, &out)?;
    let program = out.join("client");
    let mut compile = Command::new("gfortran");
    compile.arg("-fcoarray=lib").arg(sources.join("client.f90")).args(words.split_whitespace());
    compile.arg("-o").arg(&program);
    done(compile, &out)?;
    runs(made, &program).map(|()| None)
}

/// Every tool and every header has a page, and roff has nothing to say against one of them.
fn pages(prefix: &Path, _: &Path) -> Report {
    let man = prefix.join("share/man");
    for header in build::files(&prefix.join("include"), "h") {
        let name = header.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !man.join(format!("man3/{name}.3")).is_file() {
            return Err(format!("no page for {name}: its first comment makes one"));
        }
    }
    for (page, words) in [
        ("man1/upcc.1", "\\-fupc\\-threads\\-N"),
        ("man1/upcrun.1", "\\-pshm\\-width"),
        ("man1/gasnetrun.1", "\\-\\-hostfile"),
        ("man1/amudprun.1", "gasnetrun.1"),
        ("man3/gasnet.h.3", "gasnet_init"),
        ("man3/gasnet_tools.h.3", "gasnett_format_number"),
        ("man3/gasnet_coll.h.3", "gasnet_coll_broadcast"),
        ("man3/upc_memget.3", "bulk copies"),
        ("man3/upc_all_reduceI.3", "#include <upc_collective.h>"),
        ("man3/gasnet_init.3", "gasnet.h.3"),
    ] {
        let text = fs::read_to_string(man.join(page)).map_err(|e| format!("{page}: {e}"))?;
        if !text.contains(words) {
            return Err(format!("{page} says nothing of {words}"));
        }
    }
    if sh::which("groff").is_none() {
        return Ok(Some("pages are there, but no groff to render them".to_string()));
    }
    let mut render = Command::new("groff");
    render.args(["-man", "-ww", "-Tutf8", "-z"]).args(package::tree(&man));
    done(render, &man).map(|()| None)
}

/// The package is put into a system of its own (an empty folder), used there, and removed.
fn deb(_: &Path, _: &Path) -> Report {
    let root = fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0);
    if sh::which("dpkg-deb").is_none() || sh::which("gzip").is_none() {
        return Ok(Some("no dpkg-deb".to_string()));
    }
    let out = scratch("deb")?;
    let made = package::deb(&out, false)?;
    if !root {
        return Ok(Some("the package is made, but only root may install it".to_string()));
    }
    let system = out.join("system");
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"] {
        let folder = system.join(folder);
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    files::write(&system.join("var/lib/dpkg/status"), "")?;
    let dpkg = || {
        let mut dpkg = Command::new("dpkg");
        // The system has nothing else: no C library, none of the helpers in the path.
        dpkg.arg(format!("--root={}", system.display())).args(["--force-depends", "--force-bad-path"]);
        dpkg
    };
    let outside = || -> Vec<PathBuf> {
        package::tree(&system).into_iter().filter(|path| !path.starts_with("var")).collect()
    };
    let quiet = |mut command: Command| -> Result<(), String> {
        let shown = sh::show(&command);
        command.current_dir(&out);
        let outcome = sh::capture(command, CLIENT_LIMIT)?;
        if outcome.status == Some(0) { Ok(()) } else { Err(format!("{shown}\n{}", outcome.report())) }
    };
    let mut install = dpkg();
    install.arg("--install").arg(&made);
    quiet(install)?;
    let usr = system.join("usr");
    for needed in [
        "bin/gasnetrun",
        "lib/pkgconfig/gasnet-smp-seq.pc",
        "share/man/man1/upcc.1.gz",
        "share/man/man3/upc_memget.3.gz",
        "share/doc/gasnet-rs/README.md",
        "share/doc/gasnet-rs/examples/upc/hello.upc",
    ] {
        if !usr.join(needed).is_file() {
            return Err(format!("no {needed} in the package"));
        }
    }
    let package_file = fs::read_to_string(usr.join("lib/pkgconfig/gasnet-smp-seq.pc")).unwrap_or_default();
    if !package_file.starts_with("prefix=/usr\n") || package_file.contains("rpath") {
        return Err(format!("not made for /usr:\n{package_file}"));
    }
    let program = out.join("hello");
    let mut compile = Command::new(usr.join("bin/upcc"));
    compile.arg(sh::root().join("examples/upc/hello.upc")).arg("-o").arg(&program);
    done(compile, &out)?;
    let mut run = Command::new(usr.join("bin/upcrun"));
    run.args(["-n", "2"]).arg(&program);
    let said = said(run, &out)?;
    if !said.contains("verification: passed") {
        return Err(format!("the compiled program said:\n{said}"));
    }
    if sh::which("gfortran").is_some() {
        let mut compile = Command::new(usr.join("bin/caf"));
        let source = sources().join("fortran/client.f90");
        compile.arg(source).arg("-o").arg(&program);
        done(compile, &out)?;
        passes(launched(&usr, "cafrun", 2, &program), 2, "fortran")?;
    }
    let mut remove = dpkg();
    remove.args(["--purge", "gasnet-rs"]);
    quiet(remove)?;
    match outside() {
        left if left.is_empty() => Ok(None),
        left => Err(format!("left behind: {left:?}")),
    }
}
