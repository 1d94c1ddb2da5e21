//! The NetVM NIC from the side of its host's programs: nothing is pinned, and one-sided operations of the
//! core become commands of the port's [`Library`].
//!
//! A source or destination larger than an inline payload has to be in exported memory. The segment is
//! exported. Other memory goes through a *slot*, memory that the library exports for itself, at the cost of a
//! copy.

use crate::card::{PORT, SimCard, Stage};
use crate::cost::CostModel;
use crate::event::{Owner, Start};
use crate::firmware::FirmwareCosts;
use crate::memory::{self, Scratch};
use crate::shared::{Caller, Simulation, current};
use crate::time::Time;
use crate::turn;
use firehose::Outcome;
use gasnet::sync::port::BOARD;
use gasnet_ops::home::{HomeOp, REPLY_WORDS};
use gasnet_wire::conduit::Completion;
use netvm_fw::host::HostStats;
use netvm_fw::library::{Fence, Handle, Library, LibraryError, Transfer};
use netvm_fw::port::{Counter, PortMemory};
use netvm_fw::shadow::Lease;
use netvm_fw::wire::MAX_INLINE_BYTES;
use netvm_fw::{Node, PAGE};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a slot, and the most bytes of one piece of a transfer.
pub(crate) const SLOT_BYTES: usize = 16 << 10;
/// Number of slots.
const SLOTS: u32 = 8;
/// Bytes of all slots; the board follows.
pub(crate) const ALL_SLOTS_BYTES: u64 = SLOTS as u64 * SLOT_BYTES as u64;
/// Bytes that a rank exports behind its segment.
const BYTES_BEHIND_SEGMENT: u64 = ALL_SLOTS_BYTES + BOARD as u64;

/// A rank's side of its NetVM NIC.
pub(crate) struct Paging {
    state: Mutex<Option<PagingState>>,
    scratch: Scratch,
    pub(crate) costs: FirmwareCosts,
    frames: u32,
    ranks: u32,
}

struct PagingState {
    library: Library,
    port: Arc<PortMemory>,
    own: Handle,
    peers: Vec<Option<Handle>>,
    len: u64,
    writes: VecDeque<(Fence, PendingTransfer)>,
    reads: VecDeque<(Fence, PendingTransfer)>,
    free: Vec<u32>,
}

/// One command, or the last of several commands, under way.
struct PendingTransfer {
    token: u64,
    owner: Owner,
    /// Whether the source has not been given back yet.
    local: bool,
    slot: Option<u32>,
    /// Copy the bytes of a read from the slot to this address, with this length.
    copy: Option<(usize, usize)>,
}

impl Paging {
    pub(crate) fn new(model: &CostModel, ranks: u32, frames: u32) -> Paging {
        let scratch = Scratch::new(BYTES_BEHIND_SEGMENT as usize);
        Paging { state: Mutex::new(None), scratch, costs: model.firmware, frames, ranks }
    }

    fn state(&self) -> MutexGuard<'_, Option<PagingState>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn attach(self: &Arc<Paging>, at: &Caller, len: usize) {
        let mut w = at.shared.world();
        w.pagings[at.rank as usize] = Some(self.clone());
        let segment = w.ranks[at.rank as usize].segment;
        let scratch = (self.scratch.window(), BYTES_BEHIND_SEGMENT);
        let memory = (segment, len as u64);
        let card = SimCard::new(at.rank, self.ranks, memory, scratch, self.frames, self.costs);
        let mut library = Library::new(Node(at.rank), PORT, card.port.clone(), card.bell.clone());
        library.split(self.costs.split);
        let own = library.add_segment(Node(at.rank), card.export);
        *self.state() = Some(PagingState {
            library,
            port: card.port.clone(),
            own,
            peers: vec![None; self.ranks as usize],
            len: len as u64,
            writes: VecDeque::new(),
            reads: VecDeque::new(),
            free: (0..SLOTS).collect(),
        });
        w.cards[at.rank as usize] = Some(Box::new(card));
    }

    pub(crate) fn with_library<R>(&self, f: impl FnOnce(&mut Library) -> R) -> R {
        f(&mut self.state().as_mut().expect("a rank that runs has attached").library)
    }

    pub(crate) fn port(&self) -> Arc<PortMemory> {
        self.with_library(|library| library.memory().clone())
    }

    /// The own board: its window and offset.
    pub(crate) fn board<R>(&self, f: impl FnOnce(crate::memory::RankMemory, u64) -> R) -> R {
        f(self.scratch.window(), ALL_SLOTS_BYTES)
    }

    /// The library with the own board and a peer's: handles and offsets.
    pub(crate) fn with_boards<R>(
        &self,
        at: &Caller,
        peer: u32,
        f: impl FnOnce(&mut Library, (Handle, u64), (Handle, u64)) -> Result<R, LibraryError>,
    ) -> Result<R, LibraryError> {
        let size = at.shared.world().cards[peer as usize].as_ref().map_or(0, |card| card.export.size);
        let mut guard = self.state();
        let s = guard.as_mut().expect("a rank that runs has attached");
        let handle = s.peer(at, peer);
        let own = (s.own, s.len + ALL_SLOTS_BYTES);
        f(&mut s.library, own, (handle, size - u64::from(BOARD)))
    }

    /// Puts the commands that `issue` makes in the queue, and charges for them.
    pub(crate) fn post(&self, shared: &Simulation, rank: u32, commands: u32) {
        shared.work(rank, self.costs.post * u64::from(commands));
        let mut w = shared.world();
        if let Some(mut card) = w.cards[rank as usize].take() {
            card.ring(&mut w);
            w.cards[rank as usize] = Some(card);
        }
        let aside = w.stand_aside(rank);
        drop(w);
        if aside {
            turn::give_back();
        }
    }

    /// Issues a transfer; `false` if there is no room now. `lease` says under which lease a page of the peer
    /// is.
    pub(crate) fn start(
        &self,
        at: &Caller,
        start: Start<'_>,
        owner: Owner,
        lease: impl Fn(u64) -> Option<Lease>,
    ) -> bool {
        let mut guard = self.state();
        let Some(s) = guard.as_mut() else { return false };
        // Pages at either end split it. A full queue becomes free by itself, since the NIC updates the
        // counter at every 32nd command.
        let most = 2 * (start.len as u32 / PAGE + 2);
        if s.library.room() < most {
            return false;
        }
        let window = at.shared.world().ranks[at.rank as usize].segment;
        let inline = start.source.is_some() && start.len <= MAX_INLINE_BYTES;
        let place = if inline {
            Some(start.offset % u64::from(PAGE))
        } else {
            window.offset_of(start.local, start.len)
        };
        let slot = match place {
            Some(_) => None,
            None => match s.free.pop() {
                Some(slot) => Some(slot),
                None => return false,
            },
        };
        let local = place.unwrap_or_else(|| s.len + u64::from(slot.unwrap_or(0)) * SLOT_BYTES as u64);
        let peer = s.peer(at, start.peer);
        let mut copied = 0;
        let under = PendingTransfer {
            token: start.token,
            owner,
            local: start.source.is_some() && !inline && slot.is_none(),
            slot,
            copy: (start.source.is_none() && slot.is_some()).then_some((start.local, start.len)),
        };
        let before = s.library.fence(Counter::Commands).count;
        if let (Some(slot), Some(bytes)) = (slot, start.source) {
            self.scratch.window().write(u64::from(slot) * SLOT_BYTES as u64, bytes);
            copied = bytes.len();
        }
        let counter = if start.source.is_some() { Counter::Written } else { Counter::Reads };
        let source = start.source.unwrap_or(&[]);
        // A lease covers one page, so the transfer is split there; the library would do so anyway.
        let (mut done, all, page) = (0, start.len as u64, u64::from(PAGE));
        while done < all {
            let remote = start.offset + done;
            let len = (page - remote % page).min(all - done);
            let (here, there) = ((s.own, local + done), (peer, remote));
            let mut transfer = match counter {
                Counter::Reads => Transfer::read(here, there, len),
                _ => Transfer::write(here, there, len).acknowledge(),
            };
            if let Some(lease) = lease(remote / page) {
                transfer = transfer.under(lease);
            }
            // Short fragments of long transfers are sent from memory, inline ones from the caller's bytes.
            let issued = s.library.issue(&mut transfer, |offset, into| {
                let from = (offset - local) as usize;
                into.copy_from_slice(&source[from..from + into.len()]);
            });
            assert!(matches!(issued, Ok(true)), "a transfer inside two exported segments: {issued:?}");
            done += len;
        }
        let commands = s.library.fence(Counter::Commands).count.wrapping_sub(before);
        let queue = if counter == Counter::Written { &mut s.writes } else { &mut s.reads };
        let told = owner == Owner::Core && start.source.is_some() && !under.local;
        queue.push_back((s.library.fence(counter), under));
        drop(guard);
        if told {
            at.shared.world().ranks[at.rank as usize].done.push_back((start.token, Completion::Local));
        }
        at.shared.work(at.rank, self.costs.copy.bytes(copied));
        self.post(&at.shared, at.rank, commands);
        true
    }

    /// Reports completions to the core or the registration strategy.
    pub(crate) fn progress(&self, at: &Caller) -> usize {
        let mut done = 0;
        loop {
            let next = {
                let mut guard = self.state();
                let Some(s) = guard.as_mut() else { return done };
                s.take_done()
            };
            let Some(under) = next else { return done };
            at.shared.work(at.rank, self.costs.detect);
            if let (Some(slot), Some((to, len))) = (under.slot, under.copy) {
                let bytes = self.scratch.window().read(u64::from(slot) * SLOT_BYTES as u64, len);
                memory::store(to, &bytes);
                at.shared.work(at.rank, self.costs.copy.bytes(len));
            }
            if let (Some(slot), Some(s)) = (under.slot, self.state().as_mut()) {
                s.free.push(slot);
            }
            let mut w = at.shared.world();
            let r = &mut w.ranks[at.rank as usize];
            match under.owner {
                Owner::Core => {
                    if under.local {
                        r.done.push_back((under.token, Completion::Local));
                    }
                    r.done.push_back((under.token, Completion::Remote));
                }
                Owner::Strategy => r.transferred.push_back((under.token, Outcome::Done)),
            }
            done += 1;
        }
    }
}

// Leases of own pages.
impl Paging {
    /// Number of pages of the segment.
    pub(crate) fn pages(&self) -> u64 {
        self.state().as_ref().map_or(0, |s| s.len / u64::from(PAGE))
    }

    /// Asks the own NIC for a lease of a page, or to end one; returns the cookie of the reply. `None`: no
    /// room now.
    pub(crate) fn ask_lease(&self, page: u64, end: Option<Lease>) -> Option<u32> {
        let mut guard = self.state();
        let s = guard.as_mut()?;
        let asked = match end {
            Some(lease) => s.library.end_lease(lease),
            None => s.library.lease((s.own, page * u64::from(PAGE))),
        };
        match asked {
            Err(LibraryError::Busy) => None,
            result => Some(result.expect("a page of the own segment")),
        }
    }

    /// The reply to [`ask_lease`](Self::ask_lease).
    pub(crate) fn reply(&self, cookie: u32) -> Option<Option<[u32; REPLY_WORDS]>> {
        self.state().as_mut()?.library.reply(cookie)
    }
}

impl PagingState {
    fn peer(&mut self, at: &Caller, rank: u32) -> Handle {
        self.peer_of(&at.shared, rank)
    }

    fn peer_of(&mut self, shared: &Simulation, rank: u32) -> Handle {
        if let Some(handle) = self.peers[rank as usize] {
            return handle;
        }
        let export = shared.world().cards[rank as usize].as_ref().map(|card| card.export);
        let handle =
            self.library.add_segment(Node(rank), export.expect("ranks attach before anybody uses them"));
        self.peers[rank as usize] = Some(handle);
        handle
    }

    fn take_done(&mut self) -> Option<PendingTransfer> {
        for queue in [&mut self.writes, &mut self.reads] {
            if let Some((fence, _)) = queue.front()
                && self.library.want(*fence)
            {
                return queue.pop_front().map(|(_, under)| under);
            }
        }
        None
    }
}

impl core::fmt::Debug for Netvm {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Netvm").field("rank", &self.rank).finish_non_exhaustive()
    }
}

/// The NetVM interface of the calling rank, below the runtime, which the programs of the thesis used. Offsets
/// are into segments.
pub struct Netvm {
    shared: Arc<Simulation>,
    rank: u32,
    paging: Arc<Paging>,
}

impl Netvm {
    /// The interface of the calling rank, in a simulation with NetVM NICs.
    pub fn current() -> Option<Netvm> {
        let (shared, rank) = current()?;
        let paging = shared.world().pagings[rank as usize].clone()?;
        Some(Netvm { shared, rank, paging })
    }

    fn with<R>(&self, f: impl FnOnce(&mut PagingState) -> R) -> R {
        f(self.paging.state().as_mut().expect("a rank that runs has attached"))
    }

    fn wait_until(&self, why: &'static str, mut done: impl FnMut(&Netvm) -> bool) {
        while !done(self) {
            self.poll();
            self.shared.wait(self.rank, why, false);
        }
    }

    /// Lets the rank see what has happened so far.
    fn poll(&self) {
        self.shared.alive();
    }

    fn transfer(&self, mut transfer: Transfer) {
        loop {
            let segment = self.shared.world().ranks[self.rank as usize].segment;
            let (all, commands) = self.with(|s| {
                let before = s.library.fence(Counter::Commands).count;
                let bytes =
                    |offset: u64, into: &mut [u8]| into.copy_from_slice(&segment.read(offset, into.len()));
                let all =
                    s.library.issue(&mut transfer, bytes).expect("a transfer inside two exported segments");
                (all, s.library.fence(Counter::Commands).count.wrapping_sub(before))
            });
            self.paging.post(&self.shared, self.rank, commands);
            if all {
                return;
            }
            self.wait_until("room in the command queue", |n| n.with(|s| s.library.room() > 0));
        }
    }

    /// Posts a write of `len` bytes at `local` to `remote` of a rank; then raises `notification` (if not 0)
    /// there.
    pub fn write(&self, to: u32, remote: u64, local: u64, len: u64, notification: u32) {
        let transfer = self.with(|s| {
            let peer = s.peer_of(&self.shared, to);
            Transfer::write((s.own, local), (peer, remote), len).notify(notification)
        });
        self.transfer(transfer);
    }

    /// Posts a read of `len` bytes at `remote` of a rank to `local`.
    pub fn read(&self, from: u32, remote: u64, local: u64, len: u64) {
        let transfer = self.with(|s| {
            let peer = s.peer_of(&self.shared, from);
            Transfer::read((s.own, local), (peer, remote), len)
        });
        self.transfer(transfer);
    }

    /// Waits until all reads have completed.
    pub fn flush_reads(&self) {
        self.flush(Counter::Reads);
    }

    /// Waits until the NIC no longer needs any source of a write.
    pub fn flush_writes(&self) {
        self.flush(Counter::Commands);
    }

    fn flush(&self, which: Counter) {
        let fence = self.with(|s| s.library.fence(which));
        self.wait_until("a fence", |n| n.with(|s| s.library.want(fence)));
        self.detect();
    }

    fn detect(&self) {
        self.shared.work(self.rank, self.paging.costs.detect);
    }

    /// Does an atomic operation at its home, and waits for the reply.
    pub fn atomic(&self, home: u32, offset: u64, op: HomeOp, args: [u32; 4]) -> [u32; REPLY_WORDS] {
        self.shared.work(self.rank, self.paging.costs.atomic_call);
        let mut asked = None;
        self.wait_until("room for an atomic", |n| {
            asked = n.with(|s| {
                let peer = s.peer_of(&n.shared, home);
                match s.library.atomic((peer, offset), op, args) {
                    // Leases use the slots for replies.
                    Err(LibraryError::Busy) => None,
                    result => Some(result.expect("an aligned operand")),
                }
            });
            asked.is_some()
        });
        let cookie = asked.unwrap_or_default();
        self.paging.post(&self.shared, self.rank, 1);
        let mut reply = None;
        self.wait_until("an atomic", |n| {
            reply = n.with(|s| s.library.reply(cookie));
            reply.is_some()
        });
        self.detect();
        reply.flatten().unwrap_or_default()
    }

    /// Reads a word of the own segment.
    pub fn load(&self, offset: u64) -> u32 {
        let bytes = self.shared.world().ranks[self.rank as usize].segment.read(offset, 4);
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    /// Writes a word of the own segment.
    pub fn store(&self, offset: u64, word: u32) {
        self.shared.world().ranks[self.rank as usize].segment.write(offset, &word.to_le_bytes());
    }

    /// Spins on a word of the own segment until it has a value.
    pub fn spin(&self, offset: u64, word: u32) {
        self.spin_until(offset, |value| value == word);
    }

    /// Spins on a word of the own segment until `done`.
    pub fn spin_until(&self, offset: u64, done: impl Fn(u32) -> bool) {
        self.wait_until("a word in memory", |n| done(n.load(offset)));
        self.detect();
    }

    fn port(&self) -> Arc<PortMemory> {
        self.with(|s| s.port.clone())
    }

    /// Spins until a notification is pending, and acknowledges it.
    pub fn notify_spin(&self, number: u32) {
        let port = self.port();
        port.events.want_mirror(number, true);
        self.wait_until("a notification", |_| port.events.pending(number) > 0);
        self.detect();
        port.events.acknowledge(number);
    }

    /// Sleeps until a notification is pending, and acknowledges it. With `handler` it runs a handler of the
    /// process instead of waking a thread that waits.
    pub fn notify_wait(&self, number: u32, handler: bool) {
        let port = self.port();
        let costs = self.paging.costs;
        if port.events.arm(number) == 0 {
            let wakes = |n: &Netvm| n.shared.world().cards[n.rank as usize].as_ref().map_or(0, |c| c.wakes);
            let before = wakes(self);
            self.wait_until("an interrupt", |n| wakes(n) > before && port.events.pending(number) > 0);
            self.shared.work(self.rank, if handler { costs.wake + costs.signal } else { costs.wake });
        }
        while port.events.pop().is_some() {}
        port.events.disarm(number);
        port.events.acknowledge(number);
    }

    /// The counters of the firmware of a rank's NIC, and the total time of its work.
    pub fn firmware(&self, rank: u32) -> (netvm_fw::nic::NicStats, Time) {
        let w = self.shared.world();
        w.cards[rank as usize].as_ref().map_or_else(Default::default, |card| (card.nic_stats(), card.worked))
    }

    /// Notes from now on when stages of fragments end in a rank's NIC.
    pub fn note_stages(&self, rank: u32) {
        if let Some(card) = self.shared.world().cards[rank as usize].as_mut() {
            card.stages = Some(Vec::new());
        }
    }

    /// The stages that were [noted](Self::note_stages) since, in order. Noting ends.
    pub fn stages(&self, rank: u32) -> Vec<(Stage, Time)> {
        let mut w = self.shared.world();
        w.cards[rank as usize].as_mut().and_then(|card| card.stages.take()).unwrap_or_default()
    }

    /// The counters of a rank's host half.
    pub fn host(&self, rank: u32) -> HostStats {
        let w = self.shared.world();
        w.cards[rank as usize].as_ref().map_or_else(Default::default, |card| card.host_stats())
    }
}
