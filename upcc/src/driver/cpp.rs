//! Preprocessing: the C compiler's preprocessor with UPC's predefined macros.

mod complaints;
mod folders;

use super::layout::Layout;
use super::options::{Options, STANDARD_INPUT, Stage};
use crate::cc::Cc;
use crate::diag::Severity;
use crate::front::source;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Output, Stdio};

/// `UPC_MAX_BLOCK_SIZE` for this representation of pointers.
pub fn max_block(pts_struct: bool) -> u64 {
    if pts_struct { (1 << 31) - 1 } else { 1 << 20 }
}

/// The release of the Berkeley runtime whose extensions are offered.
const RUNTIME: (&str, &str, &str) = ("2022", "10", "0");

/// The macros that say that a library is there, and its header.
pub(super) const LIBRARIES: &[(&str, &str)] = &[
    ("__UPC_COLLECTIVE__=1", "upc_collective.h"),
    ("__UPC_TICK__=1", "upc_tick.h"),
    ("__UPC_ATOMIC__=1", "upc_atomic.h"),
    ("__UPC_CASTABLE__=1", "upc_castable.h"),
    ("__UPC_NB__=1", "upc_nb.h"),
    ("__UPC_IO__=2", "upc_io.h"),
    ("__UPC_PUPC__=1", "pupc.h"),
];

/// The headers of libraries in which one of these names is. Other UPC compilers know what their macros of
/// libraries promise without any header; here it is read if a name of it is missing.
pub fn promised(layout: &Layout, names: &BTreeSet<String>) -> Vec<&'static str> {
    let has = |header: &str| {
        let mut left = vec![header.to_owned()];
        let mut read = BTreeSet::new();
        while let Some(file) = left.pop() {
            if !read.insert(file.clone()) {
                continue;
            }
            let Ok(text) = std::fs::read_to_string(layout.include.join(&file)) else { continue };
            let word = |c: char| c.is_alphanumeric() || c == '_';
            if text.split(|c| !word(c)).any(|w| names.contains(w)) {
                return true;
            }
            left.extend(text.lines().filter_map(|l| {
                let name = l.trim_start().strip_prefix("#include")?.trim_start();
                Some(name.strip_prefix('<')?.split('>').next()?.to_owned())
            }));
        }
        false
    };
    if names.is_empty() {
        return Vec::new();
    }
    LIBRARIES.iter().map(|l| l.1).filter(|header| has(header)).collect()
}

/// Predefined macros as `-D` options.
pub fn predefined(o: &Options, layout: &Layout) -> Vec<String> {
    let mut d: Vec<String> = vec!["__UPC__=1".into(), "__UPC_VERSION__=201311L".into()];
    d.push(format!("UPC_MAX_BLOCK_SIZE={}", max_block(o.pts_struct)));
    match o.threads {
        Some(n) => d.extend(["__UPC_STATIC_THREADS__=1".into(), format!("THREADS={n}")]),
        None => d.push("__UPC_DYNAMIC_THREADS__=1".into()),
    }
    for (m, header) in LIBRARIES {
        if layout.include.join(header).is_file() {
            d.push((*m).into());
        }
    }
    let (release, minor, patch) = RUNTIME;
    d.push("__BERKELEY_UPC_RUNTIME__=1".into());
    d.push(format!("__BERKELEY_UPC_RUNTIME_RELEASE__={release}"));
    d.push(format!("__BERKELEY_UPC_RUNTIME_MINOR__={minor}"));
    d.push(format!("__BERKELEY_UPC_RUNTIME_PATCHLEVEL__={patch}"));
    let network = o.network.as_deref().unwrap_or("smp").to_uppercase();
    d.push(format!("__BERKELEY_UPC_{network}_CONDUIT__=1"));
    d.push("__BERKELEY_UPC_PSHM__=1".into());
    d.into_iter().map(|m| format!("-D{m}")).collect()
}

/// The dialect option of both passes: gnu17 unless one was given (later defaults make words of C23 keywords).
pub fn std_flag(o: &Options) -> String {
    o.std.clone().unwrap_or_else(|| "-std=gnu17".into())
}

fn common(o: &Options, layout: &Layout, src: &Path) -> Vec<OsString> {
    let mut a: Vec<OsString> = vec!["-E".into(), std_flag(o).into()];
    a.push(o.opt_flag().into());
    a.extend(o.cc.iter().filter(|f| for_preprocessor(f)).map(OsString::from));
    a.extend(predefined(o, layout).into_iter().map(OsString::from));
    a.extend(o.cpp.iter().map(OsString::from));
    // As with Berkeley's upcc, `#include <header>` also finds headers beside the source, and those of the
    // names of our libraries' before ours.
    let beside = beside(src);
    let named = folders::named(o, std::env::var_os("CPATH").as_deref(), beside);
    let own = !named && folders::has_own_library(beside);
    if own {
        a.extend(["-I".into(), beside.into()]);
    }
    a.push("-isystem".into());
    a.push(layout.include.clone().into());
    if !named && !own {
        a.extend(["-idirafter".into(), beside.into()]);
    }
    a
}

/// The folder of a source file; what is read from standard input has the working folder.
fn beside(src: &Path) -> &Path {
    let parent = src.parent().filter(|_| src != Path::new(STANDARD_INPUT));
    parent.filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The name of a source file on the C compiler's command line.
fn for_cc(src: &Path) -> OsString {
    if src == Path::new(STANDARD_INPUT) { "-".into() } else { src.into() }
}

/// Options of the C compiler that the preprocessor should not see (`-flto -E` and the like are harmless, link
/// options are not).
fn for_preprocessor(f: &str) -> bool {
    !(f.starts_with("-Wa,") || f.starts_with("-save") || f == "-pipe")
}

/// Preprocesses `src`, for the front end: definitions of macros stay in the text. `object` is the name that
/// dependency rules are for. `None` on a dry run; `Err("")` if it has been said what is wrong. With `first`,
/// headers of ours that come before the source, it is the second time, and nothing more is said.
pub fn preprocess(
    cc: &Cc,
    o: &Options,
    layout: &Layout,
    src: &Path,
    object: &Path,
    first: &[&str],
) -> Result<Option<String>, String> {
    let mut a = common(o, layout, src);
    for header in first {
        a.extend(["-include".into(), layout.include.join(header).into()]);
    }
    // Options that only change the form of the output of `-E` are left out.
    a.retain(|f| !SHAPE.iter().any(|s| f == s));
    a.push("-dD".into());
    a.extend(dependencies(o, object));
    a.extend(["-x".into(), "c".into(), for_cc(src)]);
    // `-H` prints there, too.
    if o.quiet || !first.is_empty() || o.cpp.iter().any(|f| f == "-H") {
        a.push("-w".into());
        let out = cc.run(&a, Stdio::piped(), Stdio::inherit())?;
        return out.map_or(Ok(None), |out| text_of(out).map(Some));
    }
    let Some(out) = cc.run_in_english(&a)? else { return Ok(None) };
    let printed = String::from_utf8_lossy(&out.stderr);
    if !out.status.success() {
        eprint!("{}", complaints::errors(&printed));
        return Err(String::new());
    }
    let severity = if o.werror { Severity::Error } else { Severity::Warning };
    let said = complaints::read(&printed, severity, |file, line| {
        let bytes = std::fs::read(file).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        text.lines().nth((line as usize).checked_sub(1)?).map(|l| l.trim_end().to_owned())
    });
    for d in &said {
        eprintln!("{d}");
    }
    if said.iter().any(|d| d.is_error()) { Err(String::new()) } else { text_of(out).map(Some) }
}

fn text_of(out: Output) -> Result<String, String> {
    if out.status.success() { Ok(source::decode(out.stdout)) } else { Err(String::new()) }
}

/// Options of `-E` that say what is in its output.
const SHAPE: &[&str] = &["-C", "-CC", "-P", "-dM", "-dD", "-dN", "-dI", "-dU"];

/// `-E`, `-M`: output goes where the user wants it.
pub fn preprocess_to(cc: &Cc, o: &Options, layout: &Layout, src: &Path) -> Result<(), String> {
    let mut a = common(o, layout, src);
    a.push("-w".into());
    if o.deps_only {
        a.extend(o.deps.iter().map(OsString::from));
    } else {
        a.extend(dependencies(o, &src.with_extension("o")));
    }
    if let Some(out) = &o.output {
        a.extend(["-o".into(), out.into()]);
    }
    a.extend(["-x".into(), "c".into(), for_cc(src)]);
    match cc.run(&a, Stdio::inherit(), Stdio::inherit())? {
        Some(out) if !out.status.success() => Err(String::new()),
        _ => Ok(()),
    }
}

/// Dependency options, with the file and target that the C compiler would choose if it compiled the source
/// itself.
fn dependencies(o: &Options, object: &Path) -> Vec<OsString> {
    if o.deps.is_empty() {
        return Vec::new();
    }
    let mut a: Vec<OsString> = o.deps.iter().map(OsString::from).collect();
    let has = |n: &[&str]| o.deps.iter().any(|d| n.contains(&d.as_str()));
    if !has(&["-MF"]) {
        let file = match (&o.output, o.stage) {
            (Some(out), s) if s >= Stage::Assembly => out.with_extension("d"),
            _ => Path::new(object.file_name().unwrap_or_default()).with_extension("d"),
        };
        a.extend(["-MF".into(), file.into()]);
    }
    if !has(&["-MT", "-MQ"]) {
        a.extend(["-MQ".into(), object.into()]);
    }
    a
}
