//! The memory that a port and its NIC share: command queue, doorbell, completion counters, reply buffer,
//! notifications.
//!
//! A command queue has [`COMMAND_SLOTS`] slots. The port fills a slot, then rings the doorbell; the NIC
//! copies the command, in order. `issued` is the port's own count of commands, `finished` is the NIC's. The
//! NIC writes `finished` to the counter that the port reads ([`Counter::Commands`]) at every 32nd command
//! only, so that it does not need a bus cycle for each. A port with `issued - counter = 64` waits. All
//! counters are wrap-safe counts of a *prefix*: "the first n are done".
//!
//! **Fences.** The port writes the count that it waits for, then reads the NIC's own count once
//! ([`PortMemory::want`]). The NIC writes its count, then looks for a request ([`PortMemory::count`]). Both
//! have a full fence between. So a request for a count that was reached before is answered at once, and a
//! count that is reached later updates the port's counter.

use crate::append::{AppendEntry, QueuePort, Stops};
use crate::ids::{Node, PortId};
use crate::notify::Notifications;
use crate::prim::{self, AtomicU32, AtomicU64, Ordering, fence};
use crate::region::Refusal;
use crate::wire::{HEAD_WORDS, MAX_INLINE_BYTES};
use gasnet_ops::home::REPLY_WORDS;
use std::sync::{Mutex, PoisonError};

/// Slots of a command queue.
pub const COMMAND_SLOTS: u32 = 64;
/// The port's counter of finished commands is updated at every multiple of this.
pub const COUNTER_UPDATE_COMMANDS: u32 = 32;
/// Atomics that a port may have under way: the cookie, modulo this, is the slot of the reply.
pub const REPLY_SLOTS: u32 = 32;
const INLINE_WORDS: usize = MAX_INLINE_BYTES / 8;
const COMMAND_WORDS: usize = HEAD_WORDS + INLINE_WORDS;

/// A counter of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counter {
    /// Commands whose slot and source bytes may be reused. Updated at every 32nd, or on request.
    Commands = 0,
    /// Reads whose bytes are here.
    Reads = 1,
    /// Acknowledged writes that are in place at their target.
    Written = 2,
}

/// A write of the NIC into a port's host memory: one small DMA each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Post {
    /// A counter has this value.
    Count(Counter, u32),
    /// An event count has this value.
    Mirror {
        /// Its number.
        number: u32,
        /// Its value.
        count: u32,
    },
    /// A new entry of the notice queue. An interrupt follows.
    Notice(u32),
    /// The answer to the atomic (or lease) with this cookie.
    Reply {
        /// The command's cookie.
        cookie: u32,
        /// The reply; `None` if the operation was refused.
        words: Option<[u32; REPLY_WORDS]>,
    },
    /// The number of operations that were refused so far, because of a wrong key or of memory that is not
    /// exported.
    Refused(u32),
    /// A message is in a queue of the port.
    Appended {
        /// The queue.
        queue: u32,
        /// Where the message is.
        entry: AppendEntry,
    },
    /// A queue of another node has no room for this port's messages, or has room again.
    Room {
        /// The node.
        node: Node,
        /// The queue.
        queue: u32,
        /// Number of the word, odd if there is no room.
        number: u32,
    },
}

/// Why an operation of a port was refused. The port takes it ([`PortMemory::take_denial`]) when the
/// operation is counted as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Denial {
    /// The counter of the operation.
    pub which: Counter,
    /// Its number in that count, from 0.
    pub number: u32,
    /// The reason that the owner of the memory gave.
    pub why: Refusal,
}

/// The slot of a reply.
#[derive(Debug)]
struct Reply {
    words: [AtomicU32; REPLY_WORDS],
    /// Cookie of the reply, plus 1 << 32 if there is a reply, plus 1 << 33 if it is a refusal.
    of: AtomicU64,
}

/// Memory that a port and its NIC share. The driver applies every [`Post`] to it.
#[derive(Debug)]
pub struct PortMemory {
    /// Event counts and notices.
    pub events: Notifications,
    slots: Box<[AtomicU64]>,
    /// The counts that the port sees.
    counters: [AtomicU32; 3],
    /// The counts of the NIC.
    finished: [AtomicU32; 3],
    /// The counts that the port waits for.
    wanted: [AtomicU32; 3],
    replies: Box<[Reply]>,
    refused: AtomicU32,
    /// Refusals with a reason, which are rare, and how many there are.
    denials: Mutex<Vec<Denial>>,
    denied: AtomicU32,
    /// The port's halves of its appended queues, and the words from those of other nodes.
    queues: Box<[QueuePort]>,
    stops: Stops,
}

impl PortMemory {
    /// Memory with `events` event counts (at most 1024, number 0 unused) and a queue of `notices`.
    pub fn new(events: u32, notices: u32) -> PortMemory {
        let zeros = || [const { 0u32 }; 3].map(AtomicU32::new);
        PortMemory {
            events: Notifications::new(events, notices),
            slots: prim::wide(COMMAND_SLOTS as usize * COMMAND_WORDS),
            counters: zeros(),
            finished: zeros(),
            wanted: zeros(),
            replies: (0..REPLY_SLOTS).map(|_| Reply { words: zeros(), of: AtomicU64::new(0) }).collect(),
            refused: AtomicU32::new(0),
            denials: Mutex::default(),
            denied: AtomicU32::new(0),
            queues: Box::default(),
            stops: Stops::new(0, 0),
        }
    }

    /// The same with appended queues of these sizes in bytes, and a place for words from such queues of
    /// `nodes` nodes.
    pub fn with_queues(self, bytes: &[u64], nodes: u32) -> PortMemory {
        let queues = bytes.iter().map(|bytes| QueuePort::new(*bytes)).collect();
        PortMemory { queues, stops: Stops::new(nodes, bytes.len() as u32), ..self }
    }

    /// The port's half of an appended queue.
    #[inline]
    pub fn queue(&self, queue: u32) -> Option<&QueuePort> {
        self.queues.get(queue as usize)
    }

    /// Words from the appended queues of other nodes.
    #[inline]
    pub fn stops(&self) -> &Stops {
        &self.stops
    }

    fn slot(&self, command: u32) -> &[AtomicU64] {
        let start = (command % COMMAND_SLOTS) as usize * COMMAND_WORDS;
        &self.slots[start..start + COMMAND_WORDS]
    }

    // ---- the port's side

    /// Fills the slot of the command with this number. There must be room: `command - counter(Commands) <
    /// COMMAND_SLOTS`. The doorbell, which publishes the command, must follow. `inline` is at most
    /// [`MAX_INLINE_BYTES`] bytes.
    pub fn put_command(&self, command: u32, head: &[u64; HEAD_WORDS], inline: &[u8]) {
        let (place, data) = self.slot(command).split_at(HEAD_WORDS);
        for (slot, word) in place.iter().zip(head) {
            slot.store(*word, Ordering::Relaxed);
        }
        for (slot, bytes) in data.iter().zip(inline.chunks(8)) {
            slot.store(bytes.iter().rev().fold(0, |w, &b| w << 8 | u64::from(b)), Ordering::Relaxed);
        }
    }

    /// A counter, as of its last update.
    #[inline]
    pub fn counter(&self, which: Counter) -> u32 {
        // ORDER: Acquire; pairs with Release in `apply`; what the NIC did before, such as the bytes of a
        // read.
        self.counters[which as usize].load(Ordering::Acquire)
    }

    /// Asks for an update of the counter as soon as it is `count` or more. Returns true if it is already, by
    /// the NIC's own count; then no update follows.
    pub fn want(&self, which: Counter, count: u32) -> bool {
        let i = which as usize;
        self.wanted[i].store(count, Ordering::Relaxed);
        // ORDER: SeqCst; pairs with the fence in `count`: the NIC sees the request, or we its count.
        fence(Ordering::SeqCst);
        // ORDER: Acquire; pairs with Release in `count`, as for `counter`.
        reached(self.finished[i].load(Ordering::Acquire), count)
    }

    /// The reply to the atomic with this cookie, if there is one. The inner option is `None` if it was
    /// refused.
    pub fn reply(&self, cookie: u32) -> Option<Option<[u32; REPLY_WORDS]>> {
        let place = &self.replies[(cookie % REPLY_SLOTS) as usize];
        // ORDER: Acquire; pairs with Release in `apply`; the words.
        let of = place.of.load(Ordering::Acquire);
        if of as u32 != cookie || of >> 32 == 0 {
            return None;
        }
        let word = |i: usize| place.words[i].load(Ordering::Relaxed);
        Some((of >> 33 == 0).then(|| [word(0), word(1), word(2)]))
    }

    /// Operations that were refused so far.
    pub fn refused(&self) -> u32 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Takes the reason for which operations of a kind were refused: those with numbers from that of `first`
    /// up to that of `end`, all of which are counted as done. If there are several, the first that came.
    pub fn take_denial(&self, which: Counter, first: u32, end: u32) -> Option<Refusal> {
        // Relaxed: stored before the operation was counted, which was read with Acquire.
        if self.denied.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut denials = self.denials.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |d: &Denial| d.which == which && d.number.wrapping_sub(first) < end.wrapping_sub(first);
        let why = denials.iter().find(|d| of(d)).map(|d| d.why);
        denials.retain(|d| !of(d));
        self.denied.store(denials.len() as u32, Ordering::Relaxed);
        why
    }

    // ---- the NIC's side

    /// Notes why an operation was refused, before it is [counted](PortMemory::count).
    pub fn deny(&self, denial: Denial) {
        let mut denials = self.denials.lock().unwrap_or_else(PoisonError::into_inner);
        denials.push(denial);
        // Relaxed: `count`, which follows, has Release.
        self.denied.store(denials.len() as u32, Ordering::Relaxed);
    }

    /// Copies a command out. The port may overwrite it at any time, so only the copy is examined.
    pub fn take_command(&self, command: u32) -> ([u64; HEAD_WORDS], [u64; INLINE_WORDS]) {
        let (place, data) = self.slot(command).split_at(HEAD_WORDS);
        let head = core::array::from_fn(|i| place[i].load(Ordering::Relaxed));
        (head, core::array::from_fn(|i| data[i].load(Ordering::Relaxed)))
    }

    /// The NIC has counted to `count`, and last [posted](Post::Count) `posted`. Returns whether it has to
    /// post now.
    #[inline]
    pub fn count(&self, which: Counter, count: u32, posted: u32) -> bool {
        let i = which as usize;
        // ORDER: Release; pairs with Acquire in `want`.
        self.finished[i].store(count, Ordering::Release);
        // ORDER: SeqCst; pairs with the fence in `want`.
        fence(Ordering::SeqCst);
        let wanted = self.wanted[i].load(Ordering::Relaxed);
        let wish = reached(count, wanted) && !reached(posted, wanted);
        // Commands may end out of order, and the count of the prefix may then skip the multiple itself.
        wish || which == Counter::Commands
            && count / COUNTER_UPDATE_COMMANDS != posted / COUNTER_UPDATE_COMMANDS
    }

    /// Performs a post of the NIC (by DMA).
    pub fn apply(&self, post: Post) {
        match post {
            // ORDER: Release; pairs with Acquire in `counter`.
            Post::Count(which, count) => self.counters[which as usize].store(count, Ordering::Release),
            Post::Mirror { number, count } => self.events.mirror(number, count),
            Post::Notice(number) => {
                self.events.push(number);
            }
            Post::Reply { cookie, words } => {
                let place = &self.replies[(cookie % REPLY_SLOTS) as usize];
                for (place, word) in place.words.iter().zip(words.unwrap_or_default()) {
                    place.store(word, Ordering::Relaxed);
                }
                let mark = if words.is_some() { 1 << 32 } else { 1 << 33 };
                // ORDER: Release; pairs with Acquire in `reply`.
                place.of.store(u64::from(cookie) | mark, Ordering::Release);
            }
            Post::Refused(count) => self.refused.store(count, Ordering::Relaxed),
            Post::Appended { queue, entry } => {
                if let Some(queue) = self.queue(queue) {
                    queue.push(entry);
                }
            }
            Post::Room { node, queue, number } => self.stops.told(node, queue, number),
        }
    }
}

/// Whether a count that only grows, and wraps, has reached another.
#[inline]
pub fn reached(count: u32, wanted: u32) -> bool {
    count.wrapping_sub(wanted) <= u32::MAX / 2
}

/// The doorbell: one queue for all ports of a NIC, the only memory that the NIC polls. An entry is one
/// command of that port.
///
/// It has a slot for every command that can be in a queue, so it never overflows.
#[derive(Debug)]
pub struct Doorbell {
    slots: Box<[AtomicU32]>,
    rung: AtomicU32,
    answered: AtomicU32,
}

impl Doorbell {
    /// A doorbell for this many ports.
    pub fn new(ports: u32) -> Doorbell {
        let slots = (ports.max(1) * COMMAND_SLOTS).next_power_of_two();
        Doorbell {
            slots: prim::words(slots as usize, 0),
            rung: AtomicU32::new(0),
            answered: AtomicU32::new(0),
        }
    }

    /// The port has filled the slot of its next command. Any thread may call this, after
    /// [`PortMemory::put_command`].
    pub fn ring(&self, port: PortId) {
        // ORDER: AcqRel; pairs with itself in other ports: whoever made room (and saw the NIC make it) rang
        // before us, so the NIC's clearing of this place comes before our store.
        let at = self.rung.fetch_add(1, Ordering::AcqRel);
        // ORDER: Release; pairs with Acquire in `answer`; the command.
        self.slots[at as usize % self.slots.len()].store(port.0.into(), Ordering::Release);
    }

    /// Whether there is a ring to take: a hint.
    #[inline]
    pub fn is_rung(&self) -> bool {
        let at = self.answered.load(Ordering::Relaxed);
        self.slots[at as usize % self.slots.len()].load(Ordering::Relaxed) != 0
    }

    /// Takes the next ring. Only the NIC calls this.
    pub fn answer(&self) -> Option<PortId> {
        let at = self.answered.load(Ordering::Relaxed);
        let place = &self.slots[at as usize % self.slots.len()];
        // ORDER: Acquire; pairs with Release in `ring`.
        let port = place.load(Ordering::Acquire);
        if port == 0 {
            return None;
        }
        place.store(0, Ordering::Relaxed);
        self.answered.store(at.wrapping_add(1), Ordering::Relaxed);
        Some(PortId(port as u16))
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
