//! Posted buffers: a rendezvous that the receiver begins, over a [`Stream`] and regions.
//!
//! The receiver *posts* a buffer: its key, a [`RegionKey`], goes to the sender through the stream. To send,
//! the sender takes the oldest key, puts the bytes straight into the buffer, and then writes a *transfer
//! entry* into the stream: how many bytes there are, and a number of the sender's choice. So the bytes of a
//! message are in place before the receiver sees the entry, and nobody copies them at the receiver. They are
//! put from where they are, too: a message may consist of several pieces.
//!
//! ```text
//!   receiver                         sender
//!   post(buffer)   ---- key ---->    send(pieces, number): takes the key,
//!                  <=== bytes ===    puts all pieces at their offsets (one-sided),
//!   receive()      <--- entry ---    writes the entry
//! ```
//!
//! **Overrun** is found by the sender before a byte leaves: where no buffer is posted it is told so, or waits
//! ([`Overrun`]); a message that is too long for the buffer is refused, and the buffer stays posted.
//!
//! **Protection.** A buffer can be written from its posting until its entry is taken. Then its key is
//! revoked: a buffer that the program has back never changes under it.
//!
//! **Ends** are the stream's. A buffer whose sender is gone is freed with the [`Posted`].

use super::Stream;
use gasnet::Rank;
use gasnet::region::{Exported, Modes, RegionKey};
use std::collections::VecDeque;
use std::io::{self, BufRead, ErrorKind, IoSlice, Write};

/// Bytes of a key in the stream.
const KEY_BYTES: usize = size_of::<RegionKey>();
/// Bytes of a transfer entry: the length, the number.
const ENTRY_BYTES: usize = 12;

/// What a sender does where no buffer is posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overrun {
    /// The send fails with [`WouldBlock`](ErrorKind::WouldBlock); nothing is sent.
    Refuse,
    /// The send waits for a buffer.
    Wait,
}

/// A message that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The buffer, as it was posted but for the bytes of the message, which are the first ones.
    pub buffer: Vec<u8>,
    /// How many bytes the message has.
    pub len: usize,
    /// The sender's number.
    pub immediate: u32,
}

/// The side that posts buffers and receives.
#[derive(Debug)]
pub struct Posted<'r> {
    rank: &'r Rank,
    stream: Stream<'r>,
    buffers: VecDeque<Exported<'r, u8>>,
}

impl<'r> Posted<'r> {
    /// Receives messages of the peer of a stream, which has a [`PostedTx`] of its end. Nothing else may be
    /// written to the stream.
    pub fn new(rank: &'r Rank, stream: Stream<'r>) -> Posted<'r> {
        Posted { rank, stream, buffers: VecDeque::new() }
    }

    /// Number of buffers that are posted.
    pub fn len(&self) -> usize {
        self.buffers.len()
    }

    /// Whether no buffer is posted.
    pub fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    /// Posts a buffer for the next message that finds no other one.
    ///
    /// # Errors
    /// [`WouldBlock`](ErrorKind::WouldBlock): the stream's ring is full of keys, with those that the peer has
    /// taken and not told of yet (it tells after each chunk). Or the peer has not accepted the stream yet.
    /// The stream has ended.
    pub fn post(&mut self, buffer: Vec<u8>) -> io::Result<()> {
        if self.stream.tx().room()? < KEY_BYTES {
            let (peer, n) = (self.stream.peer(), self.buffers.len());
            let text = format!("rank {peer} has no room for the key of another buffer: {n} are posted");
            return Err(io::Error::new(ErrorKind::WouldBlock, text));
        }
        let exported = self.rank.export_vec(buffer, Modes::WRITE).map_err(io::Error::other)?;
        self.stream.write_all(bytemuck::bytes_of(&exported.key()))?;
        self.buffers.push_back(exported);
        Ok(())
    }

    /// Waits for the next message. `None`: the sender has ended.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn receive(&mut self) -> io::Result<Option<Arrival>> {
        let entry = self.stream.rx().fill(ENTRY_BYTES)?;
        if entry.is_empty() {
            return Ok(None);
        }
        let word = |at: usize| entry.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let fields = (word(0), word(4), word(8));
        self.stream.consume(ENTRY_BYTES);
        match (fields, self.buffers.pop_front()) {
            ((Some(low), Some(high), Some(immediate)), Some(exported)) => {
                // Revoked by this: the sender cannot write it any more.
                let buffer = exported.into_vec();
                let len = (u64::from(high) << 32 | u64::from(low)) as usize;
                if len > buffer.len() {
                    return Err(self.nonsense("a message that is longer than its buffer"));
                }
                Ok(Some(Arrival { buffer, len, immediate }))
            }
            _ => Err(self.nonsense("an entry without a buffer, or half an entry")),
        }
    }

    /// The next message, if one has come. `None`: none has come, or the sender has ended.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn try_receive(&mut self) -> io::Result<Option<Arrival>> {
        if self.stream.rx().available()? < ENTRY_BYTES { Ok(None) } else { self.receive() }
    }

    fn nonsense(&self, what: &str) -> io::Error {
        let peer = self.stream.peer();
        io::Error::new(
            ErrorKind::InvalidData,
            format!("from rank {peer} came {what}: is its end a PostedTx?"),
        )
    }
}

/// The side that sends.
#[derive(Debug)]
pub struct PostedTx<'r> {
    rank: &'r Rank,
    stream: Stream<'r>,
}

impl<'r> PostedTx<'r> {
    /// Sends messages to the peer of a stream, which has a [`Posted`] of its end.
    pub fn new(rank: &'r Rank, stream: Stream<'r>) -> PostedTx<'r> {
        PostedTx { rank, stream }
    }

    /// The length of the buffer that the next message goes to. `None`: no buffer is known to be posted.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn next_len(&mut self) -> io::Result<Option<usize>> {
        if self.stream.rx().available()? < KEY_BYTES {
            return Ok(None);
        }
        Ok(Some(self.key()?.len() as usize))
    }

    /// Sends the pieces as one message, with a number. The pieces may be changed on return; the message is in
    /// place then.
    ///
    /// # Errors
    /// [`WouldBlock`](ErrorKind::WouldBlock): no buffer is posted. [`InvalidInput`](ErrorKind::InvalidInput):
    /// the message is longer than the buffer, which stays posted. [`BrokenPipe`](ErrorKind::BrokenPipe): the
    /// receiver has ended. In all these cases nothing was sent.
    pub fn send(&mut self, pieces: &[IoSlice<'_>], immediate: u32, overrun: Overrun) -> io::Result<()> {
        let peer = self.stream.peer();
        if overrun == Overrun::Refuse && self.stream.rx().available()? < KEY_BYTES {
            let text = format!("rank {peer} has posted no buffer");
            return Err(io::Error::new(ErrorKind::WouldBlock, text));
        }
        let key = self.key()?;
        let len: usize = pieces.iter().map(|p| p.len()).sum();
        if len as u64 > key.len() {
            let room = key.len();
            let text = format!("a message of {len} bytes: the buffer that rank {peer} has posted has {room}");
            return Err(io::Error::new(ErrorKind::InvalidInput, text));
        }
        self.stream.consume(KEY_BYTES);
        if self.rank.has_departed(peer) {
            return Err(io::Error::new(ErrorKind::ConnectionReset, format!("rank {peer} has left the job")));
        }
        let mut at = 0;
        for piece in pieces.iter().filter(|p| !p.is_empty()) {
            self.rank.region_write(&key, at, piece).map_err(|e| {
                io::Error::new(ErrorKind::BrokenPipe, format!("the buffer that rank {peer} has posted: {e}"))
            })?;
            at += piece.len() as u64;
        }
        let mut entry = [0; ENTRY_BYTES];
        entry[..8].copy_from_slice(&(len as u64).to_le_bytes());
        entry[8..].copy_from_slice(&immediate.to_le_bytes());
        self.stream.write_all(&entry)
    }

    /// Waits for the key of the oldest buffer that is posted, and leaves it there.
    fn key(&mut self) -> io::Result<RegionKey> {
        let peer = self.stream.peer();
        let bytes = self.stream.rx().fill(KEY_BYTES)?;
        let ended = || io::Error::new(ErrorKind::BrokenPipe, format!("rank {peer} posts no more buffers"));
        let key: RegionKey = bytemuck::pod_read_unaligned(bytes.get(..KEY_BYTES).ok_or_else(ended)?);
        if key.rank() != peer {
            let text = format!("from rank {peer} came a key of rank {}: is its end a Posted?", key.rank());
            return Err(io::Error::new(ErrorKind::InvalidData, text));
        }
        Ok(key)
    }
}
