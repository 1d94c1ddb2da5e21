//! Appended queues: memory of a port into which many nodes write, one message behind the other.
//!
//! A sender names a queue, not a place in it. The receiver's NIC keeps the queue's *write position* and gives
//! each message its place; the port reads messages in the order of their places and frees them. Positions
//! count bytes from the start and do not wrap.
//!
//! ```text
//! sender's port      Append commands: one fragment of the message each, of one page at most
//! receiver's NIC     gives the message a place when its first fragment comes; DMA; posts an entry when all
//!                    fragments of this message and of those before it are in place
//! receiver's port    reads entries, uses the messages where they are, frees them; its NIC looks at the freed
//!                    position when it needs room
//! ```
//!
//! **Places.** A message starts at a multiple of 64 bytes. One of at most a page does not cross the end of a
//! page; a longer one starts at a page. No message crosses the end of the queue. So a fragment is in one
//! page, at both ends, as senders lay their messages out by the same rule ([`start_of`]).
//!
//! **Order.** Fragments take effect in the order of the sender's window, after all that it sent before is in
//! place. So the messages of a sender are read in the order of its commands, and a message is read only after
//! the writes before it.
//!
//! **No room.** The fragment is *kept* beside the queue, and so is all that comes after it while anything is
//! kept. When the port frees room, one message of each sender has its turn. The window does not wait for
//! this: the number of a kept fragment is done, because a full queue must not hold up writes, reads, and
//! messages to other queues of the same node. In place of the window, the NIC tells a sender to *stop* when
//! it keeps the first of its fragments, and to *go on* when it keeps none. At most what the sender had given
//! to its NIC by then is kept.
//!
//! **A message without its end** (the sender's page was refused) is *lost*: its place is passed over.

use std::collections::VecDeque;

use crate::ids::{Node, PAGE, PortId};
use crate::prim::{self, AtomicU32, AtomicU64, Ordering, fence};
use crate::wire::AppendPart;

/// Messages start at multiples of this many bytes.
pub const APPEND_ALIGNMENT_BYTES: u64 = 64;

/// Bytes of queue that a message of `len` bytes takes.
pub const fn room_for(len: u32) -> u64 {
    let len = if len == 0 { 1 } else { len as u64 };
    len.next_multiple_of(APPEND_ALIGNMENT_BYTES)
}

/// The first position, from `at` on, where a message of `len` bytes may start in a queue of `bytes` bytes.
pub const fn start_of(at: u64, len: u32, bytes: u64) -> u64 {
    let (room, page) = (room_for(len), PAGE as u64);
    let at = if room > page - at % page { at.next_multiple_of(page) } else { at };
    let left = bytes - at % bytes;
    if room > left { at + left } else { at }
}

/// The port of a node that sends.
pub type Sender = (Node, PortId);

/// A message that the port may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendEntry {
    /// Where it starts.
    pub at: u64,
    /// The node that sent it.
    pub from: Node,
    /// Its bytes.
    pub len: u32,
    /// It did not come whole: only its room is to be freed.
    pub lost: bool,
}

impl AppendEntry {
    /// The position behind it: where the queue is free when it has been read.
    pub fn end(&self) -> u64 {
        self.at + room_for(self.len)
    }
}

/// A message that has a place.
#[derive(Debug)]
struct Placed {
    entry: AppendEntry,
    /// Bytes that are not in place.
    missing: u32,
    /// The number of the next fragment.
    next: u32,
}

/// The treatment of a fragment.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict<T> {
    /// Its bytes belong at this position, and it is then [done](AppendQueue::done).
    Place {
        /// The fragment.
        item: T,
        /// The position of its first byte.
        at: u64,
        /// The number of its message.
        message: u32,
    },
    /// There is no room, or others wait for room.
    Kept {
        /// It is the first of this sender's: tell the sender to stop.
        first: bool,
    },
    /// It is no part of a message that this queue can have.
    Refused(T),
}

/// A fragment that was kept, and that [`AppendQueue::resume`] takes out.
#[derive(Debug, PartialEq, Eq)]
pub struct Resumed<T> {
    /// Its treatment: `Place` or `Refused`.
    pub verdict: Verdict<T>,
    /// Nothing of this sender is kept any more: tell it to go on.
    pub go: Option<Sender>,
}

/// The NIC's half of a queue; `T` is what belongs to a fragment.
#[derive(Debug)]
pub struct AppendQueue<T> {
    bytes: u64,
    written: u64,
    freed: u64,
    /// Messages that have a place and are not posted, in the order of their places.
    placed: VecDeque<Placed>,
    /// Number of the first of them.
    first: u32,
    /// Numbers of those that wait for more fragments. There are few, so they are searched.
    open: Vec<(Sender, u32)>,
    /// Fragments without room, by sender; the sender at the front has its turn.
    kept: VecDeque<(Sender, VecDeque<(AppendPart, T)>)>,
}

impl<T> AppendQueue<T> {
    /// An empty queue of `bytes` bytes, a multiple of the page size.
    ///
    /// # Panics
    /// The size is 0, or not a multiple.
    pub fn new(bytes: u64) -> AppendQueue<T> {
        assert!(bytes > 0 && bytes.is_multiple_of(PAGE.into()), "a queue of {bytes} bytes");
        let (placed, open, kept) = (VecDeque::new(), Vec::new(), VecDeque::new());
        AppendQueue { bytes, written: 0, freed: 0, placed, first: 0, open, kept }
    }

    /// Bytes of the longest message. It fits in an empty queue, wherever the write position is.
    pub fn longest(&self) -> u32 {
        u32::try_from(self.bytes / 2).unwrap_or(u32::MAX).min(u32::MAX >> 1)
    }

    /// Whether a message of `len` bytes has room.
    pub fn fits(&self, len: u32) -> bool {
        start_of(self.written, len, self.bytes) + room_for(len) - self.freed <= self.bytes
    }

    /// The port has freed what is before this position. Positions that cannot be right are ignored.
    pub fn free(&mut self, position: u64) {
        if (self.freed..=self.written).contains(&position) {
            self.freed = position;
        }
    }

    /// Fragments that are kept.
    pub fn kept(&self) -> usize {
        self.kept.iter().map(|(_, items)| items.len()).sum()
    }

    /// Whether fragments are kept.
    pub fn is_short(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Bytes of the kept message whose turn it is.
    pub fn wanted(&self) -> Option<u32> {
        self.kept.front().and_then(|(_, items)| items.front()).map(|(fragment, _)| fragment.total)
    }

    /// Whether every message that has a place has been posted. Messages that are kept wait for the port.
    pub fn is_idle(&self) -> bool {
        self.placed.is_empty()
    }

    /// A fragment takes effect. Fragments of a sender come in its order.
    pub fn offer(&mut self, sender: Sender, fragment: AppendPart, item: T) -> Verdict<T> {
        if let Some((_, items)) = self.kept.iter_mut().find(|(who, _)| *who == sender) {
            items.push_back((fragment, item));
            return Verdict::Kept { first: false };
        }
        if fragment.total > self.longest() {
            return Verdict::Refused(item);
        }
        self.begin(sender, fragment);
        if fragment.index == 0 && (self.is_short() || !self.fits(fragment.total)) {
            self.kept.push_back((sender, VecDeque::from([(fragment, item)])));
            return Verdict::Kept { first: true };
        }
        self.place(sender, fragment, item)
    }

    /// Takes a kept fragment whose message has room now. Call it until it returns `None`; then, as after
    /// `offer`, [`post`](Self::post): a message may have been lost.
    pub fn resume(&mut self) -> Option<Resumed<T>> {
        let (sender, items) = self.kept.front()?;
        let (sender, fragment) = (*sender, items.front()?.0);
        self.begin(sender, fragment);
        let possible = fragment.total <= self.longest();
        if fragment.index == 0 && possible && !self.fits(fragment.total) {
            return None;
        }
        let (sender, mut items) = self.kept.pop_front()?;
        let (fragment, item) = items.pop_front()?;
        let go = items.is_empty().then_some(sender);
        if go.is_none() && fragment.is_last() {
            self.kept.push_back((sender, items));
        } else if go.is_none() {
            self.kept.push_front((sender, items));
        }
        let verdict = if possible { self.place(sender, fragment, item) } else { Verdict::Refused(item) };
        Some(Resumed { verdict, go })
    }

    /// A message that has not come whole when the sender's next one begins is lost.
    fn begin(&mut self, sender: Sender, fragment: AppendPart) {
        if fragment.index == 0
            && let Some(i) = self.open.iter().position(|(who, _)| *who == sender)
        {
            let (_, message) = self.open.swap_remove(i);
            self.lose(message);
        }
    }

    /// Gives a fragment its place; there is room.
    fn place(&mut self, sender: Sender, fragment: AppendPart, item: T) -> Verdict<T> {
        let AppendPart { index, total, .. } = fragment;
        let open = self.open.iter().position(|(who, _)| *who == sender);
        if index == 0 {
            let at = start_of(self.written, total, self.bytes);
            let entry = AppendEntry { at, from: sender.0, len: total, lost: false };
            self.written = entry.end();
            let message = self.first.wrapping_add(self.placed.len() as u32);
            self.placed.push_back(Placed { entry, missing: total, next: 1 });
            if !fragment.is_last() {
                self.open.push((sender, message));
            }
            return Verdict::Place { item, at, message };
        }
        let Some(i) = open else { return Verdict::Refused(item) };
        let (_, message) = self.open[i];
        let placed = self.message(message);
        if (placed.next, placed.entry.len) != (index, total) {
            return Verdict::Refused(item);
        }
        placed.next += 1;
        let at = placed.entry.at + u64::from(index) * u64::from(PAGE);
        if fragment.is_last() {
            self.open.swap_remove(i);
        }
        Verdict::Place { item, at, message }
    }

    fn message(&mut self, message: u32) -> &mut Placed {
        &mut self.placed[message.wrapping_sub(self.first) as usize]
    }

    /// `len` bytes of a message are in place.
    pub fn done(&mut self, message: u32, len: u32) {
        self.message(message).missing -= len;
    }

    /// `len` bytes of a message will not come: it is lost.
    pub fn fail(&mut self, message: u32, len: u32) {
        self.message(message).entry.lost = true;
        self.done(message, len);
    }

    /// The fragments of a message that have not come will not come.
    fn lose(&mut self, message: u32) {
        let placed = self.message(message);
        placed.entry.lost = true;
        placed.missing -= placed.entry.len - placed.next * PAGE;
    }

    /// The next message that the port may read.
    pub fn post(&mut self) -> Option<AppendEntry> {
        if self.placed.front()?.missing > 0 {
            return None;
        }
        self.first = self.first.wrapping_add(1);
        self.placed.pop_front().map(|placed| placed.entry)
    }
}

/// The port's half of a queue: the entries that the NIC posts, and the position that the port has freed.
///
/// **The handshake.** A NIC without room says so and then looks at the freed position; the port writes that
/// position and then looks whether the NIC waits; both have a full fence between. So the NIC finds the room,
/// or the port finds that it has to ring.
#[derive(Debug)]
pub struct QueuePort {
    /// Two words for each: the position; sender (32), length (31), lost (1). As many as there can be messages
    /// in the queue, so an entry has been read before its words are used again.
    entries: Box<[AtomicU64]>,
    /// Entries written so far. Written by the NIC.
    pushed: AtomicU32,
    /// Entries read so far, and the position freed. Written by the port.
    popped: AtomicU32,
    freed: AtomicU64,
    /// The NIC keeps fragments, for lack of room.
    short: AtomicU32,
}

const LOST: u64 = 1 << 63;

impl QueuePort {
    /// The port's half of a queue of `bytes` bytes.
    pub fn new(bytes: u64) -> QueuePort {
        let entries = (bytes / APPEND_ALIGNMENT_BYTES).max(1).next_power_of_two();
        QueuePort {
            entries: prim::wide(2 * entries as usize),
            pushed: AtomicU32::new(0),
            popped: AtomicU32::new(0),
            freed: AtomicU64::new(0),
            short: AtomicU32::new(0),
        }
    }

    fn words(&self, number: u32) -> (&AtomicU64, &AtomicU64) {
        let i = 2 * (number as usize % (self.entries.len() / 2));
        (&self.entries[i], &self.entries[i + 1])
    }

    // ---- the NIC's side

    /// Writes an entry (by DMA).
    pub(crate) fn push(&self, entry: AppendEntry) {
        let number = self.pushed.load(Ordering::Relaxed);
        let (at, rest) = self.words(number);
        at.store(entry.at, Ordering::Relaxed);
        let lost = if entry.lost { LOST } else { 0 };
        rest.store(u64::from(entry.from.0) | u64::from(entry.len) << 32 | lost, Ordering::Relaxed);
        // ORDER: Release; pairs with Acquire in `pop`; the entry, and the bytes of the message.
        self.pushed.store(number.wrapping_add(1), Ordering::Release);
    }

    /// The position that the port has freed.
    pub(crate) fn freed(&self) -> u64 {
        // ORDER: Acquire; pairs with Release in `free`: the port has read what is written over now.
        self.freed.load(Ordering::Acquire)
    }

    /// Says that the NIC waits for room; returns the position that the port has freed.
    pub(crate) fn want_room(&self) -> u64 {
        self.short.store(1, Ordering::Relaxed);
        // ORDER: SeqCst; pairs with the fence in `free`: we see the position, or the port that we wait.
        fence(Ordering::SeqCst);
        self.freed()
    }

    /// Says that the NIC does not wait for room.
    pub(crate) fn has_room(&self) {
        self.short.store(0, Ordering::Relaxed);
    }

    // ---- the port's side

    /// Whether there is an entry to read.
    #[inline]
    pub fn has_entry(&self) -> bool {
        self.popped.load(Ordering::Relaxed) != self.pushed.load(Ordering::Relaxed)
    }

    /// Takes the next entry. One thread of the port at a time.
    #[inline]
    pub fn pop(&self) -> Option<AppendEntry> {
        let number = self.popped.load(Ordering::Relaxed);
        // ORDER: Acquire; pairs with Release in `push`.
        if number == self.pushed.load(Ordering::Acquire) {
            return None;
        }
        let (at, rest) = self.words(number);
        let (at, rest) = (at.load(Ordering::Relaxed), rest.load(Ordering::Relaxed));
        self.popped.store(number.wrapping_add(1), Ordering::Relaxed);
        let (from, len) = (Node(rest as u32), ((rest & !LOST) >> 32) as u32);
        Some(AppendEntry { at, from, len, lost: rest & LOST != 0 })
    }

    /// The port has read everything before this position. Returns whether the NIC waits for room: then
    /// [`Library::room_freed`](crate::library::Library::room_freed) must follow. One thread of the port at a
    /// time.
    #[inline]
    pub fn free(&self, position: u64) -> bool {
        // ORDER: Release; pairs with Acquire in `freed`; the port's reads.
        self.freed.store(position, Ordering::Release);
        // ORDER: SeqCst; pairs with the fence in `want_room`.
        fence(Ordering::SeqCst);
        self.short.load(Ordering::Relaxed) != 0
    }
}

/// Whether queues of other nodes have told this port to stop, by the number of the last word from each: odd
/// for stop. Numbers grow, so a word that is late or comes twice does nothing.
#[derive(Debug)]
pub struct Stops {
    last: Box<[AtomicU32]>,
    queues: u32,
}

impl Stops {
    /// For `nodes` nodes with `queues` queues each.
    pub fn new(nodes: u32, queues: u32) -> Stops {
        Stops { last: prim::words((nodes * queues) as usize, 0), queues }
    }

    fn word(&self, node: Node, queue: u32) -> Option<&AtomicU32> {
        let i = u64::from(node.0) * u64::from(self.queues) + u64::from(queue);
        if queue < self.queues { self.last.get(i as usize) } else { None }
    }

    /// A word came (by DMA).
    pub(crate) fn told(&self, node: Node, queue: u32, number: u32) {
        if let Some(last) = self.word(node, queue)
            && number.wrapping_sub(last.load(Ordering::Relaxed)) <= u32::MAX / 2
        {
            last.store(number, Ordering::Relaxed);
        }
    }

    /// Whether this queue of a node has no room for this port.
    #[inline]
    pub fn is_stopped(&self, node: Node, queue: u32) -> bool {
        self.word(node, queue).is_some_and(|last| !last.load(Ordering::Relaxed).is_multiple_of(2))
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
