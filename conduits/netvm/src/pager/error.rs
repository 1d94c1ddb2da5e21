//! What can go wrong with paged memory.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why there is no pager, or why it had to stop.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PagerError {
    /// The budget cannot work.
    #[error(
        "a segment needs at least {minimum} bytes of memory to be paged in, and was allowed {budget}: raise \
         GASNET_NETVM_MEMORY"
    )]
    Budget {
        /// What it was given.
        budget: u64,
        /// What it needs.
        minimum: u64,
    },
    /// The kernel does not let us handle page faults.
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
    /// No address space.
    #[error("cannot map {bytes} bytes for the segment: {}", gasnet::limits::memory_refused(error))]
    Map {
        /// What was asked for.
        bytes: u64,
        /// Why not.
        error: io::Error,
    },
    /// No backing file.
    #[error("cannot make a backing file in {}: {error}; GASNET_NETVM_BACKING names the directory", dir.display())]
    Backing {
        /// Where.
        dir: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The backing file cannot be read or written.
    #[error("cannot {what} the backing file in {}: {error}", dir.display())]
    Io {
        /// `read` or `write`.
        what: &'static str,
        /// Where.
        dir: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// Nothing can leave memory.
    #[error(
        "the backing store in {} is full ({stored} bytes in it) and stayed so: nothing was lost, but {waiting} pages have no \
         place; free space there, or name another directory with GASNET_NETVM_BACKING, or raise GASNET_NETVM_MEMORY",
        dir.display()
    )]
    Full {
        /// Where.
        dir: PathBuf,
        /// Bytes that are in it.
        stored: u64,
        /// Pages that wait for a frame.
        waiting: u64,
    },
    /// The thread could not be started.
    #[error("cannot start the paging thread: {}", gasnet::limits::thread_refused(.0))]
    Thread(io::Error),
    /// A system call of the paging thread failed.
    #[error("{what}: {error}")]
    System {
        /// Which one.
        what: &'static str,
        /// Why.
        error: io::Error,
    },
    /// A bug.
    #[error("the paging thread has panicked: {0}")]
    Panicked(String),
}

/// Why pages are not held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HoldError {
    /// More than can be held at a time, now or ever.
    #[error("{need} more pages cannot be held: {held} of at most {most} are")]
    Budget {
        /// Pages asked for that are not held yet.
        need: u64,
        /// Pages held.
        held: u64,
        /// Pages that can be held at a time.
        most: u64,
    },
    /// Pages that are not the segment's.
    #[error("the segment has no such pages")]
    Outside,
    /// The kernel refuses to pin.
    #[error("cannot pin memory (error {0}): see `ulimit -l`")]
    Pin(i32),
    /// The pager has ended.
    #[error("the pager has ended")]
    Ended,
}

/// What a user should hear of while the pager goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The backing store is full: what cannot be written out stays in memory, and faults wait.
    Full {
        /// Where it is.
        dir: PathBuf,
        /// Bytes in it.
        stored: u64,
    },
    /// It has room again.
    Room,
}
