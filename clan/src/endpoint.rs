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

use super::peer::{LIVENESS_CHECK_INTERVAL, Process};
use super::{EventQueue, Tripwire, Watch};
use gasnet::{Error, GlobalPtr, Rank, RankId, Shared};
use std::time::Instant;

/// Most bytes in a message.
pub const MAX_MESSAGE_BYTES: usize = 56;
/// Messages in a full ring.
pub const RING_MESSAGES: u64 = 8;

/// Offsets in a block, in words: written, read, closed, process; last words, closing message, ring.
const WRITTEN_WORD: usize = 0;
const READ_WORD: usize = 8;
const CLOSED_WORD: usize = 16;
const PROCESS_WORD: usize = 17;
const LAST_WORDS_WORD: usize = 24;
const CLOSING_WORD: usize = 32;
const RING_WORD: usize = 40;
const BLOCK_WORDS: usize = RING_WORD + 8 * RING_MESSAGES as usize;

const ORDERLY: u64 = 1;
const DIED: u64 = 2;

/// Memory for the endpoints of all ranks.
#[derive(Debug)]
pub struct Endpoints<'r> {
    rank: &'r Rank,
    /// A block for each peer: the peer writes to it, and may read it when this rank is gone.
    blocks: GlobalPtr<u64>,
    opened: Vec<bool>,
}

fn pack(message: &[u8]) -> [u64; 8] {
    let mut words = [0; 8];
    words[0] = message.len() as u64 + 1;
    for (word, bytes) in words[1..].iter_mut().zip(message.chunks(8)) {
        *word = bytes.iter().rev().fold(0, |w, &b| w << 8 | u64::from(b));
    }
    words
}

/// `None`: there is no message.
fn unpack(words: [u64; 8]) -> Option<Vec<u8>> {
    let len = (words[0] as usize).checked_sub(1)?.min(MAX_MESSAGE_BYTES);
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
        let blocks = GlobalPtr::new(rank.id(), rank.allocate(8 * words as u64, 64)?);
        rank.write_slice(blocks, &vec![0u64; words]);
        let process = Process::own();
        for peer in 0..rank.size() as usize {
            process.publish(rank, blocks.add(BLOCK_WORDS * peer + PROCESS_WORD));
        }
        rank.barrier();
        Ok(Endpoints { rank, blocks, opened: vec![false; rank.size() as usize] })
    }

    /// This rank's end of the connection to a peer; can be opened once.
    ///
    /// # Errors
    /// It is already open, or there is no such rank.
    pub fn open(&mut self, peer: RankId) -> Result<Endpoint<'r>, Error> {
        match self.opened.get_mut(peer.0 as usize) {
            None => return Err(Error::op(format!("no rank {peer} to open an endpoint to"))),
            Some(opened) if *opened => {
                return Err(Error::op(format!("the endpoint to rank {peer} is open")));
            }
            Some(opened) => *opened = true,
        }
        let (me, rank) = (self.rank.id(), self.rank);
        let mine = self.blocks.add(BLOCK_WORDS * peer.0 as usize);
        let theirs = self.blocks.on(peer).add(BLOCK_WORDS * me.0 as usize);
        let process = Process::of(rank, peer, theirs.add(PROCESS_WORD));
        Ok(Endpoint { rank, peer, mine, theirs, process, sent: 0, received: 0 })
    }
}

/// One end of a connection.
#[derive(Debug)]
pub struct Endpoint<'r> {
    rank: &'r Rank,
    peer: RankId,
    mine: GlobalPtr<u64>,
    theirs: GlobalPtr<u64>,
    /// The other end's process, if it is on this host.
    process: Option<Process>,
    sent: u64,
    received: u64,
}

impl Endpoint<'_> {
    /// The rank at the other end.
    pub fn peer(&self) -> RankId {
        self.peer
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
    /// full.
    ///
    /// # Errors
    /// The connection is closed, or the message has more than [`MAX_MESSAGE_BYTES`] bytes.
    pub fn message(&mut self, message: &[u8]) -> Result<bool, Error> {
        self.alive()?;
        let words = checked(message)?;
        if self.sent - self.rank.load_word(self.theirs.add(READ_WORD)) >= RING_MESSAGES {
            return Ok(false);
        }
        let slot = self.theirs.add(RING_WORD + 8 * (self.sent % RING_MESSAGES) as usize);
        self.rank.write_slice(slot, &words);
        self.sent += 1;
        self.rank.swap_word(self.theirs.add(WRITTEN_WORD), self.sent);
        Ok(true)
    }

    /// The next message that came out of band. Messages that came before the connection was closed can still
    /// be taken.
    pub fn receive(&mut self) -> Option<Vec<u8>> {
        if self.rank.load_word(self.mine.add(WRITTEN_WORD)) == self.received {
            return None;
        }
        let mut words = [0; 8];
        self.rank
            .read_slice(self.mine.add(RING_WORD + 8 * (self.received % RING_MESSAGES) as usize), &mut words);
        self.received += 1;
        self.rank.swap_word(self.mine.add(READ_WORD), self.received);
        unpack(words)
    }

    /// Stores the message for the peer in case this process dies without closing.
    ///
    /// # Errors
    /// As [`message`](Self::message).
    pub fn last_words(&mut self, message: &[u8]) -> Result<(), Error> {
        let words = checked(message)?;
        self.rank.swap_word(self.mine.add(LAST_WORDS_WORD), 0);
        self.rank.write_slice(self.mine.add(LAST_WORDS_WORD + 1), &words[1..]);
        self.rank.swap_word(self.mine.add(LAST_WORDS_WORD), words[0]);
        Ok(())
    }

    /// Closes the connection: the peer gets this closing message, and not the last words.
    ///
    /// # Errors
    /// It is already closed, or the message is too long.
    pub fn close(self, message: &[u8]) -> Result<(), Error> {
        let words = checked(message)?;
        self.rank.swap_word(self.mine.add(LAST_WORDS_WORD), 0);
        self.alive()?;
        self.rank.write_slice(self.theirs.add(CLOSING_WORD), &words);
        self.rank.swap_word(self.theirs.add(CLOSED_WORD), ORDERLY);
        Ok(())
    }

    /// Whether the other end was closed, or its process is known to be gone. Once true, it stays true.
    pub fn is_closed(&self) -> bool {
        self.rank.load_word(self.mine.add(CLOSED_WORD)) != 0
    }

    /// Checks whether the other end's process is alive.
    fn look(&self) -> bool {
        let dead = self.process.is_some_and(Process::is_dead);
        if dead && !self.is_closed() {
            // It may have closed just before it ended. Its memory still exists.
            let mut words = [0; 8];
            self.rank.read_slice(self.theirs.add(LAST_WORDS_WORD), &mut words);
            if self.rank.compare_swap(self.mine.add(CLOSED_WORD), 0, DIED) == 0 {
                self.rank.write_slice(self.mine.add(CLOSING_WORD), &words);
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
        self.rank.read_slice(self.mine.add(CLOSING_WORD), &mut words);
        unpack(words)
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
            let (rank, written) = (self.rank, self.mine.add(WRITTEN_WORD));
            let received = self.received;
            let waited = self.wait_until("a message of a connection", || rank.load_word(written) != received);
            if let Err(e) = waited {
                return self.receive().ok_or(e);
            }
        }
    }
}

fn checked(message: &[u8]) -> Result<[u64; 8], Error> {
    if message.len() > MAX_MESSAGE_BYTES {
        return Err(Error::op(format!("a message of {} bytes; at most {MAX_MESSAGE_BYTES}", message.len())));
    }
    Ok(pack(message))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_their_words() {
        assert_eq!(unpack([0; 8]), None);
        for n in 0..=MAX_MESSAGE_BYTES {
            let message: Vec<u8> = (0..n as u8).map(|b| b ^ 0x5a).collect();
            assert_eq!(unpack(pack(&message)), Some(message));
        }
        assert!(checked(&[0; MAX_MESSAGE_BYTES + 1]).is_err());
    }
}
