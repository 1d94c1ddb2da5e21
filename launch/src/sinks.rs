//! The monitor's standard output and error, written without ever blocking on a slow reader.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use crate::job::JobEvent;
use crate::output::{JobOutput, SinkId};
use crate::rank_name::RankName;
use gasnet_sys::fd::{self, Access, FileKind, Standard};
use gasnet_sys::poll::PollSet;
use gasnet_sys::signals;

/// Bytes that a pipe accepts without blocking when it polls writable.
const GUARDED_WRITE_BYTES: usize = 4096;

/// How a sink is written.
#[derive(Debug)]
enum WriteMode {
    /// A file or device that never blocks for long.
    Plain(BorrowedFd<'static>),
    /// Opened again, since `O_NONBLOCK` on the inherited description would affect every process that shares
    /// it.
    Reopened(OwnedFd),
    Socket(BorrowedFd<'static>),
    /// Polled first, and written in small pieces.
    Guarded(BorrowedFd<'static>),
}

impl WriteMode {
    fn to(fd: BorrowedFd<'static>, kind: FileKind) -> WriteMode {
        if kind.socket {
            return WriteMode::Socket(fd);
        }
        if !kind.pipe && !kind.terminal {
            return WriteMode::Plain(fd);
        }
        match fd::open(&format!("/proc/self/fd/{}", fd.as_raw_fd()), Access::WriteNonblocking) {
            Ok(own) => WriteMode::Reopened(own),
            Err(_) => WriteMode::Guarded(fd),
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            WriteMode::Plain(fd) | WriteMode::Socket(fd) | WriteMode::Guarded(fd) => *fd,
            WriteMode::Reopened(fd) => fd.as_fd(),
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            WriteMode::Plain(fd) => fd::write(*fd, bytes),
            WriteMode::Reopened(fd) => fd::write(fd.as_fd(), bytes),
            WriteMode::Socket(fd) => fd::send(*fd, bytes),
            WriteMode::Guarded(fd) => {
                let mut room = PollSet::default();
                room.add_output(*fd);
                if !room.wait(Some(Duration::ZERO))?.has(0) {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                fd::write(*fd, &bytes[..bytes.len().min(GUARDED_WRITE_BYTES)])
            }
        }
    }
}

/// The monitor's standard output and error, and the ranks' streams merged into them.
#[derive(Debug)]
pub struct Sinks {
    /// Streams `2 * rank` and `2 * rank + 1` are standard output and error of each rank.
    pub output: JobOutput,
    ways: Vec<WriteMode>,
    /// The sink of standard error, where the monitor's own messages go.
    messages: SinkId,
    /// The sink of standard output.
    main: SinkId,
}

impl Sinks {
    /// For a job of `ranks` ranks.
    ///
    /// # Errors
    /// Standard output is closed.
    pub fn new(ranks: u32) -> io::Result<Sinks> {
        signals::SignalAction::change(libc::SIGPIPE, true);
        let mut output = JobOutput::default();
        let mut ways = Vec::new();
        let mut sink = |standard: Standard, output: &mut JobOutput| {
            let fd = standard.fd();
            let kind = fd::file_kind(fd).ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))?;
            ways.push(WriteMode::to(fd, kind));
            Ok::<_, io::Error>((output.add_sink(kind.terminal), kind.identity))
        };
        let (main, identity) = sink(Standard::Output, &mut output)?;
        let messages = match fd::file_kind(Standard::Error.fd()) {
            Some(kind) if kind.identity == identity => main,
            _ => sink(Standard::Error, &mut output)?.0,
        };
        for _ in 0..ranks {
            output.add_stream(main);
            output.add_stream(messages);
        }
        Ok(Sinks { output, ways, messages, main })
    }

    /// Writes each rank's number before its lines, in a colour of its own on a terminal.
    pub fn label(&mut self, ranks: u32, called: RankName) {
        // The terminal's six colours that are readable on black and on white.
        const COLOURS: [u32; 6] = [36, 33, 35, 32, 34, 31];
        let width = called.number(ranks.saturating_sub(1)).to_string().len();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        for (sink, of_rank) in [(self.main, 0), (self.messages, 1)] {
            let coloured = self.output.is_terminal(sink) && !plain;
            for rank in 0..ranks {
                let number = format!("[{:>width$}]", called.number(rank));
                let label = if coloured {
                    format!("\x1b[{}m{number}\x1b[0m ", COLOURS[rank as usize % COLOURS.len()])
                } else {
                    number + " "
                };
                self.output.label(2 * rank as usize + of_rank, &label);
            }
        }
    }

    /// Prints a message of the monitor.
    pub fn say(&mut self, text: &str) {
        self.output.say(self.messages, &format!("gasnetrun: {text}"));
    }

    /// Adds the sinks to a poll set that can be written when a reader has room.
    pub fn poll_set<'a>(&'a self, fds: &mut PollSet<'a>) {
        for (sink, way) in self.ways.iter().enumerate() {
            if !self.output.pending(sink).is_empty() {
                fds.add_output(way.fd());
            }
        }
    }

    /// Whether something is still to be written.
    pub fn pending(&self) -> bool {
        (0..self.ways.len()).any(|sink| !self.output.pending(sink).is_empty())
    }

    /// Writes what the sinks accept without blocking. Returns the consequence for the job, if there is one.
    pub fn write(&mut self) -> Option<JobEvent> {
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
                                Some(libc::EPIPE | libc::ECONNRESET | libc::EIO) => JobEvent::OutputClosed,
                                _ => JobEvent::OutputFailed(e.to_string()),
                            });
                        }
                    }
                }
            }
        }
        event
    }
}
