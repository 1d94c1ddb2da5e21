//! Mappings of memory files, with what a refusal means for a job; and the host's clock and words to sleep on.
#![expect(unsafe_code, reason = "passes on what the callers of mmap promise")]

use crate::error::Error;
use crate::limits::memory_refused;
use gasnet_sys::memory::{self, Mapping};
use std::io;
use std::os::fd::BorrowedFd;

pub use gasnet_sys::clock::{last_tick, monotonic};
pub use gasnet_sys::limits::physical_memory;
pub(crate) use gasnet_sys::poll::wait_readable;
pub use gasnet_sys::processors::{SET_WORDS, allowed as processors, current as this_processor, run_on};
pub(crate) use sleep::{sleep_while, wake_sleepers};

/// Bytes in a page.
pub const PAGE_BYTES: usize = 4096;

pub(crate) fn not_mapped(len: usize) -> impl Fn(io::Error) -> Error {
    move |e| Error::job(format!("cannot map {len} bytes of shared memory: {}", memory_refused(&e)))
}

/// Makes a memory file at least `len` bytes long; never shorter, also when another rank makes it longer at
/// the same time.
pub(crate) fn grow(fd: BorrowedFd<'_>, len: u64) -> Result<(), Error> {
    crate::limits::check_file_size(len)?;
    gasnet_sys::fd::grow(fd, len)
        .map_err(|e| Error::job(format!("cannot give shared memory a length of {len} bytes: {e}")))
}

/// Writes into a memory file, which grows as needed.
pub(crate) fn write_at(fd: BorrowedFd<'_>, offset: u64, bytes: &[u8]) -> Result<(), Error> {
    gasnet_sys::fd::write_at(fd, offset, bytes)
        .map_err(|e| Error::job(format!("cannot write to shared memory: {e}")))
}

/// Reads from a memory file exactly as many bytes as `bytes` has.
pub(crate) fn read_at(fd: BorrowedFd<'_>, offset: u64, bytes: &mut [u8]) -> Result<(), Error> {
    gasnet_sys::fd::read_at(fd, offset, bytes)
        .map_err(|e| Error::job(format!("cannot read shared memory: {e}")))
}

/// Maps `len` bytes of a memory file from `offset`, shared, lazily, anywhere. The mapping lives as long as
/// the process.
pub(crate) fn map_shared(fd: BorrowedFd<'_>, offset: u64, len: usize) -> Result<*mut u8, Error> {
    Mapping::shared(fd, offset, len).map(Mapping::leak).map_err(not_mapped(len))
}

/// Maps `len` bytes of a memory file over part of a range got from [`reserve`].
///
/// # Safety
/// 1. `[at, at + len)` lies inside one live reservation and nothing uses what was mapped there (owed by the
///    caller).
pub unsafe fn map_over(fd: BorrowedFd<'_>, offset: u64, at: *mut u8, len: usize) -> Result<(), Error> {
    // SAFETY: obligation 1 is passed on.
    unsafe { memory::map_over(fd, offset, at, len) }.map_err(not_mapped(len))
}

/// Puts the used pages of a mapping that stays back into a core dump.
pub fn keep_in_dumps(fd: BorrowedFd<'_>, offset: u64, at: *mut u8, len: usize) -> Result<(), Error> {
    gasnet_sys::dump::keep_used(fd, offset, at, len)
        .map_err(|e| Error::job(format!("cannot keep shared memory in core dumps: {e}")))
}

/// Reserves `len` bytes of address space without access: at `hint` if nothing is there, else anywhere.
pub fn reserve(hint: usize, len: usize) -> Result<*mut u8, Error> {
    memory::reserve_at(hint, len).map_or_else(|| memory::reserve(len).map_err(not_mapped(len)), Ok)
}

/// Takes a range away that was got from [`reserve`].
///
/// # Safety
/// 1. Nothing uses it any more (owed by the caller).
pub unsafe fn give_back((at, len): (usize, usize)) {
    // SAFETY: obligation 1 is passed on.
    unsafe { memory::give_back(at as *mut u8, len) };
}

/// Moves this thread to the processor that is number `n` (modulo their count) of those it may run on, and
/// lets the system move it again. Does nothing where the system refuses.
pub(crate) fn go_to_processor(n: u32) {
    let allowed = processors();
    let count = gasnet_sys::processors::numbers(&allowed).count();
    let Some(cpu) = gasnet_sys::processors::numbers(&allowed).nth(n as usize % count.max(1)) else { return };
    move_to(cpu, &allowed);
}

/// Moves this thread to a processor, and lets it run on those that are `allowed` again.
pub(crate) fn move_to(cpu: usize, allowed: &gasnet_sys::processors::Set) {
    run_on(&gasnet_sys::processors::set_of([cpu]));
    run_on(allowed);
}

#[cfg(not(loom))]
mod sleep {
    pub(crate) use gasnet_sys::futex::{sleep_while, wake_all as wake_sleepers};
}

/// In a model a sleep is a turn for others: it ends without a reason, as sleeps may.
#[cfg(loom)]
mod sleep {
    use crate::prim::AtomicU32;

    pub(crate) fn sleep_while(_: &AtomicU32, _: u32, _: std::time::Duration) {
        loom::thread::yield_now();
    }

    pub(crate) fn wake_sleepers(_: &AtomicU32) {}
}
