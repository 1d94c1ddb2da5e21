//! Streams: bytes from one rank to another in order, both ways, as [`Read`], [`BufRead`] and [`Write`].
//!
//! # Words
//! [`Streams`] is a rank's memory for streams: a fixed number of *slots*. An open [`Stream`] has a slot at
//! each of its two ranks. It has two *halves*: what is written into the [`StreamTx`] at one rank comes out of
//! the [`StreamRx`] at the other. A slot consists of words that the peer writes and of a *ring*, into which
//! the peer puts the bytes.
//!
//! # Opening
//! One rank [connects](Streams::connect), the other [accepts](Streams::accept). To connect does not wait: it
//! leaves the number of the own slot in a word that the other rank has for this one. To accept takes the
//! number out of the word, and leaves the number of its slot in the slot of the rank that connected. The
//! first write of that rank waits for it. There is one word for each pair of ranks: to connect to the same
//! rank again waits until it has accepted.
//!
//! # Bytes
//! ```text
//!   writer's rank                          reader's rank
//!   free room = size - (put - freed)       ring      <--- put:   bytes
//!   freed     <------------------ told     published <--- set:   how many bytes there are, and "no more"
//! ```
//! The writer puts bytes into the ring at the other rank, and then sets the word `published` to their
//! number. For a rank whose memory is not mapped here, bytes and word travel as one message (`far.rs`). The
//! reader takes the bytes, and from time to time reports how many it has taken. Each side reads words of
//! its own segment only, so no remote load is needed. The reader does not see bytes that are not
//! *published*.
//!
//! - [`write`](Write::write) publishes the bytes when it returns, and in the middle of long data after
//!   each *chunk*. Nothing needs to be flushed, as with a socket. It writes at least one byte, or waits.
//!   Bytes for a rank whose memory is not mapped may still be in flight when it returns: the reader waits
//!   for them, but another signal to the reader, such as a barrier, may overtake them.
//! - [`reserve`](StreamTx::reserve), [`commit`](StreamTx::commit) and [`publish`](StreamTx::publish) form
//!   several small messages that the reader is told of at once.
//! - The reader tells the writer after each chunk of bytes taken. A chunk is at most half of the ring. So a
//!   reader that waits leaves more than half of the ring free, and never waits for a writer that waits for
//!   it.
//!
//! # Ends
//! A half ends when it is [shut down](StreamTx::shutdown) or dropped; the halves end independently. After the
//! end of the writing half, and after the last byte, a read returns 0. After the end of the reading half a
//! write fails with [`BrokenPipe`](io::ErrorKind::BrokenPipe): the bytes that were not read are lost. If the
//! peer's process dies (noticed among ranks that share memory), or the peer leaves the job without ending its
//! half, every byte that it has published, and that has arrived, can still be read; then reads fail with
//! [`ConnectionReset`](io::ErrorKind::ConnectionReset), and so do writes. A slot is used again when all four
//! ends are known: nothing of an old stream can appear in a new one.
//!
//! # Trust
//! Words of the peer are checked. If another part of the program overwrites them, a read or write fails with
//! [`InvalidData`](io::ErrorKind::InvalidData), or bytes are wrong; memory outside of the stream is safe.
//!
//! ```no_run
//! # fn demo(rank: &gasnet::Rank) -> std::io::Result<()> {
//! use gasnet::RankId;
//! use gasnet_clan::Streams;
//! use std::io::{BufRead, Write};
//! let streams = Streams::new(rank, 4, Default::default())?;
//! match rank.id() {
//!     RankId(0) => writeln!(streams.connect(RankId(1))?, "good morning")?,
//!     RankId(1) => {
//!         for line in streams.accept(RankId(0))?.lines() {
//!             println!("{}", line?);
//!         }
//!     }
//!     _ => {}
//! }
//! rank.barrier(); // nobody leaves before the others have read
//! # Ok(()) }
//! ```

mod end;
mod far;
mod owed;
mod reader;
mod ring;
mod writer;

pub use reader::StreamRx;
pub use writer::StreamTx;

use super::peer::{LIVENESS_CHECK_INTERVAL, Process};
use end::StreamEnd;
use gasnet::{GlobalPtr, Rank, RankId};
use gasnet_sys::mutex::lock;
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::sync::{Arc, Mutex};

/// Words of a slot, a line each: what the peer has published, what it has taken, and its slot, beside the
/// peer itself and the size of the ring. The ring follows.
const PUBLISHED_WORD: usize = 0;
const TAKEN_WORD: usize = 8;
const ANSWER_WORD: usize = 16;
const PEER_WORD: usize = 17;
const SIZE_WORD: usize = 18;
const SLOT_WORDS: usize = 24;
/// Words of a line: a processor fetches as many at once.
const LINE_WORDS: usize = 8;

/// Least and most bytes of a ring.
const RING_BYTES: std::ops::RangeInclusive<u32> = 64..=1 << 30;

/// How streams are made; the same on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamConfig {
    /// Bytes of a ring: a power of two, at least 64.
    pub ring: u32,
    /// After how many bytes each side tells the other of them: at most half of the ring.
    pub chunk: u32,
}

impl Default for StreamConfig {
    /// A ring of 32 KiB, and chunks of half of it.
    fn default() -> StreamConfig {
        StreamConfig { ring: 32 << 10, chunk: 16 << 10 }
    }
}

/// A rank's memory for streams; see the [module](self).
#[derive(Debug)]
pub struct Streams<'r> {
    shared: Arc<Shared<'r>>,
}

#[derive(Debug)]
struct Shared<'r> {
    rank: &'r Rank,
    config: StreamConfig,
    /// A line for each rank that may connect; then the own process.
    requests: GlobalPtr<u64>,
    slots: GlobalPtr<u64>,
    slot_count: u32,
    pool: Mutex<Pool>,
}

#[derive(Debug)]
struct Pool {
    slots: Vec<SlotState>,
    /// The slot of the last request to each peer, until it was answered.
    asked: Vec<Option<u32>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotState {
    Free,
    Open,
    /// Both halves have ended here; the peer may still write.
    Ended(RankId),
}

impl<'r> Streams<'r> {
    /// Memory for `slots` streams that are open at this rank at the same time.
    ///
    /// # Collective
    /// # Errors
    /// No room in the segments, no slots, or a configuration that cannot be.
    pub fn new(rank: &'r Rank, slots: u32, config: StreamConfig) -> io::Result<Streams<'r>> {
        let StreamConfig { ring, chunk } = config;
        let fits = ring.is_power_of_two() && RING_BYTES.contains(&ring) && (1..=ring / 2).contains(&chunk);
        if !fits || slots == 0 {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                format!(
                    "{slots} streams with rings of {ring} bytes and chunks of {chunk}: there must be a stream, a ring is a power of two \
                     from {} to {}, a chunk at most half of it",
                    RING_BYTES.start(),
                    RING_BYTES.end()
                ),
            ));
        }
        let lines = LINE_WORDS * (rank.size() as usize + 1);
        let slot_bytes = 8 * SLOT_WORDS as u64 + u64::from(ring);
        let no_room = |e: gasnet::Error| io::Error::new(ErrorKind::OutOfMemory, e.to_string());
        let at = rank
            .segments()
            .allocate_agreed(8 * lines as u64 + u64::from(slots) * slot_bytes, 64)
            .map_err(no_room)?;
        let requests = GlobalPtr::new(rank.id(), at);
        rank.write_slice(requests, &vec![0u64; lines]);
        Process::own().publish(rank, requests.add(lines - LINE_WORDS));
        far::register(rank);
        rank.barrier();
        let pool =
            Pool { slots: vec![SlotState::Free; slots as usize], asked: vec![None; rank.size() as usize] };
        let (slots, slot_count) = (requests.add(lines), slots);
        let shared = Shared { rank, config, requests, slots, slot_count, pool: Mutex::new(pool) };
        Ok(Streams { shared: Arc::new(shared) })
    }

    /// Opens a stream to a rank that [accepts](Self::accept) it, now or later. Waits only if an earlier
    /// stream to that rank is not accepted yet, or if all slots are in use and a peer has yet to end its
    /// halves of one.
    ///
    /// # Errors
    /// [`InvalidInput`](ErrorKind::InvalidInput): there is no such rank, or it is this one.
    /// [`QuotaExceeded`](ErrorKind::QuotaExceeded): all slots are open here.
    /// [`ConnectionRefused`](ErrorKind::ConnectionRefused): the rank has left or died.
    pub fn connect(&self, peer: RankId) -> io::Result<Stream<'r>> {
        self.check(peer)?;
        let shared = &self.shared;
        let earlier = lock(&shared.pool).asked[peer.0 as usize];
        if let Some(slot) = earlier {
            let answer = shared.slot(slot).add(ANSWER_WORD);
            let unanswered = || {
                shared.rank.atomics().load(answer) == 0
                    && lock(&shared.pool).asked[peer.0 as usize] == Some(slot)
            };
            if !self.wait_for("an earlier stream to be accepted", Some(peer), || !unanswered()) {
                return Err(refused(peer));
            }
        }
        if is_gone(shared.rank, peer, shared.process(peer)) {
            return Err(refused(peer));
        }
        let slot = self.take_slot()?;
        let end = StreamEnd::new(shared, peer, slot, None);
        lock(&shared.pool).asked[peer.0 as usize] = Some(slot);
        shared.rank.atomics().store(shared.request(shared.rank.id(), peer), u64::from(slot) + 1);
        Ok(Stream::new(end))
    }

    /// Waits until a rank connects, and opens the stream.
    ///
    /// # Errors
    /// As [`connect`](Self::connect); it is refused when the rank leaves or dies.
    pub fn accept(&self, peer: RankId) -> io::Result<Stream<'r>> {
        self.check(peer)?;
        loop {
            if let Some(stream) = self.take_request(peer)? {
                return Ok(stream);
            }
            let request = self.shared.request(peer, self.shared.rank.id());
            let asked = || self.shared.rank.atomics().load(request) != 0;
            if !self.wait_for("a stream of a rank", Some(peer), asked) {
                return Err(refused(peer));
            }
        }
    }

    /// Waits until any rank connects, and opens the stream; [`Stream::peer`] says which rank it was.
    ///
    /// # Errors
    /// All slots are open here.
    pub fn accept_any(&self) -> io::Result<Stream<'r>> {
        loop {
            if let Some(stream) = self.try_accept()? {
                return Ok(stream);
            }
            let (rank, me) = (self.shared.rank, self.shared.rank.id());
            let asked = || rank.ranks().any(|r| rank.atomics().load(self.shared.request(r, me)) != 0);
            self.wait_for("a stream of any rank", None, asked);
        }
    }

    /// Opens the stream of a rank that has connected, if there is one.
    ///
    /// # Errors
    /// As [`accept_any`](Self::accept_any).
    pub fn try_accept(&self) -> io::Result<Option<Stream<'r>>> {
        self.shared.rank.poll();
        for peer in self.shared.rank.ranks() {
            if let Some(stream) = self.take_request(peer)? {
                return Ok(Some(stream));
            }
        }
        Ok(None)
    }

    fn check(&self, peer: RankId) -> io::Result<()> {
        let (me, size) = (self.shared.rank.id(), self.shared.rank.size());
        let text = match peer {
            p if p == me => format!("a stream from rank {me} to itself"),
            p if p.0 >= size => format!("a stream to rank {p}: the job has {size} ranks"),
            _ => return Ok(()),
        };
        Err(io::Error::new(ErrorKind::InvalidInput, text))
    }

    /// Waits for a condition. False: the peer is gone, and the condition does not hold.
    fn wait_for(&self, what: &'static str, peer: Option<RankId>, condition: impl FnMut() -> bool) -> bool {
        let process = peer.and_then(|peer| self.shared.process(peer));
        wait(self.shared.rank, what, condition, || {
            peer.is_some_and(|peer| is_gone(self.shared.rank, peer, process))
        })
    }

    /// Takes the request of a peer, if there is one, and answers it.
    fn take_request(&self, peer: RankId) -> io::Result<Option<Stream<'r>>> {
        let shared = &self.shared;
        let request = shared.request(peer, shared.rank.id());
        let asked = shared.rank.atomics().load(request);
        if asked == 0 {
            return Ok(None);
        }
        // The slot comes first: without one the request stays.
        let slot = self.take_slot()?;
        let theirs = shared.their_slot(peer, asked);
        let taken = shared.rank.atomics().compare_swap(request, asked, 0) == asked;
        match theirs {
            Ok(theirs) if taken && !is_gone(shared.rank, peer, shared.process(peer)) => {
                let end = StreamEnd::new(shared, peer, slot, Some(theirs));
                shared.rank.atomics().store(theirs.add(ANSWER_WORD), u64::from(slot) + 1);
                Ok(Some(Stream::new(end)))
            }
            // The peer has taken it back or is gone, or another thread was faster.
            theirs => {
                lock(&shared.pool).slots[slot as usize] = SlotState::Free;
                theirs.map(|_| None)
            }
        }
    }

    /// A free slot with words that say nothing.
    fn take_slot(&self) -> io::Result<u32> {
        let shared = &self.shared;
        loop {
            let mut pool = lock(&shared.pool);
            let found = (0..shared.slot_count).find(|s| shared.is_free(*s, pool.slots[*s as usize]));
            if let Some(slot) = found {
                pool.slots[slot as usize] = SlotState::Open;
                for word in [PUBLISHED_WORD, TAKEN_WORD, ANSWER_WORD] {
                    shared.rank.atomics().store(shared.slot(slot).add(word), 0);
                }
                return Ok(slot);
            }
            if pool.slots.iter().all(|s| *s == SlotState::Open) {
                let n = shared.slot_count;
                return Err(io::Error::new(
                    ErrorKind::QuotaExceeded,
                    format!("{n} streams are open at this rank, as many as Streams::new has made room for"),
                ));
            }
            drop(pool);
            // Another thread may end a stream, or be faster.
            let any = |free: &dyn Fn(u32, SlotState) -> bool| {
                let pool = lock(&shared.pool);
                (0..shared.slot_count).any(|s| free(s, pool.slots[s as usize]))
            };
            let over =
                || any(&|s, state| state == SlotState::Free || state != SlotState::Open && shared.is_over(s));
            let gone = || any(&|s, state| shared.is_free(s, state));
            wait(shared.rank, "peers to end their halves of streams", over, gone);
        }
    }
}

impl Shared<'_> {
    /// The word at `to` for requests of `from`.
    fn request(&self, from: RankId, to: RankId) -> GlobalPtr<u64> {
        self.requests.on(to).add(LINE_WORDS * from.0 as usize)
    }

    fn process(&self, peer: RankId) -> Option<Process> {
        let at = self.requests.on(peer).add(LINE_WORDS * self.rank.size() as usize);
        Process::of(self.rank, peer, at)
    }

    fn slot(&self, slot: u32) -> GlobalPtr<u64> {
        self.slots.add(slot as usize * (SLOT_WORDS + self.config.ring as usize / 8))
    }

    /// The slot that a word of the peer names.
    fn their_slot(&self, peer: RankId, word: u64) -> io::Result<GlobalPtr<u64>> {
        match u32::try_from(word.wrapping_sub(1)) {
            Ok(slot) if slot < self.slot_count => Ok(self.slot(slot).on(peer)),
            _ => Err(nonsense(peer, word)),
        }
    }

    /// Whether the peer has ended both of its halves.
    fn is_over(&self, slot: u32) -> bool {
        let word = |word| self.rank.atomics().load(self.slot(slot).add(word));
        ring::is_over(word(PUBLISHED_WORD)) && ring::is_over(word(TAKEN_WORD))
    }

    /// Whether nobody writes to a slot any more.
    fn is_free(&self, slot: u32, state: SlotState) -> bool {
        match state {
            SlotState::Free => true,
            SlotState::Open => false,
            SlotState::Ended(peer) => self.is_over(slot) || is_gone(self.rank, peer, self.process(peer)),
        }
    }
}

/// How often a wait looks before it asks for the time.
const LOOKS_BETWEEN_CLOCKS: u32 = 16;

fn is_gone(rank: &Rank, peer: RankId, process: Option<Process>) -> bool {
    rank.has_departed(peer) || process.is_some_and(Process::is_dead)
}

/// Waits for a condition, or until the peer is gone. False: it is gone, and the condition does not hold.
fn wait(
    rank: &Rank,
    what: &'static str,
    mut condition: impl FnMut() -> bool,
    mut gone: impl FnMut() -> bool,
) -> bool {
    let mut looked = rank.now();
    let (mut holds, mut left, mut looks) = (false, false, 0u32);
    rank.wait_until(what, || {
        holds = condition();
        looks += 1;
        // To ask for the time takes longer than most conditions.
        if holds || !looks.is_multiple_of(LOOKS_BETWEEN_CLOCKS) {
            return holds;
        }
        let now = rank.now();
        if now.saturating_sub(looked) >= LIVENESS_CHECK_INTERVAL {
            looked = now;
            left = gone();
        }
        holds || left
    });
    // Words of the peer from before it left count.
    holds || condition()
}

fn refused(peer: RankId) -> io::Error {
    io::Error::new(
        ErrorKind::ConnectionRefused,
        format!("rank {peer} has left the job or died: no stream can be opened to it"),
    )
}

fn reset(peer: RankId) -> io::Error {
    io::Error::new(
        ErrorKind::ConnectionReset,
        format!("rank {peer} has left the job or died and did not end its stream"),
    )
}

fn nonsense(peer: RankId, word: u64) -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        format!(
            "a stream to rank {peer} has a word that its peer cannot have written ({word:#x}): something else writes to its memory"
        ),
    )
}

/// A stream to another rank: both halves. Dropping it ends both; bytes that were written can still be read
/// there.
#[derive(Debug)]
pub struct Stream<'r> {
    tx: StreamTx<'r>,
    rx: StreamRx<'r>,
}

impl<'r> Stream<'r> {
    fn new(end: StreamEnd<'r>) -> Stream<'r> {
        let (ring, end) = (end.shared.config.ring, Arc::new(end));
        Stream { tx: StreamTx::new(end.clone(), ring), rx: StreamRx::new(end, ring) }
    }

    /// The rank at the other end.
    pub fn peer(&self) -> RankId {
        self.tx.peer()
    }

    /// The two halves, which end independently and may go to different threads.
    pub fn split(self) -> (StreamTx<'r>, StreamRx<'r>) {
        (self.tx, self.rx)
    }

    /// The writing half.
    pub fn tx(&mut self) -> &mut StreamTx<'r> {
        &mut self.tx
    }

    /// The reading half.
    pub fn rx(&mut self) -> &mut StreamRx<'r> {
        &mut self.rx
    }

    /// [`StreamTx::shutdown`].
    ///
    /// # Errors
    /// As there.
    pub fn shutdown(&mut self) -> io::Result<()> {
        self.tx.shutdown()
    }
}

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tx.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tx.flush()
    }
}

impl Read for Stream<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.rx.read(bytes)
    }
}

impl BufRead for Stream<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.rx.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        self.rx.consume(n);
    }
}
