//! Builds the installed layout: `PREFIX/{bin,include,lib}`.
//!
//! Archives built by cargo show every symbol of Rust's library. Each installed archive is a single object in
//! which only the names of our interfaces are global, so they cannot collide with other libraries' names in a
//! link. A compiler puts each function into a section of its own; the object has one section of each kind,
//! since a linker works on each section of each program that is linked with it. Shared libraries are made
//! before that, without the functions that no interface needs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use crate::clients::{self, Site, system_libraries};
use crate::files::{belongs, copy, make_parent, newer, rename, write};
use crate::sh;

/// The names that are visible in the installed libraries.
pub const VISIBLE: [&str; 12] = [
    "gasnet*",
    "gex*",
    "upc*",
    "__upc*",
    "bupc*",
    "UPCR*",
    "firehose_*",
    "Vip*",
    "_gfortran_caf_*",
    "__wrap__gfortran_caf_*",
    "free",
    "realloc",
];

/// Longest time for a release build.
const BUILD_LIMIT: Duration = Duration::from_secs(1500);
/// Longest time for a binary tool.
const TOOL_LIMIT: Duration = Duration::from_secs(120);

/// The wanted parts of the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// The compiler and its runtime.
    pub upc: bool,
    /// The C libraries.
    pub c: bool,
    /// The commands and the library of Fortran programs.
    pub fortran: bool,
}

impl Parts {
    /// The launcher alone, which belongs to all.
    pub const NONE: Parts = Parts { upc: false, c: false, fortran: false };
    /// The launcher, the UPC compiler and its runtime.
    pub const UPC: Parts = Parts { upc: true, ..Parts::NONE };
    /// The launcher and the C libraries.
    pub const C: Parts = Parts { c: true, ..Parts::NONE };
    /// The launcher, and what Fortran programs need.
    pub const FORTRAN: Parts = Parts { fortran: true, ..Parts::NONE };
    /// Everything.
    pub const ALL: Parts = Parts { upc: true, c: true, fortran: true };

    /// Those of these that are not among others.
    fn but(self, others: Parts) -> Parts {
        Parts {
            upc: self.upc && !others.upc,
            c: self.c && !others.c,
            fortran: self.fortran && !others.fortran,
        }
    }

    fn and(self, others: Parts) -> Parts {
        Parts { upc: self.upc || others.upc, c: self.c || others.c, fortran: self.fortran || others.fortran }
    }
}

/// The folder in which `cargo xtask` itself keeps the layout.
pub fn folder() -> PathBuf {
    sh::target().join("stage")
}

/// Builds what is needed and brings the layout under `prefix` up to date.
pub fn stage(prefix: &Path, parts: Parts) -> Result<(), String> {
    stage_for(prefix, &site(prefix)?, parts)
}

/// An installation under this prefix, with the compilers that this system calls `cc` and `c++`.
pub fn site(prefix: &Path) -> Result<Site, String> {
    let compiler = |name: &str| sh::which(name).unwrap_or_else(|| Path::new("/usr/bin").join(name));
    let release = release(&sh::root().join("capi/gasnet/include/gasnet_config.h"))?;
    Ok(Site { prefix: prefix.to_path_buf(), cc: compiler("cc"), cxx: compiler("c++"), release })
}

/// The release that `gasnet_config.h` states.
fn release(config: &Path) -> Result<String, String> {
    let text = fs::read_to_string(config).map_err(|e| format!("{}: {e}", config.display()))?;
    let number = |part: &str| {
        let name = format!("#define GASNET_RELEASE_VERSION_{part} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&name));
        value.map(str::trim).ok_or_else(|| format!("{}: no line '{name}N'", config.display()))
    };
    Ok(format!("{}.{}.{}", number("MAJOR")?, number("MINOR")?, number("PATCH")?))
}

/// [`stage`] into a folder `prefix` whose contents will belong to `site`.
pub fn stage_for(prefix: &Path, site: &Site, parts: Parts) -> Result<(), String> {
    // Two steps at a time would make the same files.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().map_err(|e| e.to_string())?;
    build(parts)?;
    let (root, built) = (sh::root(), sh::target().join("release"));
    let (bin, lib) = (prefix.join("bin"), prefix.join("lib"));
    copy(&built.join("gasnetrun"), &bin.join("gasnetrun"))?;
    if parts.upc {
        for name in ["upcc", "upcrun"] {
            copy(&built.join(name), &bin.join(name))?;
        }
        copy_headers(&root.join("upc-rt/include"), &prefix.join("include/upc"), "")?;
        combine(&built.join("libupc.a"), &lib.join("libupc.a"), None)?;
        start_files(&root.join("upc-rt"), &lib.join("libupcmain.a"))?;
        copy(&root.join("upc-rt/gdb/upc.py"), &prefix.join("share/upc/gdb/upc.py"))?;
    }
    if parts.c {
        copy_headers(&root.join("capi/gasnet/include"), &prefix.join("include"), "gasnet")?;
        combine(&built.join("libgasnet_capi.a"), &lib.join("libgasnet.a"), Some(&lib.join("libgasnet.so")))?;
        copy(&root.join("capi/vipl/include/vipl.h"), &prefix.join("include/vipl.h"))?;
        combine(&built.join("libvipl.a"), &lib.join("libvipl.a"), Some(&lib.join("libvipl.so")))?;
        clients::lay_down(prefix, site)?;
    }
    if parts.fortran {
        for name in ["caf", "cafrun"] {
            copy(&built.join(name), &bin.join(name))?;
        }
        combine(
            &built.join("libcaf_gasnet.a"),
            &lib.join("libcaf_gasnet.a"),
            Some(&lib.join("libcaf_gasnet.so")),
        )?;
        clients::lay_down_fortran(prefix, site)?;
    }
    Ok(())
}

/// The start of programs without a UPC main: C, each file a member of its own, linked in where it is needed.
fn start_files(runtime: &Path, archive: &Path) -> Result<(), String> {
    belongs(archive);
    let mut sources = Vec::new();
    for folder in ["c", "include"].map(|name| runtime.join(name)) {
        let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        sources.extend(entries.flatten().map(|entry| entry.path()));
    }
    if !sources.iter().any(|source| newer(source, archive)) {
        return Ok(());
    }
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
    sh::pass(sh::cargo(&["build", "--release", "--lib", "-p", "firehose-capi"]), BUILD_LIMIT)?;
    copy(&sh::root().join("capi/firehose/include/firehose.h"), &prefix.join("include/firehose.h"))?;
    combine(&sh::target().join("release/libfirehose_c.a"), &prefix.join("lib/libfirehose_c.a"), None)
}

/// Lets cargo build the parts, once in a run of this program.
fn build(parts: Parts) -> Result<(), String> {
    static BUILT: Mutex<Parts> = Mutex::new(Parts::NONE);
    static TOOLS: Mutex<bool> = Mutex::new(false);
    let mut built = BUILT.lock().map_err(|e| e.to_string())?;
    let mut tools = TOOLS.lock().map_err(|e| e.to_string())?;
    let missing = parts.but(*built);
    if missing.upc || missing.fortran || !*tools {
        let mut build = sh::cargo(&["build", "--release", "-p", "gasnet-conduits", "--bin", "gasnetrun"]);
        if missing.upc {
            build.args(["-p", "upcc", "--bin", "upcc", "--bin", "upcrun"]);
        }
        if missing.fortran {
            build.args(["-p", "gasnet-caf", "--bin", "caf", "--bin", "cafrun"]);
        }
        sh::pass(build, BUILD_LIMIT)?;
        *tools = true;
    }
    if missing != Parts::NONE {
        let mut libraries = sh::cargo(&["build", "--release", "--lib"]);
        if missing.upc {
            libraries.args(["-p", "upc-rt"]);
        }
        if missing.c {
            libraries.args(["-p", "gasnet-capi", "-p", "gasnet-vipl"]);
        }
        if missing.fortran {
            libraries.args(["-p", "gasnet-caf"]);
        }
        sh::pass(libraries, BUILD_LIMIT)?;
    }
    *built = built.and(parts);
    Ok(())
}

/// One section of each kind. What is not named here stays as it is.
const SECTIONS: &str = "\
SECTIONS {
  .text 0 : { *(.text .text.*) }
  .rodata 0 : { *(.rodata .rodata.*) }
  .data.rel.ro 0 : { *(.data.rel.ro .data.rel.ro.*) }
  .data 0 : { *(.data .data.*) }
  .tdata 0 : { *(.tdata .tdata.*) }
  .tbss 0 : { *(.tbss .tbss.*) }
  .bss 0 : { *(.bss .bss.*) }
  .gcc_except_table 0 : { *(.gcc_except_table .gcc_except_table.*) }
}
";

/// Combines an archive into one object with few visible names and few sections, and packs it again; makes a
/// shared library of the same names too. Does nothing if they are newer.
fn combine(from: &Path, to: &Path, shared: Option<&Path>) -> Result<(), String> {
    belongs(to);
    shared.into_iter().for_each(belongs);
    if !newer(from, to) && shared.is_none_or(|shared| !newer(from, shared)) {
        return Ok(());
    }
    make_parent(to)?;
    let work = sh::target().join("combine");
    fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    let name = format!("{}-{}", to.file_stem().unwrap_or_default().to_string_lossy(), std::process::id());
    let [all, few, merged, sections] =
        ["-all.o", "-few.o", ".o", ".ld"].map(|end| work.join(format!("{name}{end}")));
    let archive = work.join(format!("{name}.a"));

    let mut link = Command::new(tool("LD", "ld"));
    link.arg("-r").arg("-o").arg(&all).arg("--whole-archive").arg(from);
    run(link)?;
    let mut hide = Command::new(tool("OBJCOPY", "objcopy"));
    // The script for gdb is not debugging information, despite its name.
    hide.args(["--strip-debug", "--wildcard", "--keep-section=.debug_gdb_scripts"]);
    // Bitcode of Rust's library, glued together by the link above, makes LLVM's plugin for `ar` and `nm`
    // fail.
    hide.args(["--remove-section=.llvmbc", "--remove-section=.llvmcmd"]);
    hide.args(VISIBLE.map(|pattern| format!("--keep-global-symbol={pattern}")));
    run({
        hide.arg(&all).arg(&few);
        hide
    })?;
    if let Some(shared) = shared {
        share(&few, shared)?;
    }
    fs::write(&sections, SECTIONS).map_err(|e| format!("{}: {e}", sections.display()))?;
    let mut merge = Command::new(tool("LD", "ld"));
    merge.arg("-r").arg("-T").arg(&sections).arg("-o").arg(&merged).arg(&few);
    run(merge)?;
    let _ = fs::remove_file(&archive);
    let mut pack = Command::new(tool("AR", "ar"));
    pack.arg("rcs").arg(&archive).arg(&merged);
    run(pack)?;
    rename(&archive, to)?;
    for file in [all, few, merged, sections] {
        let _ = fs::remove_file(file);
    }
    Ok(())
}

/// Makes a shared library of an object: it exports the object's visible names, and has what they need.
fn share(from: &Path, to: &Path) -> Result<(), String> {
    let name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let made = sh::target().join("combine").join(format!("{name}-{}", std::process::id()));
    let mut link = Command::new(tool("CC", "cc"));
    link.args(["-shared", "-Wl,--gc-sections", "-Wl,-z,now", "-Wl,-z,relro", "-Wl,-z,defs"]);
    link.arg(format!("-Wl,-soname,{name}")).arg("-o").arg(&made);
    link.arg(from).args(system_libraries());
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
    let outcome = sh::capture(command, TOOL_LIMIT)?;
    match outcome.status {
        Some(0) => Ok(()),
        _ => Err(format!("{shown}\n{}", outcome.report())),
    }
}

/// The defined global symbols of a library that are not ours. With `dynamic`, the exports of a shared
/// library.
pub fn strangers(library: &Path, dynamic: bool) -> Result<Vec<String>, String> {
    let mut list = Command::new(tool("NM", "nm"));
    list.args(["--extern-only", "--defined-only", "--format=posix"]);
    if dynamic {
        list.arg("--dynamic");
    }
    list.arg(library);
    let shown = sh::show(&list);
    let outcome = sh::capture(list, TOOL_LIMIT)?;
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

/// Copies a folder of headers, and removes headers that are gone: of a folder that others use too, those
/// whose names begin with `ours`.
fn copy_headers(from: &Path, to: &Path, ours: &str) -> Result<(), String> {
    make_parent(&to.join("any"))?;
    let list = |folder: &Path| -> Result<Vec<PathBuf>, String> {
        let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(entries.flatten().map(|entry| entry.path()).collect())
    };
    for path in list(from)? {
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            copy_headers(&path, &to.join(name), "")?;
        } else if path.extension().is_some_and(|e| e == "h") {
            let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            write(&to.join(name), &text)?;
        }
    }
    for path in list(to)? {
        let name = path.file_name().unwrap_or_default();
        let gone = name.to_string_lossy().starts_with(ours) && !from.join(name).exists();
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
        compile.args(["-c", "-fPIC", "-ffunction-sections"]).arg(&source).arg("-o").arg(&object);
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
        combine(&raw, &few, Some(&shared)).unwrap();
        assert!(strangers(&few, false).unwrap().is_empty());
        assert!(strangers(&shared, true).unwrap().is_empty());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn combining_leaves_one_section_of_each_kind() {
        let folder = folder("sections");
        let names = |of: &Path| -> Vec<String> {
            let mut list = Command::new("objdump");
            list.arg("-h").arg(of);
            let text = sh::capture(list, TOOL_LIMIT).unwrap().stdout;
            // `  0 .text  00000012 ...`
            text.lines().filter_map(|line| Some(line.split_whitespace().nth(1)?.to_string())).collect()
        };
        let code = |names: &[String]| names.iter().filter(|name| name.starts_with(".text")).count();
        let raw = archive(&folder);
        assert!(code(&names(&raw)) > 1, "{:?}", names(&raw));
        let few = folder.join("lib/one.a");
        combine(&raw, &few, None).unwrap();
        assert_eq!(code(&names(&few)), 1, "{:?}", names(&few));
        // What is in it still runs.
        let (source, program) = (folder.join("main.c"), folder.join("main"));
        fs::write(&source, "int gasnet_ours(void);\nint main(void) { return gasnet_ours() - 1; }\n").unwrap();
        let mut compile = Command::new("cc");
        compile.arg(&source).arg(&few).arg("-o").arg(&program);
        run(compile).unwrap();
        run(Command::new(&program)).unwrap();
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
        copy_headers(&from, &to, "").unwrap();
        assert!(to.join("a.h").is_file() && to.join("sub/b.h").is_file() && !to.join("notes.txt").exists());
        fs::remove_file(from.join("a.h")).unwrap();
        fs::write(to.join("other.h"), "somebody else's").unwrap();
        copy_headers(&from, &to, "a").unwrap();
        assert!(!to.join("a.h").exists() && to.join("sub/b.h").is_file() && to.join("other.h").exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
