//! The half of a stream that writes.

use super::end::StreamEnd;
use super::{ANSWER_WORD, PUBLISHED_WORD, SLOT_WORDS, TAKEN_WORD, far, nonsense, reset, ring};
use gasnet::{GlobalPtr, RankId};
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

/// The half of a stream that writes.
#[derive(Debug)]
pub struct StreamTx<'r> {
    end: Arc<StreamEnd<'r>>,
    ring: ring::Writer,
    /// Bytes committed and not put into the ring yet, then bytes reserved.
    staged: Vec<u8>,
    committed: usize,
    /// It was shut down.
    over: bool,
    /// The peer's slot, once it is known here.
    theirs: Option<GlobalPtr<u64>>,
}

impl<'r> StreamTx<'r> {
    pub(super) fn new(end: Arc<StreamEnd<'r>>, ring: u32) -> StreamTx<'r> {
        let ring = ring::Writer::new(ring);
        StreamTx { end, ring, staged: Vec::new(), committed: 0, over: false, theirs: None }
    }

    /// The rank at the other end.
    pub fn peer(&self) -> RankId {
        self.end.peer
    }

    /// How many bytes can be written without waiting: none before the peer has accepted.
    ///
    /// # Errors
    /// As [`write`](Write::write).
    pub fn room(&mut self) -> io::Result<usize> {
        self.learn()?;
        let room = self.end.theirs()?.map_or(0, |_| self.ring.room());
        if room == 0 {
            self.end.rank().poll();
        }
        Ok(room)
    }

    /// Room for the next `len` bytes, to be filled and then [committed](Self::commit). It holds what the last
    /// call left there, or zeros.
    ///
    /// # Errors
    /// The stream was shut down here.
    pub fn reserve(&mut self, len: usize) -> io::Result<&mut [u8]> {
        self.is_open()?;
        if self.staged.len() < self.committed + len {
            self.staged.resize(self.committed + len, 0);
        }
        Ok(&mut self.staged[self.committed..self.committed + len])
    }

    /// Makes the first `len` reserved bytes part of the stream. They are on their way when
    /// [`publish`](Self::publish) or a [`write`](Write::write) returns, or this half ends; a whole chunk is
    /// published by itself.
    ///
    /// # Errors
    /// As [`write`](Write::write).
    ///
    /// # Panics
    /// Fewer bytes are reserved.
    pub fn commit(&mut self, len: usize) -> io::Result<()> {
        assert!(self.committed + len <= self.staged.len(), "{len} bytes committed, and fewer are reserved");
        self.committed += len;
        if self.committed >= self.end.chunk() { self.publish() } else { Ok(()) }
    }

    /// Publishes what was committed.
    ///
    /// # Errors
    /// As [`write`](Write::write); what was committed is lost.
    pub fn publish(&mut self) -> io::Result<()> {
        if self.committed == 0 {
            return Ok(());
        }
        let mut staged = std::mem::take(&mut self.staged);
        let len = std::mem::take(&mut self.committed);
        let mut rest = &staged[..len];
        while !rest.is_empty() {
            rest = &rest[self.put(rest)?..];
        }
        staged.clear();
        self.staged = staged;
        Ok(())
    }

    /// Ends this half, after publishing what was committed. The peer reads what was written, and then the
    /// end. Does nothing the second time.
    ///
    /// # Errors
    /// As [`write`](Write::write), if something was committed; the half has ended nevertheless.
    pub fn shutdown(&mut self) -> io::Result<()> {
        let published = self.publish();
        if !self.over {
            self.over = true;
            // All that was put is published.
            let word = self.ring.publish(true);
            self.end.say((PUBLISHED_WORD, word >> 1, word));
        }
        published
    }

    fn is_open(&self) -> io::Result<()> {
        if self.over {
            let text = format!("the stream to rank {} was shut down here", self.end.peer);
            return Err(io::Error::new(ErrorKind::BrokenPipe, text));
        }
        Ok(())
    }

    /// Looks what the reader has taken; returns its word.
    fn learn(&mut self) -> io::Result<u64> {
        self.is_open()?;
        let word = self.end.load(TAKEN_WORD);
        self.ring.learn(word).map_err(|_| nonsense(self.end.peer, word))?;
        if self.ring.is_over() {
            let text = format!("rank {} reads no more from the stream", self.end.peer);
            return Err(io::Error::new(ErrorKind::BrokenPipe, text));
        }
        Ok(word)
    }

    /// Puts and publishes as many bytes as there is room for, at least one.
    fn put(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let end = self.end.clone();
        let mut seen = self.learn()?;
        let theirs = match self.theirs {
            Some(theirs) => theirs,
            None => loop {
                if let Some(theirs) = end.theirs()? {
                    break *self.theirs.insert(theirs);
                }
                end.wait("a stream to be accepted", || end.load(ANSWER_WORD) != 0)?;
            },
        };
        while self.ring.room() == 0 {
            end.wait("room in a stream", || end.load(TAKEN_WORD) != seen)?;
            seen = self.learn()?;
        }
        let ring = theirs.add(SLOT_WORDS).cast::<u8>();
        let (now, _) = bytes.split_at(bytes.len().min(self.ring.room()));
        for mut chunk in now.chunks(end.chunk()) {
            if end.rank().has_departed(end.peer) {
                return Err(reset(end.peer));
            }
            let (pieces, len) = (self.ring.place(chunk.len()), chunk.len());
            let word = self.ring.publish(false);
            if !end.is_far || len > far::MOST_IN_MESSAGE {
                for (at, len) in pieces {
                    let (piece, rest) = chunk.split_at(len);
                    end.rank().write_slice(ring.add(at), piece);
                    chunk = rest;
                }
            }
            if end.is_far {
                // Of what was put there is nothing left.
                let start = (word >> 1) - len as u64;
                far::send(end.rank(), theirs, start, word, chunk).map_err(|_| reset(end.peer))?;
            } else {
                end.rank().atomics().store(theirs.add(PUBLISHED_WORD), word);
            }
        }
        Ok(now.len())
    }
}

impl Write for StreamTx<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_open()?;
        self.publish()?;
        if bytes.is_empty() { Ok(0) } else { self.put(bytes) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.publish()
    }
}

impl Drop for StreamTx<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // Whoever has to know shuts it down first.
            drop(self.shutdown());
        }
    }
}
