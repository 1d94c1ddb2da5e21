//! Where the monitor writes: its standard output and error, without ever blocking on a slow reader.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::job::Event;
use crate::output::{Output, SinkId};
use crate::sys::{self, FileKind, PollFd};

/// Bytes that a pipe takes without blocking once it polls writable.
const GUARDED_WRITE: usize = 4096;

/// How a sink is written without blocking on a slow reader.
#[derive(Debug)]
enum Way {
    /// A file or device that never blocks for long.
    Plain(RawFd),
    /// Opened anew, since `O_NONBLOCK` on the inherited one would hit everybody who shares it.
    Reopened(OwnedFd),
    Socket(RawFd),
    /// Asks `poll` first and writes little.
    Guarded(RawFd),
}

impl Way {
    fn to(fd: RawFd, kind: FileKind) -> Way {
        if kind.socket {
            return Way::Socket(fd);
        }
        if !kind.pipe && !kind.terminal {
            return Way::Plain(fd);
        }
        let flags = libc::O_WRONLY | libc::O_NONBLOCK | libc::O_NOCTTY;
        match sys::open(&format!("/proc/self/fd/{fd}"), flags) {
            Ok(own) => Way::Reopened(own),
            Err(_) => Way::Guarded(fd),
        }
    }

    fn fd(&self) -> RawFd {
        match self {
            Way::Plain(fd) | Way::Socket(fd) | Way::Guarded(fd) => *fd,
            Way::Reopened(fd) => fd.as_raw_fd(),
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Way::Plain(fd) => sys::write(*fd, bytes),
            Way::Reopened(fd) => sys::write(fd.as_raw_fd(), bytes),
            Way::Socket(fd) => sys::send(*fd, bytes),
            Way::Guarded(fd) => {
                let mut ready = [sys::poll_out(*fd)];
                sys::poll(&mut ready, Some(Duration::ZERO))?;
                if ready[0].revents == 0 {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                sys::write(*fd, &bytes[..bytes.len().min(GUARDED_WRITE)])
            }
        }
    }
}

/// The monitor's standard output and error, and the ranks' streams merged into them.
#[derive(Debug)]
pub struct Sinks {
    /// Streams `2 * rank` and `2 * rank + 1` are standard output and error of each rank.
    pub output: Output,
    ways: Vec<Way>,
    /// The sink of standard error, where the monitor's own messages go.
    messages: SinkId,
    /// The sink of standard output.
    main: SinkId,
}

impl Sinks {
    /// For a job of so many ranks.
    ///
    /// # Errors
    /// Standard output is closed.
    pub fn new(ranks: u32) -> io::Result<Sinks> {
        sys::SignalAction::change(libc::SIGPIPE, true);
        let mut output = Output::default();
        let mut ways = Vec::new();
        let mut sink = |fd: RawFd, output: &mut Output| {
            let kind = sys::file_kind(fd).ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))?;
            ways.push(Way::to(fd, kind));
            Ok::<_, io::Error>((output.add_sink(kind.terminal), kind.identity))
        };
        let (main, identity) = sink(1, &mut output)?;
        let messages = match sys::file_kind(2) {
            Some(kind) if kind.identity == identity => main,
            _ => sink(2, &mut output)?.0,
        };
        for _ in 0..ranks {
            output.add_stream(main);
            output.add_stream(messages);
        }
        Ok(Sinks { output, ways, messages, main })
    }

    /// Prints a line of the monitor's own.
    pub fn say(&mut self, text: &str) {
        self.output.say(self.messages, &format!("gasnetrun: {text}"));
    }

    /// Adds to a poll set what can be written when a reader has room.
    pub fn poll_set(&self, fds: &mut Vec<PollFd>) {
        for (sink, way) in self.ways.iter().enumerate() {
            if !self.output.pending(sink).is_empty() {
                fds.push(sys::poll_out(way.fd()));
            }
        }
    }

    /// Whether something is still to be written.
    pub fn pending(&self) -> bool {
        (0..self.ways.len()).any(|sink| !self.output.pending(sink).is_empty())
    }

    /// Writes what the sinks take without blocking. Returns what that means for the job, if anything.
    pub fn write(&mut self) -> Option<Event> {
        let mut event = None;
        for sink in 0..self.ways.len() {
            while !self.output.pending(sink).is_empty() {
                match self.ways[sink].write(self.output.pending(sink)) {
                    Ok(n) => self.output.written(sink, n),
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                    Err(e) => {
                        self.output.close(sink);
                        if sink == self.main {
                            event = Some(match e.raw_os_error() {
                                Some(libc::EPIPE | libc::ECONNRESET | libc::EIO) => Event::OutputClosed,
                                _ => Event::OutputFailed(e.to_string()),
                            });
                        }
                    }
                }
            }
        }
        event
    }
}
