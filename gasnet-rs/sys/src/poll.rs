//! Waiting for descriptors.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::time::Timespec;

/// The system's form of a time span.
pub(crate) fn timespec(span: Duration) -> Timespec {
    Timespec::try_from(span).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
}

/// Descriptors that are waited for together. An entry is identified by its number, in the order of addition.
#[derive(Debug, Default)]
pub struct PollSet<'fd>(Vec<PollFd<'fd>>);

impl<'fd> PollSet<'fd> {
    /// Waits for input.
    pub fn add_input(&mut self, fd: BorrowedFd<'fd>) {
        self.0.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
    }

    /// Waits until output is possible.
    pub fn add_output(&mut self, fd: BorrowedFd<'fd>) {
        self.0.push(PollFd::from_borrowed_fd(fd, PollFlags::OUT));
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Waits until an entry is ready or `timeout` is over. An interruption also ends the wait.
    pub fn wait(mut self, timeout: Option<Duration>) -> io::Result<Ready> {
        let timeout = timeout.map(timespec);
        match rustix::event::poll(&mut self.0, timeout.as_ref()) {
            Ok(_) => Ok(Ready(self.0.iter().map(|entry| !entry.revents().is_empty()).collect())),
            Err(Errno::INTR) => Ok(Ready::default()),
            Err(e) => Err(e.into()),
        }
    }
}

/// The ready entries of a [`PollSet`].
#[derive(Debug, Default)]
pub struct Ready(Vec<bool>);

impl Ready {
    /// Whether this entry was ready: its descriptor has input, room, or an error.
    pub fn has(&self, entry: usize) -> bool {
        self.0.get(entry) == Some(&true)
    }
}

/// Sleeps until a descriptor is readable, at most for `longest`. Returns whether it is.
pub fn wait_readable(fd: BorrowedFd<'_>, longest: Duration) -> bool {
    let mut entry = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    // A failure or an interruption ends the sleep, which is harmless.
    rustix::event::poll(&mut entry, Some(&timespec(longest))).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fd::{pipe, write};
    use std::os::fd::AsFd;

    #[test]
    fn what_is_ready_is_known_by_its_number() {
        let (from, to) = pipe().unwrap();
        let set = || {
            let mut set = PollSet::default();
            set.add_input(from.as_fd());
            set.add_output(to.as_fd());
            set
        };
        let ready = set().wait(None).unwrap();
        assert_eq!((ready.has(0), ready.has(1), ready.has(2)), (false, true, false));
        write(to.as_fd(), b"x").unwrap();
        assert!(set().wait(Some(Duration::MAX)).unwrap().has(0));
    }
}
