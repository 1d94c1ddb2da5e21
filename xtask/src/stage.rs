//! Builds the installed layout: `PREFIX/{bin,include,lib}`.
//!
//! Archives come out of cargo with every symbol of Rust's library visible. In the installed ones each is a single object
//! in which only the names of our interfaces are global, so they meet no other library's names in a link.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use crate::sh;

/// What may be visible in the installed libraries.
pub const VISIBLE: [&str; 7] = ["gasnet*", "gex*", "upc*", "__upc*", "bupc*", "UPCR*", "firehose_*"];

/// Longest time for a release build.
const BUILD: Duration = Duration::from_secs(1500);
/// Longest time for a binary tool.
const TOOL: Duration = Duration::from_secs(120);

/// Which parts of the layout are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// The compiler and its runtime.
    pub upc: bool,
    /// The C library.
    pub c: bool,
}

impl Parts {
    /// Everything.
    pub const ALL: Parts = Parts { upc: true, c: true };
}

/// Where `cargo xtask` itself keeps the layout.
pub fn folder() -> PathBuf {
    sh::target().join("stage")
}

/// Builds what is needed and brings the layout under `prefix` up to date.
pub fn stage(prefix: &Path, parts: Parts) -> Result<(), String> {
    build(parts)?;
    let (root, built) = (sh::root(), sh::target().join("release"));
    let (bin, lib) = (prefix.join("bin"), prefix.join("lib"));
    copy(&built.join("gasnetrun"), &bin.join("gasnetrun"))?;
    if parts.upc {
        for name in ["upcc", "upcrun"] {
            copy(&built.join(name), &bin.join(name))?;
        }
        copy_headers(&root.join("upc-rt/include"), &prefix.join("include/upc"))?;
        combine(&built.join("libupc.a"), &lib.join("libupc.a"))?;
        start_files(&root.join("upc-rt"), &lib.join("libupcmain.a"))?;
        copy(&root.join("upc-rt/gdb/upc.py"), &prefix.join("share/upc/gdb/upc.py"))?;
    }
    if parts.c {
        copy_headers(&root.join("gasnet-rs/include"), &prefix.join("include/gasnet"))?;
        combine(&built.join("libgasnet_capi.a"), &lib.join("libgasnet.a"))?;
        share(&lib.join("libgasnet.a"), &lib.join("libgasnet.so"))?;
        for (name, text) in package_files() {
            write(&lib.join("pkgconfig").join(name), &text)?;
        }
        for conduit in CONDUITS {
            for mode in MODES {
                let at = prefix.join(format!("include/{conduit}-conduit/{conduit}-{mode}.mak"));
                write(&at, &make_fragment(mode))?;
            }
            let launcher = bin.join(format!("gasnetrun_{conduit}"));
            write(&launcher, &conduit_launcher(conduit))?;
            let runnable = fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755));
            runnable.map_err(|e| format!("{}: {e}", launcher.display()))?;
        }
    }
    Ok(())
}

/// The start of programs without a UPC main: C, each file a member of its own, linked in where it is needed.
fn start_files(runtime: &Path, archive: &Path) -> Result<(), String> {
    let objects = sh::target().join("start-files");
    fs::create_dir_all(&objects).map_err(|e| format!("{}: {e}", objects.display()))?;
    let mut members = Vec::new();
    for name in ["upcr_init", "upcr_main", "upcr_wide"] {
        let object = objects.join(name).with_extension("o");
        let mut cc = Command::new("cc");
        cc.args(["-c", "-O2", "-g", "-w", "-I"]).arg(runtime.join("include")).arg("-o").arg(&object);
        cc.arg(runtime.join("c").join(name).with_extension("c"));
        run(cc)?;
        members.push(object);
    }
    let _ = fs::remove_file(archive);
    let mut ar = Command::new("ar");
    ar.arg("rcs").arg(archive).args(&members);
    run(ar)
}

/// Builds the C library of Firehose, which nothing else here needs, and puts it under `prefix`.
pub fn stage_firehose(prefix: &Path) -> Result<(), String> {
    sh::pass(sh::cargo(&["build", "--release", "--lib", "-p", "firehose-capi"]), BUILD)?;
    copy(&sh::root().join("firehose/capi/include/firehose.h"), &prefix.join("include/firehose.h"))?;
    combine(&sh::target().join("release/libfirehose_c.a"), &prefix.join("lib/libfirehose_c.a"))
}

/// Has cargo build the parts, once a run of this program.
fn build(parts: Parts) -> Result<(), String> {
    static BUILT: Mutex<Parts> = Mutex::new(Parts { upc: false, c: false });
    static TOOLS: Mutex<bool> = Mutex::new(false);
    let mut built = BUILT.lock().map_err(|e| e.to_string())?;
    let mut tools = TOOLS.lock().map_err(|e| e.to_string())?;
    let missing = Parts { upc: parts.upc && !built.upc, c: parts.c && !built.c };
    if missing.upc || !*tools {
        let mut build = sh::cargo(&["build", "--release", "-p", "gasnet-launch", "--bin", "gasnetrun"]);
        if missing.upc {
            build.args(["-p", "upcc", "--bin", "upcc", "--bin", "upcrun"]);
        }
        sh::pass(build, BUILD)?;
        *tools = true;
    }
    if missing.upc || missing.c {
        let mut libraries = sh::cargo(&["build", "--release", "--lib"]);
        if missing.upc {
            libraries.args(["-p", "upc-rt"]);
        }
        if missing.c {
            libraries.args(["-p", "gasnet-capi"]);
        }
        sh::pass(libraries, BUILD)?;
    }
    *built = Parts { upc: built.upc || parts.upc, c: built.c || parts.c };
    Ok(())
}

/// Conduits under the names of which build systems of GASNet clients look for files. One library has them all.
const CONDUITS: [&str; 3] = ["smp", "udp", "mpi"];
/// Thread modes of GASNet.
const MODES: [&str; 3] = ["seq", "par", "parsync"];

/// What a client's makefile includes to know how to compile and link for a thread mode. It finds the prefix from its own place.
fn make_fragment(mode: &str) -> String {
    let upper = mode.to_uppercase();
    format!(
        "GASNET_PREFIX := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))../..)\n\
         GASNET_CC = cc\n\
         GASNET_CXX = c++\n\
         GASNET_LD = $(GASNET_CC)\n\
         GASNET_LD_REQUIRES_MPI = 0\n\
         GASNET_DEFINES = -DGASNET_{upper}=1\n\
         GASNET_INCLUDES = -I$(GASNET_PREFIX)/include/gasnet\n\
         GASNET_CPPFLAGS = $(GASNET_DEFINES) $(GASNET_INCLUDES)\n\
         GASNET_CFLAGS = -O2\n\
         GASNET_CXXCPPFLAGS = $(GASNET_CPPFLAGS)\n\
         GASNET_CXXFLAGS = -O2\n\
         GASNET_LDFLAGS = -Wl,-rpath,$(GASNET_PREFIX)/lib\n\
         GASNET_LIBS = -L$(GASNET_PREFIX)/lib -lgasnet {}\n",
        system_libraries().join(" ")
    )
}

/// The launcher under a conduit's name.
fn conduit_launcher(conduit: &str) -> String {
    format!(
        "#!/bin/sh\n\
         # Starts a program over the conduit {conduit}.\n\
         exec \"$(dirname \"$(readlink -f \"$0\")\")/gasnetrun\" --conduit={conduit} \"$@\"\n"
    )
}

/// The pkg-config files: one for each thread mode, and again for programs whose whole memory is the segment; each also
/// under the name with a network that build systems of GASNet clients look for.
fn package_files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for (family, mode) in
        ["gasnet", "gasnet-smp", "gasnet-udp", "gasnet-mpi"].iter().flat_map(|f| MODES.map(|m| (f, m)))
    {
        for (suffix, segment) in [("", ""), ("-everything", " -DGASNET_SEGMENT_EVERYTHING=1")] {
            let name = format!("{family}{suffix}-{mode}");
            let upper = mode.to_uppercase();
            let text = format!(
                "prefix=${{pcfiledir}}/../..\n\
                 includedir=${{prefix}}/include/gasnet\n\
                 libdir=${{prefix}}/lib\n\
                 \n\
                 Name: {name}\n\
                 Description: GASNet-1 over gasnet-rs, GASNET_{upper}\n\
                 Version: {}\n\
                 Cflags: -I${{includedir}} -DGASNET_{upper}=1{segment}\n\
                 Libs: -L${{libdir}} -Wl,-rpath,${{libdir}} -lgasnet\n\
                 Libs.private: {}\n",
                env!("CARGO_PKG_VERSION"),
                system_libraries().join(" ")
            );
            files.push((format!("{name}.pc"), text));
        }
    }
    files
}

/// What the archives need from the system, for static links.
pub fn system_libraries() -> [&'static str; 4] {
    ["-lpthread", "-ldl", "-lm", "-lgcc_s"]
}

/// Combines an archive into one object with few visible names, and packs it again. Does nothing if `to` is newer.
fn combine(from: &Path, to: &Path) -> Result<(), String> {
    if !newer(from, to) {
        return Ok(());
    }
    make_parent(to)?;
    let work = sh::target().join("combine");
    fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    let name = format!("{}-{}", to.file_stem().unwrap_or_default().to_string_lossy(), std::process::id());
    let (all, few) = (work.join(format!("{name}-all.o")), work.join(format!("{name}.o")));
    let archive = work.join(format!("{name}.a"));

    let mut link = Command::new(tool("LD", "ld"));
    link.arg("-r").arg("-o").arg(&all).arg("--whole-archive").arg(from);
    run(link)?;
    let mut hide = Command::new(tool("OBJCOPY", "objcopy"));
    // The script for gdb is no debugging information, whatever its name.
    hide.args(["--strip-debug", "--wildcard", "--keep-section=.debug_gdb_scripts"]);
    // Bitcode of Rust's library, glued together by the link above, makes LLVM's plugin for `ar` and `nm` fail.
    hide.args(["--remove-section=.llvmbc", "--remove-section=.llvmcmd"]);
    hide.args(VISIBLE.map(|pattern| format!("--keep-global-symbol={pattern}")));
    run({
        hide.arg(&all).arg(&few);
        hide
    })?;
    let _ = fs::remove_file(&archive);
    let mut pack = Command::new(tool("AR", "ar"));
    pack.arg("rcs").arg(&archive).arg(&few);
    run(pack)?;
    rename(&archive, to)?;
    for file in [all, few] {
        let _ = fs::remove_file(file);
    }
    Ok(())
}

/// Makes a shared library of a combined archive: it exports what the archive lets be seen.
fn share(from: &Path, to: &Path) -> Result<(), String> {
    if !newer(from, to) {
        return Ok(());
    }
    let name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let made = sh::target().join("combine").join(format!("{name}-{}", std::process::id()));
    let mut link = Command::new(tool("CC", "cc"));
    link.args(["-shared", "-Wl,--gc-sections", "-Wl,-z,now", "-Wl,-z,relro", "-Wl,-z,defs"]);
    link.arg(format!("-Wl,-soname,{name}")).arg("-o").arg(&made);
    link.arg("-Wl,--whole-archive").arg(from).arg("-Wl,--no-whole-archive").args(system_libraries());
    run(link)?;
    rename(&made, to)?;
    let _ = fs::remove_file(made);
    Ok(())
}

fn tool(variable: &str, name: &str) -> std::ffi::OsString {
    std::env::var_os(variable).unwrap_or_else(|| name.into())
}

fn run(command: Command) -> Result<(), String> {
    let shown = sh::show(&command);
    let outcome = sh::capture(command, TOOL)?;
    match outcome.status {
        Some(0) => Ok(()),
        _ => Err(format!("{shown}\n{}", outcome.report())),
    }
}

/// The defined global symbols of a library that are none of ours. `dynamic` looks at what a shared library exports.
pub fn strangers(library: &Path, dynamic: bool) -> Result<Vec<String>, String> {
    let mut list = Command::new(tool("NM", "nm"));
    list.args(["--extern-only", "--defined-only", "--format=posix"]);
    if dynamic {
        list.arg("--dynamic");
    }
    list.arg(library);
    let shown = sh::show(&list);
    let outcome = sh::capture(list, TOOL)?;
    if outcome.status != Some(0) {
        return Err(format!("{shown}\n{}", outcome.report()));
    }
    // Lines of symbols have a type and a value after the name; the name of an archive member has not.
    let names: Vec<&str> = outcome
        .stdout
        .lines()
        .filter(|line| line.split(' ').count() >= 3)
        .filter_map(|line| line.split(' ').next())
        .collect();
    if names.is_empty() {
        return Err(format!("{}: no visible symbol at all", library.display()));
    }
    let ours = |name: &str| VISIBLE.iter().any(|pattern| name.starts_with(pattern.trim_end_matches('*')));
    Ok(names.into_iter().filter(|name| !ours(name)).map(String::from).collect())
}

fn newer(from: &Path, than: &Path) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|m| m.modified()).ok();
    match (time(from), time(than)) {
        (Some(from), Some(than)) => from >= than,
        _ => true,
    }
}

/// Makes the folder for a file. Whatever the umask says, only its owner can write it: plugins are loaded from no other.
fn make_parent(path: &Path) -> Result<(), String> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(parent);
    made.map_err(|e| format!("{}: {e}", parent.display()))
}

/// Takes from a file's group and from others the right to write it.
fn protect(file: &Path) -> Result<(), String> {
    let change = || {
        let mode = fs::metadata(file)?.permissions().mode();
        fs::set_permissions(file, fs::Permissions::from_mode(mode & !0o022))
    };
    change().map_err(|e| format!("{}: {e}", file.display()))
}

/// Puts a finished file in its place, in one step: a program that is just running keeps its old file.
fn rename(from: &Path, to: &Path) -> Result<(), String> {
    let near = to.with_extension(format!("new-{}", std::process::id()));
    fs::copy(from, &near).map_err(|e| format!("{} to {}: {e}", from.display(), near.display()))?;
    protect(&near)?;
    fs::rename(&near, to).map_err(|e| format!("{}: {e}", to.display()))
}

/// Copies a file, if it is newer or not there.
pub fn copy(from: &Path, to: &Path) -> Result<(), String> {
    if !newer(from, to) {
        return Ok(());
    }
    make_parent(to)?;
    rename(from, to)
}

fn write(to: &Path, text: &str) -> Result<(), String> {
    if fs::read_to_string(to).is_ok_and(|old| old == text) {
        return Ok(());
    }
    make_parent(to)?;
    fs::write(to, text).map_err(|e| format!("{}: {e}", to.display()))?;
    protect(to)
}

/// Copies a folder of headers, and removes headers that are gone.
fn copy_headers(from: &Path, to: &Path) -> Result<(), String> {
    make_parent(&to.join("any"))?;
    let list = |folder: &Path| -> Result<Vec<PathBuf>, String> {
        let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(entries.flatten().map(|entry| entry.path()).collect())
    };
    for path in list(from)? {
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            copy_headers(&path, &to.join(name))?;
        } else if path.extension().is_some_and(|e| e == "h") {
            let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            write(&to.join(name), &text)?;
        }
    }
    for path in list(to)? {
        let gone = !from.join(path.file_name().unwrap_or_default()).exists();
        if gone && path.extension().is_some_and(|e| e == "h") {
            fs::remove_file(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// What only its owner may change stays so, whatever the umask.
    #[test]
    fn nobody_else_can_write_what_is_installed() {
        let folder = folder("modes");
        let from = folder.join("from");
        fs::write(&from, "x").unwrap();
        fs::set_permissions(&from, fs::Permissions::from_mode(0o777)).unwrap();
        copy(&from, &folder.join("prefix/lib/copied")).unwrap();
        write(&folder.join("prefix/lib/written"), "text").unwrap();
        for made in ["prefix", "prefix/lib", "prefix/lib/copied", "prefix/lib/written"] {
            let mode = fs::metadata(folder.join(made)).unwrap().permissions().mode();
            assert_eq!(mode & 0o022, 0, "{made}: {mode:o}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    /// An archive that shows one name of ours and one of somebody else's.
    fn archive(folder: &Path) -> PathBuf {
        let source = folder.join("two.c");
        fs::write(
            &source,
            "int gasnet_ours(void) { return 1; }\nint stranger(void) { return gasnet_ours(); }\n",
        )
        .unwrap();
        let object = folder.join("two.o");
        let archive = folder.join("two.a");
        let mut compile = Command::new("cc");
        compile.args(["-c", "-fPIC"]).arg(&source).arg("-o").arg(&object);
        run(compile).unwrap();
        let mut pack = Command::new("ar");
        pack.arg("rcs").arg(&archive).arg(&object);
        run(pack).unwrap();
        archive
    }

    #[test]
    fn combining_hides_what_is_not_ours() {
        let folder = folder("combine");
        let raw = archive(&folder);
        assert_eq!(strangers(&raw, false).unwrap(), ["stranger"]);
        let (few, shared) = (folder.join("lib/few.a"), folder.join("lib/few.so"));
        combine(&raw, &few).unwrap();
        assert!(strangers(&few, false).unwrap().is_empty());
        share(&few, &shared).unwrap();
        assert!(strangers(&shared, true).unwrap().is_empty());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn headers_that_are_gone_are_removed() {
        let folder = folder("headers");
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::create_dir_all(from.join("sub")).unwrap();
        fs::write(from.join("a.h"), "a").unwrap();
        fs::write(from.join("sub/b.h"), "b").unwrap();
        fs::write(from.join("notes.txt"), "no header").unwrap();
        copy_headers(&from, &to).unwrap();
        assert!(to.join("a.h").is_file() && to.join("sub/b.h").is_file() && !to.join("notes.txt").exists());
        fs::remove_file(from.join("a.h")).unwrap();
        copy_headers(&from, &to).unwrap();
        assert!(!to.join("a.h").exists() && to.join("sub/b.h").is_file());
        fs::remove_dir_all(&folder).unwrap();
    }

    /// Make understands the fragments, and finds the prefix by them.
    #[test]
    fn makefiles_of_clients_find_the_prefix() {
        let folder = folder("make");
        let fragment = folder.join("include/udp-conduit/udp-par.mak");
        write(&fragment, &make_fragment("par")).unwrap();
        fs::write(
            folder.join("Makefile"),
            "include include/udp-conduit/udp-par.mak\nall:\n\t@echo $(GASNET_CPPFLAGS) $(GASNET_LIBS)\n",
        )
        .unwrap();
        let Ok(said) = Command::new("make").arg("-s").current_dir(&folder).output() else { return };
        let (said, at) = (String::from_utf8_lossy(&said.stdout).into_owned(), folder.display());
        assert!(
            said.starts_with(&format!("-DGASNET_PAR=1 -I{at}/include/gasnet -L{at}/lib -lgasnet ")),
            "{said}"
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn every_mode_has_a_package_file() {
        let files = package_files();
        assert_eq!(files.len(), 24);
        for (name, text) in files {
            assert!(text.contains(&format!("Name: {}\n", name.trim_end_matches(".pc"))));
            assert_eq!(text.contains("EVERYTHING"), name.contains("everything"));
        }
    }
}
