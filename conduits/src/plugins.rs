//! Conduits in shared objects: `mpi` and `ofi` need libraries that not every machine has, so they are looked for when they are asked for.
//!
//! A conduit `C` is the file `libgasnet_C.so`, or `libgasnet_C-V.so` where there are variants (one for each MPI). It is looked for in the
//! directories of `GASNET_PLUGIN_PATH`, beside `libgasnet.so`, in `../lib` of the program, and where the program's run path (upcc sets
//! it) or the system's loader looks.
#![expect(unsafe_code, reason = "loads shared objects and calls their entry")]

use gasnet::conduit::{Conduit, OpenContext};
use gasnet::plugin::{ENTRY, Entry, OpenTable};
use gasnet::{Config, Error};
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Files that may hold the conduit, in the order in which they are tried.
fn candidates(config: &Config, names: &[String]) -> Vec<PathBuf> {
    let program = std::env::current_exe().ok();
    let below = program.as_ref().and_then(|exe| Some(exe.parent()?.parent()?.join("lib")));
    let own = own_file().filter(|own| Some(own) != program.as_ref());
    let beside = own.and_then(|own| Some(own.parent()?.to_owned()));
    let listed = config.plugin_path.iter().flat_map(|path| std::env::split_paths(path));
    let files =
        listed.chain(beside).chain(below).flat_map(|dir| names.iter().map(move |name| dir.join(name)));
    files.filter(|file| file.exists()).chain(names.iter().map(PathBuf::from)).collect()
}

/// The program or library that this code is part of.
fn own_file() -> Option<PathBuf> {
    // SAFETY: an all-zero Dl_info is valid; the address is one of this code; the name lives as long as the object is loaded.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let found = libc::dladdr(own_file as *const std::ffi::c_void, &mut info);
        if found == 0 || info.dli_fname.is_null() {
            return None;
        }
        std::fs::canonicalize(std::ffi::OsStr::from_bytes(CStr::from_ptr(info.dli_fname).to_bytes())).ok()
    }
}

/// What becomes of signals that end a process, while a library is loaded: some install handlers of their own (libfabric's of old
/// InfiniPath cards do, for crashes), which are not asked for.
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
            // SAFETY: what the system said before.
            unsafe { libc::sigaction(*signal, was, std::ptr::null_mut()) };
        }
    }
}

/// Loads one file, for the life of the process; the loader's words if it cannot.
fn load(file: &std::path::Path) -> Result<Entry, String> {
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
    // The foreign libraries load parts of themselves that need their symbols, hence global.
    // SAFETY: the files looked for are plugins, whose start-up code does nothing unexpected.
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

/// Opens the conduit `name`, of which there are these variants (none: the name alone), the preferred one first.
pub(crate) fn open(
    cx: &OpenContext<'_>,
    name: &str,
    variants: &[&str],
) -> Result<Option<Box<dyn Conduit>>, Error> {
    let mut names: Vec<String> = variants.iter().map(|v| format!("libgasnet_{name}-{v}.so")).collect();
    if names.is_empty() {
        names.push(format!("libgasnet_{name}.so"));
    }
    let mut problems = Vec::new();
    for file in candidates(cx.config, &names) {
        match load(&file) {
            // SAFETY: loaded for good.
            Ok(entry) => return unsafe { OpenTable::call(cx, entry) },
            Err(problem) => problems.push(problem),
        }
    }
    Err(Error::job(format!(
        "conduit {name} is not there: {}. `cargo xtask install` builds it where its library is found; \
         GASNET_PLUGIN_PATH says in which directories to look",
        problems.join("; ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_of_libraries_are_undone() {
        let handler = || {
            // SAFETY: an all-zero sigaction is valid; this only asks.
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
