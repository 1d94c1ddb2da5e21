//! All links between the ranks of a host: for every ordered pair of ranks a request link and a reply link.
//!
//! Few ranks: a poll looks at the front of every incoming link, which is one cache line per peer that stays
//! in the poller's cache while nothing arrives. Many ranks: a sender also sets its bit in the receiver's
//! *pending* words, and a poll looks at the links of set bits only. The bit is set after the message was
//! published and cleared before the link is drained, so a message is never left behind a cleared bit.
//!
//! **Made when first used.** A rank makes its end of a link when it first sends there, or first sees
//! something come: what a rank does and touches at start does not depend on how many others there are, but
//! for a word or two for each.
//!
//! **Full links.** A sender that finds no room leaves a note beside the link's lock: where the receiver was,
//! and how large a message was refused. Until the receiver moves or somebody sends, a message of that size or
//! more finds no room either, which [`Grid::is_full`] says without the lock.
//!
//! **Fairness.** A poll that uses up its budget is continued by the next one behind the sender it stopped at,
//! so a sender that fills its link as fast as it is drained cannot keep others waiting for more than a round.
#![expect(
    unsafe_code,
    reason = "lays out links in shared memory and gives out their exclusive ends under locks"
)]

use super::link::{self, Claim, Inbox, Msg, Outbox, Received, Shape};
use super::map;
use super::ring::Ring;
use crate::conduit::Channel;
use crate::error::Error;
use crate::lock::{Threading, TurnLock};
use crate::prim::{AtomicU64, Ordering};
use core::cell::UnsafeCell;
use core::sync::atomic::AtomicU32;
use gasnet_sys::thread;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Largest number of ranks with which a poll reads every link, if each rank has a processor. Otherwise a poll
/// reads the pending words, which are fewer: on a shared processor the lines of the links have left the cache
/// when the rank runs again.
const MAX_RANKS_SCANNED: u32 = 16;

/// Where the links of a host lie in its shared memory file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GridLayout {
    size: u32,
    scan: bool,
    shape: Shape,
    offset: u64,
}

impl GridLayout {
    pub(crate) fn new(size: u32, max_payload: usize, offset: u64) -> GridLayout {
        GridLayout {
            size,
            scan: size <= MAX_RANKS_SCANNED,
            shape: Shape::for_ranks(size, max_payload),
            offset,
        }
    }

    /// The same for ranks that outnumber the host's `processors`, or not; all ranks must say the same.
    pub(crate) fn on(self, processors: usize) -> GridLayout {
        GridLayout { scan: self.scan && self.size as usize <= processors, ..self }
    }

    /// Bytes of one rank's pending words, for one channel.
    fn pending_bytes(&self) -> usize {
        (self.size as usize).div_ceil(64).next_multiple_of(8) * 8
    }

    fn pending_total(&self) -> usize {
        (self.pending_bytes() * 2 * self.size as usize).next_multiple_of(map::PAGE_BYTES)
    }

    /// Total bytes in the shared memory file.
    pub(crate) fn bytes(&self) -> u64 {
        let n = u64::from(self.size);
        self.pending_total() as u64 + n * n * 2 * self.shape.bytes() as u64
    }

    /// The first byte behind it in that file.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.bytes()
    }

    fn link(&self, base: *mut u8, from: u32, to: u32, channel: Channel) -> *mut u8 {
        let index = (to as usize * self.size as usize + from as usize) * 2 + channel as usize;
        base.wrapping_add(self.pending_total() + index * self.shape.bytes())
    }

    /// # Safety
    /// 1. `base` is where the links are mapped. 2. As [`Inbox::new`]: no other inbox of this link is made
    ///    (both owed by the caller).
    unsafe fn inbox(&self, base: Base, from: u32, to: u32, channel: Channel) -> Inbox {
        // SAFETY: (1), (2); laid out inside the mapping.
        unsafe { Inbox::new(self.shape, self.link(base.0, from, to, channel)) }
    }

    #[inline]
    fn pending(&self, base: *mut u8, of: u32, channel: Channel) -> &'static [AtomicU64] {
        let at = base.wrapping_add((of as usize * 2 + channel as usize) * self.pending_bytes());
        // SAFETY: inside the mapping, which lives as long as the process; atomics accept any bytes;
        // page-aligned base.
        unsafe { core::slice::from_raw_parts(at.cast::<AtomicU64>(), self.pending_bytes() / 8) }
    }
}

struct Locked<T> {
    lock: TurnLock,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached under the lock only.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T> Locked<T> {
    fn new(threading: Threading, value: T) -> Locked<T> {
        Locked { lock: TurnLock::new(threading), value: UnsafeCell::new(value) }
    }
}

/// Start of the links' memory.
#[derive(Clone, Copy)]
struct Base(*mut u8);

// SAFETY: an address; what lies there is shared between processes anyway, and reached under the rules of
// links.
unsafe impl Send for Base {}
// SAFETY: as above.
unsafe impl Sync for Base {}

/// The sending end of a link.
struct OutLink {
    outbox: Locked<Outbox>,
    /// The link's ring, to see where the receiver is.
    ring: Ring<Msg>,
    full: Full,
    /// The number of the thread that prepares a message here, or 0.
    preparing: AtomicU32,
}

/// Tries for an outbox between two looks whether its holder will ever give it back.
const TRIES_BEFORE_LOOK: u32 = 1 << 14;

impl OutLink {
    #[cold]
    fn wait(&self) {
        for tries in 1u32.. {
            if self.outbox.lock.try_lock() {
                return;
            }
            if tries.is_multiple_of(64) {
                std::thread::yield_now()
            } else {
                core::hint::spin_loop()
            }
            if tries == 64 || tries.is_multiple_of(TRIES_BEFORE_LOOK) {
                self.check_holder(tries >= TRIES_BEFORE_LOOK);
            }
        }
    }

    /// Tells of a message that was prepared and forgotten, whose room comes back never.
    fn check_holder(&self, others: bool) {
        // Relaxed: what this thread has stored it sees, and others end after they have stored.
        let holder = self.preparing.load(Ordering::Relaxed);
        let forgotten = holder != 0
            && (holder == thread::number() || others && cfg!(not(miri)) && !thread::exists(holder));
        assert!(
            !forgotten,
            "a message to this rank was prepared, and neither sent nor dropped (it was forgotten, or is still there): nobody \
             can send there any more"
        );
    }
}

/// The note of the last claim that found no room, until one finds some: [`Full::NOTED`], the receiver's
/// position, and the fewest arena bytes that are refused. 0: no note.
struct Full(AtomicU64);

impl Full {
    const NOTED: u64 = 1 << 63;
    const BYTES_BITS: u32 = 20;

    fn word(head: u64, arena_bytes: usize) -> u64 {
        let bytes = (arena_bytes as u64).min((1 << Full::BYTES_BITS) - 1);
        // A note lasts while the receiver is less than a ring behind: so many bits of the position will do.
        Full::NOTED | (head << Full::BYTES_BITS | bytes) & !Full::NOTED
    }

    /// Whether a message with so many arena bytes would be refused. Relaxed, as all accesses: the sender's
    /// position does not change while there is a note, and the receiver's only grows. So if the receiver is
    /// where it was, the answer was right at that moment.
    #[inline]
    fn refuses(&self, head: impl FnOnce() -> u64, arena_bytes: usize) -> bool {
        let note = self.0.load(Ordering::Relaxed);
        if note == 0 {
            return false;
        }
        let refused = note & ((1 << Full::BYTES_BITS) - 1);
        arena_bytes as u64 >= refused && Full::word(head(), refused as usize) == note
    }

    /// Under the outbox's lock: a claim found no room.
    #[cold]
    fn note(&self, head: u64, arena_bytes: usize) {
        self.0.store(Full::word(head, arena_bytes), Ordering::Relaxed);
    }

    /// Under the outbox's lock: a claim found room.
    #[inline]
    fn clear(&self) {
        if self.0.load(Ordering::Relaxed) != 0 {
            self.0.store(0, Ordering::Relaxed);
        }
    }
}

/// One rank's ends of its links.
pub(crate) struct Grid {
    me: u32,
    layout: GridLayout,
    base: Base,
    threading: Threading,
    /// `out[channel][to]`, made when first used; never for this rank itself.
    out: [OutLinks; 2],
    inn: [Locked<Inboxes>; 2],
    /// Rings of the incoming links, to see without the lock that nothing came; empty when there are pending
    /// words.
    rings: [Vec<Ring<Msg>>; 2],
    /// This rank's own pending words, per channel; `None` when polls look at every link.
    pending: Option<[&'static [AtomicU64]; 2]>,
}

/// The sending ends of one channel, by receiver.
type OutLinks = Box<[OnceLock<Box<OutLink>>]>;

/// The receiving ends of one channel.
struct Inboxes {
    /// By sender, made when something first comes; never for this rank itself.
    boxes: Vec<Option<Box<Inbox>>>,
    /// The sender whose link is looked at first.
    first: usize,
}

/// Exclusive use of an outbox. Dropping it without sending costs nothing.
pub(crate) struct Sending<'a> {
    grid: &'a Grid,
    link: &'a OutLink,
    to: u32,
    channel: Channel,
}

impl Grid {
    /// Maps the links of rank `me`. Every rank of the host calls it once with the same layout.
    pub fn map(shm: BorrowedFd<'_>, l: GridLayout, me: u32, threading: Threading) -> Result<Grid, Error> {
        map::grow(shm, l.end())?;
        let base = Base(map::map_shared(shm, l.offset, l.bytes() as usize)?);
        let channels = [Channel::Request, Channel::Reply];
        let mut rings = [Vec::new(), Vec::new()];
        let inn = channels.map(|c| {
            let mut boxes: Vec<Option<Box<Inbox>>> = (0..l.size).map(|_| None).collect();
            if l.scan {
                for (from, slot) in (0..).zip(&mut boxes).filter(|(from, _)| *from != me) {
                    // SAFETY: each rank makes its ends once.
                    let inbox = slot.insert(Box::new(unsafe { l.inbox(base, from, me, c) }));
                    rings[c as usize].push(inbox.ring());
                }
            }
            Locked::new(threading, Inboxes { boxes, first: 0 })
        });
        let out = channels.map(|_| (0..l.size).map(|_| OnceLock::new()).collect());
        let pending = (!l.scan).then(|| channels.map(|c| l.pending(base.0, me, c)));
        Ok(Grid { me, layout: l, base, threading, out, inn, rings, pending })
    }

    /// The sending end of the link to `to`.
    #[inline]
    fn out_link(&self, to: u32, channel: Channel) -> &OutLink {
        let slot = &self.out[channel as usize][to as usize];
        match slot.get() {
            Some(made) => made,
            None => slot.get_or_init(|| self.make_out_link(to, channel)),
        }
    }

    #[cold]
    fn make_out_link(&self, to: u32, channel: Channel) -> Box<OutLink> {
        assert!(to != self.me, "no link to oneself");
        let at = self.layout.link(self.base.0, self.me, to, channel);
        // SAFETY: laid out inside the mapping; each rank makes this end once, before its first message.
        let outbox = unsafe { Outbox::new(self.layout.shape, at) };
        let ring = outbox.ring();
        Box::new(OutLink {
            outbox: Locked::new(self.threading, outbox),
            ring,
            full: Full(AtomicU64::new(0)),
            preparing: AtomicU32::new(0),
        })
    }

    /// Whether a message was refused for want of room, and one with `len` payload bytes and `nargs` arguments
    /// would be now. It takes no lock.
    #[inline]
    pub(crate) fn is_full(&self, to: u32, channel: Channel, len: usize, nargs: usize) -> bool {
        let link = self.out[channel as usize][to as usize].get();
        link.is_some_and(|l| l.full.refuses(|| l.ring.head(), link::arena_bytes(len, nargs)))
    }

    /// Takes the outbox to `to`; waits for another thread of this rank that has it.
    #[inline]
    pub(crate) fn sending(&self, to: u32, channel: Channel) -> Sending<'_> {
        let link = self.out_link(to, channel);
        if !link.outbox.lock.try_lock() {
            link.wait();
        }
        Sending { grid: self, link, to, channel }
    }

    /// Offers up to `budget` messages of one channel to `take`, oldest first per sender; a message for which
    /// `take` answers `false` stays. Returns how many were taken. Does nothing while another thread (or a
    /// handler further up this stack) polls the same channel.
    #[inline]
    pub(crate) fn poll(
        &self,
        channel: Channel,
        budget: usize,
        take: &mut dyn FnMut(u32, &Received) -> bool,
    ) -> usize {
        // Most polls find nothing: they cost loads of lines that only a message takes away, and no lock.
        let any = match &self.pending {
            None => self.rings[channel as usize].iter().any(Ring::has_message),
            Some(own) => own[channel as usize].iter().any(|word| word.load(Ordering::Relaxed) != 0),
        };
        if !any {
            return 0;
        }
        self.poll_locked(channel, budget, take)
    }

    fn poll_locked(
        &self,
        channel: Channel,
        budget: usize,
        take: &mut dyn FnMut(u32, &Received) -> bool,
    ) -> usize {
        let inn = &self.inn[channel as usize];
        if !inn.lock.try_lock() {
            return 0;
        }
        let _unlock = Unlock(&inn.lock);
        // SAFETY: under the lock; `take` cannot reach these inboxes again, because the lock is held.
        let Inboxes { boxes, first } = unsafe { &mut *inn.value.get() };
        if let Some(pending) = &self.pending {
            // SAFETY: each rank makes its ends once: the box keeps it.
            let make = |from| Box::new(unsafe { self.layout.inbox(self.base, from, self.me, channel) });
            return poll_pending(boxes, &make, first, pending[channel as usize], budget, take);
        }
        let mut done = 0;
        let n = boxes.len();
        let mut from = *first;
        for _ in 0..n {
            let next = if from + 1 == n { 0 } else { from + 1 };
            if let Some(inbox) = &mut boxes[from] {
                done += drain(inbox, from as u32, budget - done, take);
                if done == budget {
                    *first = next;
                    break;
                }
            }
            from = next;
        }
        done
    }

    /// From when this returns on, polls find nothing, and none is under way. To be called once. A poll that
    /// is further up this stack, or never ends, is waited for in vain: `false` after `longest`.
    #[must_use]
    pub(crate) fn close(&self, longest: Duration) -> bool {
        let since = Instant::now();
        self.inn.iter().all(|inn| {
            // Never given back: a poll that does not get the lock has nothing to do.
            while !inn.lock.try_lock() {
                if since.elapsed() >= longest {
                    return false;
                }
                std::thread::yield_now();
            }
            true
        })
    }

    pub(crate) fn size(&self) -> u32 {
        self.layout.size
    }

    /// Whether a message of any channel waits for this rank: a hint, but a message that was there before the
    /// call is seen.
    pub(crate) fn has_message(&self) -> bool {
        let bit = |w: &AtomicU64| w.load(Ordering::Relaxed) != 0;
        self.rings.iter().flatten().any(Ring::has_message)
            || self.pending.iter().flatten().any(|own| own.iter().any(bit))
    }
}

/// The part of a poll that goes by pending words.
fn poll_pending(
    boxes: &mut [Option<Box<Inbox>>],
    make: &dyn Fn(u32) -> Box<Inbox>,
    first: &mut usize,
    pending: &[AtomicU64],
    budget: usize,
    take: &mut dyn FnMut(u32, &Received) -> bool,
) -> usize {
    let n = boxes.len();
    let words = n.div_ceil(64);
    let (start, above) = (*first / 64, u64::MAX << (*first % 64));
    let mut done = 0;
    // The word of `first` comes twice: its upper bits at the start, the lower ones at the end.
    for k in 0..=words {
        let w = (start + k) % words;
        let mask = match k {
            0 => above,
            _ if k == words => !above,
            _ => u64::MAX,
        };
        let word = &pending[w];
        if done == budget || word.load(Ordering::Relaxed) & mask == 0 {
            continue;
        }
        // ORDER: AcqRel; pairs with fetch_or in Sending::wake: the messages behind a cleared bit are visible,
        // and a bit set after this belongs to a message this drain may miss.
        let mut bits = word.fetch_and(!mask, Ordering::AcqRel) & mask;
        let mut left = 0;
        while bits != 0 {
            let bit = bits.trailing_zeros();
            bits &= bits - 1;
            let from = w * 64 + bit as usize;
            let Some(slot) = boxes.get_mut(from) else { continue };
            let inbox = slot.get_or_insert_with(|| make(from as u32));
            if done < budget {
                done += drain(inbox, from as u32, budget - done, take);
                if done == budget {
                    *first = (from + 1) % n;
                }
            }
            if inbox.front().is_some() {
                left |= 1 << bit;
            }
        }
        if left != 0 {
            // ORDER: Relaxed; read again by this rank only.
            word.fetch_or(left, Ordering::Relaxed);
        }
    }
    done
}

#[inline]
fn drain(inbox: &mut Inbox, from: u32, budget: usize, take: &mut dyn FnMut(u32, &Received) -> bool) -> usize {
    let mut done = 0;
    while done < budget {
        let Some(m) = inbox.front() else { break };
        if !take(from, &m) {
            break;
        }
        inbox.release();
        done += 1;
    }
    if done > 0 {
        inbox.flush();
    }
    done
}

struct Unlock<'a>(&'a TurnLock);
impl Drop for Unlock<'_> {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

impl Sending<'_> {
    #[inline]
    fn outbox(&mut self) -> &mut Outbox {
        // SAFETY: `self` holds the lock.
        unsafe { &mut *self.link.outbox.value.get() }
    }

    /// See [`Outbox::claim`].
    #[inline]
    pub(crate) fn claim(&mut self, len: usize, nargs: usize) -> Option<Claim> {
        let claim = self.outbox().claim(len, nargs);
        match claim {
            Some(_) => self.link.full.clear(),
            None => {
                let (head, no_slot) = self.outbox().receiver_seen();
                self.link.full.note(head, if no_slot { 0 } else { link::arena_bytes(len, nargs) });
            }
        }
        claim
    }

    /// See [`Outbox::reclaim`].
    pub(crate) fn reclaim(&mut self, payload: *mut u8, end: u64) -> Claim {
        self.outbox().reclaim(payload, end)
    }

    /// See [`Outbox::publish`]; also sets the receiver's pending bit.
    ///
    /// # Safety
    /// As [`Outbox::publish`].
    #[inline]
    pub(crate) unsafe fn publish(
        &mut self,
        claim: Claim,
        kind: u8,
        handler: u8,
        args: &[u32],
        body: super::link::Body,
    ) {
        // SAFETY: owed by the caller.
        unsafe { self.outbox().publish(claim, kind, handler, args, body) };
        self.wake();
    }

    #[inline]
    fn wake(&self) {
        let grid = self.grid;
        if grid.pending.is_some() {
            let words = grid.layout.pending(grid.base.0, self.to, self.channel);
            let word = &words[grid.me as usize / 64];
            // ORDER: Release; pairs with the swap in Grid::poll; the published message is visible to who sees
            // the bit.
            word.fetch_or(1 << (grid.me % 64), Ordering::Release);
        }
    }

    /// Keeps the outbox taken beyond this guard's life, for a reservation; ends with [`Grid::resume`].
    pub(crate) fn suspend(self) {
        // Relaxed, also where it ends: a hint for those who wait for the outbox.
        self.link.preparing.store(thread::number(), Ordering::Relaxed);
        core::mem::forget(self);
    }
}

impl Grid {
    /// Takes up a sending that was suspended.
    ///
    /// # Safety
    /// 1. Exactly one `resume` per [`Sending::suspend`], with the same peer and channel (owed by the caller).
    pub(crate) unsafe fn resume(&self, to: u32, channel: Channel) -> Sending<'_> {
        let link = self.out_link(to, channel);
        link.preparing.store(0, Ordering::Relaxed);
        Sending { grid: self, link, to, channel }
    }
}

impl Drop for Sending<'_> {
    #[inline]
    fn drop(&mut self) {
        self.link.outbox.lock.unlock();
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::shm::link::Msg;
    use crate::shm::ring::{Consumer, Producer, Slot};

    /// A sender publishes and sets its bit while the receiver clears bits, drains with a small budget, and
    /// puts back what is left: when the sender has finished, polling until nothing comes finds every message.
    #[test]
    fn loom_no_message_stays_behind_a_cleared_bit() {
        loom::model(|| {
            const N: usize = 2;
            let ring = Slot::<Msg>::leak_ring(N);
            let pending: &'static [AtomicU64] = Box::leak(Box::new([AtomicU64::new(0)]));
            // SAFETY: the only producer and consumer of a fresh ring.
            let (mut p, c) = unsafe { (Producer::new(ring), Consumer::new(ring)) };
            let sender = loom::thread::spawn(move || {
                for _ in 0..N {
                    p.push(|_| ());
                    // As Sending::wake does.
                    pending[0].fetch_or(2, Ordering::Release);
                }
            });
            let mut boxes = [None, Some(Box::new(Inbox::model(c)))];
            let make = |_| panic!("nothing comes from there");
            let mut first = 0;
            let mut poll = || poll_pending(&mut boxes, &make, &mut first, pending, 1, &mut |_, _| true);
            let mut got = poll() + poll();
            sender.join().unwrap();
            loop {
                match poll() {
                    0 => break,
                    n => got += n,
                }
            }
            assert_eq!(got, N);
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::am::frame::MAX_ARGUMENTS;
    use crate::shm::link::Body;
    use std::os::fd::AsFd;

    /// The grids of all ranks of a host, in one process.
    fn grids(size: u32) -> Vec<Grid> {
        let file = gasnet_sys::fd::memory_file("grid-test").unwrap();
        let layout = GridLayout::new(size, 4096, 0);
        (0..size).map(|me| Grid::map(file.as_fd(), layout, me, Threading::Parallel).unwrap()).collect()
    }

    fn send(grid: &Grid, to: u32, word: u32) -> bool {
        let mut sending = grid.sending(to, Channel::Request);
        let Some(claim) = sending.claim(0, 1) else { return false };
        // SAFETY: the claim just made, with nothing in it.
        unsafe { sending.publish(claim, 0, 0, &[word], Body::Empty) };
        true
    }

    /// Ranks 0 and 1 keep their links full; a message of each other rank still arrives within a round, and
    /// every message of the flood exactly once and in order.
    #[test]
    fn a_flood_does_not_keep_others_waiting() {
        // For Miri, which makes all of the memory, few.
        let sizes = [5, MAX_RANKS_SCANNED, 70, 130];
        for &size in &sizes[..if cfg!(miri) { 1 } else { sizes.len() }] {
            let all = grids(size);
            let (me, others) = (size - 1, 2..size - 1);
            let mut sent = [0u32; 2];
            let mut got = vec![0u32; size as usize];
            for r in others.clone() {
                assert!(send(&all[r as usize], me, 0));
            }
            let budget = 16;
            for _ in 0..size {
                for r in 0..2u32 {
                    while send(&all[r as usize], me, sent[r as usize]) {
                        sent[r as usize] += 1;
                    }
                }
                let n = all[me as usize].poll(Channel::Request, budget, &mut |from, m| {
                    assert_eq!(m.args[0], got[from as usize], "from {from}");
                    got[from as usize] += 1;
                    true
                });
                assert_eq!(n, budget);
            }
            assert!(others.clone().all(|r| got[r as usize] == 1), "{size} ranks: {got:?}");
            while all[me as usize].poll(Channel::Request, budget, &mut |from, _| {
                got[from as usize] += 1;
                true
            }) > 0
            {}
            assert_eq!(got[..2], sent[..]);
        }
    }

    /// Messages that come after the inboxes were closed are never taken out, and a poll that is under way is
    /// waited for.
    #[test]
    fn closed_inboxes_are_silent() {
        let all = grids(2);
        let poll = |me: usize| all[me].poll(Channel::Request, 9, &mut |_, _| true);
        assert!(send(&all[0], 1, 1) && poll(1) == 1);
        assert!(send(&all[0], 1, 2));
        let (begun, closed) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            let (all, begun, closed) = (&all, &begun, &closed);
            let poll = scope.spawn(move || {
                all[1].poll(Channel::Request, 9, &mut |_, _| {
                    begun.store(1, Ordering::Relaxed);
                    // Long enough for the other thread to close, if it did not wait.
                    (0..1000).for_each(|_| std::thread::yield_now());
                    assert_eq!(closed.load(Ordering::Relaxed), 0, "closed in the middle of a poll");
                    true
                })
            });
            while begun.load(Ordering::Relaxed) == 0 {
                std::thread::yield_now();
            }
            assert!(all[1].close(Duration::MAX));
            closed.store(1, Ordering::Relaxed);
            assert_eq!(poll.join().unwrap(), 1);
        });
        assert!(send(&all[0], 1, 3));
        assert_eq!((poll(1), poll(0)), (0, 0));
        // A poll that never ends is not waited for longer than that.
        assert!(!all[1].close(Duration::ZERO));
        assert!(send(&all[1], 0, 4) && poll(0) == 1, "the other rank is not concerned");
    }

    /// A rank's ends are made when they are used: starting costs no rank more for having many others, and no
    /// page of a link is touched.
    #[test]
    #[cfg_attr(miri, ignore = "asks the kernel for pages")]
    fn ends_are_made_when_first_used() {
        const RANKS: u32 = 300;
        let all = grids(RANKS);
        let made = |g: &Grid| {
            let out: usize = g.out.iter().flatten().filter(|slot| slot.get().is_some()).count();
            // SAFETY: nobody else polls.
            let inn = g.inn.iter().flat_map(|i| unsafe { &(*i.value.get()).boxes }).flatten().count();
            (out, inn)
        };
        assert!(all.iter().all(|g| made(g) == (0, 0)));
        assert_eq!(resident(&all[7]), 0, "a link was touched");
        assert!(send(&all[7], 250, 1) && send(&all[7], 250, 2));
        assert_eq!(all[250].poll(Channel::Request, 9, &mut |from, _| from == 7), 2);
        assert_eq!((made(&all[7]), made(&all[250]), made(&all[8])), ((1, 0), (0, 1), (0, 0)));
        assert!(resident(&all[7]) <= 2, "the pages of one link");
    }

    /// Pages of the links' memory that exist, in any process.
    fn resident(grid: &Grid) -> usize {
        // A part of it: asking for all would take an entry for each page.
        let bytes = 64 << 20;
        let first = grid.layout.link(grid.base.0, 0, 250, Channel::Request);
        let mut pages = vec![0u8; bytes / map::PAGE_BYTES];
        // SAFETY: a page-aligned part of the mapping, and an entry for each of its pages.
        assert_eq!(unsafe { libc::mincore(first.cast(), bytes, pages.as_mut_ptr()) }, 0);
        pages.iter().filter(|p| **p & 1 == 1).count()
    }

    /// Messages of random sizes, and polls: a link that says it is full refuses, one that refused says so to
    /// messages of that size until the receiver moves, and one that took a message says nothing.
    #[test]
    fn a_full_link_says_so() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let all = grids(2);
        let mut told = 0;
        let rounds = if cfg!(miri) { 300 } else { 20_000 };
        for _ in 0..rounds {
            if rng.u32(..40) == 0 {
                all[1].poll(Channel::Request, rng.usize(1..64), &mut |_, _| true);
            }
            let (len, nargs) = (*rng.choice(&[0, 64, 65, 1000, 4096]).unwrap(), rng.usize(..=MAX_ARGUMENTS));
            let full = all[0].is_full(1, Channel::Request, len, nargs);
            let mut sending = all[0].sending(1, Channel::Request);
            let claim = sending.claim(len, nargs);
            assert!(!(full && claim.is_some()), "seed {seed}: it said full and was not");
            let refused = claim.is_none();
            if let Some(claim) = claim {
                let bytes = [0; 64];
                let body = match (len, claim.payload.is_null()) {
                    (0, _) => Body::Empty,
                    (_, true) => Body::Inline(bytes.as_ptr(), len),
                    (_, false) => Body::Arena(len),
                };
                // SAFETY: the claim just made; an inline payload has at most 64 bytes.
                unsafe { sending.publish(claim, 0, 0, &[0; MAX_ARGUMENTS][..nargs], body) };
            }
            drop(sending);
            assert_eq!(all[0].is_full(1, Channel::Request, len, nargs), refused, "seed {seed}");
            told += u32::from(full);
        }
        assert!(told > rounds / 40, "seed {seed}: {told} times");
    }

    /// A message that is refused stays where it is and is offered again.
    #[test]
    fn a_refused_message_stays() {
        for size in [3, if cfg!(miri) { 4 } else { 40 }] {
            let all = grids(size);
            assert!(send(&all[1], 0, 7) && send(&all[1], 0, 8));
            let mut seen = Vec::new();
            for answer in [false, false, true] {
                all[0].poll(Channel::Request, 1, &mut |_, m| {
                    seen.push(m.args[0]);
                    answer
                });
            }
            assert_eq!(seen, [7, 7, 7]);
            assert_eq!(all[0].poll(Channel::Request, 9, &mut |_, m| m.args[0] == 8), 1);
        }
    }
}
