//! Endpoints: one end of an ordered connection between two ranks, over watched memory.
//!
//! **Order.** Writes of one rank through its endpoint become visible at the other in the order of writing:
//! each operation is in place before the next begins. Different ranks may see the writes of two ranks to a
//! third in different orders.
//!
//! **Messages out of band** are small and go into a short ring at the other end; a message that finds the
//! ring full is dropped, and those in it stay intact.
//!
//! **Death is sticky.** Once an end is closed, or its process is gone (noticed among ranks of one host),
//! every call at the other end that would block returns an error, at once and from then on, and blocked
//! callers wake. The other end then has exactly one closing message. It is the one given to
//! [`close`](Endpoint::close); or, if the process died without closing, the [last
//! words](Endpoint::last_words) that it had stored for this case in its own memory, which outlives it.
//!
//! **Used again.** An end that is closed may be opened again, and its memory serves the next connection. The
//! openings of an end are *numbered*: the n-th opening of one rank's end belongs with the n-th of the
//! other's. Every word and every message bears the number of its connection, and what bears another one is
//! nothing. A rank may be one connection ahead of the other, not more. So two places for closing messages are
//! enough, for odd numbers and for even ones. Messages that it sends before the other end is open are
//! dropped, as the ring may still have those of the last connection.

use super::peer::{LIVENESS_CHECK_INTERVAL, Process};
use super::{EventQueue, Tripwire, Watch};
use gasnet::{Error, GlobalPtr, Rank, RankId, Shared};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Most bytes in a message.
pub const MAX_MESSAGE_BYTES: usize = 56;
/// Messages in a full ring.
pub const RING_MESSAGES: u64 = 8;

/// Offsets in a block, in words: written, read, closed, process, opened; last words, closing messages, ring.
const WRITTEN_WORD: usize = 0;
const READ_WORD: usize = 8;
const CLOSED_WORD: usize = 16;
const PROCESS_WORD: usize = 17;
const OPENED_WORD: usize = 19;
const LAST_WORDS_WORD: usize = 24;
const CLOSING_WORD: usize = 32;
const RING_WORD: usize = CLOSING_WORD + 2 * 8;
const BLOCK_WORDS: usize = RING_WORD + 8 * RING_MESSAGES as usize;

/// Memory for the endpoints of all ranks.
#[derive(Debug)]
pub struct Endpoints<'r> {
    rank: &'r Rank,
    /// A block for each peer: the peer writes to it, and may read it when this rank is gone.
    blocks: GlobalPtr<u64>,
    ends: Vec<EndState>,
}

/// An end of this rank: how often it was opened, and whether it is open.
#[derive(Debug, Default)]
struct EndState {
    number: u32,
    is_open: Arc<AtomicBool>,
}

/// A word for a connection: its number, and a count.
fn numbered(number: u32, count: u32) -> u64 {
    u64::from(number) << 32 | u64::from(count)
}

/// The number that a word bears.
fn number_of(word: u64) -> u32 {
    (word >> 32) as u32
}

fn pack(number: u32, message: &[u8]) -> [u64; 8] {
    let mut words = [0; 8];
    words[0] = numbered(number, message.len() as u32 + 1);
    for (word, bytes) in words[1..].iter_mut().zip(message.chunks(8)) {
        *word = bytes.iter().rev().fold(0, |w, &b| w << 8 | u64::from(b));
    }
    words
}

/// `None`: there is no message of this connection.
fn unpack(number: u32, words: [u64; 8]) -> Option<Vec<u8>> {
    if number_of(words[0]) != number {
        return None;
    }
    let len = (words[0] as u32 as usize).checked_sub(1)?.min(MAX_MESSAGE_BYTES);
    Some(words[1..].iter().flat_map(|w| w.to_le_bytes()).take(len).collect())
}

impl<'r> Endpoints<'r> {
    /// Makes memory for an endpoint to every rank.
    ///
    /// # Collective
    /// # Errors
    /// No room in the segments.
    pub fn new(rank: &'r Rank) -> Result<Endpoints<'r>, Error> {
        let words = BLOCK_WORDS * rank.size() as usize;
        let blocks = GlobalPtr::new(rank.id(), rank.segments().allocate_agreed(8 * words as u64, 64)?);
        rank.write_slice(blocks, &vec![0u64; words]);
        let process = Process::own();
        for peer in 0..rank.size() as usize {
            let block = blocks.add(BLOCK_WORDS * peer);
            process.publish(rank, block.add(PROCESS_WORD));
            // The first connection takes messages before its end is open.
            rank.write(block.add(READ_WORD), numbered(1, 0));
        }
        rank.barrier();
        let ends = (0..rank.size()).map(|_| EndState::default()).collect();
        Ok(Endpoints { rank, blocks, ends })
    }

    /// This rank's end of a connection to a peer: of the first, or of the next when the last is closed here.
    ///
    /// # Errors
    /// It is open, or the peer has not opened its end of the last connection; there is no such rank, or it
    /// has left.
    pub fn open(&mut self, peer: RankId) -> Result<Endpoint<'r>, Error> {
        let (me, rank) = (self.rank.id(), self.rank);
        let Some(end) = self.ends.get_mut(peer.0 as usize) else {
            return Err(Error::op(format!("no rank {peer} to open an endpoint to")));
        };
        // Relaxed, here and where it is cleared: whoever closes the end and opens it has been told.
        if end.is_open.load(Ordering::Relaxed) {
            return Err(Error::op(format!("the endpoint to rank {peer} is open")));
        }
        let mine = self.blocks.add(BLOCK_WORDS * peer.0 as usize);
        let theirs = self.blocks.on(peer).add(BLOCK_WORDS * me.0 as usize);
        if (rank.atomics().load(mine.add(OPENED_WORD)) as u32) < end.number {
            return Err(Error::op(format!("rank {peer} has not opened its end of the last connection")));
        }
        if rank.has_departed(peer) {
            return Err(Error::op(format!("rank {peer} has left: no endpoint can be opened to it")));
        }
        end.number += 1;
        end.is_open.store(true, Ordering::Relaxed);
        let number = end.number;
        // Messages of the last connection are none from now on, and those of this one have room.
        rank.atomics().swap(mine.add(LAST_WORDS_WORD), 0);
        rank.atomics().swap(mine.add(READ_WORD), numbered(number, 0));
        rank.atomics().swap(theirs.add(OPENED_WORD), number.into());
        let process = Process::of(rank, peer, theirs.add(PROCESS_WORD));
        let is_open = end.is_open.clone();
        Ok(Endpoint { rank, peer, number, is_open, mine, theirs, process, sent: 0, received: 0 })
    }
}

/// One end of a connection. Dropping it closes it, with an empty closing message.
#[derive(Debug)]
pub struct Endpoint<'r> {
    rank: &'r Rank,
    peer: RankId,
    /// Of the connection.
    number: u32,
    is_open: Arc<AtomicBool>,
    mine: GlobalPtr<u64>,
    theirs: GlobalPtr<u64>,
    /// The other end's process, if it is on this host.
    process: Option<Process>,
    sent: u32,
    received: u32,
}

impl Endpoint<'_> {
    /// The rank at the other end.
    pub fn peer(&self) -> RankId {
        self.peer
    }

    /// How often this end was opened, this time included: the number of the connection at both ends.
    pub fn number(&self) -> u32 {
        self.number
    }

    fn alive(&self) -> Result<(), Error> {
        if self.is_closed() {
            return Err(self.gone());
        }
        Ok(())
    }

    fn gone(&self) -> Error {
        Error::op(format!("the connection to rank {} is closed", self.peer))
    }

    /// Writes values to the peer's watched memory, after all earlier writes.
    ///
    /// # Errors
    /// The connection is closed, or the range is outside of the watched memory.
    pub fn put<T: Shared>(&mut self, watch: &Watch<'_>, at: u64, values: &[T]) -> Result<(), Error> {
        self.alive()?;
        watch.put(self.peer, at, values)
    }

    /// Writes values, and then a word that signals them.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn put_signal<T: Shared>(
        &mut self,
        watch: &Watch<'_>,
        at: u64,
        values: &[T],
        signal_at: u64,
        signal: u64,
    ) -> Result<(), Error> {
        self.alive()?;
        watch.put_signal(self.peer, at, values, signal_at, signal)
    }

    /// Reads the peer's watched memory.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn get<T: Shared>(&mut self, watch: &Watch<'_>, at: u64, values: &mut [T]) -> Result<(), Error> {
        self.alive()?;
        watch.get(self.peer, at, values)
    }

    /// Sends a message out of band. Returns false if it was dropped, because the ring at the other end is
    /// full, or has yet to be opened again.
    ///
    /// # Errors
    /// The connection is closed, or the message has more than [`MAX_MESSAGE_BYTES`] bytes.
    pub fn message(&mut self, message: &[u8]) -> Result<bool, Error> {
        self.alive()?;
        let words = self.checked(message)?;
        let read = self.rank.atomics().load(self.theirs.add(READ_WORD));
        if number_of(read) != self.number || u64::from(self.sent.wrapping_sub(read as u32)) >= RING_MESSAGES {
            return Ok(false);
        }
        self.rank.write_slice(self.theirs.add(ring_place(self.sent)), &words);
        self.sent = self.sent.wrapping_add(1);
        self.rank.atomics().swap(self.theirs.add(WRITTEN_WORD), numbered(self.number, self.sent));
        Ok(true)
    }

    /// The next message that came out of band. Messages that came before the connection was closed can still
    /// be taken.
    pub fn receive(&mut self) -> Option<Vec<u8>> {
        if !self.has_message() {
            return None;
        }
        let mut words = [0; 8];
        self.rank.read_slice(self.mine.add(ring_place(self.received)), &mut words);
        self.received = self.received.wrapping_add(1);
        self.rank.atomics().swap(self.mine.add(READ_WORD), numbered(self.number, self.received));
        unpack(self.number, words)
    }

    fn has_message(&self) -> bool {
        let written = self.rank.atomics().load(self.mine.add(WRITTEN_WORD));
        number_of(written) == self.number && written as u32 != self.received
    }

    fn checked(&self, message: &[u8]) -> Result<[u64; 8], Error> {
        let len = message.len();
        if len > MAX_MESSAGE_BYTES {
            return Err(Error::op(format!("a message of {len} bytes; at most {MAX_MESSAGE_BYTES}")));
        }
        Ok(pack(self.number, message))
    }

    /// Where the closing message of this connection goes in a block.
    fn closing_place(&self) -> usize {
        CLOSING_WORD + 8 * (self.number % 2) as usize
    }

    /// Stores the message for the peer in case this process dies without closing.
    ///
    /// # Errors
    /// As [`message`](Self::message).
    pub fn last_words(&mut self, message: &[u8]) -> Result<(), Error> {
        let words = self.checked(message)?;
        self.rank.atomics().swap(self.mine.add(LAST_WORDS_WORD), 0);
        self.rank.write_slice(self.mine.add(LAST_WORDS_WORD + 1), &words[1..]);
        self.rank.atomics().swap(self.mine.add(LAST_WORDS_WORD), words[0]);
        Ok(())
    }

    /// Closes the connection: the peer gets this closing message, and not the last words.
    ///
    /// # Errors
    /// It is already closed, or the message is too long.
    pub fn close(self, message: &[u8]) -> Result<(), Error> {
        self.end(self.checked(message)?)
    }

    fn end(&self, closing: [u64; 8]) -> Result<(), Error> {
        if !self.is_open.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        self.rank.atomics().swap(self.mine.add(LAST_WORDS_WORD), 0);
        self.alive()?;
        if self.rank.has_departed(self.peer) {
            return Err(self.gone());
        }
        self.rank.write_slice(self.theirs.add(self.closing_place()), &closing);
        self.rank.atomics().swap(self.theirs.add(CLOSED_WORD), self.number.into());
        Ok(())
    }

    /// Whether the other end was closed, or its process is known to be gone. Once true, it stays true.
    pub fn is_closed(&self) -> bool {
        self.rank.atomics().load(self.mine.add(CLOSED_WORD)) as u32 >= self.number
    }

    /// Checks whether the other end's process is alive.
    fn look(&self) -> bool {
        let dead = self.process.is_some_and(Process::is_dead);
        if dead && !self.is_closed() {
            // It may have closed just before it ended. Its memory still exists.
            let mut words = [0; 8];
            self.rank.read_slice(self.theirs.add(LAST_WORDS_WORD), &mut words);
            if !self.is_closed() {
                // Nobody else closes it any more. The message comes first: other threads may look.
                self.rank.write_slice(self.mine.add(self.closing_place()), &words);
                self.rank.atomics().swap(self.mine.add(CLOSED_WORD), self.number.into());
            }
        }
        self.is_closed()
    }

    /// The closing message, once the connection is closed. Also `None` if the peer's process died without
    /// last words.
    pub fn closing_message(&self) -> Option<Vec<u8>> {
        if !self.is_closed() {
            return None;
        }
        let mut words = [0; 8];
        self.rank.read_slice(self.mine.add(self.closing_place()), &mut words);
        unpack(self.number, words)
    }

    /// Waits for a condition.
    ///
    /// # Errors
    /// The connection is or becomes closed before the condition holds.
    pub fn wait_until(&self, what: &'static str, mut condition: impl FnMut() -> bool) -> Result<(), Error> {
        self.alive()?;
        let mut looked = Instant::now();
        let mut closed = false;
        self.rank.wait_until(what, || {
            closed = self.is_closed();
            if !closed && looked.elapsed() >= LIVENESS_CHECK_INTERVAL {
                closed = self.look();
                looked = Instant::now();
            }
            closed || condition()
        });
        if closed { Err(self.gone()) } else { Ok(()) }
    }

    /// Waits until a tripwire is tripped, and takes one trip.
    ///
    /// # Errors
    /// As [`wait_until`](Self::wait_until).
    pub fn wait(&self, wire: &mut Tripwire<'_>) -> Result<(), Error> {
        self.wait_until("a tripwire", || wire.pending() > 0)?;
        wire.test();
        Ok(())
    }

    /// Waits until an event queue has an entry.
    ///
    /// # Errors
    /// As [`wait_until`](Self::wait_until).
    pub fn wait_event(&self, queue: &EventQueue<'_>) -> Result<(), Error> {
        self.wait_until("an event queue", || !queue.is_empty())
    }

    /// Waits for a message out of band.
    ///
    /// # Errors
    /// The connection is closed and no message is left.
    pub fn wait_message(&mut self) -> Result<Vec<u8>, Error> {
        loop {
            if let Some(message) = self.receive() {
                return Ok(message);
            }
            let waited = self.wait_until("a message of a connection", || self.has_message());
            if let Err(e) = waited {
                return self.receive().ok_or(e);
            }
        }
    }
}

impl Drop for Endpoint<'_> {
    fn drop(&mut self) {
        // A panic ends the job, and what the peer then gets are the last words.
        if !std::thread::panicking() {
            // The peer may have closed it, or left.
            let _ = self.end(pack(self.number, &[]));
        }
    }
}

/// Where a message goes in a block.
fn ring_place(count: u32) -> usize {
    RING_WORD + 8 * (u64::from(count) % RING_MESSAGES) as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_their_words() {
        assert_eq!(unpack(0, [0; 8]), None);
        for n in 0..=MAX_MESSAGE_BYTES {
            let message: Vec<u8> = (0..n as u8).map(|b| b ^ 0x5a).collect();
            assert_eq!(unpack(3, pack(2, &message)), None);
            assert_eq!(unpack(3, pack(3, &message)), Some(message));
        }
    }
}
