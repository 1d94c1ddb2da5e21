//! What a port and its NIC share: command queue, doorbell, completion counters, reply buffer, notifications.
//!
//! A command queue has [`QUEUE`] places. The port fills a place, then rings the doorbell; the NIC takes a copy, in order.
//! `issued` is the port's own count of commands, `finished` is the NIC's; the NIC writes `finished` to the counter that the
//! port reads ([`Counter::Commands`]) at every 32nd command only, so that it needs no bus cycle for each. A port with
//! `issued - counter = 64` waits. All counters are counts of a *prefix*: "the first n are done", wrap-safe.
//!
//! **Fences.** The port writes the count that it waits for, then reads the NIC's own count once ([`PortMemory::want`]); the NIC
//! writes its count, then looks for a wish ([`PortMemory::count`]); full fences between. So a wish that was met before it was
//! made is seen at once, and one that is met later renews the port's counter.

use crate::atomics::REPLY;
use crate::ids::PortId;
use crate::notify::Counts;
use crate::prim::{self, AtomicU32, AtomicU64, Ordering, fence};
use crate::wire::{INLINE, WORDS};

/// Places of a command queue.
pub const QUEUE: u32 = 64;
/// The port's counter of finished commands is renewed at every multiple of this.
pub const REFRESH: u32 = 32;
/// Atomics that a port may have under way: the cookie, modulo this, is the place of the reply.
pub const REPLIES: u32 = 32;
const INLINE_WORDS: usize = INLINE / 8;
const SLOT: usize = WORDS + INLINE_WORDS;

/// What is counted for a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counter {
    /// Commands whose place and source bytes may be used again. Renewed at every 32nd, or on a wish.
    Commands = 0,
    /// Reads whose bytes are here.
    Reads = 1,
    /// Acknowledged writes that are in place at their target.
    Written = 2,
}

/// What the NIC writes into a port's host memory: one small DMA each.
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
        /// What it found; `None`: it was refused.
        words: Option<[u32; REPLY]>,
    },
    /// This many operations have been refused: a wrong key, or memory that is not exported.
    Refused(u32),
}

/// Place of a reply.
#[derive(Debug)]
struct Reply {
    words: [AtomicU32; REPLY],
    /// Cookie of the reply, with 1 << 32 when it is one, and 1 << 33 when it is a refusal.
    of: AtomicU64,
}

/// Memory that a port and its NIC share. The driver applies every [`Post`] to it.
#[derive(Debug)]
pub struct PortMemory {
    /// Event counts and notices.
    pub events: Counts,
    slots: Box<[AtomicU64]>,
    /// Counts as the port sees them.
    counters: [AtomicU32; 3],
    /// Counts as the NIC has them.
    finished: [AtomicU32; 3],
    /// Counts that the port waits for.
    wanted: [AtomicU32; 3],
    replies: Box<[Reply]>,
    refused: AtomicU32,
}

impl PortMemory {
    /// Memory with `events` event counts (at most 1024, number 0 unused) and a queue of `notices`.
    pub fn new(events: u32, notices: u32) -> PortMemory {
        let zeros = || [const { 0u32 }; 3].map(AtomicU32::new);
        PortMemory {
            events: Counts::new(events, notices),
            slots: prim::wide(QUEUE as usize * SLOT),
            counters: zeros(),
            finished: zeros(),
            wanted: zeros(),
            replies: (0..REPLIES).map(|_| Reply { words: zeros(), of: AtomicU64::new(0) }).collect(),
            refused: AtomicU32::new(0),
        }
    }

    fn slot(&self, command: u32) -> &[AtomicU64] {
        let start = (command % QUEUE) as usize * SLOT;
        &self.slots[start..start + SLOT]
    }

    // ---- the port's side

    /// Fills the place of the command with this number. There must be room: `command - counter(Commands) < QUEUE`; and the
    /// doorbell must follow, which publishes it. `inline` is at most [`INLINE`] bytes.
    pub fn put_command(&self, command: u32, head: &[u64; WORDS], inline: &[u8]) {
        let (place, data) = self.slot(command).split_at(WORDS);
        for (slot, word) in place.iter().zip(head) {
            slot.store(*word, Ordering::Relaxed);
        }
        for (slot, bytes) in data.iter().zip(inline.chunks(8)) {
            slot.store(bytes.iter().rev().fold(0, |w, &b| w << 8 | u64::from(b)), Ordering::Relaxed);
        }
    }

    /// A counter, as of its last renewal.
    #[inline]
    pub fn counter(&self, which: Counter) -> u32 {
        // ORDER: Acquire; pairs with Release in `apply`; what the NIC did before, such as the bytes of a read.
        self.counters[which as usize].load(Ordering::Acquire)
    }

    /// Asks for the counter to be renewed as soon as it is `count` or more. True: it is, as the NIC counts, and will not be
    /// renewed for this.
    pub fn want(&self, which: Counter, count: u32) -> bool {
        let i = which as usize;
        self.wanted[i].store(count, Ordering::Relaxed);
        // ORDER: SeqCst; pairs with the fence in `count`: the NIC sees the wish, or we its count.
        fence(Ordering::SeqCst);
        // ORDER: Acquire; pairs with Release in `count`, as for `counter`.
        reached(self.finished[i].load(Ordering::Acquire), count)
    }

    /// The reply to the atomic with this cookie, if it is there. Inner `None`: it was refused.
    pub fn reply(&self, cookie: u32) -> Option<Option<[u32; REPLY]>> {
        let place = &self.replies[(cookie % REPLIES) as usize];
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

    // ---- the NIC's side

    /// Copies a command out. The port may scribble over it at any time, so only the copy is looked at.
    pub fn take_command(&self, command: u32) -> ([u64; WORDS], [u64; INLINE_WORDS]) {
        let (place, data) = self.slot(command).split_at(WORDS);
        let head = core::array::from_fn(|i| place[i].load(Ordering::Relaxed));
        (head, core::array::from_fn(|i| data[i].load(Ordering::Relaxed)))
    }

    /// The NIC has counted to `count`, and last [posted](Post::Count) `posted`. Whether it has to post now.
    #[inline]
    pub fn count(&self, which: Counter, count: u32, posted: u32) -> bool {
        let i = which as usize;
        // ORDER: Release; pairs with Acquire in `want`.
        self.finished[i].store(count, Ordering::Release);
        // ORDER: SeqCst; pairs with the fence in `want`.
        fence(Ordering::SeqCst);
        let wanted = self.wanted[i].load(Ordering::Relaxed);
        let wish = reached(count, wanted) && !reached(posted, wanted);
        // Commands may end out of order, and the count of the prefix then skips the multiple itself.
        wish || which == Counter::Commands && count / REFRESH != posted / REFRESH
    }

    /// Writes what the NIC posted (by DMA).
    pub fn apply(&self, post: Post) {
        match post {
            // ORDER: Release; pairs with Acquire in `counter`.
            Post::Count(which, count) => self.counters[which as usize].store(count, Ordering::Release),
            Post::Mirror { number, count } => self.events.mirror(number, count),
            Post::Notice(number) => {
                self.events.push(number);
            }
            Post::Reply { cookie, words } => {
                let place = &self.replies[(cookie % REPLIES) as usize];
                for (place, word) in place.words.iter().zip(words.unwrap_or_default()) {
                    place.store(word, Ordering::Relaxed);
                }
                let mark = if words.is_some() { 1 << 32 } else { 1 << 33 };
                // ORDER: Release; pairs with Acquire in `reply`.
                place.of.store(u64::from(cookie) | mark, Ordering::Release);
            }
            Post::Refused(count) => self.refused.store(count, Ordering::Relaxed),
        }
    }
}

/// Whether a count that goes up, and around, has got to another.
#[inline]
pub fn reached(count: u32, wanted: u32) -> bool {
    count.wrapping_sub(wanted) <= u32::MAX / 2
}

/// The doorbell: one queue for all ports of a NIC, which looks at this one place only. An entry is one command of that port.
///
/// It has a place for every command that can be in a queue, so it never overflows.
#[derive(Debug)]
pub struct Doorbell {
    places: Box<[AtomicU32]>,
    rung: AtomicU32,
    answered: AtomicU32,
}

impl Doorbell {
    /// For this many ports.
    pub fn new(ports: u32) -> Doorbell {
        let places = (ports.max(1) * QUEUE).next_power_of_two();
        Doorbell {
            places: prim::words(places as usize, 0),
            rung: AtomicU32::new(0),
            answered: AtomicU32::new(0),
        }
    }

    /// The port has filled the place of its next command. Any thread; after [`PortMemory::put_command`].
    pub fn ring(&self, port: PortId) {
        // ORDER: AcqRel; pairs with itself in other ports: whoever made room (and saw the NIC make it) rang before us, so the NIC's
        // clearing of this place comes before our store.
        let at = self.rung.fetch_add(1, Ordering::AcqRel);
        // ORDER: Release; pairs with Acquire in `answer`; the command.
        self.places[at as usize % self.places.len()].store(port.0.into(), Ordering::Release);
    }

    /// Whether a ring waits to be taken: a hint.
    #[inline]
    pub fn is_rung(&self) -> bool {
        let at = self.answered.load(Ordering::Relaxed);
        self.places[at as usize % self.places.len()].load(Ordering::Relaxed) != 0
    }

    /// Takes the next ring. Only the NIC calls this.
    pub fn answer(&self) -> Option<PortId> {
        let at = self.answered.load(Ordering::Relaxed);
        let place = &self.places[at as usize % self.places.len()];
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
