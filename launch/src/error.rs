//! Errors before a rank runs.

use std::io;
use std::path::PathBuf;

use crate::MAX_RANKS;

/// Why a job could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number of ranks that is invalid or out of range.
    #[error("{origin}: '{value}' is not a number of ranks; use 1 to {MAX_RANKS}")]
    Ranks {
        /// The option or variable that gave it.
        origin: &'static str,
        /// The value.
        value: String,
    },
    /// A program compiled for a fixed number of ranks is started with another.
    #[error(
        "the program was compiled for {compiled} ranks and cannot run on {started}: start it with -n {compiled}, or compile it for that \
         number (upcc -T {started})"
    )]
    StaticRanks {
        /// Number it was compiled for.
        compiled: u32,
        /// Number it was started with.
        started: u32,
    },
    /// Forking ranks out of a process with several threads.
    #[error(
        "cannot fork {ranks} ranks from a process that already has {threads} threads; \
         initialise earlier, put gasnetrun into PATH, or start it with: gasnetrun -n {ranks} PROGRAM"
    )]
    Threads {
        /// Ranks asked for.
        ranks: u32,
        /// Threads found.
        threads: usize,
    },
    /// The launcher's message to this rank is unusable.
    #[error("{variable}: {why}; was it set by hand, or did a wrapper close descriptors?")]
    Message {
        /// The environment variable.
        variable: &'static str,
        /// The mistake in it.
        why: String,
    },
    /// The launcher's message has another version than this rank understands.
    #[error(
        "the program was built with another version of gasnet than the gasnetrun that started it (start protocol {0}, here {1}): build it \
         again, or use the gasnetrun that belongs to it"
    )]
    Version(String, u32),
    /// An unknown value of `GASNET_BIND`.
    #[error("GASNET_BIND: '{0}' is not a placement; use 'none' or 'core'")]
    Bind(String),
    /// The folder of a recording.
    #[error("--record: {0}: {1}")]
    Recording(PathBuf, io::Error),
    /// No such directory on the host.
    #[error("cannot go to the directory {0}: {1}")]
    Directory(PathBuf, io::Error),
    /// The job of the launcher that started this process cannot be joined.
    #[error("cannot join the job of the launcher (mpirun, srun): {0}")]
    Launcher(String),
    /// MPI cannot start the job.
    #[error("{0}")]
    Mpirun(String),
    /// The named hosts cannot be used.
    #[error("{0}")]
    Hosts(String),
    /// No such program.
    #[error("{0}: program not found{1}")]
    NotFound(PathBuf, String),
    /// A file that cannot be run.
    #[error("{0}: {1}")]
    NotExecutable(PathBuf, &'static str),
    /// A file that could not be started although it looked executable.
    #[error("{0}: cannot be started: {1}{2}")]
    NotStarted(PathBuf, String, &'static str),
    /// The hard limit on open descriptors is too low.
    #[error("{ranks} ranks need {needed} descriptors, and the limit is {limit}; raise it (ulimit -Hn)")]
    Descriptors {
        /// Ranks asked for.
        ranks: u32,
        /// Descriptors that the monitor needs.
        needed: u64,
        /// Its limit.
        limit: u64,
    },
    /// The system makes no memory file.
    #[error(
        "cannot make a memory file, by which ranks share memory: memfd_create: {0}; a sandbox or container must allow that call (seccomp \
         profile), and the kernel be 3.17 or newer"
    )]
    MemoryFile(io::Error),
    /// The memory that survivors of a death share cannot be had.
    #[error("ranks cannot survive the death of others: {0}")]
    Survival(String),
    /// The directory of this process has been removed.
    #[error(
        "the current directory cannot be found: {0}; ranks on other hosts start in the same one, so go to one that exists"
    )]
    NoDirectory(io::Error),
    /// The system refused something.
    #[error("{what}: {}", gasnet_wire::limits::thread_refused(source))]
    System {
        /// The operation.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl Error {
    /// For `map_err`: the system refused `what`.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::System { what, source }
    }

    /// The exit status of a launcher that fails for this reason, as shells have it.
    pub fn status(&self) -> i32 {
        match self {
            Error::NotFound(..) => 127,
            Error::NotExecutable(..) | Error::NotStarted(..) => 126,
            _ => 1,
        }
    }
}
