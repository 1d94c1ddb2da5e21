//! What the system refuses because of a limit, in words that say which and what can be done.
#![expect(unsafe_code, reason = "getrlimit")]

use crate::Error;
use std::io;

/// A limit of this process (`ulimit`), if there is one.
fn limit(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: fills in a local.
    unsafe { libc::getrlimit(resource, &raw mut limit) };
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// What can be done where a limit leaves too little memory.
const SMALLER: &str = "raise it, or make segments smaller with GASNET_MAX_SEGSIZE";

/// Whether addresses or files of this process have a limit.
pub fn memory_is_limited() -> bool {
    limit(libc::RLIMIT_AS).or(limit(libc::RLIMIT_FSIZE)).is_some()
}

/// Before a memory file is made `len` bytes long: beyond the limit the system would kill the process.
///
/// # Errors
/// The limit is lower.
pub fn check_file_size(len: u64) -> Result<(), Error> {
    match limit(libc::RLIMIT_FSIZE).filter(|most| *most < len) {
        None => Ok(()),
        Some(most) => Err(Error::job(format!(
            "shared memory of {len} bytes is above the limit on the size of files, {most} bytes (ulimit -f): {SMALLER}"
        ))),
    }
}

/// The system's refusal to map memory.
pub fn memory_refused(error: &io::Error) -> String {
    match limit(libc::RLIMIT_AS) {
        Some(most) => format!("{error}; the limit on memory is {most} bytes (ulimit -v): {SMALLER}"),
        None => error.to_string(),
    }
}

/// The system's refusal to start a thread or a process.
pub fn thread_refused(error: &io::Error) -> String {
    if error.raw_os_error() != Some(libc::EAGAIN) {
        return error.to_string();
    }
    let memory = if limit(libc::RLIMIT_AS).is_some() { ", or on memory (ulimit -v)" } else { "" };
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
