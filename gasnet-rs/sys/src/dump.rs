//! Core dumps without the memory that ranks share.
//!
//! A mapping of a memory file is as long as a rank may ever need, and a dump reads all of it: tens of
//! gigabytes of zeros, for which the file gets pages on the way. So [`leave_out`] keeps such mappings out of
//! dumps. Who wants to see shared variables in a debugger calls [`keep_used`]: just before the dump, a signal
//! handler puts those pages back that the file has memory for.
//!
//! The handler uses nothing but system calls.
#![expect(unsafe_code, reason = "madvise, and the positions of files")]

use crate::signals;
use std::io;
use std::os::fd::{BorrowedFd, IntoRawFd};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Mappings whose used pages are kept. More than a process maps: one for each run of segments of a rank.
static KEPT: [Kept; 256] = [const { Kept::new() }; 256];
/// Number of entries in use.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Held by who adds an entry.
static ADDING: Mutex<()> = Mutex::new(());

/// A mapping whose used pages are kept.
struct Kept {
    /// A descriptor of our own.
    file: AtomicI32,
    offset: AtomicU64,
    base: AtomicPtr<u8>,
    len: AtomicUsize,
}

impl Kept {
    const fn new() -> Kept {
        Kept {
            file: AtomicI32::new(-1),
            offset: AtomicU64::new(0),
            base: AtomicPtr::new(std::ptr::null_mut()),
            len: AtomicUsize::new(0),
        }
    }

    /// Takes the pages that the file has memory for back into the dump.
    fn take_back(&self) {
        // Relaxed: COUNT, which was read before, orders all of them.
        let (file, first) = (self.file.load(Ordering::Relaxed), self.offset.load(Ordering::Relaxed));
        let (base, len) = (self.base.load(Ordering::Relaxed), self.len.load(Ordering::Relaxed));
        let end = first + len as u64;
        let seek = |from: u64, whence| {
            // SAFETY: a plain call. Nothing else uses this descriptor's position: memory files are read and
            // written at offsets.
            u64::try_from(unsafe { libc::lseek(file, from as libc::off_t, whence) }).ok()
        };
        let mut from = first;
        while let Some(data) = seek(from, libc::SEEK_DATA).filter(|data| *data < end) {
            let hole = seek(data, libc::SEEK_HOLE).map_or(end, |hole| hole.min(end));
            let at = base.wrapping_add((data - first) as usize);
            // SAFETY: advice about a part of a mapping that stays for the life of the process; it changes no
            // byte.
            unsafe { libc::madvise(at.cast(), (hole - data) as usize, libc::MADV_DODUMP) };
            from = hole;
        }
    }
}

/// Keeps a mapping out of core dumps. A system that cannot do so dumps it.
pub fn leave_out(base: *mut u8, len: usize) {
    if cfg!(miri) {
        return;
    }
    // SAFETY: the call changes no byte; a range that is not mapped is refused.
    unsafe { libc::madvise(base.cast(), len, libc::MADV_DONTDUMP) };
}

/// Puts the used pages of `[base, base + len)`, which maps `file` from `offset` on, back into a core dump.
/// The mapping stays until the process ends, or its pages are simply missing from the dump.
///
/// # Errors
/// The system has no descriptor left.
pub fn keep_used(file: BorrowedFd<'_>, offset: u64, base: *mut u8, len: usize) -> io::Result<()> {
    let _adding = ADDING.lock().unwrap_or_else(PoisonError::into_inner);
    // Relaxed: only changed under the lock.
    let count = COUNT.load(Ordering::Relaxed);
    let Some(entry) = KEPT.get(count) else { return Ok(()) };
    // Relaxed, all four: COUNT below orders them.
    entry.file.store(file.try_clone_to_owned()?.into_raw_fd(), Ordering::Relaxed);
    entry.offset.store(offset, Ordering::Relaxed);
    entry.base.store(base, Ordering::Relaxed);
    entry.len.store(len, Ordering::Relaxed);
    // ORDER: Release; pairs with Acquire in take_all_back: the entry.
    COUNT.store(count + 1, Ordering::Release);
    if count == 0 {
        signals::FAULTS.into_iter().for_each(|signal| signals::on_fault(signal, take_all_back));
    }
    Ok(())
}

fn take_all_back(_: &signals::Fault) {
    // ORDER: Acquire; pairs with Release in keep_used: the entries.
    KEPT[..COUNT.load(Ordering::Acquire)].iter().for_each(Kept::take_back);
}
