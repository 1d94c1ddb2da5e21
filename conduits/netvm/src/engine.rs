//! The NIC: the firmware with its connections, and the thread that runs it.
//!
//! **Who runs it.** Any thread that finds the engine free: the engine's own, or a thread of the rank that
//! polls. A thread that finds it taken leaves a mark ([`Card::again`]), and the thread that releases it looks
//! at the mark. So work that was left before an attempt that failed is always done.
//!
//! The host's paging thread runs it too, while pages are on their way from or to peers: it saves a change of
//! threads for each. But the firmware may touch a page that only that thread can bring (the program has
//! dropped it). So it leaves DMA of paged memory to the other threads ([`Runner`]): DMA may end in any order.
//!
//! **DMA** is an immediate copy of bytes in a frame that the firmware has locked. The host may have protected
//! such a page against writes for a moment; the host's thread then lifts the protection without asking the
//! NIC for anything.
//!
//! **The wire** is a ring in shared memory for every ordered pair of NICs of a host, and a network between
//! hosts ([`crate::far`]). Packets without room wait in a backlog, which the firmware's windows bound.

use crate::desk::Desks;
use crate::far::Far;
use crate::lanes::QUEUE_BYTES;
use crate::lending::{PAGER_PORT, PagerPort};
use crate::news::News;
use crate::sys::{refused, spawn};
use gasnet_sys::fd::Bell;
use gasnet_sys::mutex::lock;
use gasnet_wire::conduit::Channel;
use gasnet_wire::{Error, FrameGrid, RankId};
use netvm_fw::nic::{HostReply, Interrupt, Nic, NicAction, NicEvent, NicStats, NicWork, QueuePlace};
use netvm_fw::port::{Doorbell, PortMemory, Post};
use netvm_fw::region::RegionMemory;
use netvm_fw::shadow::Lease;
use netvm_fw::wire::{HEAD_BYTES, Head, Span};
use netvm_fw::{Key, PageMemory, PortId, Vpn};
use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The port of a rank on its NIC.
pub(crate) const PORT: PortId = PortId(1);
/// The first event count of the core; 0 is no event.
pub(crate) const FIRST_EVENT: u32 = 1;
/// Most events that one call handles before it lets others have the engine.
const MAX_EVENTS_PER_TURN: usize = 256;
/// Packets taken from the wire in one go.
const PACKETS_PER_POLL: usize = 32;
/// Empty turns of the thread before it sleeps: with a processor of its own, and on a processor shared with a
/// program.
const EMPTY_TURNS_BEFORE_SLEEP: [u32; 2] = [2000, 20];

/// How long the listener sleeps when others run the NIC.
const LISTENER_BACKOFF: Duration = Duration::from_micros(50);

/// Who runs the NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runner {
    /// A thread that may wait for a page.
    Waiter,
    /// The paging thread. It carries out no DMA that may have to wait for a page, and needs no ring.
    Pager,
}

/// The receiver of the firmware's interrupts.
pub(crate) trait HostHalf: Send + Sync {
    /// The NIC interrupts. Must not block. [`flush`](Self::flush) must follow.
    fn interrupt(&self, interrupt: Interrupt);
    /// All interrupts of a turn have been reported.
    fn flush(&self);
}

/// The NIC of a rank.
pub(crate) struct Card {
    me: u32,
    pub(crate) desks: Desks,
    wire: FrameGrid,
    /// The wire to other hosts, if there are any.
    pub(crate) far: Option<Far>,
    /// The error that stopped the NIC.
    broken: OnceLock<String>,
    pub(crate) bell: Arc<Doorbell>,
    pub(crate) port: Arc<PortMemory>,
    /// The port of the rank's pager.
    pub(crate) pager: Arc<PagerPort>,
    /// `None` until the rank has its segment.
    engine: Mutex<Option<NicEngine>>,
    /// A thread found the engine taken.
    again: AtomicBool,
    replies: Mutex<VecDeque<HostReply>>,
    waiting_replies: AtomicBool,
    /// The engine has events or packets that it did not handle yet.
    left: AtomicBool,
    /// Approximate number of notifications and messages that came: it changes after each.
    raised: AtomicU64,
    /// Readable when the rank should poll.
    news: News,
    /// There are more threads than processors.
    crowded: bool,
    stop: AtomicBool,
    pub(crate) counts: CardCounters,
}

/// Counters of the NIC beside those of its firmware.
#[derive(Default)]
pub(crate) struct CardCounters {
    /// Packets that arrived on the wire, their bytes, and the number of them from other hosts.
    pub(crate) packets: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) far: AtomicU64,
    /// How often the thread was woken, and turns in which the rank did the NIC's work.
    pub(crate) wakes: AtomicU64,
    pub(crate) attended: AtomicU64,
    /// Packets that waited for room on the wire.
    pub(crate) backlogged: AtomicU64,
}

impl CardCounters {
    pub(crate) fn add(counter: &AtomicU64, n: usize) {
        counter.fetch_add(n as u64, Ordering::Relaxed);
    }
}

/// A packet.
type Packet = (Head, Vec<u8>);

/// The firmware and its surroundings.
pub(crate) struct NicEngine {
    nic: Nic,
    memory: Arc<dyn PageMemory + Send + Sync>,
    host: Arc<dyn HostHalf>,
    events: VecDeque<NicEvent>,
    out: Vec<NicAction>,
    /// DMA of paged memory that the paging thread has left to others.
    put_off: VecDeque<NicAction>,
    /// Packets that found no room on the wire, by peer.
    backlog: Vec<VecDeque<Packet>>,
    backlogged: usize,
    /// Peers to which this turn sent packets.
    reached: Vec<u32>,
    /// The port's memory has changed.
    news: bool,
    /// This turn interrupted the host.
    interrupted: bool,
}

impl Card {
    /// A NIC that is not running yet.
    pub(crate) fn new(
        me: u32,
        desks: Desks,
        wire: FrameGrid,
        size: u32,
        crowded: bool,
        shared: bool,
        far: impl FnOnce(std::os::fd::BorrowedFd<'_>) -> Result<Option<Far>, Error>,
    ) -> Result<Card, Error> {
        // With a progress thread, one thread may sleep while another polls.
        let events = FIRST_EVENT + gasnet_wire::port::EVENTS;
        let news = News::new(Bell::new().map_err(refused("event descriptor"))?, shared);
        Ok(Card {
            me,
            desks,
            wire,
            far: far(news.bell().as_fd())?,
            broken: OnceLock::new(),
            bell: Arc::new(Doorbell::new(2)),
            port: Arc::new(PortMemory::new(events, 64).with_queues(&QUEUE_BYTES, size)),
            pager: Arc::new(PagerPort::new()),
            engine: Mutex::new(None),
            again: AtomicBool::new(false),
            replies: Mutex::default(),
            waiting_replies: AtomicBool::new(false),
            left: AtomicBool::new(false),
            raised: AtomicU64::new(0),
            news,
            crowded,
            stop: AtomicBool::new(false),
            counts: CardCounters::default(),
        })
    }

    /// Installs the firmware, and starts the threads.
    pub(crate) fn start(
        self: &Arc<Card>,
        mut nic: Nic,
        queues: &[QueuePlace],
        size: u32,
        memory: Arc<dyn PageMemory + Send + Sync>,
        host: Arc<dyn HostHalf>,
    ) -> Result<Vec<JoinHandle<()>>, Error> {
        nic.open_port(PORT, self.port.clone());
        for place in queues {
            nic.open_queue(*place);
        }
        nic.open_pager_port(PAGER_PORT, self.pager.memory.clone());
        *self.engine() = Some(NicEngine {
            nic,
            memory,
            host,
            events: VecDeque::new(),
            out: Vec::new(),
            put_off: VecDeque::new(),
            backlog: (0..size).map(|_| VecDeque::new()).collect(),
            backlogged: 0,
            reached: Vec::new(),
            news: false,
            interrupted: false,
        });
        let card = self.clone();
        let mut threads = vec![spawn("netvm-nic", move || card.serve())?];
        if self.far.is_some() {
            let card = self.clone();
            threads.push(spawn("netvm-wire", move || card.listen())?);
        }
        Ok(threads)
    }

    /// Tells the threads to end; they see it at their next look.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        // ORDER: SeqCst; pairs with the fence in Desks::sleep.
        fence(Ordering::SeqCst);
        self.desks.rouse(self.me);
    }

    /// Removes the firmware. Its thread has ended.
    pub(crate) fn end(&self) {
        drop(self.engine().take());
    }

    fn engine(&self) -> MutexGuard<'_, Option<NicEngine>> {
        lock(&self.engine)
    }

    /// The counters of the firmware.
    pub(crate) fn stats(&self) -> NicStats {
        self.engine().as_ref().map_or_else(NicStats::default, |engine| engine.nic.stats())
    }

    /// Whether nothing is under way in the NIC.
    pub(crate) fn is_idle(&self) -> bool {
        self.engine().as_ref().is_none_or(|e| e.events.is_empty() && e.backlogged == 0 && e.nic.is_idle())
    }

    /// Whether the NIC has work. A hint, for callers that ask again: it costs a few loads, where
    /// [`run`](Self::run) takes locks.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        self.bell.is_rung()
            || self.wire.has_frame()
            || self.waiting_replies.load(Ordering::Relaxed)
            || self.left.load(Ordering::Relaxed)
            || self.far.is_some()
    }

    /// Changes with every notification and message of the port: a caller that has handled all of them need
    /// not look again while it stays the same.
    #[inline]
    pub(crate) fn raised(&self) -> u64 {
        // ORDER: Acquire; pairs with Release in `NicEngine::raised`; the count of the notification, the entry
        // of the message.
        self.raised.load(Ordering::Acquire)
    }

    /// Runs the NIC unless another thread does; returns how many events it handled, and whether there is news
    /// for the rank.
    fn run(&self) -> (usize, bool) {
        self.run_as(Runner::Waiter)
    }

    fn run_as(&self, runner: Runner) -> (usize, bool) {
        let (mut done, mut news) = (0, false);
        loop {
            let mut guard = match self.engine.try_lock() {
                Ok(guard) => guard,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    // ORDER: SeqCst; pairs with the swap below: the thread that has the engine sees the mark
                    // after releasing it, or we find the engine free.
                    self.again.store(true, Ordering::SeqCst);
                    fence(Ordering::SeqCst);
                    match self.engine.try_lock() {
                        Ok(guard) => guard,
                        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                        Err(TryLockError::WouldBlock) => return (done, news),
                    }
                }
            };
            if let Some(engine) = guard.as_mut() {
                done += engine.turn(self, runner);
                news |= core::mem::take(&mut engine.news);
            }
            drop(guard);
            // ORDER: SeqCst; pairs with the fence above.
            fence(Ordering::SeqCst);
            if !self.again.swap(false, Ordering::SeqCst) {
                return (done, news);
            }
        }
    }

    /// A thread of the rank polls, and will do the NIC's [work](Self::work).
    pub(crate) fn attend(&self) {
        self.desks.attend();
        self.news.attend();
    }

    /// A thread of the rank is about to sleep until the [descriptor](Self::descriptor) is readable.
    pub(crate) fn leave(&self) {
        self.news.rest();
        // It has a fence.
        self.desks.depart();
        // Earlier work woke nobody.
        if self.run().0 > 0 || self.news.is_told() {
            self.tell();
        }
        self.hand_over();
    }

    /// Does the NIC's work, unless its own thread is awake and has a processor for it. For a thread of the
    /// rank that polls, or has left work.
    pub(crate) fn work(&self) -> usize {
        if !self.has_work() || !self.crowded && self.desks.awake() {
            return 0;
        }
        let (done, news) = self.run();
        if news && self.news.is_shared() {
            self.tell();
        }
        self.hand_over();
        if done > 0 {
            CardCounters::add(&self.counts.attended, 1);
        }
        done
    }

    /// A thread of the rank has run the NIC, and may not come back soon: nobody else rings when there is room
    /// for the backlog.
    fn hand_over(&self) {
        if self.left.load(Ordering::Relaxed) {
            self.desks.ring(self.me);
        }
    }

    /// Lets the firmware access the regions of the rank.
    pub(crate) fn open_regions(&self, regions: Arc<dyn RegionMemory>) {
        if let Some(engine) = self.engine().as_mut() {
            engine.nic.open_regions(regions);
        }
    }

    /// Leases a page of the rank, if it is resident.
    pub(crate) fn lease(&self, page: u64, key: Key) -> Option<Lease> {
        let vpn = Vpn::new(PORT, page);
        self.engine().as_mut()?.nic.lease(Span::new(vpn, key, 0, 0)).ok()
    }

    /// Ends a lease.
    pub(crate) fn end_lease(&self, lease: Lease) {
        if let Some(engine) = self.engine().as_mut() {
            engine.nic.end_lease(lease);
        }
    }

    /// Wakes the rank's threads, which may be asleep.
    pub(crate) fn tell(&self) {
        self.news.tell();
    }

    /// The descriptor that becomes readable when the rank should poll.
    pub(crate) fn descriptor(&self) -> std::os::fd::BorrowedFd<'_> {
        self.far.as_ref().map_or_else(|| self.news.bell().as_fd(), Far::descriptor)
    }

    /// Why packets to other hosts cannot be sent.
    pub(crate) fn broken(&self) -> Option<&str> {
        self.broken.get().map(String::as_str)
    }

    #[cold]
    fn breaks(&self, why: &Error) {
        if self.broken.set(why.to_string()).is_ok() {
            self.tell();
        }
    }

    /// Hands a reply of the host to the NIC. Called on the host's thread.
    pub(crate) fn reply(&self, reply: HostReply) {
        lock(&self.replies).push_back(reply);
        // ORDER: Release; pairs with Acquire in `turn`.
        self.waiting_replies.store(true, Ordering::Release);
        self.desks.ring(self.me);
    }

    /// Does the NIC's work on the paging thread, unless its own thread is awake and has a processor for it.
    /// Returns whether something was done.
    pub(crate) fn work_for_pager(&self) -> bool {
        if !self.has_work() || !self.crowded && self.desks.awake() {
            return false;
        }
        let (done, news) = self.run_as(Runner::Pager);
        if news {
            self.tell();
        }
        if done > 0 && self.left.load(Ordering::Relaxed) {
            // ORDER: SeqCst; pairs with the fence in Desks::sleep.
            fence(Ordering::SeqCst);
            self.desks.rouse(self.me);
        }
        done > 0
    }

    /// The paging thread is about to sleep while transfers of its own are under way: from now on work for the
    /// NIC wakes the NIC's thread, because a rank that waits for a page does not attend. Returns whether
    /// there was work.
    pub(crate) fn leave_to_thread(&self) -> bool {
        // It has a fence.
        self.desks.depart();
        self.work_for_pager()
    }

    /// Whether there are more threads than processors.
    pub(crate) fn is_crowded(&self) -> bool {
        self.crowded
    }

    /// The listener's thread.
    fn listen(&self) {
        let Some(far) = &self.far else { return };
        while !self.stop.load(Ordering::Relaxed) && self.broken().is_none() {
            if self.desks.attended() {
                // The rank looks itself, but may stop polling.
                std::thread::sleep(self.desks.shift());
            } else {
                far.sleep();
            }
            let (done, news) = self.run();
            if news {
                self.tell();
            }
            if done == 0 {
                // Another thread runs the NIC.
                std::thread::sleep(LISTENER_BACKOFF);
            }
        }
    }

    /// The NIC's thread.
    fn serve(&self) {
        let linger = EMPTY_TURNS_BEFORE_SLEEP[usize::from(self.crowded)];
        let mut empty = 0;
        while !self.stop.load(Ordering::Relaxed) {
            let (done, news) = self.run();
            if news {
                self.tell();
            }
            if done > 0 {
                empty = 0;
                continue;
            }
            empty += 1;
            if empty < linger && !(self.crowded && self.desks.attended()) {
                if self.crowded {
                    std::thread::yield_now()
                } else {
                    core::hint::spin_loop()
                }
                continue;
            }
            let soon = self.engine().as_ref().is_some_and(|e| e.backlogged > 0);
            self.desks.sleep(soon, || {
                let (done, news) = self.run();
                if news {
                    self.tell();
                }
                done > 0 || self.stop.load(Ordering::Relaxed)
            });
            CardCounters::add(&self.counts.wakes, 1);
            empty = 0;
        }
    }
}

impl NicEngine {
    /// Handles what came from all sources, until there is nothing left or the turn is over.
    fn turn(&mut self, card: &Card, runner: Runner) -> usize {
        let mut done = 0;
        self.flush(card);
        if runner == Runner::Waiter {
            core::mem::take(&mut self.put_off).into_iter().for_each(|dma| self.act(card, dma, runner));
        }
        while done < MAX_EVENTS_PER_TURN {
            self.collect(card);
            if self.events.is_empty() {
                break;
            }
            while let Some(event) = self.events.pop_front() {
                done += 1;
                let mut out = core::mem::take(&mut self.out);
                self.nic.handle(0, event, &mut out);
                out.drain(..).for_each(|action| self.act(card, action, runner));
                self.out = out;
            }
        }
        if core::mem::take(&mut self.interrupted) {
            self.host.flush();
        }
        for to in self.reached.drain(..) {
            if card.far.as_ref().is_none_or(|far| !far.has(to)) {
                card.desks.ring(to);
            }
        }
        let left = !self.events.is_empty() || self.backlogged > 0 || !self.put_off.is_empty();
        card.left.store(left, Ordering::Relaxed);
        done
    }

    fn collect(&mut self, card: &Card) {
        // ORDER: Acquire; pairs with Release in `reply`. The mark is cleared before the queue is emptied, so
        // no reply is left behind.
        if card.waiting_replies.load(Ordering::Relaxed) && card.waiting_replies.swap(false, Ordering::Acquire)
        {
            let mut replies = lock(&card.replies);
            self.events.extend(replies.drain(..).map(NicEvent::Host));
        }
        while let Some(port) = card.bell.answer() {
            self.events.push_back(NicEvent::Doorbell(port));
        }
        let events = &mut self.events;
        let mut bytes = 0;
        let mut take = |frame: gasnet_wire::conduit::Frame| {
            bytes += frame.len;
            if let Some((head, payload)) = packet(&frame) {
                events.push_back(NicEvent::Packet { head, payload });
            }
        };
        let mut packets = card.wire.poll(Channel::Request, PACKETS_PER_POLL, u64::MAX, &mut take);
        if let Some(far) = &card.far
            && card.broken().is_none()
        {
            match far.poll(&card.desks, &mut take) {
                Ok(more) => {
                    packets += more;
                    CardCounters::add(&card.counts.far, more);
                }
                Err(why) => card.breaks(&why),
            }
        }
        if packets > 0 {
            CardCounters::add(&card.counts.packets, packets);
            CardCounters::add(&card.counts.bytes, bytes);
        }
    }

    fn act(&mut self, card: &Card, action: NicAction, runner: Runner) {
        let waits = match &action {
            NicAction::DmaRead { from, .. } => self.memory.may_wait(from.at),
            NicAction::DmaWrite { to, .. } => self.memory.may_wait(*to),
            _ => false,
        };
        if waits && runner == Runner::Pager {
            return self.put_off.push_back(action);
        }
        match action {
            NicAction::NicWork(NicWork::Raise) => self.raised(card),
            // The rank may sleep until a word of its memory changes.
            NicAction::NicWork(NicWork::Region(_)) => self.news = true,
            NicAction::NicWork(_) => {}
            NicAction::DmaRead { op, from, mut into } => {
                into.resize(from.len as usize, 0);
                self.memory.read(from.at, &mut into);
                self.events.push_back(NicEvent::DmaRead { op, data: into });
            }
            NicAction::DmaWrite { op, to, data } => {
                self.memory.write(to, &data);
                // The rank may sleep until a word of its own segment changes.
                self.news = true;
                self.events.push_back(NicEvent::DmaWritten { op, data });
            }
            NicAction::Send { head, payload, .. } => {
                let to = head.to.0;
                if to == card.me {
                    self.events.push_back(NicEvent::Packet { head, payload });
                    return;
                }
                let waits = &mut self.backlog[to as usize];
                if !waits.is_empty() || !send(card, &head, &payload) {
                    waits.push_back((head, payload));
                    self.backlogged += 1;
                    CardCounters::add(&card.counts.backlogged, 1);
                }
                if !self.reached.contains(&to) {
                    self.reached.push(to);
                }
            }
            // It looks when it has run the NIC.
            NicAction::Post(PAGER_PORT, post) if runner == Runner::Pager => card.pager.memory.apply(post),
            NicAction::Post(PAGER_PORT, post) => card.pager.posted(post),
            NicAction::Post(_, post @ Post::Appended { .. }) => {
                card.port.apply(post);
                self.raised(card);
            }
            NicAction::Post(_, post) => {
                self.news |= !matches!(post, Post::Mirror { .. });
                card.port.apply(post);
            }
            NicAction::Interrupt(Interrupt::Notice(_)) => self.news = true,
            NicAction::Interrupt(interrupt) => {
                self.host.interrupt(interrupt);
                self.interrupted = true;
            }
        }
    }

    /// A notification or a message has come.
    fn raised(&mut self, card: &Card) {
        self.news = true;
        // ORDER: Release; pairs with Acquire in `Card::raised`. Only the thread that has the engine writes
        // it.
        card.raised.store(card.raised.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// Sends packets of the backlog.
    fn flush(&mut self, card: &Card) {
        if self.backlogged == 0 {
            return;
        }
        for (to, waits) in self.backlog.iter_mut().enumerate() {
            while let Some((head, payload)) = waits.front()
                && send(card, head, payload)
            {
                waits.pop_front();
                self.backlogged -= 1;
                if !self.reached.contains(&(to as u32)) {
                    self.reached.push(to as u32);
                }
            }
        }
    }
}

/// Puts a packet on the wire. Returns false if there is no room.
fn send(card: &Card, head: &Head, payload: &[u8]) -> bool {
    match &card.far {
        Some(far) if far.has(head.to.0) => far.send(head, payload).unwrap_or_else(|why| {
            // The job ends.
            card.breaks(&why);
            true
        }),
        _ => send_here(&card.wire, head, payload),
    }
}

#[expect(unsafe_code, reason = "fills a slot of the ring in place")]
fn send_here(wire: &FrameGrid, head: &Head, payload: &[u8]) -> bool {
    let to = RankId(head.to.0);
    let Some(slot) = wire.reserve(to, Channel::Request, HEAD_BYTES + payload.len()) else { return false };
    // SAFETY: the slot has that many bytes, which are ours until it is committed; committed once, filled.
    unsafe {
        core::ptr::copy_nonoverlapping(head.to_bytes().as_ptr(), slot.buf.as_ptr(), HEAD_BYTES);
        core::ptr::copy_nonoverlapping(payload.as_ptr(), slot.buf.as_ptr().add(HEAD_BYTES), payload.len());
        wire.commit(slot, 0);
    }
    true
}

/// The packet in a frame of the wire.
#[expect(unsafe_code, reason = "reads a frame in place")]
fn packet(frame: &gasnet_wire::conduit::Frame) -> Option<Packet> {
    // SAFETY: a frame's bytes are valid during its delivery.
    let bytes = unsafe { core::slice::from_raw_parts(frame.data, frame.len) };
    let (head, payload) = Head::from_bytes(bytes).ok()?;
    Some((head, payload.to_vec()))
}

/// How long the thread of a NIC sleeps whose rank polls: longer if more threads share a processor.
pub(crate) fn shift(ranks: u32, processors: usize) -> Duration {
    Duration::from_millis(u64::from(2 * ranks).div_ceil(processors.max(1) as u64).clamp(1, 20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gasnet_wire::boot::Exchange;
    use gasnet_wire::conduit::OpenContext;
    use gasnet_wire::{Config, OneThread, Threading};
    use netvm_fw::host::Segment;
    use netvm_fw::library::{Library, Transfer};
    use netvm_fw::shadow::{Geometry, table};
    use netvm_fw::{FrameAddress, Node, PAGE, Ppn};
    use std::os::fd::AsFd;

    struct Nobody;

    impl Exchange for Nobody {
        fn all_gather(&self, _: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
            Err(Error::job("nobody to exchange with"))
        }
    }

    impl HostHalf for Nobody {
        fn interrupt(&self, interrupt: Interrupt) {
            panic!("a page was missing: {interrupt:?}");
        }
        fn flush(&self) {}
    }

    impl PageMemory for Nobody {
        fn read(&self, _: FrameAddress, into: &mut [u8]) {
            into.fill(7);
        }
        fn write(&self, _: FrameAddress, _: &[u8]) {}
    }

    /// Memory that a thread may have to wait for, and the threads that have read it.
    #[derive(Default)]
    struct Paged(Mutex<Vec<std::thread::ThreadId>>);

    impl PageMemory for Paged {
        fn read(&self, _: FrameAddress, _: &mut [u8]) {
            self.0.lock().expect("no panic").push(std::thread::current().id());
        }
        fn write(&self, _: FrameAddress, _: &[u8]) {}
        fn may_wait(&self, _: FrameAddress) -> bool {
            true
        }
    }

    /// The card of rank 0 of two; rank 1 takes no packets.
    #[expect(unsafe_code, reason = "opens a grid of links")]
    fn card(memory: Arc<dyn PageMemory + Send + Sync>) -> (Arc<Card>, Library, Vec<JoinHandle<()>>) {
        let file = crate::desk::tests::memory();
        let desks = Desks::map(file.as_fd(), 0, 2, 0, Duration::from_millis(1)).expect("desks");
        let config = Config::default();
        let cx = OpenContext {
            rank: RankId(0),
            size: 2,
            config: &config,
            // SAFETY: the core is not used.
            threading: Threading::Serial(unsafe { OneThread::promise() }),
            shm: file.as_fd(),
            shm_offset: Desks::bytes(2),
            host: &[0, 1],
            neighbours: &[0],
            exchange: &Nobody,
        };
        // SAFETY: the file is new, and behind the desks nothing else uses it.
        let wire = unsafe { FrameGrid::open(&cx, 32 << 10) }.expect("a wire");
        let card = Arc::new(Card::new(0, desks, wire, 2, true, false, |_| Ok(None)).expect("a card"));
        let (mut host, table) = table(Geometry::new(4), 1);
        let key = Key(5);
        host.map(Vpn::of(PORT, 0), Ppn::at(0), key);
        let nic = Nic::new(netvm_fw::nic::NicConfig::new(Node(0), 2), table);
        let threads = card.start(nic, &[], 2, memory, Arc::new(Nobody)).expect("threads");
        let mut library = Library::new(Node(0), PORT, card.port.clone(), card.bell.clone());
        for node in [0, 1] {
            library
                .add_segment(Node(node), Segment { port: PORT, name: 0, address: 0, size: PAGE.into(), key });
        }
        (card, library, threads)
    }

    /// The paging thread would wait for itself.
    #[test]
    fn the_paging_thread_leaves_dma_of_paged_memory_to_others() {
        let memory = Arc::new(Paged::default());
        let (card, mut library, threads) = card(memory.clone());
        while !card.desks.sleeps_without_limit() {
            std::thread::yield_now();
        }
        let here = library.lookup(Node(0), PORT, 0).expect("added");
        let there = library.lookup(Node(1), PORT, 0).expect("added");
        let mut write = Transfer::write(here, there, PAGE.into());
        assert_eq!(library.issue(&mut write, |_, _| ()), Ok(true));
        assert!(card.work_for_pager() && !card.bell.is_rung(), "it has taken the command");
        while memory.0.lock().expect("no panic").is_empty() {
            std::thread::yield_now();
        }
        assert!(!memory.0.lock().expect("no panic").contains(&std::thread::current().id()));
        while !card.is_idle() {
            std::thread::yield_now();
        }
        card.stop();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        card.end();
    }

    /// A rank sends more than the wire has room for and then computes: its NIC's thread must send the rest,
    /// because nobody rings when there is room.
    #[test]
    fn a_backlog_is_handed_over() {
        let (card, mut library, threads) = card(Arc::new(Nobody));
        while !card.desks.sleeps_without_limit() {
            std::thread::yield_now();
        }
        let here = library.lookup(Node(0), PORT, 0).expect("added");
        let there = library.lookup(Node(1), PORT, 0).expect("added");
        for _ in 0..60 {
            let mut write = Transfer::write(here, there, PAGE.into());
            assert_eq!(library.issue(&mut write, |_, _| ()), Ok(true));
        }
        while card.bell.is_rung() {
            card.work();
        }
        assert!(card.counts.backlogged.load(Ordering::Relaxed) > 0, "a backlog");
        for _ in 0..1000 {
            assert!(!card.desks.sleeps_without_limit(), "nobody looks after the backlog");
            std::thread::yield_now();
        }
        card.stop();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        card.end();
    }
}
