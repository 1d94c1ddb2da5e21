//! The half of a stream that reads.

use super::end::StreamEnd;
use super::{ANSWER_WORD, PUBLISHED_WORD, SLOT_WORDS, TAKEN_WORD, nonsense, ring};
use gasnet::RankId;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

/// The half of a stream that reads.
#[derive(Debug)]
pub struct StreamRx<'r> {
    end: Arc<StreamEnd<'r>>,
    ring: ring::Reader,
    /// Bytes taken from the ring and, from `start` on, not consumed yet.
    held: Vec<u8>,
    start: usize,
}

impl<'r> StreamRx<'r> {
    pub(super) fn new(end: Arc<StreamEnd<'r>>, ring: u32) -> StreamRx<'r> {
        StreamRx { end, ring: ring::Reader::new(ring), held: Vec::new(), start: 0 }
    }

    /// The rank at the other end.
    pub fn peer(&self) -> RankId {
        self.end.peer
    }

    /// How many bytes can be read without waiting.
    ///
    /// # Errors
    /// Something else has written to the stream's memory.
    pub fn available(&mut self) -> io::Result<usize> {
        self.learn()?;
        let available = self.held.len() - self.start + self.ring.ready();
        if available == 0 {
            self.end.theirs()?;
            self.end.rank().poll();
        }
        Ok(available)
    }

    /// Whether the writer has ended, and every byte was read.
    ///
    /// # Errors
    /// Something else has written to the stream's memory.
    pub fn has_ended(&mut self) -> io::Result<bool> {
        self.learn()?;
        Ok(self.ring.is_over() && self.ring.ready() == 0 && self.start == self.held.len())
    }

    /// The next bytes in one piece: at least `least`, or fewer if the stream ends before. They stay until
    /// they are [consumed](BufRead::consume).
    ///
    /// # Errors
    /// As [`read`](Read::read); the bytes before can still be read.
    pub fn fill(&mut self, least: usize) -> io::Result<&[u8]> {
        while self.held.len() - self.start < least && self.wait_bytes()? {
            self.hold();
        }
        Ok(&self.held[self.start..])
    }

    /// Takes what is in the ring.
    fn hold(&mut self) {
        self.held.drain(..self.start);
        self.start = 0;
        let (old, new) = (self.held.len(), self.ring.ready().min(self.end.chunk()));
        self.held.resize(old + new, 0);
        let mut held = std::mem::take(&mut self.held);
        self.take(&mut held[old..]);
        self.held = held;
    }

    /// Looks what the writer has published; returns its word.
    fn learn(&mut self) -> io::Result<u64> {
        let word = self.end.load(PUBLISHED_WORD);
        self.ring.learn(word).map_err(|_| nonsense(self.end.peer, word))?;
        Ok(word)
    }

    /// Waits until there are bytes in the ring. False: none will come.
    fn wait_bytes(&mut self) -> io::Result<bool> {
        loop {
            let seen = self.learn()?;
            if self.ring.ready() > 0 {
                return Ok(true);
            }
            if self.ring.is_over() {
                return Ok(false);
            }
            // A peer that accepts is told what it is owed, for which it may wait.
            let (end, unknown) = (&self.end, self.end.theirs()?.is_none());
            end.wait("bytes of a stream", || {
                end.load(PUBLISHED_WORD) != seen || unknown && end.load(ANSWER_WORD) != 0
            })?;
        }
    }

    /// Tells the writer of what was taken.
    fn tell(&mut self, over: bool) {
        let start = self.ring.told();
        self.end.say((TAKEN_WORD, start, self.ring.tell(over)));
    }

    /// Takes bytes that are in the ring.
    fn take(&mut self, mut into: &mut [u8]) {
        let ring = self.end.mine.add(SLOT_WORDS).cast::<u8>();
        for (at, len) in self.ring.take(into.len()) {
            let (piece, rest) = into.split_at_mut(len);
            self.end.rank().read_slice(ring.add(at), piece);
            into = rest;
        }
        if self.ring.untold() >= self.end.chunk() && !self.ring.is_over() {
            self.tell(false);
        }
    }
}

impl Read for StreamRx<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        if self.start < self.held.len() {
            let n = (&self.held[self.start..]).read(bytes)?;
            self.start += n;
            return Ok(n);
        }
        if !self.wait_bytes()? {
            return Ok(0);
        }
        let n = bytes.len().min(self.ring.ready());
        self.take(&mut bytes[..n]);
        Ok(n)
    }
}

impl BufRead for StreamRx<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.fill(1)
    }

    fn consume(&mut self, n: usize) {
        self.start = self.held.len().min(self.start + n);
    }
}

impl Drop for StreamRx<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.tell(true);
        }
    }
}
