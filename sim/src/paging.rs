//! The NetVM NIC as its host's programs use it: nothing is pinned, and one-sided operations of the core become commands of the
//! port's [`Library`].
//!
//! Sources and destinations of more than an inline payload have to lie in exported memory. The segment is exported; what lies
//! elsewhere goes through a *slot* of memory that the library exports for itself, at the price of a copy.

use crate::card::{Card, PORT};
use crate::cluster::Cluster;
use crate::conduit::SimConduit;
use crate::firmware::FirmwareCosts;
use crate::memory::{self, Scratch};
use crate::nic::Start;
use crate::shared::{Shared, current};
use crate::time::Time;
use crate::turn;
use crate::world::Owner;
use firehose::Outcome;
use gasnet::conduit::Completion;
use gasnet::nic::port::BOARD;
use netvm_fw::atomics::{Op, REPLY};
use netvm_fw::host::HostStats;
use netvm_fw::library::{Fence, Handle, Library, LibraryError, Transfer};
use netvm_fw::port::{Counter, PortMemory};
use netvm_fw::shadow::Lease;
use netvm_fw::wire::INLINE;
use netvm_fw::{Node, PAGE};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Largest piece of a transfer: what a slot holds.
pub(crate) const SLOT: usize = 16 << 10;
/// Slots.
const SLOTS: u32 = 8;
/// Bytes of all of them: the board follows.
pub(crate) const SLOT_BYTES: u64 = SLOTS as u64 * SLOT as u64;
/// What a rank exports behind its segment.
const EXTRA: u64 = SLOT_BYTES + BOARD as u64;

/// A rank's side of its NetVM NIC.
pub(crate) struct Paging {
    state: Mutex<Option<State>>,
    scratch: Scratch,
    pub(crate) costs: FirmwareCosts,
    frames: u32,
    ranks: u32,
}

struct State {
    library: Library,
    port: Arc<PortMemory>,
    own: Handle,
    peers: Vec<Option<Handle>>,
    len: u64,
    writes: VecDeque<(Fence, Under)>,
    reads: VecDeque<(Fence, Under)>,
    free: Vec<u32>,
}

/// A command, or the last of several, under way.
struct Under {
    token: u64,
    owner: Owner,
    /// The source has not been given back yet.
    local: bool,
    slot: Option<u32>,
    /// A read's bytes go from the slot to here.
    copy: Option<(usize, usize)>,
}

impl Paging {
    pub(crate) fn new(job: &Cluster, frames: u32) -> Paging {
        let scratch = Scratch::new(EXTRA as usize);
        Paging { state: Mutex::new(None), scratch, costs: job.model.firmware, frames, ranks: job.ranks }
    }

    fn state(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn attach(self: &Arc<Paging>, at: &SimConduit, len: usize) {
        at.shared.pagings()[at.rank as usize] = Some(self.clone());
        let mut w = at.shared.world();
        let segment = w.ranks[at.rank as usize].segment;
        let scratch = (self.scratch.window(), EXTRA);
        let memory = (segment, len as u64);
        let card = Card::new(at.rank, self.ranks, memory, scratch, self.frames, self.costs);
        let mut library = Library::new(Node(at.rank), PORT, card.port.clone(), card.bell.clone());
        let own = library.add_segment(Node(at.rank), card.export);
        *self.state() = Some(State {
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

    /// The own board: where it is in a window.
    pub(crate) fn board<R>(&self, f: impl FnOnce(crate::memory::Window, u64) -> R) -> R {
        f(self.scratch.window(), SLOT_BYTES)
    }

    /// The library with the own board and a peer's: handles, and where they begin.
    pub(crate) fn with_boards<R>(
        &self,
        at: &SimConduit,
        peer: u32,
        f: impl FnOnce(&mut Library, (Handle, u64), (Handle, u64)) -> Result<R, LibraryError>,
    ) -> Result<R, LibraryError> {
        let size = at.shared.world().cards[peer as usize].as_ref().map_or(0, |card| card.export.size);
        let mut guard = self.state();
        let s = guard.as_mut().expect("a rank that runs has attached");
        let handle = s.peer(at, peer);
        let own = (s.own, s.len + SLOT_BYTES);
        f(&mut s.library, own, (handle, size - u64::from(BOARD)))
    }

    /// Puts commands in the queue, as many as `issue` makes, and pays for them.
    pub(crate) fn post(&self, shared: &Shared, rank: u32, commands: u32) {
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

    /// Issues a transfer; `false` if there is no room now. `lease` says under which lease a page of the peer is.
    pub(crate) fn start(
        &self,
        at: &SimConduit,
        start: Start<'_>,
        owner: Owner,
        lease: impl Fn(u64) -> Option<Lease>,
    ) -> bool {
        let mut guard = self.state();
        let Some(s) = guard.as_mut() else { return false };
        // Pages at either end cut it; a full queue frees itself, since the NIC renews the counter at every 32nd command.
        let most = 2 * (start.len as u32 / PAGE + 2);
        if s.library.room() < most {
            return false;
        }
        let window = at.shared.world().ranks[at.rank as usize].segment;
        let inline = start.source.is_some() && start.len <= INLINE;
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
        let local = place.unwrap_or_else(|| s.len + u64::from(slot.unwrap_or(0)) * SLOT as u64);
        let peer = s.peer(at, start.peer);
        let mut copied = 0;
        let under = Under {
            token: start.token,
            owner,
            local: start.source.is_some() && !inline && slot.is_none(),
            slot,
            copy: (start.source.is_none() && slot.is_some()).then_some((start.local, start.len)),
        };
        let before = s.library.fence(Counter::Commands).count;
        if let (Some(slot), Some(bytes)) = (slot, start.source) {
            self.scratch.window().write(u64::from(slot) * SLOT as u64, bytes);
            copied = bytes.len();
        }
        let counter = if start.source.is_some() { Counter::Written } else { Counter::Reads };
        let source = start.source.unwrap_or(&[]);
        // A lease is one page's, so the transfer is cut there; the library would do so anyway.
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
            // Short fragments of long transfers come from memory; inline ones from the caller.
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

    /// Tells the core, or the registration strategy, what is done.
    pub(crate) fn progress(&self, at: &SimConduit) -> usize {
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
                let bytes = self.scratch.window().read(u64::from(slot) * SLOT as u64, len);
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
    /// Pages of the segment.
    pub(crate) fn pages(&self) -> u64 {
        self.state().as_ref().map_or(0, |s| s.len / u64::from(PAGE))
    }

    /// Asks the own NIC for a lease of a page, or to end one; the reply's cookie. `None`: no room now.
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

    /// The reply to that.
    pub(crate) fn reply(&self, cookie: u32) -> Option<Option<[u32; REPLY]>> {
        self.state().as_mut()?.library.reply(cookie)
    }
}

impl State {
    fn peer(&mut self, at: &SimConduit, rank: u32) -> Handle {
        self.peer_of(&at.shared, rank)
    }

    fn peer_of(&mut self, shared: &Shared, rank: u32) -> Handle {
        if let Some(handle) = self.peers[rank as usize] {
            return handle;
        }
        let export = shared.world().cards[rank as usize].as_ref().map(|card| card.export);
        let handle =
            self.library.add_segment(Node(rank), export.expect("ranks attach before anybody uses them"));
        self.peers[rank as usize] = Some(handle);
        handle
    }

    fn take_done(&mut self) -> Option<Under> {
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

/// The NetVM interface of the calling rank, below the runtime: what the thesis's own programs used. Offsets are into segments.
pub struct Netvm {
    shared: Arc<Shared>,
    rank: u32,
    paging: Arc<Paging>,
}

impl Netvm {
    /// Of the rank that calls, in a simulation whose NICs are NetVM's.
    pub fn current() -> Option<Netvm> {
        let (shared, rank) = current()?;
        let paging = shared.pagings()[rank as usize].clone()?;
        Some(Netvm { shared, rank, paging })
    }

    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(self.paging.state().as_mut().expect("a rank that runs has attached"))
    }

    fn wait_until(&self, why: &'static str, mut done: impl FnMut(&Netvm) -> bool) {
        while !done(self) {
            self.poll();
            self.shared.wait(self.rank, why);
        }
    }

    /// What has happened so far is seen now.
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

    /// Posts a write of `len` bytes at `local` to `remote` of a rank; `notification` (not 0) is raised there after them.
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

    /// Waits until the NIC needs no source of a write any more.
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
    pub fn atomic(&self, home: u32, offset: u64, op: Op, args: [u32; 4]) -> [u32; REPLY] {
        self.shared.work(self.rank, self.paging.costs.atomic_call);
        let mut asked = None;
        self.wait_until("room for an atomic", |n| {
            asked = n.with(|s| {
                let peer = s.peer_of(&n.shared, home);
                match s.library.atomic((peer, offset), op, args) {
                    // Leases have the places for replies.
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

    /// Spins on a word of the own segment.
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

    /// Sleeps until a notification is pending, and acknowledges it. `handler`: it runs a handler of the process instead of waking a
    /// thread that waits.
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

    /// What the firmware of a rank's NIC has done, and how long it has worked.
    pub fn firmware(&self, rank: u32) -> (netvm_fw::nic::Stats, Time) {
        let w = self.shared.world();
        w.cards[rank as usize].as_ref().map_or_else(Default::default, |card| (card.nic_stats(), card.worked))
    }

    /// What a rank's host has done for its NIC.
    pub fn host(&self, rank: u32) -> HostStats {
        let w = self.shared.world();
        w.cards[rank as usize].as_ref().map_or_else(Default::default, |card| card.host_stats())
    }
}
