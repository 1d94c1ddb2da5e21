//! Conduits in shared objects: `mpi` and `ofi` need libraries that not every machine has, so they are loaded
//! on request.
//!
//! A conduit `C` is the file `libgasnet_C.so`, or `libgasnet_C-V.so` if there are variants (one for each
//! MPI). It is searched in the directories of `GASNET_PLUGIN_PATH`; beside `libgasnet.so`; in `../lib` of the
//! program and of its launcher, if they are in a folder `bin`; and along the program's run path (upcc sets
//! it) and the system loader's. In folders that nobody has named, the file must be trusted
//! ([`gasnet_launch::plugin_folder`]).
#![expect(unsafe_code, reason = "loads shared objects and calls their entry")]

use crate::settings::Settings;
use gasnet::Error;
use gasnet_launch::plugin_folder::{Found, PluginFolder};
use gasnet_wire::conduit::{Conduit, OpenContext};
use gasnet_wire::plugin::{ENTRY, Entry, OpenTable};
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A library that may contain the conduit.
enum Candidate {
    /// In a folder that the user has named, or found by the system's loader.
    Named(PathBuf),
    /// In a folder that nobody has named, and trusted.
    Found(Found),
}

/// The libraries that may contain the conduit, in the order in which they are tried; and messages about those
/// that are not tried.
fn candidates(names: &[String]) -> (Vec<Candidate>, Vec<String>) {
    let path = Settings::read().plugin_path;
    let listed = path.iter().flat_map(|path| std::env::split_paths(path));
    let files = listed.flat_map(|dir| names.iter().map(move |name| dir.join(name)));
    let mut all: Vec<_> = files.filter(|file| file.exists()).map(Candidate::Named).collect();
    let mut problems = Vec::new();

    let program = std::env::current_exe().ok();
    let beside = own_file().filter(|own| Some(own) != program.as_ref());
    let beside = beside.and_then(|own| PluginFolder::beside_library(&own));
    let mut places: Vec<PluginFolder> =
        [beside, PluginFolder::beside_program(), PluginFolder::of_launcher()].into_iter().flatten().collect();
    places.dedup();
    for (place, name) in places.iter().flat_map(|place| names.iter().map(move |name| (place, name))) {
        match place.open(name) {
            Ok(found) => all.extend(found.map(Candidate::Found)),
            Err(why) => problems.push(why),
        }
    }
    if let Some(program) = &program
        && PluginFolder::beside_program().is_none()
        && let Some(lib) = program.parent().and_then(Path::parent).map(|prefix| prefix.join("lib"))
    {
        let there = names.iter().map(|name| lib.join(name)).filter(|file| file.exists());
        problems.extend(there.map(|file| {
            let (file, program) = (file.display(), program.display());
            format!("{file} is not loaded, since {program} is in no folder with the name bin")
        }));
    }
    all.extend(names.iter().map(|name| Candidate::Named(name.into())));
    (all, problems)
}

/// The program or library that this code is part of.
fn own_file() -> Option<PathBuf> {
    // SAFETY: an all-zero Dl_info is valid; the address is one of this code; the name lives as long as the
    // object is loaded.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let found = libc::dladdr(own_file as *const std::ffi::c_void, &mut info);
        if found == 0 || info.dli_fname.is_null() {
            return None;
        }
        std::fs::canonicalize(std::ffi::OsStr::from_bytes(CStr::from_ptr(info.dli_fname).to_bytes())).ok()
    }
}

/// Keeps the actions of signals that end a process while a library is loaded: some libraries install handlers
/// of their own (libfabric does for old InfiniPath cards, for crashes), which are not wanted.
struct Signals(Vec<(libc::c_int, libc::sigaction)>);

impl Signals {
    fn now() -> Signals {
        let all = [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGILL,
            libc::SIGFPE,
            libc::SIGABRT,
            libc::SIGINT,
            libc::SIGTERM,
        ];
        let ask = |signal: libc::c_int| {
            // SAFETY: an all-zero sigaction is valid; a null new action only asks.
            unsafe {
                let mut is: libc::sigaction = std::mem::zeroed();
                (libc::sigaction(signal, std::ptr::null(), &mut is) == 0).then_some((signal, is))
            }
        };
        Signals(all.into_iter().filter_map(ask).collect())
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (signal, was) in &self.0 {
            // SAFETY: the action that the system returned before.
            unsafe { libc::sigaction(*signal, was, std::ptr::null_mut()) };
        }
    }
}

/// Loads one library for the life of the process; the error says why it failed.
fn load(candidate: Candidate) -> Result<Entry, String> {
    match candidate {
        Candidate::Named(file) => load_file(&file),
        Candidate::Found(found) => {
            let name = found.name();
            let entry = load_file(&name);
            let shown = found.path.display().to_string();
            // Whether loaded or not, the loader may know it by this name now.
            found.keep();
            entry.map_err(|why| why.replace(&name.display().to_string(), &shown))
        }
    }
}

fn load_file(file: &Path) -> Result<Entry, String> {
    let path = CString::new(file.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
    let said = || {
        // SAFETY: dlerror returns null or a text that lives until this thread's next call.
        let text = unsafe { libc::dlerror() };
        if text.is_null() {
            return String::new();
        }
        // SAFETY: as above.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    };
    let _signals = Signals::now();
    // The foreign libraries load parts of themselves that need their symbols, so they must be global.
    // SAFETY: these files are plugins; their start-up code does nothing unexpected.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if library.is_null() {
        return Err(said());
    }
    // SAFETY: an open library.
    let entry = unsafe { libc::dlsym(library, ENTRY.as_ptr()) };
    if entry.is_null() {
        return Err(format!("{}: not a conduit of this version of the runtime", file.display()));
    }
    // SAFETY: the symbol with that name is an Entry.
    Ok(unsafe { std::mem::transmute::<*mut std::ffi::c_void, Entry>(entry) })
}

/// Opens the conduit `name` with these variants, the preferred one first (none: the name alone).
pub(crate) fn open(
    cx: &OpenContext<'_>,
    name: &str,
    variants: &[&str],
) -> Result<Option<Box<dyn Conduit>>, Error> {
    let mut names: Vec<String> = variants.iter().map(|v| format!("libgasnet_{name}-{v}.so")).collect();
    if names.is_empty() {
        names.push(format!("libgasnet_{name}.so"));
    }
    let (candidates, mut problems) = candidates(&names);
    for candidate in candidates {
        match load(candidate) {
            // SAFETY: loaded permanently.
            Ok(entry) => return unsafe { OpenTable::call(cx, entry) },
            Err(problem) => problems.push(problem),
        }
    }
    Err(Error::job(format!(
        "conduit {name} cannot be loaded: {}. `cargo xtask install` builds it if its library is installed; \
         GASNET_PLUGIN_PATH names directories to search first, whose owners are not checked",
        problems.join("; ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_of_libraries_are_undone() {
        let handler = || {
            // SAFETY: an all-zero sigaction is valid; this only queries.
            unsafe {
                let mut is: libc::sigaction = std::mem::zeroed();
                libc::sigaction(libc::SIGFPE, std::ptr::null(), &mut is);
                is.sa_sigaction
            }
        };
        let before = handler();
        let signals = Signals::now();
        // SAFETY: ignoring a signal that nobody here sends.
        unsafe { libc::signal(libc::SIGFPE, libc::SIG_IGN) };
        assert_eq!(handler(), libc::SIG_IGN);
        drop(signals);
        assert_eq!(handler(), before);
    }
}
