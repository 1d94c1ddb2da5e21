//! A stream of frames between a monitor and an agent on another host, over two pipes, with heartbeats: a cut network is noticed
//! although neither end is told.

use std::collections::VecDeque;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::sys::{self, PollFd};
use crate::wire::{GREETING, Wire};

/// Time between two heartbeats.
const BEAT: Duration = Duration::from_millis(500);
/// Silence after which the other end counts as gone.
pub const SILENCE: Duration = Duration::from_millis(3500);
/// Bytes read at once.
const READ_SIZE: usize = 1 << 16;
/// Bytes read before frames are taken again, which keeps what has arrived small, however fast the other end writes.
const READ_MOST: usize = 1 << 20;
/// Longest text that a remote shell may print before the greeting.
const CHATTER: usize = 1 << 20;

/// One end.
#[derive(Debug)]
pub struct Channel<In, Out> {
    input: OwnedFd,
    output: OwnedFd,
    arrived: Vec<u8>,
    /// Bytes of `arrived` that were taken.
    taken: usize,
    leaving: VecDeque<u8>,
    /// The greeting is still to come.
    greeting: bool,
    heard: Instant,
    beat: Instant,
    closed: Option<String>,
    speaks: PhantomData<(In, Out)>,
}

impl<In: Wire, Out: Wire> Channel<In, Out> {
    /// The end that reads from `input` and writes to `output`; `greeting` says whether it expects one.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new(
        input: OwnedFd,
        output: OwnedFd,
        greeting: bool,
        now: Instant,
    ) -> io::Result<Channel<In, Out>> {
        sys::set_nonblocking(input.as_fd())?;
        sys::set_nonblocking(output.as_fd())?;
        Ok(Channel {
            input,
            output,
            arrived: Vec::new(),
            taken: 0,
            leaving: VecDeque::new(),
            greeting,
            heard: now,
            beat: now,
            closed: None,
            speaks: PhantomData,
        })
    }

    /// Queues a frame.
    pub fn send(&mut self, frame: &Out) {
        self.leaving.extend(frame.frame());
        self.flush();
    }

    /// Queues bytes that are no frame.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.leaving.extend(bytes);
        self.flush();
    }

    /// Why nothing comes or goes any more, if so.
    pub fn closed(&self) -> Option<&str> {
        self.closed.as_deref()
    }

    /// Whether the greeting has come.
    pub fn greeted(&self) -> bool {
        !self.greeting
    }

    /// Whether frames wait to be written.
    pub fn pending(&self) -> bool {
        self.closed.is_none() && !self.leaving.is_empty()
    }

    /// Adds itself to a poll set.
    pub fn poll_set(&self, fds: &mut Vec<PollFd>) {
        if self.closed.is_none() {
            fds.push(sys::poll_in(self.input.as_raw_fd()));
            if self.pending() {
                fds.push(sys::poll_out(self.output.as_raw_fd()));
            }
        }
    }

    /// Reads and writes what there is, and takes note of silence; `beat` is sent now and then. To be called after every poll.
    pub fn tend(&mut self, beat: &Out, now: Instant) {
        if self.closed.is_some() {
            return;
        }
        self.fill(now);
        if now >= self.beat + BEAT {
            self.beat = now;
            self.send(beat);
        }
        self.flush();
        // Before the greeting it is up to the remote shell how long it takes.
        if !self.greeting && now >= self.heard + SILENCE {
            self.close(format!("nothing was heard of it for {} s", SILENCE.as_secs_f64()));
        }
    }

    /// When [`Channel::tend`] is due next.
    pub fn deadline(&self) -> Option<Instant> {
        self.closed.is_none().then(|| (self.beat + BEAT).min(self.heard + SILENCE))
    }

    /// The next frame that has arrived.
    pub fn next(&mut self) -> Option<In> {
        if self.greeting {
            let at = self.arrived.windows(GREETING.len()).position(|w| w == GREETING);
            let Some(at) = at else {
                if self.arrived.len() > CHATTER {
                    self.close("it answers with something else than an agent of gasnetrun".to_string());
                }
                return None;
            };
            (self.greeting, self.taken) = (false, at + GREETING.len());
        }
        match In::take(&self.arrived[self.taken..]) {
            Ok(Some((frame, n))) => {
                self.taken += n;
                Some(frame)
            }
            Ok(None) => {
                self.arrived.drain(..self.taken);
                self.taken = 0;
                None
            }
            Err(_) => {
                self.arrived.clear();
                self.taken = 0;
                self.close(
                    "it sent something that makes no sense; is another version installed there?".to_string(),
                );
                None
            }
        }
    }

    fn close(&mut self, why: String) {
        self.closed.get_or_insert(why);
    }

    fn fill(&mut self, now: Instant) {
        let mut buffer = [0; READ_SIZE];
        // What is left makes the next poll return at once.
        let mut read = 0;
        while read < READ_MOST {
            match sys::read(self.input.as_fd(), &mut buffer) {
                Ok(0) => return self.close("its connection is closed".to_string()),
                Ok(n) => {
                    read += n;
                    self.heard = now;
                    self.arrived.extend_from_slice(&buffer[..n]);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(e) => return self.close(e.to_string()),
            }
        }
    }

    fn flush(&mut self) {
        while self.closed.is_none() {
            let (bytes, _) = self.leaving.as_slices();
            if bytes.is_empty() {
                return;
            }
            match sys::write(self.output.as_raw_fd(), bytes) {
                Ok(n) => drop(self.leaving.drain(..n)),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                // What the other end said before it left is still to be read: its end shows there.
                Err(_) => return self.leaving.clear(),
            }
        }
    }
}
