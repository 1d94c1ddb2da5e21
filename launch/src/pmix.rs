//! The few functions of the PMIx library that are needed, loaded at run time.
#![expect(unsafe_code, reason = "calls a C library that is loaded at run time")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// Names under which the library is installed.
const LIBRARIES: [&CStr; 2] = [c"libpmix.so.2", c"libpmix.so"];
const PMIX_SUCCESS: c_int = 0;
/// `PMIX_OPERATION_SUCCEEDED`: the call is over already, and calls nothing back.
const PMIX_OPERATION_SUCCEEDED: c_int = -157;
/// `PMIX_GLOBAL`, `PMIX_STRING`, `PMIX_UINT32`, `PMIX_RANK_WILDCARD`.
const PMIX_GLOBAL: u8 = 3;
const PMIX_STRING: u16 = 3;
const PMIX_UINT32: u16 = 14;
const PMIX_RANK_WILDCARD: u32 = u32::MAX - 1;

/// `pmix_proc_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Proc {
    space: [c_char; 256],
    rank: u32,
}

/// `pmix_value_t`: the fields that are used, and room for the rest.
#[repr(C)]
struct Value {
    kind: u16,
    data: Data,
    rest: [u64; 8],
}

#[repr(C)]
union Data {
    text: *const c_char,
    number: u32,
}

type Init = unsafe extern "C" fn(*mut Proc, *mut c_void, usize) -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *mut Value) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Fence = unsafe extern "C" fn(*const Proc, usize, *const c_void, usize) -> c_int;
type Over = unsafe extern "C" fn(c_int, *mut c_void);
type FenceNb = unsafe extern "C" fn(*const Proc, usize, *const c_void, usize, Over, *mut c_void) -> c_int;
type Get = unsafe extern "C" fn(*const Proc, *const c_char, *const c_void, usize, *mut *mut Value) -> c_int;
type Abort = unsafe extern "C" fn(c_int, *const c_char, *mut Proc, usize) -> c_int;
type Finalize = unsafe extern "C" fn(*const c_void, usize) -> c_int;

/// A connection to a PMIx server.
pub struct Pmix {
    /// This rank.
    pub rank: u32,
    /// Ranks in the job.
    pub size: u32,
    own: Proc,
    put: Put,
    commit: Commit,
    fence: Fence,
    fence_nb: FenceNb,
    get: Get,
    abort: Abort,
    finalize: Finalize,
}

/// Turns a status of the library into a result.
fn check(what: &str, status: c_int) -> Result<(), String> {
    if status == PMIX_SUCCESS { Ok(()) } else { Err(format!("PMIx_{what} failed with status {status}")) }
}

/// Whether a library can be loaded; else the loader's message.
pub fn can_load(name: &str) -> Result<(), String> {
    let name = CString::new(name).map_err(|e| e.to_string())?;
    // SAFETY: a NUL-terminated name. Only the library's constructors run, as with linking. After a failure
    // `dlerror` has a text, which lives until this thread's next call.
    unsafe {
        let library = libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL);
        if !library.is_null() {
            libc::dlclose(library);
            return Ok(());
        }
        let why = libc::dlerror();
        Err(if why.is_null() { String::new() } else { CStr::from_ptr(why).to_string_lossy().into_owned() })
    }
}

impl Pmix {
    /// Loads the library and connects.
    pub fn connect() -> Result<Pmix, String> {
        // SAFETY: loading runs the library's constructors, as linking would; the names are NUL-terminated.
        let library = LIBRARIES
            .iter()
            .map(|name| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) })
            .find(|library| !library.is_null());
        let library = library.ok_or(
            "the launcher speaks PMIx, and its library is not found: install libpmix2, or start the job with gasnetrun",
        )?;
        let find = |name: &CStr| {
            // SAFETY: an open library and a NUL-terminated name.
            let at = unsafe { libc::dlsym(library, name.as_ptr()) };
            if at.is_null() { Err(format!("libpmix has no {}", name.to_string_lossy())) } else { Ok(at) }
        };
        // SAFETY: functions of these names have these types since version 2 of the interface.
        let (init, mut pmix) = unsafe {
            (
                core::mem::transmute::<*mut c_void, Init>(find(c"PMIx_Init")?),
                Pmix {
                    rank: 0,
                    size: 0,
                    own: Proc { space: [0; 256], rank: 0 },
                    put: core::mem::transmute::<*mut c_void, Put>(find(c"PMIx_Put")?),
                    commit: core::mem::transmute::<*mut c_void, Commit>(find(c"PMIx_Commit")?),
                    fence: core::mem::transmute::<*mut c_void, Fence>(find(c"PMIx_Fence")?),
                    fence_nb: core::mem::transmute::<*mut c_void, FenceNb>(find(c"PMIx_Fence_nb")?),
                    get: core::mem::transmute::<*mut c_void, Get>(find(c"PMIx_Get")?),
                    abort: core::mem::transmute::<*mut c_void, Abort>(find(c"PMIx_Abort")?),
                    finalize: core::mem::transmute::<*mut c_void, Finalize>(find(c"PMIx_Finalize")?),
                },
            )
        };
        // SAFETY: `own` receives the answer; no attributes are given. The library counts its users, MPI among
        // them.
        check("Init", unsafe { init(&mut pmix.own, core::ptr::null_mut(), 0) })?;
        pmix.rank = pmix.own.rank;
        pmix.size = pmix
            .look_up(PMIX_RANK_WILDCARD, "pmix.job.size", |value| {
                // SAFETY: the type tells which field of the union is valid.
                (value.kind == PMIX_UINT32).then_some(unsafe { value.data.number })
            })?
            .ok_or("the launcher did not say how many ranks there are")?;
        if pmix.rank < pmix.size { Ok(pmix) } else { Err("the launcher's numbers make no sense".to_string()) }
    }

    fn look_up<R>(&self, rank: u32, key: &str, read: impl FnOnce(&Value) -> R) -> Result<R, String> {
        let key = CString::new(key).map_err(|e| e.to_string())?;
        let whose = Proc { rank, ..self.own };
        let mut value: *mut Value = core::ptr::null_mut();
        // SAFETY: all pointers are valid for the call. On success the library has made a value, which is not
        // freed: a few hundred bytes in the life of a process.
        let status = unsafe { (self.get)(&whose, key.as_ptr(), core::ptr::null(), 0, &mut value) };
        check("Get", status)?;
        if value.is_null() {
            return Err("PMIx_Get gave no value".to_string());
        }
        // SAFETY: made by the library; only its first 16 bytes are read, which every version has.
        Ok(read(unsafe { &*value }))
    }

    /// Stores a text.
    pub fn put(&self, key: &str, text: &str) -> Result<(), String> {
        let (key, text) =
            (CString::new(key).map_err(|e| e.to_string())?, CString::new(text).map_err(|e| e.to_string())?);
        let mut value = Value { kind: PMIX_STRING, data: Data { text: text.as_ptr() }, rest: [0; 8] };
        // SAFETY: key and value are valid for the call, in which the library copies them.
        check("Put", unsafe { (self.put)(PMIX_GLOBAL, key.as_ptr(), &mut value) })
    }

    /// Waits for all ranks.
    pub fn fence(&self) -> Result<(), String> {
        // SAFETY: plain calls; no processes named means the whole job.
        unsafe {
            check("Commit", (self.commit)())?;
            check("Fence", (self.fence)(core::ptr::null(), 0, core::ptr::null(), 0))
        }
    }

    /// Waits up to `limit` for all ranks to call this; returns whether they did.
    pub fn all_leave(&self, limit: Duration) -> bool {
        /// Says how the fence ended: 1 for well, 2 for badly.
        unsafe extern "C" fn over(status: c_int, told: *mut c_void) {
            // SAFETY: the number below, which is never freed.
            let told = unsafe { &*told.cast::<AtomicI32>() };
            // ORDER: Release; pairs with Acquire below.
            told.store(if status == PMIX_SUCCESS { 1 } else { 2 }, Ordering::Release);
        }
        let told: &'static AtomicI32 = Box::leak(Box::default());
        // All of them by name: a fence of a rank that does not leave names none, and does not meet this one.
        let all: Vec<Proc> = (0..self.size).map(|rank| Proc { rank, ..self.own }).collect();
        let for_over = core::ptr::from_ref(told).cast_mut().cast();
        // SAFETY: the processes are valid for the call, in which the library copies them; `told` for ever.
        let begun = unsafe { (self.fence_nb)(all.as_ptr(), all.len(), core::ptr::null(), 0, over, for_over) };
        if begun != PMIX_SUCCESS {
            return begun == PMIX_OPERATION_SUCCEEDED;
        }
        let since = Instant::now();
        loop {
            // ORDER: Acquire; pairs with Release in `over`.
            match told.load(Ordering::Acquire) {
                0 if since.elapsed() < limit => std::thread::sleep(Duration::from_micros(200)),
                ended => return ended == 1,
            }
        }
    }

    /// A text that a rank stored.
    pub fn get(&self, rank: u32, key: &str) -> Result<String, String> {
        self.look_up(rank, key, |value| {
            // SAFETY: the type tells which field of the union is valid.
            let text = unsafe { if value.kind == PMIX_STRING { value.data.text } else { core::ptr::null() } };
            if text.is_null() {
                return Err(format!("{key} is no text"));
            }
            // SAFETY: a NUL-terminated text of the library's.
            Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        })?
    }

    /// Ends the whole job.
    pub fn abort(&self, code: i32) {
        // SAFETY: no processes named means the whole job.
        unsafe { (self.abort)(code, c"a rank ended the job".as_ptr(), core::ptr::null_mut(), 0) };
    }

    /// Disconnects.
    pub fn finish(&self) {
        // SAFETY: no attributes are given.
        unsafe { (self.finalize)(core::ptr::null(), 0) };
    }
}
