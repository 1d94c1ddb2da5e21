//! Messages about memory that the system refuses because of a limit: the limit, and a remedy.

use crate::Error;
use gasnet_sys::limits::{Limited, limit};
use std::io;

/// The remedy where a limit leaves too little memory.
const SMALLER: &str = "raise it, or make segments smaller with GASNET_MAX_SEGSIZE";

/// Whether addresses or files of this process have a limit.
pub fn memory_is_limited() -> bool {
    limit(Limited::Addresses).or(limit(Limited::FileSize)).is_some()
}

/// Before a memory file is made `len` bytes long: beyond the limit the system would kill the process.
///
/// # Errors
/// The limit is lower.
pub fn check_file_size(len: u64) -> Result<(), Error> {
    match limit(Limited::FileSize).filter(|most| *most < len) {
        None => Ok(()),
        Some(most) => Err(Error::job(format!(
            "shared memory of {len} bytes is above the limit on the size of files, {most} bytes (ulimit -f): {SMALLER}"
        ))),
    }
}

/// The system's refusal to map memory.
pub fn memory_refused(error: &io::Error) -> String {
    match limit(Limited::Addresses) {
        Some(most) => format!("{error}; the limit on memory is {most} bytes (ulimit -v): {SMALLER}"),
        None => error.to_string(),
    }
}

/// The system's refusal to start a thread or a process.
pub fn thread_refused(error: &io::Error) -> String {
    if error.raw_os_error() != Some(libc::EAGAIN) {
        return error.to_string();
    }
    let memory = if limit(Limited::Addresses).is_some() { ", or on memory (ulimit -v)" } else { "" };
    format!(
        "{error}; raise the limit on processes and threads of this user (ulimit -u, or pids.max of the control group){memory}"
    )
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_the_limit_where_it_may_be_one() {
        let text = |code| thread_refused(&io::Error::from_raw_os_error(code));
        assert!(text(libc::EAGAIN).contains("ulimit -u"));
        assert!(!text(libc::EPERM).contains("ulimit"));
        assert!(check_file_size(0).is_ok());
    }
}
