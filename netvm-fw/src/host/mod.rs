//! The host half: the paging thread, which serves what the NIC could not, and the virtual memory it works on.
//!
//! [`Host::handle`] takes one [`HostEvent`] and appends [`HostAction`]s, in order.
//!
//! **A bounced message** waits for its page. When the page is in, the bytes that wait for it are copied, and
//! *then* it is mapped, so that whatever DMA writes from then on is newer than the copies. Reads and atomics
//! go back to the NIC, which performs them. The host never computes an atomic, so it needs no lock against
//! the NIC. The page is *held* until the NIC reports that it has it, so reads and atomics make progress
//! however little memory there is.
//!
//! **Not exported** is not the same as not resident. A message for a page without an export, or with another
//! key, is refused, and its sequence number is completed all the same. The same happens to messages that wait
//! for a page when it is unexported.
//!
//! **Room.** The bounce buffer has 64 slots for every window, and the windows ensure that one is free.
//! Deferred reads are stored outside it. Nothing here waits for credits.

mod exports;
mod vm;

use std::collections::{HashMap, VecDeque};

pub use exports::{ExportError, Exports, KeySource, Segment};
pub use vm::{Cleaned, Deactivated, FrameState, Vm};

use crate::PageMemory;
use crate::ids::{FrameAddress, Key, Node, PortId, Ppn, Vpn};
use crate::nic::{HostReply, Interrupt, Nanos, OpId};
use crate::shadow::{HostTable, Unmap};
use crate::window::WINDOW_MESSAGES;
use crate::wire::{Head, HeadKind, Traffic};

/// An event at the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostEvent {
    /// The NIC interrupts the host.
    Interrupt(Interrupt),
    /// A page is now in its frame.
    PagedIn(Ppn),
    /// A frame's page is now in the backing store.
    PagedOut(Ppn),
    /// The backing store has no room for a frame's page, which stays in its frame.
    PageOutFailed(Ppn),
    /// The receiver has finished with a message that it got by [`HostAction::Message`].
    Consumed(Head),
    /// The time of [`Host::next_deadline`] has come.
    Timer,
}

/// An action of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostAction {
    /// Work of the host's processor, for drivers that model time.
    Work(HostWork),
    /// Send this reply to the NIC.
    Nic(HostReply),
    /// Fill a frame with a page from the backing store, or zeros. Answer: `PagedIn`.
    PageIn {
        /// The page.
        vpn: Vpn,
        /// The frame.
        ppn: Ppn,
    },
    /// Write a page to the backing store. Answer: `PagedOut`.
    PageOut {
        /// The page.
        vpn: Vpn,
        /// The frame.
        ppn: Ppn,
    },
    /// The clean page in this frame is dropped; another page takes the frame.
    Evict {
        /// The page.
        vpn: Vpn,
        /// The frame.
        ppn: Ppn,
    },
    /// A port has notices: run its dispatcher, wake its threads.
    Wake(PortId),
    /// A message for a port, or for the host (port 0). Answer: `Consumed`.
    Message {
        /// Its head.
        head: Head,
        /// Its bytes.
        payload: Vec<u8>,
    },
    /// The page that [`Host::touch`] asked for is resident.
    Ready {
        /// The page.
        vpn: Vpn,
        /// The token given to `touch`.
        token: u64,
    },
    /// An unexport has finished: the NIC no longer uses any of its pages.
    Unexported(Segment),
    /// The leases of this page have ended, because its frame is wanted or its export ends: tell those who
    /// rely on them.
    Recalled(Vpn),
}

/// Work of the host's processor, for drivers that model its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HostWork {
    /// Took an interrupt.
    Interrupt,
    /// Mapped a page for the NIC.
    Map,
    /// Unmapped a page.
    Unmap,
    /// Could not unmap a page, because the NIC uses it.
    UnmapLocked,
    /// Tested whether the NIC wrote to a page, with this result.
    TestDirty(bool),
    /// Copied this many bytes out of the bounce buffer.
    Copy(u32),
}

/// Settings of a host.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct HostConfig {
    /// Frames that should be free or cached. When there are fewer, pages are deactivated and cleaned.
    pub spare: u32,
    /// Frames beyond `spare` that are made free or cached at the same time, so that pages are written out
    /// together.
    pub batch: u32,
    /// Time after which a page that the NIC was using is tried again.
    pub retry: Nanos,
    /// Whether frames whose pages are being written out count as free. That is right when other events come
    /// while pages are written; else each of them would have more pages written.
    pub counts_flushing: bool,
}

impl HostConfig {
    /// The usual settings for this many frames.
    pub fn new(frames: u32) -> HostConfig {
        HostConfig { spare: (frames / 16).clamp(1, 64), batch: 0, retry: 5_000, counts_flushing: false }
    }
}

/// Counters of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HostStats {
    /// Interrupts taken.
    pub interrupts: u64,
    /// Pages brought in.
    pub page_ins: u64,
    /// Pages written out.
    pub page_outs: u64,
    /// Bounced messages that were copied into place.
    pub copies: u64,
    /// Messages refused because of a missing export or a wrong key.
    pub refused: u64,
    /// Pages that a full row of the table pushed out.
    pub pushed_out: u64,
    /// Most slots of the bounce buffer that one peer used at the same time.
    pub most_bounced: u32,
    /// Attempts to unmap a page that the NIC was using.
    pub locked: u64,
    /// Leases taken back.
    pub recalled: u64,
}

/// Most pages that one event may examine.
const MAX_PAGES_EXAMINED_PER_EVENT: u32 = 256;

/// An operation that waits for a page.
#[derive(Debug)]
enum PageWaiter {
    Bytes { head: Head, payload: Vec<u8> },
    Serve { head: Head, deferred: bool },
    Command { op: OpId, key: Key },
    Local { token: u64, usage: PageUse },
}

/// The purpose for which the host's own program wants a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageUse {
    Read,
    Write,
    Hold,
}

/// The host half of a node.
#[derive(Debug)]
pub struct Host {
    config: HostConfig,
    vm: Vm,
    exports: Exports,
    waiting: HashMap<Vpn, Vec<PageWaiter>>,
    /// Pages that wait for a frame.
    starved: VecDeque<Vpn>,
    deferred: HashMap<Traffic, VecDeque<Head>>,
    /// Frames that are being freed while the NIC still uses them.
    leaving: Vec<Ppn>,
    /// Exports that are ending, each with the frames that the NIC still uses.
    ending: Vec<(Segment, Vec<Ppn>)>,
    bounced: HashMap<Traffic, u32>,
    /// The backing store has no room.
    full: bool,
    /// Pages being written out, plus frames whose leases the NIC was told to end: both will be free soon.
    flushing: u32,
    recalling: u32,
    /// Frames to be freed beyond those that must be: see [`Host::expect`].
    expected: u32,
    stats: HostStats,
    now: Nanos,
    work: Vec<HostWork>,
}

impl Host {
    /// A host that owns the host's side of the shadow table, and takes the keys of its exports from `keys`.
    pub fn new(config: HostConfig, table: HostTable, keys: KeySource) -> Host {
        Host {
            config,
            vm: Vm::new(table),
            exports: Exports::new(keys),
            waiting: HashMap::new(),
            starved: VecDeque::new(),
            deferred: HashMap::new(),
            leaving: Vec::new(),
            ending: Vec::new(),
            bounced: HashMap::new(),
            full: false,
            flushing: 0,
            recalling: 0,
            expected: 0,
            stats: HostStats::default(),
            now: 0,
            work: Vec::new(),
        }
    }

    /// Its virtual memory.
    pub fn vm(&self) -> &Vm {
        &self.vm
    }

    /// Its export maps.
    pub fn exports(&self) -> &Exports {
        &self.exports
    }

    /// Its counters.
    pub fn stats(&self) -> HostStats {
        self.stats
    }

    /// The time at which [`HostEvent::Timer`] is due.
    pub fn next_deadline(&self) -> Option<Nanos> {
        let retry = !self.leaving.is_empty() || !self.ending.is_empty() || !self.starved.is_empty();
        retry.then_some(self.now + self.config.retry)
    }

    /// Slots of the bounce buffer that the programs of a peer use.
    pub fn bounced(&self, node: Node) -> u32 {
        self.bounced.get(&Traffic { node, paging: false }).copied().unwrap_or(0)
    }

    /// Exports a port's memory. The NIC can find resident pages at once, others when they are paged in.
    pub fn export(
        &mut self,
        port: PortId,
        name: u64,
        address: u64,
        size: u64,
        out: &mut Vec<HostAction>,
    ) -> Result<Segment, ExportError> {
        let ends = |(s, _): &(Segment, _)| {
            s.port == port && s.address < address.saturating_add(size) && address < s.address + s.size
        };
        if self.ending.iter().any(ends) {
            return Err(ExportError::Ending);
        }
        let segment = self.exports.add(port, name, address, size)?;
        let (first, pages) = segment.pages();
        for page in 0..pages {
            let vpn = Vpn(first.0 + page);
            if self.vm.is_resident(vpn)
                && let Some(ppn) = self.vm.place(vpn)
            {
                self.map(ppn, vpn);
            }
        }
        self.flush_work(out);
        Ok(segment)
    }

    /// Ends an export. From now on no message reaches its pages. DMAs under way finish, then
    /// [`HostAction::Unexported`] follows. Messages that wait for its pages are refused.
    pub fn unexport(&mut self, segment: &Segment, out: &mut Vec<HostAction>) -> bool {
        if !self.exports.remove(segment) {
            return false;
        }
        let (first, pages) = segment.pages();
        let mut busy = Vec::new();
        for page in 0..pages {
            let vpn = Vpn(first.0 + page);
            if let Some(ppn) = self.vm.place(vpn)
                && self.vm.withdraw(ppn, &mut self.work) == Unmap::Locked
            {
                self.stats.locked += 1;
                self.recall(ppn, vpn, out);
                busy.push(ppn);
            }
            if let Some(waiters) = self.waiting.remove(&vpn) {
                let (local, remote) =
                    waiters.into_iter().partition(|w| matches!(w, PageWaiter::Local { .. }));
                Vec::into_iter(remote).for_each(|waiter| self.turn_away(waiter, out));
                if !Vec::is_empty(&local) {
                    self.waiting.insert(vpn, local);
                }
            }
        }
        self.flush_work(out);
        if busy.is_empty() {
            out.push(HostAction::Unexported(*segment));
        } else {
            self.ending.push((*segment, busy));
        }
        true
    }

    /// The process of a port has ended: ends all its exports and drops its pages.
    pub fn close_port(&mut self, port: PortId, out: &mut Vec<HostAction>) {
        let segments: Vec<Segment> = self.exports.of(port).collect();
        for segment in segments {
            self.unexport(&segment, out);
            let (first, pages) = segment.pages();
            (0..pages).for_each(|page| self.discard(Vpn(first.0 + page), out));
        }
    }

    /// The host's own program uses a page. Returns true if it is resident; else [`HostAction::Ready`]
    /// follows.
    pub fn touch(&mut self, vpn: Vpn, write: bool, token: u64, out: &mut Vec<HostAction>) -> bool {
        self.want(vpn, if write { PageUse::Write } else { PageUse::Read }, token, out)
    }

    /// Like [`touch`](Self::touch) for reading, and the page stays resident until [`release`](Self::release).
    pub fn hold(&mut self, vpn: Vpn, token: u64, out: &mut Vec<HostAction>) -> bool {
        self.want(vpn, PageUse::Hold, token, out)
    }

    fn want(&mut self, vpn: Vpn, usage: PageUse, token: u64, out: &mut Vec<HostAction>) -> bool {
        if let Some(ppn) = self.here(vpn) {
            self.used(ppn, usage);
            self.flush_work(out);
            return true;
        }
        self.wait_for(vpn, PageWaiter::Local { token, usage }, out);
        false
    }

    fn used(&mut self, ppn: Ppn, usage: PageUse) {
        self.vm.touch(ppn, usage == PageUse::Write);
        if usage == PageUse::Hold {
            self.vm.hold(ppn);
        }
    }

    /// Ends a [`hold`](Self::hold).
    pub fn release(&mut self, vpn: Vpn) {
        self.vm.release(vpn);
    }

    /// Brings in a page that nobody waits for, unless it is resident or a frame would have to be freed for
    /// it. It is the first to be evicted. `write`: it counts as written to.
    pub fn fetch(&mut self, vpn: Vpn, write: bool, out: &mut Vec<HostAction>) -> bool {
        let (.., cached, free) = self.vm.lengths();
        let room = cached + free > self.config.spare / 2 && self.starved.is_empty();
        let fetched = room && self.vm.place(vpn).is_none() && self.bring(vpn, out);
        if fetched && let Some(ppn) = self.vm.place(vpn) {
            self.vm.touch(ppn, write);
            self.vm.unused(ppn);
        }
        fetched
    }

    /// Announces that this many pages will soon be [fetched](Self::fetch): frames are freed for them,
    /// without waiting for any. A later call replaces the number.
    pub fn expect(&mut self, pages: u32) {
        self.expected = pages;
    }

    /// A page will not be used soon. It leaves at once, unless it is held, in use by the NIC, or dirty while
    /// the backing store has no room. Returns whether it leaves.
    pub fn leave(&mut self, vpn: Vpn, out: &mut Vec<HostAction>) -> bool {
        let Some(ppn) = self.vm.place(vpn) else { return false };
        let here = matches!(self.vm.state(ppn), FrameState::Active | FrameState::Inactive);
        if !here || self.full && self.vm.is_dirty(ppn) {
            return false;
        }
        let cleaned = self.vm.give_way(ppn, &mut self.work);
        let leaves = self.cleaned(ppn, cleaned, out);
        self.flush_work(out);
        leaves
    }

    /// Frees frames after [`touch`](Self::touch)es and [`fetch`](Self::fetch)es.
    pub fn tidy(&mut self, out: &mut Vec<HostAction>) {
        self.feed(out);
        self.balance(out);
        self.flush_work(out);
    }

    /// Records whether the backing store has no room. While it has none, only clean pages leave.
    pub fn set_full(&mut self, full: bool) {
        self.full = full;
    }

    /// Pages that wait for a frame.
    pub fn starved(&self) -> usize {
        self.starved.len()
    }

    /// The frame of a page that is resident, or can be made resident without I/O.
    fn here(&mut self, vpn: Vpn) -> Option<Ppn> {
        let ppn = self.vm.place(vpn)?;
        match self.vm.state(ppn) {
            FrameState::Active | FrameState::Inactive => {}
            FrameState::Cache => {
                self.vm.reactivate(ppn);
                self.map(ppn, vpn);
            }
            _ => return None,
        }
        Some(ppn)
    }

    /// Drops a page and its contents. A page on its way in or out is dropped when it arrives.
    pub fn discard(&mut self, vpn: Vpn, out: &mut Vec<HostAction>) {
        let Some(ppn) = self.vm.place(vpn) else { return };
        if matches!(self.vm.state(ppn), FrameState::PagingIn | FrameState::PagingOut) {
            return self.vm.doom(ppn);
        }
        if self.vm.free(ppn, &mut self.work) == Unmap::Locked {
            self.stats.locked += 1;
            self.recall(ppn, vpn, out);
            self.leaving.push(ppn);
        }
        self.flush_work(out);
        self.feed(out);
    }

    /// Handles an event at time `now`, and appends the actions.
    pub fn handle(
        &mut self,
        now: Nanos,
        event: HostEvent,
        memory: &(impl PageMemory + ?Sized),
        out: &mut Vec<HostAction>,
    ) {
        self.now = now;
        match event {
            HostEvent::Interrupt(interrupt) => self.interrupt(interrupt, memory, out),
            HostEvent::PagedIn(ppn) => {
                self.vm.paged_in(ppn);
                self.arrived(ppn, memory, out);
                self.bury(ppn, out);
            }
            HostEvent::PagedOut(ppn) => {
                self.flushing -= 1;
                if self.vm.paged_out(ppn) {
                    self.arrived(ppn, memory, out);
                }
                self.bury(ppn, out);
            }
            HostEvent::PageOutFailed(ppn) => {
                self.vm.page_out_failed(ppn);
                self.stats.page_outs -= 1;
                self.flushing -= 1;
                self.arrived(ppn, memory, out);
                self.bury(ppn, out);
            }
            HostEvent::Consumed(head) => {
                self.leave_slot(&head);
                out.push(HostAction::Nic(HostReply::Placed(head)));
            }
            HostEvent::Timer => self.look_again(out),
        }
        self.feed(out);
        self.balance(out);
        self.flush_work(out);
    }

    fn interrupt(
        &mut self,
        interrupt: Interrupt,
        memory: &(impl PageMemory + ?Sized),
        out: &mut Vec<HostAction>,
    ) {
        if !matches!(interrupt, Interrupt::Settled(_)) {
            self.stats.interrupts += 1;
            self.work.push(HostWork::Interrupt);
        }
        let (vpn, waiter) = match interrupt {
            Interrupt::Bounced { head, payload } => {
                let slots = self.bounced.entry(head.traffic_from()).or_default();
                *slots += 1;
                assert!(*slots <= WINDOW_MESSAGES, "node {} has more than its slots", head.from.0);
                self.stats.most_bounced = self.stats.most_bounced.max(*slots);
                match head.kind {
                    HeadKind::Message => return out.push(HostAction::Message { head, payload }),
                    HeadKind::Read => (head.src.vpn, PageWaiter::Serve { head, deferred: false }),
                    // The NIC keeps the payload of a combining write.
                    HeadKind::Atomic | HeadKind::Combine => {
                        (head.dst.vpn, PageWaiter::Serve { head, deferred: false })
                    }
                    _ => (head.dst.vpn, PageWaiter::Bytes { head, payload }),
                }
            }
            Interrupt::StillMissing { head, deferred } => {
                if !deferred {
                    *self.bounced.entry(head.traffic_from()).or_default() += 1;
                }
                let vpn = if head.kind == HeadKind::Read { head.src.vpn } else { head.dst.vpn };
                (vpn, PageWaiter::Serve { head, deferred })
            }
            Interrupt::SourceMissing { op, span } => (span.vpn, PageWaiter::Command { op, key: span.key }),
            Interrupt::Settled(vpn) => return self.vm.release(vpn),
            Interrupt::Deferred(head) => {
                return self.deferred.entry(head.traffic_from()).or_default().push_back(head);
            }
            Interrupt::Credits { of, reads } => {
                let waiting = self.deferred.entry(of).or_default();
                let ready = waiting.drain(..(reads as usize).min(waiting.len()));
                return out.extend(ready.map(|head| HostAction::Nic(HostReply::Undefer(head))));
            }
            Interrupt::Notice(port) => return out.push(HostAction::Wake(port)),
            Interrupt::Recalled { ppn, vpn, leases } => return self.recalled(ppn, vpn, leases, out),
        };
        if self.exports.key(vpn).is_none() {
            return self.turn_away(waiter, out);
        }
        match self.here(vpn) {
            // In the cache, or resident but not in the table: it was pushed out of its row, or was mapped
            // since.
            Some(ppn) => self.serve(ppn, vec![waiter], memory, out),
            None => self.wait_for(vpn, waiter, out),
        }
    }

    /// Adds a waiter to a page that is not resident, and has the page brought in.
    fn wait_for(&mut self, vpn: Vpn, waiter: PageWaiter, out: &mut Vec<HostAction>) {
        let waiters = self.waiting.entry(vpn).or_default();
        waiters.push(waiter);
        if waiters.len() > 1 {
            return;
        }
        match self.vm.place(vpn).map(|ppn| (ppn, self.vm.state(ppn))) {
            Some((ppn, FrameState::PagingOut)) => self.vm.want(ppn),
            Some((_, FrameState::PagingIn)) => {}
            _ => self.starved.push_back(vpn),
        }
        self.feed(out);
    }

    /// Tells the NIC to end the leases of a frame.
    fn recall(&mut self, ppn: Ppn, vpn: Vpn, out: &mut Vec<HostAction>) {
        self.recalling += 1;
        out.push(HostAction::Nic(HostReply::BreakLeases { ppn, vpn }));
    }

    /// The leases of a frame have ended; its page is evicted if others wait for frames.
    fn recalled(&mut self, ppn: Ppn, vpn: Vpn, leases: u32, out: &mut Vec<HostAction>) {
        self.recalling -= 1;
        self.stats.recalled += u64::from(leases);
        let now = self.vm.page(ppn);
        if leases > 0 {
            out.push(HostAction::Recalled(vpn));
            // Another page came into the frame meanwhile, and the ended leases were on that page.
            out.extend(now.filter(|now| *now != vpn).map(HostAction::Recalled));
        }
        let here =
            now == Some(vpn) && matches!(self.vm.state(ppn), FrameState::Active | FrameState::Inactive);
        let stuck = self.full && self.vm.is_dirty(ppn);
        if here && !stuck && !self.starved.is_empty() {
            let cleaned = self.vm.give_way(ppn, &mut self.work);
            self.cleaned(ppn, cleaned, out);
        }
    }

    /// Whether a frame that was cleaned is free, or will be.
    fn cleaned(&mut self, ppn: Ppn, cleaned: Cleaned, out: &mut Vec<HostAction>) -> bool {
        if cleaned == Cleaned::MustFlush {
            self.stats.page_outs += 1;
            self.flushing += 1;
            if let Some(vpn) = self.vm.page(ppn) {
                self.flush_work(out);
                out.push(HostAction::PageOut { vpn, ppn });
            }
        }
        matches!(cleaned, Cleaned::Cached | Cleaned::MustFlush)
    }

    /// Gives frames to the pages that wait for one.
    fn feed(&mut self, out: &mut Vec<HostAction>) {
        while let Some(&vpn) = self.starved.front() {
            if !self.waiting.contains_key(&vpn) {
                self.starved.pop_front();
                continue;
            }
            // The page was queued twice, because its first waiters were refused.
            if self.vm.place(vpn).is_some() {
                self.starved.pop_front();
                continue;
            }
            if !self.bring(vpn, out) {
                return;
            }
            self.starved.pop_front();
        }
    }

    /// Gives a page a frame, if one can be had.
    fn bring(&mut self, vpn: Vpn, out: &mut Vec<HostAction>) -> bool {
        let Some((ppn, evicted)) = self.vm.allocate(vpn) else { return false };
        self.stats.page_ins += 1;
        if let Some(vpn) = evicted {
            out.push(HostAction::Evict { vpn, ppn });
        }
        out.push(HostAction::PageIn { vpn, ppn });
        true
    }

    /// A page is in its frame and active: serves what waits for it.
    fn arrived(&mut self, ppn: Ppn, memory: &(impl PageMemory + ?Sized), out: &mut Vec<HostAction>) {
        let Some(vpn) = self.vm.page(ppn) else { return };
        let waiters = self.waiting.remove(&vpn).unwrap_or_default();
        self.serve(ppn, waiters, memory, out);
    }

    /// Drops a page that was doomed while it was on its way.
    fn bury(&mut self, ppn: Ppn, out: &mut Vec<HostAction>) {
        if self.vm.take_doom(ppn)
            && let Some(vpn) = self.vm.page(ppn)
        {
            self.discard(vpn, out);
        }
    }

    fn serve(
        &mut self,
        ppn: Ppn,
        waiters: Vec<PageWaiter>,
        memory: &(impl PageMemory + ?Sized),
        out: &mut Vec<HostAction>,
    ) {
        let Some(vpn) = self.vm.page(ppn) else { return };
        let key = self.exports.key(vpn);
        let mut after = Vec::new();
        // First copy the bytes, then map, then serve those who need the mapping.
        for waiter in waiters {
            match waiter {
                PageWaiter::Bytes { head, payload } if key == Some(head.dst.key) => {
                    self.flush_work(out);
                    memory.write(FrameAddress { ppn, offset: head.dst.offset.into() }, &payload);
                    self.vm.touch(ppn, true);
                    self.stats.copies += 1;
                    out.push(HostAction::Work(HostWork::Copy(payload.len() as u32)));
                    self.leave_slot(&head);
                    out.push(HostAction::Nic(HostReply::Placed(head)));
                }
                PageWaiter::Local { token, usage } => {
                    self.used(ppn, usage);
                    out.push(HostAction::Ready { vpn, token });
                }
                other => after.push(other),
            }
        }
        if key.is_some() {
            self.map(ppn, vpn);
            self.flush_work(out);
        }
        for waiter in after {
            let right = match &waiter {
                PageWaiter::Serve { head, .. } if head.kind == HeadKind::Read => key == Some(head.src.key),
                PageWaiter::Serve { head, .. } => key == Some(head.dst.key),
                PageWaiter::Command { key: has, .. } => key == Some(*has),
                PageWaiter::Bytes { .. } | PageWaiter::Local { .. } => false,
            };
            if !right {
                self.turn_away(waiter, out);
                continue;
            }
            self.vm.hold(ppn);
            out.push(HostAction::Nic(match waiter {
                PageWaiter::Serve { head, deferred } => {
                    if !deferred {
                        self.leave_slot(&head);
                    }
                    HostReply::Restart { head, deferred }
                }
                PageWaiter::Command { op, .. } => HostReply::Resume(op),
                PageWaiter::Bytes { .. } | PageWaiter::Local { .. } => unreachable!("served above"),
            }));
        }
    }

    /// Refuses a message for a page that is not exported, or with a wrong key.
    fn turn_away(&mut self, waiter: PageWaiter, out: &mut Vec<HostAction>) {
        self.stats.refused += 1;
        out.push(HostAction::Nic(match waiter {
            PageWaiter::Bytes { head, .. } => {
                self.leave_slot(&head);
                HostReply::Refuse { head, deferred: false }
            }
            PageWaiter::Serve { head, deferred } => {
                if !deferred {
                    self.leave_slot(&head);
                }
                HostReply::Refuse { head, deferred }
            }
            PageWaiter::Command { op, .. } => HostReply::Abandon(op),
            PageWaiter::Local { token, .. } => unreachable!("local use {token} needs no export"),
        }));
    }

    fn leave_slot(&mut self, head: &Head) {
        let slots = self.bounced.get_mut(&head.traffic_from()).expect("it is in a slot");
        *slots -= 1;
    }

    fn map(&mut self, ppn: Ppn, vpn: Vpn) {
        let Some(key) = self.exports.key(vpn) else { return };
        if let crate::shadow::Mapped::PushedOut(_) = self.vm.map(ppn, key, &mut self.work) {
            self.stats.pushed_out += 1;
        }
    }

    /// Tries again the frames that the NIC was using.
    fn look_again(&mut self, out: &mut Vec<HostAction>) {
        let mut leaving = core::mem::take(&mut self.leaving);
        leaving.retain(|&ppn| self.vm.finish_free(ppn, &mut self.work) == Unmap::Locked);
        self.leaving.append(&mut leaving);
        let mut ending = core::mem::take(&mut self.ending);
        ending.retain_mut(|(segment, busy)| {
            busy.retain(|&ppn| self.vm.table().is_leaving(ppn));
            if busy.is_empty() {
                out.push(HostAction::Unexported(*segment));
            }
            !busy.is_empty()
        });
        self.ending.append(&mut ending);
    }

    /// Deactivates and cleans pages until enough frames are free, cached or about to be. Each page is
    /// examined at most once. If pages still wait for frames, leases are taken back.
    fn balance(&mut self, out: &mut Vec<HostAction>) {
        let (active, inactive, cached, free) = self.vm.lengths();
        let want = self.config.spare + self.starved.len() as u32 + self.expected;
        let mut have = cached + free + if self.config.counts_flushing { self.flushing } else { 0 };
        if have >= want {
            return;
        }
        let want = want + self.config.batch;
        let mut looks = (active + inactive).min(MAX_PAGES_EXAMINED_PER_EVENT);
        let mut locked = Vec::new();
        while have < want && looks > 0 {
            looks -= 1;
            // Keep some pages inactive for a while, so that a use can be noticed.
            let (active, inactive, ..) = self.vm.lengths();
            let loose = active.saturating_sub(self.vm.held());
            if inactive < loose / 4 || inactive == 0 {
                let Some(ppn) = self.vm.oldest_active() else { break };
                self.vm.deactivate(ppn, &mut self.work);
                continue;
            }
            let Some(ppn) = self.vm.oldest_inactive() else { break };
            if self.full && self.vm.is_dirty(ppn) {
                self.vm.keep(ppn);
                continue;
            }
            let cleaned = self.vm.clean(ppn, &mut self.work);
            if cleaned == Cleaned::Locked {
                locked.push(ppn);
            }
            have += u32::from(self.cleaned(ppn, cleaned, out));
        }
        self.feed(out);
        let (_, _, cached, free) = self.vm.lengths();
        let soon = cached + free + self.flushing + self.recalling;
        let short = (self.starved.len() as u32).saturating_sub(soon);
        for ppn in locked.into_iter().take(short as usize) {
            if let Some(vpn) = self.vm.page(ppn) {
                self.recall(ppn, vpn, out);
            }
        }
    }

    fn flush_work(&mut self, out: &mut Vec<HostAction>) {
        out.extend(self.work.drain(..).map(HostAction::Work));
    }
}
