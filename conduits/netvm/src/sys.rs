//! System calls of the live NIC, with explanations of a refusal.

use gasnet_sys::limits::{Limited, is_root, limit};
use gasnet_sys::memory::Mapping;
use gasnet_wire::Error;
use gasnet_wire::limits::{check_file_size, memory_refused, thread_refused};
use std::io;
use std::os::fd::BorrowedFd;
use std::thread::{Builder, JoinHandle};

/// Makes the error for a resource that the system refuses.
pub(crate) fn refused(what: &str) -> impl Fn(io::Error) -> Error {
    move |e| Error::job(format!("netvm conduit: no {what}: {}", memory_refused(&e)))
}

/// Maps part of a shared memory file, extending the file if necessary.
pub(crate) fn map(fd: BorrowedFd<'_>, offset: u64, len: usize) -> Result<Mapping, Error> {
    let end = offset + len as u64;
    check_file_size(end)?;
    gasnet_sys::fd::grow(fd, end).map_err(refused("shared memory for the NICs"))?;
    Mapping::shared(fd, offset, len).map_err(refused("memory for the NIC"))
}

/// Starts a thread that takes no signals and whose sleeps end on time.
pub(crate) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Error> {
    let thread = gasnet_sys::thread::spawn_without_signals(Builder::new().name(name.into()), move || {
        gasnet_sys::thread::sleep_exactly();
        body();
    });
    thread.map_err(|e| Error::job(format!("netvm conduit: no thread for the NIC: {}", thread_refused(&e))))
}

/// Bytes that this process may pin; `None`: no limit. The superuser has none.
pub(crate) fn pin_limit() -> Option<u64> {
    limit(Limited::LockedMemory).filter(|_| !is_root())
}

/// Bytes that the kernel counts as pinned for this process: by drivers, and by `mlock`.
pub(crate) fn pinned() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<u64>().ok()).unwrap_or(0)
    };
    (of("VmPin:") + of("VmLck:")) << 10
}
