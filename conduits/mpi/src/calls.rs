//! MPI's calls in the form that the conduit needs: errors as values, memory by pointer and length.
#![expect(unsafe_code, reason = "calls C")]

use crate::threads::Level;
use gasnet_sys::process::exit_now;
use gasnet_wire::Error;
use mpi::ffi;
use std::ffi::{c_int, c_void};
use std::time::Duration;

pub(crate) use ffi::{MPI_Comm, MPI_Request, MPI_Win};

/// Turns the result of an MPI call into an error with a message.
#[inline]
pub(crate) fn check(what: &str, code: c_int) -> Result<(), Error> {
    if code == 0 { Ok(()) } else { Err(failure(what, code)) }
}

#[cold]
fn failure(what: &str, code: c_int) -> Error {
    let mut text = [0u8; 4096];
    let mut len: c_int = 0;
    // SAFETY: the buffer is large enough for every text of MPI's.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut len) };
    let text = String::from_utf8_lossy(&text[..usize::try_from(len).unwrap_or(0).min(4096)]).into_owned();
    Error::Conduit(format!("mpi: {what}: {text}"))
}

/// MPI's number of a level.
fn number(level: Level) -> c_int {
    // SAFETY: constants of MPI's.
    unsafe {
        match level {
            Level::Single => ffi::RSMPI_THREAD_SINGLE,
            Level::Funneled => ffi::RSMPI_THREAD_FUNNELED,
            Level::Serialized => ffi::RSMPI_THREAD_SERIALIZED,
            Level::Multiple => ffi::RSMPI_THREAD_MULTIPLE,
        }
    }
}

/// The level with MPI's number.
fn level(number_of: c_int) -> Level {
    // The standard has them in this order.
    let all = [Level::Multiple, Level::Serialized, Level::Funneled];
    all.into_iter().find(|level| number_of >= number(*level)).unwrap_or(Level::Single)
}

/// The level for which the program has initialised MPI, and whether in this thread; `None` if it has not.
pub(crate) fn initialised() -> Result<Option<(Level, bool)>, Error> {
    let (mut done, mut over, mut provided, mut main) = (0, 0, 0, 0);
    // SAFETY: plain queries, allowed at any time.
    unsafe {
        check("MPI_Initialized", ffi::MPI_Initialized(&mut done))?;
        check("MPI_Finalized", ffi::MPI_Finalized(&mut over))?;
    }
    if over != 0 {
        return Err(Error::job(
            "mpi: the program has already called MPI_Finalize: start gasnet before that call",
        ));
    }
    if done == 0 {
        return Ok(None);
    }
    // SAFETY: initialised.
    unsafe {
        check("MPI_Query_thread", ffi::MPI_Query_thread(&mut provided))?;
        check("MPI_Is_thread_main", ffi::MPI_Is_thread_main(&mut main))?;
    }
    Ok(Some((level(provided), main != 0)))
}

/// Initialises MPI.
pub(crate) fn initialise(wanted: Level) -> Result<(), Error> {
    let (none, mut provided) = (std::ptr::null_mut(), 0);
    // SAFETY: not initialised yet; without arguments MPI takes them from its launcher.
    let code = unsafe { ffi::MPI_Init_thread(none, none.cast(), number(wanted), &mut provided) };
    check("MPI_Init_thread", code)?;
    // The runtime calls MPI from one thread at a time, but not always from the same one.
    if wanted > Level::Single && level(provided) < Level::Serialized {
        return Err(Error::job(
            "mpi: this MPI can be called from one thread only, and the rank's calls come from several: use an MPI with support for \
             threads",
        ));
    }
    Ok(())
}

/// A function that MPI calls with a value when an attribute ends.
pub(crate) type Ending = unsafe extern "C" fn(MPI_Comm, c_int, *mut c_void, *mut c_void) -> c_int;

/// Makes MPI call `ending` with `value` when the program calls MPI_Finalize, before any part of MPI ends:
/// attributes of MPI_COMM_SELF are deleted first (MPI 3.1, section 8.7.1). The result is for [`forget`].
///
/// # Safety
/// 1. `ending` may be called with `value`, once (owed by the caller).
pub(crate) unsafe fn at_finalise(ending: Ending, value: *mut c_void) -> Result<c_int, Error> {
    unsafe extern "C" fn no_copy(
        _: MPI_Comm,
        _: c_int,
        _: *mut c_void,
        _: *mut c_void,
        _: *mut c_void,
        copy: *mut c_int,
    ) -> c_int {
        // SAFETY: MPI reads here whether a duplicate gets the attribute.
        unsafe { *copy = 0 };
        0
    }
    let mut key = 0;
    // SAFETY: (1); initialised.
    unsafe {
        let code = ffi::MPI_Comm_create_keyval(Some(no_copy), Some(ending), &mut key, std::ptr::null_mut());
        check("MPI_Comm_create_keyval", code)?;
        check("MPI_Comm_set_attr", ffi::MPI_Comm_set_attr(ffi::RSMPI_COMM_SELF, key, value))?;
    }
    Ok(key)
}

/// Deletes an attribute of [`at_finalise`] now.
pub(crate) fn forget(mut key: c_int) {
    // SAFETY: initialised; a key of ours, not used any more.
    unsafe {
        ffi::MPI_Comm_delete_attr(ffi::RSMPI_COMM_SELF, key);
        ffi::MPI_Comm_free_keyval(&mut key);
    }
}

/// Ends MPI. Collective.
pub(crate) fn finalise() {
    // SAFETY: initialised here; no request is open.
    unsafe { ffi::MPI_Finalize() };
}

/// The longest time that `MPI_Abort` gets to end this process.
const ABORT_TIMEOUT: Duration = Duration::from_secs(5);

/// Ends the job with code 1.
///
/// `MPI_Abort` runs the exit handlers of all libraries of the process, and may be called from such a
/// handler. One that never returns would leave the job standing, since the launcher waits for this process.
/// So the process ends without them after a while, which launchers take for a failure of the job.
pub(crate) fn abort() -> ! {
    let guard = std::thread::Builder::new().spawn(|| {
        std::thread::sleep(ABORT_TIMEOUT);
        exit_now(1)
    });
    if guard.is_ok() {
        // SAFETY: initialised.
        unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, 1) };
    }
    exit_now(1)
}

/// A communicator over all processes for this conduit only; its errors come back as values.
pub(crate) fn communicator() -> Result<MPI_Comm, Error> {
    // SAFETY: initialised; the result is a variable of ours.
    unsafe {
        let mut comm = ffi::RSMPI_COMM_NULL;
        check("MPI_Comm_dup", ffi::MPI_Comm_dup(ffi::RSMPI_COMM_WORLD, &mut comm))?;
        check("MPI_Comm_set_errhandler", ffi::MPI_Comm_set_errhandler(comm, ffi::RSMPI_ERRORS_RETURN))?;
        Ok(comm)
    }
}

/// This process's rank, and the number of processes.
pub(crate) fn place() -> Result<(u32, u32), Error> {
    let (mut rank, mut size) = (0, 0);
    // SAFETY: initialised.
    unsafe {
        check("MPI_Comm_rank", ffi::MPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &mut rank))?;
        check("MPI_Comm_size", ffi::MPI_Comm_size(ffi::RSMPI_COMM_WORLD, &mut size))?;
    }
    Ok((rank as u32, size as u32))
}

/// Starts sending `len` bytes.
///
/// # Safety
/// 1. The bytes do not change until the request is complete (owed by the caller).
pub(crate) unsafe fn send(
    at: *const u8,
    len: usize,
    to: c_int,
    comm: MPI_Comm,
) -> Result<MPI_Request, Error> {
    // SAFETY: (1); `len` is the length of a frame.
    unsafe {
        let mut request = ffi::RSMPI_REQUEST_NULL;
        let code = ffi::MPI_Isend(at.cast(), len as c_int, ffi::RSMPI_UINT8_T, to, 0, comm, &mut request);
        check("MPI_Isend", code).map(|()| request)
    }
}

/// Sends `len` bytes, which may be reused on return. For lengths that MPI sends eagerly: the call may wait
/// for room in the network, but not for the target.
///
/// # Safety
/// 1. The bytes are valid (owed by the caller).
pub(crate) unsafe fn send_small(at: *const u8, len: usize, to: c_int, comm: MPI_Comm) -> Result<(), Error> {
    // SAFETY: (1).
    let code = unsafe { ffi::MPI_Send(at.cast(), len as c_int, ffi::RSMPI_UINT8_T, to, 0, comm) };
    check("MPI_Send", code)
}

/// Sends a message that consists of one word.
pub(crate) fn send_word(word: u64, to: c_int, comm: MPI_Comm) -> Result<(), Error> {
    // SAFETY: the length is the word's.
    unsafe { send_small((&raw const word).cast(), size_of_val(&word), to, comm) }
}

/// Prepares receives of up to `len` bytes from any process, one after the other, each started by [`post`].
///
/// # Safety
/// 1. Nobody uses the bytes between [`post`] and the completion (owed by the caller).
pub(crate) unsafe fn receive(at: *mut u8, len: usize, comm: MPI_Comm) -> Result<MPI_Request, Error> {
    // SAFETY: (1).
    unsafe {
        let mut request = ffi::RSMPI_REQUEST_NULL;
        let (any, bytes) = (ffi::RSMPI_ANY_SOURCE, ffi::RSMPI_UINT8_T);
        let code = ffi::MPI_Recv_init(at.cast(), len as c_int, bytes, any, 0, comm, &mut request);
        check("MPI_Recv_init", code).map(|()| request)
    }
}

/// Starts a prepared receive.
pub(crate) fn post(request: &mut MPI_Request) -> Result<(), Error> {
    // SAFETY: a request of ours that is not under way.
    check("MPI_Start", unsafe { ffi::MPI_Start(request) })
}

/// If a receive of [`receive`] is complete, the sender's rank. The request keeps its name, so that it can be
/// posted again.
#[inline]
pub(crate) fn test_receive(request: &mut MPI_Request) -> Result<Option<u32>, Error> {
    let mut done = 0;
    // SAFETY: a request of ours; an all-zero status is valid.
    unsafe {
        let mut status: ffi::MPI_Status = std::mem::zeroed();
        check("MPI_Test", ffi::MPI_Test(request, &mut done, &mut status))?;
        Ok((done != 0).then_some(status.MPI_SOURCE as u32))
    }
}

/// Puts the indices of complete requests into `which`, which has the same length; these requests are gone
/// then. Returns their number.
pub(crate) fn test_some(requests: &mut [MPI_Request], which: &mut [c_int]) -> Result<usize, Error> {
    assert!(which.len() >= requests.len());
    let mut done = 0;
    // SAFETY: requests of ours; there is room for all indices.
    unsafe {
        let ignored = ffi::RSMPI_STATUSES_IGNORE;
        let count = requests.len() as c_int;
        let code = ffi::MPI_Testsome(count, requests.as_mut_ptr(), &mut done, which.as_mut_ptr(), ignored);
        check("MPI_Testsome", code)?;
    }
    // MPI returns "undefined", which is negative, if no request is active.
    Ok(usize::try_from(done).unwrap_or(0))
}

/// Whether a request is complete; if so it is gone.
pub(crate) fn test(request: &mut MPI_Request) -> Result<bool, Error> {
    let mut done = 0;
    // SAFETY: a request of ours.
    check("MPI_Test", unsafe { ffi::MPI_Test(request, &mut done, ffi::RSMPI_STATUS_IGNORE) })?;
    Ok(done != 0)
}

/// Ends a prepared receive, which is active if it was `posted`.
pub(crate) fn cancel(request: &mut MPI_Request, posted: bool) {
    // SAFETY: a request of ours; waiting for it after the cancel ends at once.
    unsafe {
        if posted {
            ffi::MPI_Cancel(request);
            ffi::MPI_Wait(request, ffi::RSMPI_STATUS_IGNORE);
        }
        ffi::MPI_Request_free(request);
    }
}

/// The minimum of a number over all processes.
pub(crate) fn least(mine: i32, comm: MPI_Comm) -> Result<i32, Error> {
    let mut all = 0i32;
    let (from, to): (*const i32, *mut i32) = (&mine, &mut all);
    // SAFETY: one number in each direction.
    let code = unsafe {
        ffi::MPI_Allreduce(from.cast(), to.cast::<c_void>(), 1, ffi::RSMPI_INT32_T, ffi::RSMPI_MIN, comm)
    };
    check("MPI_Allreduce", code).map(|()| all)
}

/// Waits until all processes are here, but not longer than `limit`; returns whether they are. Collective.
pub(crate) fn meet(comm: MPI_Comm, limit: std::time::Duration) -> bool {
    let since = std::time::Instant::now();
    // SAFETY: initialised; a request of ours.
    unsafe {
        let mut request = ffi::RSMPI_REQUEST_NULL;
        if ffi::MPI_Ibarrier(comm, &mut request) != 0 {
            return false;
        }
        while since.elapsed() < limit {
            match test(&mut request) {
                Ok(false) => std::thread::yield_now(),
                result => return result.is_ok(),
            }
        }
    }
    false
}

/// A window over `len` bytes here, which every process may access at any time. Collective.
///
/// # Safety
/// 1. The memory stays valid for the rest of the job (owed by the caller).
pub(crate) unsafe fn open_window(base: *mut u8, len: usize, comm: MPI_Comm) -> Result<MPI_Win, Error> {
    // SAFETY: (1).
    unsafe {
        let mut window = ffi::RSMPI_WIN_NULL;
        let code = ffi::MPI_Win_create(
            base.cast(),
            len as ffi::MPI_Aint,
            1,
            ffi::RSMPI_INFO_NULL,
            comm,
            &mut window,
        );
        check("MPI_Win_create", code)?;
        check("MPI_Win_set_errhandler", ffi::MPI_Win_set_errhandler(window, ffi::RSMPI_ERRORS_RETURN))?;
        check("MPI_Win_lock_all", ffi::MPI_Win_lock_all(ffi::MPI_MODE_NOCHECK as c_int, window))?;
        Ok(window)
    }
}

/// Whether a window has one memory instead of a public and a private copy: ranks load and store in their
/// segments without telling MPI.
pub(crate) fn has_one_memory(window: MPI_Win) -> Result<bool, Error> {
    // MPI_WIN_SEPARATE, which the libraries declare in different ways.
    const SEPARATE: c_int = 1;
    let mut model: *mut c_int = std::ptr::null_mut();
    let mut there = 0;
    // SAFETY: a window of ours; MPI returns a pointer to a number that lives as long as the window.
    unsafe {
        let code =
            ffi::MPI_Win_get_attr(window, ffi::MPI_WIN_MODEL as c_int, (&raw mut model).cast(), &mut there);
        check("MPI_Win_get_attr", code)?;
        Ok(there != 0 && !model.is_null() && *model != SEPARATE)
    }
}

/// Ends a window. Collective.
pub(crate) fn close_window(window: &mut MPI_Win) {
    // SAFETY: a window of ours.
    unsafe {
        ffi::MPI_Win_unlock_all(*window);
        ffi::MPI_Win_free(window);
    }
}

/// Starts a put of `len` bytes to byte `offset` of a process's window.
///
/// # Safety
/// 1. The source stays valid until the request is complete; the target is inside the window (owed by the
///    caller).
pub(crate) unsafe fn put(
    window: MPI_Win,
    to: u32,
    offset: u64,
    at: *const u8,
    len: usize,
) -> Result<MPI_Request, Error> {
    // SAFETY: (1).
    unsafe {
        let mut request = ffi::RSMPI_REQUEST_NULL;
        let (n, bytes) = (len as c_int, ffi::RSMPI_UINT8_T);
        let offset = offset as ffi::MPI_Aint;
        let code = ffi::MPI_Rput(at.cast(), n, bytes, to as c_int, offset, n, bytes, window, &mut request);
        check("MPI_Rput", code).map(|()| request)
    }
}

/// Starts a get of `len` bytes from byte `offset` of a process's window.
///
/// # Safety
/// 1. Nobody uses the destination until the request is complete; the source is inside the window (owed by the
///    caller).
pub(crate) unsafe fn get(
    window: MPI_Win,
    from: u32,
    offset: u64,
    at: *mut u8,
    len: usize,
) -> Result<MPI_Request, Error> {
    // SAFETY: (1).
    unsafe {
        let mut request = ffi::RSMPI_REQUEST_NULL;
        let (n, bytes) = (len as c_int, ffi::RSMPI_UINT8_T);
        let offset = offset as ffi::MPI_Aint;
        let code = ffi::MPI_Rget(at.cast(), n, bytes, from as c_int, offset, n, bytes, window, &mut request);
        check("MPI_Rget", code).map(|()| request)
    }
}

/// Returns when all puts to a process are in place there.
pub(crate) fn flush(window: MPI_Win, to: u32) -> Result<(), Error> {
    // SAFETY: a window of ours, locked.
    check("MPI_Win_flush", unsafe { ffi::MPI_Win_flush(to as c_int, window) })
}

/// Makes the puts of others visible here, and local stores visible to their gets.
pub(crate) fn synchronise(window: MPI_Win) -> Result<(), Error> {
    // SAFETY: as above.
    check("MPI_Win_sync", unsafe { ffi::MPI_Win_sync(window) })
}
