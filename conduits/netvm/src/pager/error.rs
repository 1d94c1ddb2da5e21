//! Errors of paged memory.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a pager could not start, or had to stop.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PagerError {
    /// The budget is too small.
    #[error(
        "a segment needs at least {minimum} bytes of memory to be paged in, and was allowed {budget}: raise \
         GASNET_NETVM_MEMORY"
    )]
    Budget {
        /// The given budget.
        budget: u64,
        /// The smallest budget.
        minimum: u64,
    },
    /// The kernel does not allow this process to handle page faults.
    #[error(
        "the kernel gives this process no userfaultfd ({0}), which paged segments need: Linux 5.11 or newer, and if that \
         is there, allow it with `sysctl vm.unprivileged_userfaultfd=1`, access to /dev/userfaultfd, or the capability \
         CAP_SYS_PTRACE"
    )]
    NoUserfaultfd(io::Error),
    /// The kernel cannot handle faults of this memory.
    #[error(
        "cannot handle page faults of the segment: {0} (Linux 5.7 or newer is needed for write protection)"
    )]
    Register(io::Error),
    /// There is no address space.
    #[error("cannot map {bytes} bytes for the segment: {}", gasnet_wire::limits::memory_refused(error))]
    Map {
        /// The size asked for.
        bytes: u64,
        /// The system's error.
        error: io::Error,
    },
    /// There is no backing file.
    #[error("cannot make a backing file in {}: {error}; GASNET_NETVM_BACKING names the directory", dir.display())]
    Backing {
        /// The directory.
        dir: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The backing file cannot be read or written.
    #[error("cannot {what} the backing file in {}: {error}", dir.display())]
    Io {
        /// `read` or `write`.
        what: &'static str,
        /// The directory.
        dir: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// No page can leave memory.
    #[error(
        "the backing store in {} is full ({stored} bytes in it) and stayed so: nothing was lost, but {waiting} pages have no \
         place; free space there, or name another directory with GASNET_NETVM_BACKING, or raise GASNET_NETVM_MEMORY",
        dir.display()
    )]
    Full {
        /// The directory.
        dir: PathBuf,
        /// Bytes in the backing file.
        stored: u64,
        /// Pages that wait for a frame.
        waiting: u64,
    },
    /// The thread could not be started.
    #[error("cannot start the paging thread: {}", gasnet_wire::limits::thread_refused(.0))]
    Thread(io::Error),
    /// A system call of the paging thread failed.
    #[error("{what}: {error}")]
    System {
        /// The call.
        what: &'static str,
        /// The system's error.
        error: io::Error,
    },
    /// A bug.
    #[error("the paging thread has panicked: {0}")]
    Panicked(String),
}

/// Why pages could not be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HoldError {
    /// More than can be held at the same time, now or ever.
    #[error("{need} more pages cannot be held: {held} pages are held already, of at most {most}")]
    Budget {
        /// Pages asked for that are not held yet.
        need: u64,
        /// Pages held.
        held: u64,
        /// Pages that can be held at a time.
        most: u64,
    },
    /// Pages outside of the segment.
    #[error("the segment has no such pages")]
    Outside,
    /// The kernel refuses to pin.
    #[error("cannot pin memory (error {0}): see `ulimit -l`")]
    Pin(i32),
    /// The pager has ended.
    #[error("the pager has ended")]
    Ended,
}

/// A message to the user; the pager continues.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The backing store is full: pages that cannot be written out stay in memory, and faults wait.
    Full {
        /// The directory.
        dir: PathBuf,
        /// Bytes in it.
        stored: u64,
    },
    /// The backing store has room again.
    Room,
}
