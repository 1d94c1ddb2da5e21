//! Programs in C or UPC on the simulated cluster: a shared object, loaded once for each rank from a copy of
//! its own.
//!
//! Each copy has its own globals and its own runtime (the object is linked with one of our archives).
//! `gasnet_embed_v1` ([`gasnet_wire::plugin::EmbedTable`]) tells it its rank; then its `main` is called. Its
//! conduit is the simulated one, behind a table of C functions. All copies share the C library, so a program
//! must not end by `exit`: the object is linked with `embed.c` ([`EMBED_C`]), which defines that name and
//! ends the simulated rank.
#![expect(unsafe_code, reason = "loads shared objects and calls into them")]

use crate::boot::Files;
use crate::cluster::{Cluster, Report};
use crate::failure::{Cause, Failure};
use crate::shared::{current, set_current};
use core::ffi::{CStr, c_char, c_int, c_void};
use gasnet_wire::plugin::EmbedTable;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The C text to link with a program: `cc -shared -fPIC -Wl,-Bsymbolic program.c embed.c libgasnet.a`.
pub const EMBED_C: &str = include_str!("embed.c");

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// A loaded copy.
struct Object {
    handle: *mut c_void,
}

fn said() -> String {
    // SAFETY: a text of the C library, or null.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}

impl Object {
    /// Loads a copy of a file; the copy's name is deleted afterwards.
    fn load(program: &Path, rank: u32) -> Result<Object, String> {
        static COPIES: AtomicU32 = AtomicU32::new(0);
        let number = COPIES.fetch_add(1, Ordering::Relaxed);
        let name = format!("netvm-{}-{number}-{rank}.so", std::process::id());
        let copy: PathBuf = std::env::temp_dir().join(name);
        std::fs::copy(program, &copy).map_err(|e| format!("{}: {e}", program.display()))?;
        let path = CString::new(copy.as_os_str().as_bytes()).map_err(|e| e.to_string());
        // SAFETY: the caller wants the program's initialisers to run; RTLD_LOCAL keeps its names apart.
        let handle = path.map(|p| unsafe { libc::dlopen(p.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) });
        let _ = std::fs::remove_file(&copy);
        let handle = handle?;
        if handle.is_null() {
            return Err(format!("{}: {}", program.display(), said()));
        }
        Ok(Object { handle })
    }

    fn find(&self, name: &CStr) -> Result<*mut c_void, String> {
        // SAFETY: a loaded object and a name.
        let at = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        if at.is_null() {
            let name = name.to_string_lossy();
            return Err(format!(
                "no {name} in the program: link it with embed.c and one of the runtime's archives"
            ));
        }
        Ok(at)
    }
}

/// [`EMBED_C`] calls this at a program's end.
extern "C" fn leave(code: c_int) {
    match current() {
        Some((shared, rank)) => shared.finish(rank, code),
        None => std::process::exit(code),
    }
}

impl Cluster {
    /// Runs a program that is a shared object on every rank; the results are the ranks' exit codes. The
    /// program attaches its own segment. When a program ends its job, all ranks get its exit code.
    ///
    /// # Safety
    /// 1. The object is a program linked with [`EMBED_C`] and an archive of this version of the runtime,
    ///    which waits by calls of the runtime only and has one thread (owed by the caller).
    ///
    /// # Errors
    /// As [`Cluster::run`]; an object that cannot be loaded.
    pub unsafe fn run_object(&self, program: &Path, arguments: &[String]) -> Result<Report<i32>, Failure> {
        let fail = |text: String| Failure::before_start(self.seed, Cause::Start(text));
        let shared = self.world();
        let files = Files::for_each(self.ranks).map_err(|e| fail(e.to_string()))?;
        let body = |rank: u32| -> Result<(), String> {
            let object = Object::load(program, rank)?;
            let (embed, left, main) = (
                object.find(c"gasnet_embed_v1")?,
                object.find(c"gasnet_embed_leave_v1")?,
                object.find(c"main")?,
            );
            let quit = object.find(c"exit")?;
            let mut boot = files.boot(&shared, rank).map_err(|e| e.to_string())?;
            let (Some(exchange), Some(overseer)) = (boot.exchange.take(), boot.overseer.take()) else {
                return Err("a simulated rank has both".into());
            };
            // The program uses these until the process ends, and does not report when it is done with them.
            let exchange: &'static _ = Box::leak(Box::new(&*Box::leak(exchange)));
            let overseer: &'static _ = Box::leak(Box::new(&*Box::leak(overseer)));
            let boot = Box::leak(Box::new(boot));
            let conduit = Box::new(self.conduit(&shared, rank));
            let table: &'static EmbedTable =
                Box::leak(Box::new(EmbedTable::new(boot, exchange, overseer, conduit)));
            let words =
                core::iter::once(program.to_string_lossy().into_owned()).chain(arguments.iter().cloned());
            let words: Vec<CString> = words.filter_map(|w| CString::new(w).ok()).collect();
            let mut pointers: Vec<*mut c_char> = words.iter().map(|w| w.as_ptr().cast_mut()).collect();
            pointers.push(core::ptr::null_mut());
            let (words, pointers) = (words.leak(), pointers.leak());
            // SAFETY: (1): the names are those functions. Table, callback and arguments stay for good.
            unsafe {
                core::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const EmbedTable)>(embed)(table);
                let set: unsafe extern "C" fn(extern "C" fn(c_int)) = core::mem::transmute(left);
                set(leave);
                let main: Main = core::mem::transmute(main);
                let environment = libc::environ;
                let code = main(words.len() as c_int, pointers.as_mut_ptr(), environment);
                let quit: unsafe extern "C" fn(c_int) -> ! = core::mem::transmute(quit);
                quit(code)
            }
        };
        let report = self.drive(&shared, &body);
        set_current(None);
        let codes = shared.codes();
        match report {
            Ok(r) => Ok(Report {
                results: codes,
                time: r.time,
                stats: r.stats,
                trace: r.trace,
                wall: r.wall,
                stalls: r.stalls,
                chooser: r.chooser,
            }),
            Err(Failure { what: Cause::Ended { code, text, .. }, .. }) if text.is_empty() => {
                let w = shared.world();
                Ok(Report {
                    results: vec![code; self.ranks as usize],
                    time: w.now,
                    stats: w.stats,
                    trace: w.trace,
                    wall: std::time::Duration::ZERO,
                    stalls: 0,
                    chooser: None,
                })
            }
            Err(failure) => Err(failure),
        }
    }
}
