//! The start of MPI in a process that calls it without having started it, and its end in one that leaves
//! without having ended it.
#![expect(unsafe_code, reason = "calls functions of the process's MPI, found by name")]

use std::ffi::{CStr, c_int, c_void};

/// `MPI_THREAD_MULTIPLE` in MPI's libraries.
const ANY_THREAD: c_int = 3;

/// Initialises MPI if this process is linked with it and nobody has. Whether it did: who did finalises it.
///
/// # Collective
/// Over the processes of MPI.
pub fn initialise() -> bool {
    type Start = unsafe extern "C" fn(*mut c_int, *mut c_void, c_int, *mut c_int) -> c_int;
    let Some(start) = find(c"MPI_Init_thread").filter(|_| initialised() == Some(false)) else { return false };
    let mut provided = 0;
    // SAFETY: MPI's function has this type, and takes null for arguments; nobody has initialised it. An error
    // ends the process.
    unsafe {
        let start: Start = std::mem::transmute(start);
        start(std::ptr::null_mut(), std::ptr::null_mut(), ANY_THREAD, &mut provided) == 0
    }
}

/// Finalises MPI if this process has initialised it and nobody has finalised it: launchers take a process
/// that ends otherwise for one that failed. GASNet's own conduit over MPI finalises it in the same case.
///
/// # Collective
/// Over the processes of MPI. Nothing calls MPI afterwards.
pub fn finalise() {
    if initialised() == Some(true)
        && holds(c"MPI_Finalized") == Some(false)
        && let Some(end) = find(c"MPI_Finalize")
    {
        // SAFETY: MPI's function has this type; MPI is initialised and not finalised.
        unsafe {
            let end: unsafe extern "C" fn() -> c_int = std::mem::transmute(end);
            end();
        }
    }
}

/// Whether this process has ever initialised MPI; `None` if it has no MPI, or one that cannot be asked.
pub fn initialised() -> Option<bool> {
    holds(c"MPI_Initialized")
}

/// The answer of MPI to a question about its state.
fn holds(name: &CStr) -> Option<bool> {
    let mut answer: c_int = 0;
    let query = find(name)?;
    // SAFETY: MPI's functions of this kind take a pointer to the answer, and may be called at any time.
    let query: unsafe extern "C" fn(*mut c_int) -> c_int = unsafe { std::mem::transmute(query) };
    // SAFETY: as above.
    (unsafe { query(&mut answer) } == 0).then_some(answer != 0)
}

/// A function of the process by name. Programs are linked with MPI's library, and the plugin of the conduit
/// over MPI is loaded with all its symbols.
fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a NUL-terminated name.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}
