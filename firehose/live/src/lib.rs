//! Firehose on a live system: a registrar that pins real memory, and a notifier to which the kernel reports
//! changed mappings.
//!
//! **The monitor** ([`MappingMonitor`]) holds a `userfaultfd`. Ranges are registered with it before they are
//! pinned, in a mode in which it has no part in page faults. The kernel then reports when they are unmapped,
//! mapped over, moved, shrunk, given up with `madvise` or forked. The call that did so returns only after the
//! monitor has read the report. Nothing is interposed: any allocator or library may make the system call.
//!
//! **Rules of its thread.** It calls no allocator and takes no lock, because the thread that waits for it may
//! hold any of them. It writes what it reads into [`firehose::Notices`], which explains why a use after the
//! change cannot miss it. A [`MappingWatcher`] tells another [`Listener`] instead, under the same rules.
//!
//! **Children of a fork** have none of the registrations. A page that the kernel clears in children
//! identifies them.
//!
//! **Limits.** Memory must be anonymous or shared memory (mapped files cannot be watched:
//! [`PinError::Unmapped`]). Without the privilege to trace processes the kernel does not report forks
//! ([`MappingMonitor::hears_forks`]); the child is safe all the same. A process without any privilege needs
//! `vm.unprivileged_userfaultfd=1`, or Linux 5.11 for faults of user code only, which is all this crate
//! needs.

mod monitor;
pub mod uffd;

use std::sync::Arc;

use firehose::{PinError, Registrar, Run};

pub use monitor::{Listener, MappingMonitor, MappingWatcher};

/// Pins with `mlock`: pages stay in memory. They keep their frames as long as no page is migrated. That is
/// enough for a card in software; a hardware card pins through its driver.
#[derive(Debug, Clone, Copy)]
pub struct Mlock {
    /// Bytes of a bucket.
    pub bucket_bytes: u64,
}

impl Registrar for Mlock {
    #[expect(unsafe_code, reason = "a system call that takes an address")]
    fn pin(&self, run: Run) -> Option<Result<(), PinError>> {
        let (addr, len) = range(run, self.bucket_bytes);
        // SAFETY: mlock reads and writes no memory of the program, and fails for addresses that are not
        // mapped.
        let result = unsafe { libc::mlock(addr as *const libc::c_void, len as usize) };
        Some(if result == 0 { Ok(()) } else { Err(pin_error()) })
    }

    #[expect(unsafe_code, reason = "a system call that takes an address")]
    fn unpin(&self, run: Run) -> Option<()> {
        let (addr, len) = range(run, self.bucket_bytes);
        // SAFETY: as mlock. It fails if the memory was unmapped since; then the memory is no longer locked
        // either.
        unsafe { libc::munlock(addr as *const libc::c_void, len as usize) };
        Some(())
    }
}

/// Watches what another registrar pins.
#[derive(Debug)]
pub struct Watched<R> {
    /// Reports changes.
    pub monitor: Arc<MappingMonitor>,
    /// Pins.
    pub registrar: R,
    /// Bytes of a bucket.
    pub bucket_bytes: u64,
}

impl<R: Registrar> Registrar for Watched<R> {
    fn pin(&self, run: Run) -> Option<Result<(), PinError>> {
        let (addr, len) = range(run, self.bucket_bytes);
        if let Err(error) = self.monitor.register(addr, len) {
            return Some(Err(error));
        }
        let result = self.registrar.pin(run);
        if matches!(result, Some(Err(_))) {
            self.monitor.unregister(addr, len);
        }
        result
    }

    fn unpin(&self, run: Run) -> Option<()> {
        let (addr, len) = range(run, self.bucket_bytes);
        // Nobody uses the registration from here on, so changes need not be reported.
        self.monitor.unregister(addr, len);
        self.registrar.unpin(run)
    }
}

/// Address and bytes of a run of buckets.
fn range(run: Run, bucket_bytes: u64) -> (u64, u64) {
    (run.first * bucket_bytes, run.count * bucket_bytes)
}

/// The error of the last system call.
fn pin_error() -> PinError {
    let error = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
    match error {
        libc::ENOMEM | libc::EFAULT | libc::EINVAL => PinError::Unmapped,
        libc::EAGAIN | libc::EPERM => PinError::Limit,
        error => PinError::System(error),
    }
}
