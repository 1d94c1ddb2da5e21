//! A stream of frames between a monitor and an agent on another host, over two pipes. Heartbeats detect a
//! broken network, of which neither end is told.

use std::collections::VecDeque;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use gasnet_sys::fd;
use gasnet_sys::poll::PollSet;

use crate::wire::{Framed, GREETING};

/// Time between two heartbeats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(500);
/// Silence after which the other end is considered lost.
pub const SILENCE_TIMEOUT: Duration = Duration::from_millis(3500);
/// Bytes of one read.
const READ_BYTES: usize = 1 << 16;
/// Bytes read before frames are taken again. This bounds the memory of what has arrived, however fast the
/// other end writes.
const MAX_READ_BYTES: usize = 1 << 20;
/// Longest text that a remote shell may print before the greeting.
const MAX_CHATTER_BYTES: usize = 1 << 20;

/// One end of the channel.
#[derive(Debug)]
pub struct Channel<In, Out> {
    input: OwnedFd,
    output: OwnedFd,
    arrived: Vec<u8>,
    /// Bytes of `arrived` that were taken.
    taken: usize,
    leaving: VecDeque<u8>,
    /// The greeting has not arrived yet.
    greeting: bool,
    heard: Instant,
    beat: Instant,
    /// Silence after which the other end is considered lost.
    patience: Duration,
    closed: Option<String>,
    speaks: PhantomData<(In, Out)>,
}

impl<In: Framed, Out: Framed> Channel<In, Out> {
    /// The end that reads from `input` and writes to `output`; `greeting` says whether it expects a greeting.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new(
        input: OwnedFd,
        output: OwnedFd,
        greeting: bool,
        now: Instant,
    ) -> io::Result<Channel<In, Out>> {
        fd::set_nonblocking(input.as_fd())?;
        fd::set_nonblocking(output.as_fd())?;
        Ok(Channel {
            input,
            output,
            arrived: Vec::new(),
            taken: 0,
            leaving: VecDeque::new(),
            greeting,
            heard: now,
            beat: now,
            patience: SILENCE_TIMEOUT,
            closed: None,
            speaks: PhantomData,
        })
    }

    /// Changes the silence after which the other end is considered lost.
    pub fn bear_silence(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// When the other end is considered lost if nothing more is heard of it.
    pub fn lost_at(&self) -> Instant {
        self.heard + self.patience
    }

    /// Queues a frame.
    pub fn send(&mut self, frame: &Out) {
        self.leaving.extend(frame.frame());
        self.flush();
    }

    /// Queues bytes outside of frames.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.leaving.extend(bytes);
        self.flush();
    }

    /// Why the channel is closed, if it is.
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
    pub fn poll_set<'a>(&'a self, fds: &mut PollSet<'a>) {
        if self.closed.is_none() {
            fds.add_input(self.input.as_fd());
            if self.pending() {
                fds.add_output(self.output.as_fd());
            }
        }
    }

    /// Reads and writes what is possible, sends `beat` at intervals, and detects silence. To be called after
    /// every poll.
    pub fn tend(&mut self, beat: &Out, now: Instant) {
        if self.closed.is_some() {
            return;
        }
        self.fill(now);
        if now >= self.beat + HEARTBEAT_INTERVAL {
            self.beat = now;
            self.send(beat);
        }
        self.flush();
        // Before the greeting, the remote shell may take any time.
        if !self.greeting && now >= self.heard + self.patience {
            self.close(format!("nothing was heard of it for {} s", self.patience.as_secs_f64()));
        }
    }

    /// When [`Channel::tend`] is due next.
    pub fn deadline(&self) -> Option<Instant> {
        self.closed.is_none().then(|| (self.beat + HEARTBEAT_INTERVAL).min(self.heard + self.patience))
    }

    /// The next frame that has arrived.
    pub fn next(&mut self) -> Option<In> {
        if self.greeting {
            let at = self.arrived.windows(GREETING.len()).position(|w| w == GREETING);
            let Some(at) = at else {
                if self.arrived.len() > MAX_CHATTER_BYTES {
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
        let mut buffer = [0; READ_BYTES];
        // The next poll returns at once for the rest.
        let mut read = 0;
        while read < MAX_READ_BYTES {
            match fd::read(self.input.as_fd(), &mut buffer) {
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
            match fd::write(self.output.as_fd(), bytes) {
                Ok(n) => drop(self.leaving.drain(..n)),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                // Frames that the other end sent before it left can still be read; the read end will show
                // that it left.
                Err(_) => return self.leaving.clear(),
            }
        }
    }
}
