//! The paging thread.
//!
//! It handles one event at a time: a fault, a command of another thread, or a timer. The host half
//! ([`netvm_fw::host::Host`]) decides, and this module carries out its actions before the next event (pages
//! to be written out may wait until there is nothing else to do). So the host's view and the state of the
//! segment's pages agree whenever an event is handled:
//!
//! | host | page in the segment | stores to it |
//! |---|---|---|
//! | paging in, until the store has it | missing | wait |
//! | active, inactive: clean | present, write-protected | fault; then it is dirty |
//! | active, inactive: dirty | present | are not noticed |
//! | paging out | present; write-protected **before** it is copied | from then on fault, and wait until it has been written |
//! | cache | present, write-protected, as in the backing store | fault; then it is active and dirty |
//! | none | missing | wait |
//!
//! A backing store may finish reads and writes later. Then the page is on its way for as long, and other
//! events are handled meanwhile.
//!
//! Only pages in the *cache* are dropped. The contents of such a page are in the backing store. A store to
//! the page either faulted before, so that the page left the cache, or finds the page missing.
//!
//! This thread faults on no page of the segment: it reads pages only while they are present, and no other
//! thread removes them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use firehose_live::uffd::Fault;
use gasnet_wire::Advice;
use netvm_fw::host::{FrameState, Host, HostAction, HostEvent, Segment};
use netvm_fw::{PortId, Ppn, Vpn};
use slab::Slab;

use super::error::{HoldError, Notice, PagerError};
use super::memory::PagedMemory;
use super::mending::{Mending, ZERO, mend};
use super::queue::{Command, Hold, HoldDone, Plan, Queue};
use super::stats::PagerCounters;
use super::store::{Begun, MAX_RUN_PAGES, PAGE_BYTES, Page, Store, Tag, is_no_room};
use super::stream::Streams;
use super::{Calls, wait};

/// Time until pages that could not leave are tried again.
const RETRY_INTERVAL: Duration = Duration::from_micros(100);
/// The same time when the backing store is full.
const FULL_RETRY_INTERVAL: Duration = Duration::from_millis(10);

// The purpose of a page, in the lower bits of a token.
const TOKEN_READ: u64 = 0;
const TOKEN_WRITE: u64 = 1;
const TOKEN_HOLD: u64 = 2;

/// A read or write of the backing store that finishes later: its pages and their frames.
#[derive(Debug)]
enum Move {
    In(Vec<(u64, Ppn)>),
    Out(Vec<(u64, Ppn)>),
}

/// The result of writing pages out.
enum Written {
    Done,
    Later,
    NoRoom,
}

/// A hold that waits for its pages.
struct Holding {
    pages: Range<u64>,
    kind: Hold,
    missing: u64,
    done: HoldDone,
}

/// The state of a held page.
#[derive(Default)]
struct Held {
    holds: u32,
    pins: u32,
}

/// The state of the thread.
pub(super) struct PagerEngine {
    pub(super) host: Host,
    pub(super) memory: Arc<PagedMemory>,
    pub(super) store: Box<dyn Store>,
    zeros: Box<[Page]>,
    pub(super) queue: Arc<Queue>,
    pub(super) counts: Arc<PagerCounters>,
    pub(super) calls: Calls,
    pub(super) port: PortId,
    /// Pages that may be held at the same time.
    pub(super) holdable: u64,
    /// The exports of the batches of lent memory.
    pub(super) lent: Vec<Segment>,
    /// Streams of sequential page faults, and of sequential stores.
    pub(super) streams: Streams,
    pub(super) stores: Streams,
    /// How long pages may wait for a full backing store.
    pub(super) patience: Duration,
    /// The time.
    pub(super) clock: Box<dyn Fn() -> Instant + Send>,
    /// False only in the test that shows what write protection is for.
    pub(super) protects: bool,
    parts: Parts,
}

/// The parts that start empty.
#[derive(Default)]
pub(super) struct Parts {
    /// Work in progress.
    commands: VecDeque<Command>,
    faults: Vec<Fault>,
    out: Vec<HostAction>,
    /// Pages being brought in: (page, frame).
    ins: Vec<(u64, Ppn)>,
    outs: Vec<(u64, Ppn)>,
    /// Reads and writes under way, by tag, and how many of them are writes.
    moves: Slab<Move>,
    writes: u32,
    drops: Vec<u64>,
    /// Pages of `ins` that will be stored to.
    for_writing: HashSet<u64>,
    /// Pages that have just been put in place: the threads that waited for them are awake.
    fresh: Vec<u64>,
    /// By frame: whether its page has been written out since it came in.
    written: Vec<bool>,
    held: HashMap<u64, Held>,
    holding: HashMap<u64, Holding>,
    /// Holds that wait for others to be released.
    queued: VecDeque<(Range<u64>, Hold, HoldDone)>,
    next_hold: u64,
    /// Pages that the program has announced, and whether it will overwrite them.
    announced: VecDeque<(u64, bool)>,
    /// Turns in a row in which no announced page found a frame.
    idle_turns: u32,
    /// Time since which the backing store has been full and pages have waited.
    full: Option<Instant>,
    /// Time of the next try.
    again: Option<Instant>,
}

impl Parts {
    pub(super) fn new(frames: u32) -> Parts {
        Parts { written: vec![false; frames as usize], ..Parts::default() }
    }
}

type Step = Result<(), PagerError>;

fn system(what: &'static str) -> impl Fn(io::Error) -> PagerError {
    move |error| PagerError::System { what, error }
}

impl PagerEngine {
    #[expect(clippy::too_many_arguments, reason = "a constructor whose parts are made in one place")]
    pub(super) fn new(
        host: Host,
        memory: Arc<PagedMemory>,
        store: Box<dyn Store>,
        queue: Arc<Queue>,
        calls: Calls,
        port: PortId,
        holdable: u64,
        read_ahead: u32,
        patience: Duration,
    ) -> PagerEngine {
        let parts = Parts::new(host.vm().table().geometry().frames);
        let (streams, stores) = (Streams::new(read_ahead), Streams::new(read_ahead));
        PagerEngine {
            host,
            memory,
            store,
            zeros: vec![ZERO; MAX_RUN_PAGES].into(),
            queue,
            counts: Arc::default(),
            calls,
            port,
            holdable,
            lent: Vec::new(),
            streams,
            stores,
            patience,
            clock: Box::new(Instant::now),
            protects: true,
            parts,
        }
    }

    /// Gives the pages that are never paged their frames.
    pub(super) fn keep_extra(&mut self) -> Step {
        for page in self.memory.paged()..self.memory.pages() {
            self.host.hold(self.vpn(page), TOKEN_READ, &mut self.parts.out);
        }
        self.carry_out(true)
    }

    /// Runs until it is told to stop.
    pub(super) fn run(&mut self) -> Step {
        loop {
            let attends = self.store.attend();
            let timeout = if attends { Some(Duration::ZERO) } else { self.timeout() };
            let fds = [self.memory.kernel().fd(), self.queue.fd()];
            let [faulted, rung] = wait(fds, timeout).map_err(system("cannot wait for page faults"))?;
            if self.turn(faulted, rung, attends)? {
                return Ok(());
            }
        }
    }

    /// After how long it must do something if nothing happens.
    pub(super) fn timeout(&self) -> Option<Duration> {
        let hungry = !self.parts.queued.is_empty() || self.host.starved() > 0;
        match (self.parts.full, self.host.next_deadline()) {
            _ if self.queue.rest(hungry) => Some(Duration::ZERO),
            // A write that ends frees frames for them.
            _ if !self.parts.announced.is_empty() && self.parts.writes == 0 => Some(Duration::ZERO),
            (Some(_), _) => Some(FULL_RETRY_INTERVAL),
            (None, Some(_)) => Some(RETRY_INTERVAL),
            (None, None) => None,
        }
    }

    /// Handles what has happened: whether there are faults, and whether the bell has rung. `again`: it did
    /// not wait. Returns whether it was told to stop.
    pub(super) fn turn(&mut self, faulted: bool, rung: bool, again: bool) -> Result<bool, PagerError> {
        let (mut commands, mut faults) =
            (std::mem::take(&mut self.parts.commands), std::mem::take(&mut self.parts.faults));
        // Commands that were not rung for are taken too, and first: they may release pages that faults need.
        self.queue.take(rung, &mut commands);
        let idle = !faulted && commands.is_empty() && !again;
        if self.finish()? {
            self.carry_out(false)?;
        }
        for command in commands.drain(..) {
            if matches!(command, Command::Stop) {
                return Ok(true);
            }
            self.command(command)?;
            self.carry_out(false)?;
        }
        if faulted {
            self.memory.kernel().faults(&mut faults).map_err(system("cannot read page faults"))?;
            for fault in faults.drain(..) {
                self.fault(fault)?;
            }
            self.carry_out(false)?;
        }
        (self.parts.commands, self.parts.faults) = (commands, faults);
        if idle {
            self.look_again()?;
        }
        self.fetch_announced()?;
        self.carry_out(true)?;
        self.report();
        Ok(false)
    }

    fn vpn(&self, page: u64) -> Vpn {
        Vpn::new(self.port, page)
    }

    fn look_again(&mut self) -> Step {
        if let Some(since) = self.parts.full {
            // A turn may come early, as when a bell rings late. If the host believed that there was room, it
            // would offer pages as often as this thread refuses them.
            if !self.rests() {
                self.host.set_full(false);
            }
            if self.host.starved() == 0 {
                self.parts.full = Some((self.clock)());
            } else if (self.clock)() - since > self.patience {
                let (dir, stored) = (self.store.file().dir().to_path_buf(), self.store.stored() * PAGE_BYTES);
                return Err(PagerError::Full { dir, stored, waiting: self.host.starved() as u64 });
            }
        }
        self.host.handle(0, HostEvent::Timer, &*self.memory, &mut self.parts.out);
        Ok(())
    }

    fn report(&self) {
        let (counts, stats) = (&self.counts, self.host.stats());
        counts.stored.set(self.store.stored());
        counts.bounced.set(stats.copies);
        counts.locked.set(stats.locked);
    }

    // ---- faults

    fn fault(&mut self, fault: Fault) -> Step {
        let Some(page) = self.memory.page_at(fault.address) else { return Ok(()) };
        let count = if fault.protected { &self.counts.write_protect_faults } else { &self.counts.faults };
        count.add(1);
        let token = if fault.write { TOKEN_WRITE } else { TOKEN_READ };
        if self.host.touch(self.vpn(page), fault.write, token, &mut self.parts.out) {
            return self.here_already(page, fault);
        }
        if fault.write {
            self.parts.for_writing.insert(page);
        }
        self.counts.waits.add(u64::from(self.host.starved() > 0));
        if !fault.protected {
            self.read_ahead(page, fault.write);
        }
        Ok(())
    }

    /// A fault on a page that is present: it was protected, or another thread's fault has brought it.
    fn here_already(&mut self, page: u64, fault: Fault) -> Step {
        if !fault.protected {
            self.counts.late_faults.add(1);
            let mended = mend(&self.memory, page, 1);
            if mended.map_err(system("cannot put a page in place"))? {
                // The page now differs from the backing store.
                self.host.touch(self.vpn(page), true, TOKEN_WRITE, &mut self.parts.out);
                if let Some(ppn) = self.host.vm().place(self.vpn(page)) {
                    self.memory.set_writable(ppn, false);
                }
                return Ok(());
            }
        } else {
            let wanted = self.stores.fault(page);
            return self.let_in_ahead(page, wanted);
        }
        self.let_in(page, fault.write)
    }

    /// Stores come in order: allows stores to the next pages, which are dirty from now on.
    fn let_in_ahead(&mut self, page: u64, more: u64) -> Step {
        let mut next = page;
        while next < self.memory.paged().min(page + 1 + more) {
            let vpn = self.vpn(next);
            let Some(ppn) = self.host.vm().place(vpn) else { break };
            let here = matches!(
                self.host.vm().state(ppn),
                FrameState::Active | FrameState::Inactive | FrameState::Cache
            );
            if !here
                || self.memory.writable(ppn)
                || !self.host.touch(vpn, true, TOKEN_WRITE, &mut self.parts.out)
            {
                break;
            }
            self.memory.set_writable(ppn, true);
            next += 1;
        }
        self.stores.expect(page, next);
        let len = (next - page).max(1) * PAGE_BYTES;
        self.memory
            .kernel()
            .protect(self.memory.address(page), len, false)
            .map_err(system("cannot let pages be written to"))
    }

    /// Lets the threads that wait for a present page continue.
    fn let_in(&mut self, page: u64, write: bool) -> Step {
        // Its fault has been served, so a later page-in is not for this fault.
        self.parts.for_writing.remove(&page);
        match self.host.vm().place(self.vpn(page)) {
            Some(ppn) if write && !self.memory.writable(ppn) => {
                self.memory.unprotect(ppn).map_err(system("cannot let a page be written to"))?;
            }
            _ => self.memory.kernel().wake(self.memory.address(page), PAGE_BYTES),
        }
        Ok(())
    }

    fn read_ahead(&mut self, page: u64, write: bool) {
        let most = self.memory.paged();
        let wanted = self.streams.fault(page);
        let mut next = page + 1;
        while next < most.min(page + 1 + wanted) {
            if !self.host.fetch(self.vpn(next), write, &mut self.parts.out) {
                break;
            }
            if write {
                self.parts.for_writing.insert(next);
            }
            self.counts.read_ahead.add(1);
            next += 1;
        }
        self.streams.expect(page, next);
    }

    // ---- commands

    fn command(&mut self, command: Command) -> Step {
        let event = match command {
            Command::Interrupt(interrupt) => HostEvent::Interrupt(interrupt),
            Command::Consumed(head) => HostEvent::Consumed(head),
            Command::Hold { pages, kind, wait, done } => return self.hold(pages, kind, wait, done),
            Command::Release { pages, kind } => return self.release(pages, kind),
            Command::Advise(plan) => {
                self.advise(plan);
                return Ok(());
            }
            Command::Stored | Command::Stop => return Ok(()),
        };
        self.tell(event);
        Ok(())
    }

    /// Tells the host what has happened.
    fn tell(&mut self, event: HostEvent) {
        self.host.handle(0, event, &Mending(&self.memory), &mut self.parts.out);
    }

    fn advise(&mut self, plan: Plan) {
        let Plan { pages, whole, advice, done } = plan;
        if advice == Advice::Leaving {
            // Where all pages fit nobody needs their frames.
            let leave = if self.fits() { whole.start..whole.start } else { whole };
            for page in leave {
                let left = self.host.leave(self.vpn(page), &mut self.parts.out);
                self.counts.given_up.add(u64::from(left));
            }
            return;
        }
        let mut room = self.most_announced().saturating_sub(self.parts.announced.len() as u64);
        for page in pages {
            let vpn = self.vpn(page);
            let overwrite = advice == Advice::Overwrite && whole.contains(&page);
            match self.host.vm().place(vpn).map(|ppn| self.host.vm().state(ppn)) {
                Some(FrameState::PagingIn | FrameState::PagingOut | FrameState::Leaving) => continue,
                // It must not leave meanwhile.
                Some(_) => {
                    self.host.touch(vpn, false, TOKEN_READ, &mut self.parts.out);
                    continue;
                }
                None => {}
            }
            if overwrite {
                self.counts.forgotten.add(u64::from(self.store.forget(page)));
            }
            if room > 0 {
                room -= 1;
                self.parts.announced.push_back((page, overwrite));
            }
        }
        // Who has stopped waiting is told nothing.
        let _ = done.send(());
    }

    /// Whether the whole segment may be resident.
    fn fits(&self) -> bool {
        self.holdable >= self.memory.paged()
    }

    /// Pages that may be announced at the same time.
    fn most_announced(&self) -> u64 {
        if self.fits() { self.holdable } else { self.holdable / 2 }
    }

    /// Frees frames for announced pages, and fetches as many as can be read together: faults that come
    /// meanwhile are served in between. Pages for which no frame can be freed wait for their faults.
    fn fetch_announced(&mut self) -> Step {
        let wanted = self.parts.announced.len().min(MAX_RUN_PAGES);
        if wanted == 0 {
            return Ok(());
        }
        self.host.expect(wanted as u32);
        self.carry_out(true)?;
        self.host.expect(0);
        for done in 0..wanted {
            let Some(&(page, overwrite)) = self.parts.announced.front() else { break };
            let vpn = self.vpn(page);
            if self.host.vm().place(vpn).is_none() {
                if !self.host.fetch(vpn, overwrite, &mut self.parts.out) {
                    let idle = done == 0 && self.parts.writes == 0;
                    self.parts.idle_turns = if idle { self.parts.idle_turns + 1 } else { 0 };
                    // In so many turns the host has looked at each frame a few times.
                    if u64::from(self.parts.idle_turns) > 4 + self.holdable / 64 {
                        self.parts.announced.clear();
                        self.parts.idle_turns = 0;
                    }
                    break;
                }
                if overwrite {
                    self.parts.for_writing.insert(page);
                }
                self.counts.announced.add(1);
                self.parts.idle_turns = 0;
            }
            self.parts.announced.pop_front();
        }
        Ok(())
    }

    fn hold(&mut self, pages: Range<u64>, kind: Hold, wait: bool, done: HoldDone) -> Step {
        if pages.start > pages.end || pages.end > self.memory.pages() {
            done(Err(HoldError::Outside));
            return Ok(());
        }
        let paged = pages.start.min(self.memory.paged())..pages.end.min(self.memory.paged());
        let need = paged.clone().filter(|page| !self.parts.held.contains_key(page)).count() as u64;
        let held = self.parts.held.len() as u64;
        if held + need > self.holdable || wait && !self.parts.queued.is_empty() {
            if wait && need <= self.holdable {
                self.counts.waits.add(1);
                self.parts.queued.push_back((pages, kind, done));
            } else {
                done(Err(HoldError::Budget { need, held, most: self.holdable }));
            }
            return Ok(());
        }
        let id = self.parts.next_hold;
        self.parts.next_hold += 1;
        let mut missing = 0;
        for page in paged.clone() {
            self.parts.held.entry(page).or_default().holds += 1;
            self.counts.holds.add(1);
            missing += u64::from(!self.host.hold(self.vpn(page), TOKEN_HOLD | id << 2, &mut self.parts.out));
        }
        let holding = Holding { pages: paged, kind, missing, done };
        if missing == 0 {
            return self.held(holding);
        }
        self.parts.holding.insert(id, holding);
        Ok(())
    }

    /// All pages of a hold are present.
    fn held(&mut self, holding: Holding) -> Step {
        let Holding { pages, kind, done, .. } = holding;
        if kind == Hold::Pin {
            let pinned = self.change_pins(&pages, true, |memory, page, n| memory.pin(page, n));
            if let Err(error) = pinned {
                self.change_pins(&pages, false, |memory, page, n| {
                    memory.unpin(page, n);
                    Ok(())
                })
                .map_err(system("cannot unpin"))?;
                done(Err(HoldError::Pin(error.raw_os_error().unwrap_or(0))));
                return self.release(pages, Hold::Stay);
            }
        }
        done(Ok(()));
        Ok(())
    }

    /// Counts the pins of pages up or down, and calls `change` for runs of those that begin or end to be
    /// pinned.
    fn change_pins(
        &mut self,
        pages: &Range<u64>,
        up: bool,
        change: impl Fn(&PagedMemory, u64, u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut run = pages.start..pages.start;
        let mut result = Ok(());
        for page in pages.clone().chain([u64::MAX]) {
            let edge = self.parts.held.get_mut(&page).is_some_and(|held| {
                if up {
                    held.pins += 1;
                } else {
                    held.pins -= 1;
                }
                held.pins == u32::from(up)
            });
            if edge && run.end == page {
                run.end = page + 1;
                continue;
            }
            if run.start < run.end {
                let n = run.end - run.start;
                let count = if up { &self.counts.pins } else { &self.counts.unpins };
                count.add(n);
                result = result.and(change(&self.memory, run.start, n));
            }
            run = if edge { page..page + 1 } else { page.saturating_add(1)..page.saturating_add(1) };
        }
        result
    }

    fn release(&mut self, pages: Range<u64>, kind: Hold) -> Step {
        let pages = pages.start.min(self.memory.paged())..pages.end.min(self.memory.paged());
        if kind == Hold::Pin {
            self.change_pins(&pages, false, |memory, page, n| {
                memory.unpin(page, n);
                Ok(())
            })
            .map_err(system("cannot unpin"))?;
        }
        for page in pages {
            let Some(held) = self.parts.held.get_mut(&page) else { continue };
            held.holds -= 1;
            if held.holds == 0 {
                self.parts.held.remove(&page);
            }
            self.host.release(self.vpn(page));
        }
        // Holds that wait for room, in order.
        for _ in 0..self.parts.queued.len() {
            let Some((pages, kind, done)) = self.parts.queued.pop_front() else { break };
            let need = pages.clone().filter(|page| !self.parts.held.contains_key(page)).count() as u64;
            if self.parts.held.len() as u64 + need > self.holdable {
                self.parts.queued.push_front((pages, kind, done));
                break;
            }
            self.hold(pages, kind, false, done)?;
        }
        Ok(())
    }

    // ---- actions of the host

    /// Carries out all actions of the host, and those that follow from them. `outs`: also those that nobody
    /// waits for, which are page-outs. Until then stores to these pages still pass: they come before the
    /// copy.
    fn carry_out(&mut self, outs: bool) -> Step {
        self.host.tidy(&mut self.parts.out);
        loop {
            let mut actions = std::mem::take(&mut self.parts.out);
            let idle = actions.is_empty();
            for action in actions.drain(..) {
                self.act(action)?;
            }
            // Keep the buffer.
            if self.parts.out.is_empty() {
                self.parts.out = actions;
            }
            self.parts.fresh.clear();
            self.drop_pages()?;
            if !self.parts.ins.is_empty() {
                self.page_in()?;
            } else if outs && !self.parts.outs.is_empty() {
                self.page_out()?;
            } else if idle && self.parts.out.is_empty() {
                return Ok(());
            }
        }
    }

    fn act(&mut self, action: HostAction) -> Step {
        match action {
            HostAction::Work(_) => {}
            HostAction::Unexported(batch) => self.renew(batch),
            // Transfers with these leases find them broken; ranks that use them should ask again.
            HostAction::Recalled(vpn) => (self.calls.recalled)(vpn.page()),
            HostAction::Nic(reply) => (self.calls.reply)(reply),
            HostAction::Wake(port) => (self.calls.wake)(port),
            HostAction::Message { head, payload } => (self.calls.message)(head, payload),
            HostAction::PageIn { vpn, ppn } => self.parts.ins.push((vpn.page(), ppn)),
            HostAction::PageOut { vpn, ppn } => self.parts.outs.push((vpn.page(), ppn)),
            HostAction::Evict { vpn, ppn } => {
                debug_assert!(
                    !self.protects || !self.memory.writable(ppn),
                    "a page that is dropped is clean"
                );
                self.counts.drops.add(1);
                self.counts.clean_drops.add(u64::from(!self.parts.written[ppn.index()]));
                self.parts.drops.push(vpn.page());
            }
            HostAction::Ready { vpn, token } => return self.ready(vpn.page(), token),
        }
        Ok(())
    }

    /// The key of a batch that has come back opens nothing any more, and no DMA that it opened is under way.
    /// The batch gets another, with which it may be lent again.
    fn renew(&mut self, batch: Segment) {
        let Segment { port, name, address, size, .. } = batch;
        let export = self.host.export(port, name, address, size, &mut self.parts.out);
        let export = export.expect("the same pages, whose export has ended");
        self.lent[name as usize - 1] = export;
        self.store.renewed(name as u32 - 1, export.key.0);
    }

    /// A page is present that a program or a hold waits for.
    fn ready(&mut self, page: u64, token: u64) -> Step {
        if page >= self.memory.paged() {
            return Ok(());
        }
        let write = token == TOKEN_WRITE;
        let place = self.host.vm().place(self.vpn(page));
        let open = place.is_some_and(|ppn| !write || self.memory.writable(ppn));
        if !(open && self.parts.fresh.contains(&page)) {
            self.let_in(page, write)?;
        }
        if token & 3 == TOKEN_HOLD
            && let Some(holding) = self.parts.holding.get_mut(&(token >> 2))
        {
            holding.missing -= 1;
            if holding.missing == 0
                && let Some(holding) = self.parts.holding.remove(&(token >> 2))
            {
                self.held(holding)?;
            }
        }
        Ok(())
    }

    fn drop_pages(&mut self) -> Step {
        let mut drops = std::mem::take(&mut self.parts.drops);
        drops.sort_unstable();
        for run in drops.chunk_by(|a, b| a + 1 == *b) {
            self.memory
                .drop_pages(run[0], run.len() as u64)
                .map_err(system("cannot drop pages of the segment (is it locked by mlock?)"))?;
            self.counts.resident.set(self.counts.resident.get() - run.len() as u64);
        }
        drops.clear();
        self.parts.drops = drops;
        Ok(())
    }

    fn page_in(&mut self) -> Step {
        let mut ins = std::mem::take(&mut self.parts.ins);
        ins.sort_unstable();
        let mut rest = &ins[..];
        while let Some(&(page, ppn)) = rest.first() {
            self.parts.written[ppn.index()] = false;
            if page >= self.memory.paged() {
                self.memory.set_page(ppn, page, true);
                self.tell(HostEvent::PagedIn(ppn));
                rest = &rest[1..];
                continue;
            }
            let write = self.parts.for_writing.contains(&page);
            let alike = |i: usize, p: u64| {
                p == page + i as u64
                    && self.parts.for_writing.contains(&p) == write
                    && p < self.memory.paged()
            };
            let follow = rest.iter().enumerate().take_while(|&(i, &(p, _))| alike(i, p)).count();
            let count = self.store.run(page, follow);
            let (run, later) = rest.split_at(count);
            rest = later;
            if !self.store.has(page) {
                self.arrive(run, None)?;
                continue;
            }
            self.counts.reads.add(1);
            let tag = Tag(self.parts.moves.vacant_key());
            match self.store.read(page, count, tag) {
                Ok(Begun::Done) => self.arrive(run, Some(tag))?,
                Ok(Begun::Later) => _ = self.parts.moves.insert(Move::In(run.to_vec())),
                Err(error) => return Err(self.failed("read", error)),
            }
        }
        ins.clear();
        self.parts.ins = ins;
        Ok(())
    }

    fn failed(&self, what: &'static str, error: io::Error) -> PagerError {
        PagerError::Io { what, dir: self.store.file().dir().to_path_buf(), error }
    }

    /// Puts pages in place, from a read of the store or as zeros, and wakes the threads that wait for them.
    fn arrive(&mut self, run: &[(u64, Ppn)], read: Option<Tag>) -> Step {
        let mut done = 0;
        let for_writing = |parts: &Parts, page: u64| parts.for_writing.contains(&page);
        while done < run.len() {
            let page = run[done].0;
            // A store may have come for some of them while they were read.
            let write = for_writing(&self.parts, page);
            let alike = run[done..].iter().take_while(|(p, _)| for_writing(&self.parts, *p) == write).count();
            let part = &run[done..done + alike];
            for &(page, ppn) in part {
                // Before programs can store to it, and before the NIC can find it.
                self.memory.set_page(ppn, page, write);
                self.parts.written[ppn.index()] = false;
                self.parts.for_writing.remove(&page);
                self.parts.fresh.push(page);
            }
            let pages = match read {
                Some(tag) => &self.store.pages(tag)[done..done + alike],
                None => &self.zeros[..alike],
            };
            // Before threads that wait for them can look at the counters.
            let came = if read.is_some() { &self.counts.page_ins } else { &self.counts.zero_fills };
            came.add(alike as u64);
            self.memory.put(page, pages, !write).map_err(system("cannot put a page in place"))?;
            let resident = self.counts.resident.get() + alike as u64;
            self.counts.resident.set(resident);
            self.counts.most_resident.set(self.counts.most_resident.get().max(resident));
            part.iter().for_each(|&(_, ppn)| self.tell(HostEvent::PagedIn(ppn)));
            done += alike;
        }
        Ok(())
    }

    /// Handles what the store has finished. Returns whether there was something.
    fn finish(&mut self) -> Result<bool, PagerError> {
        let mut any = false;
        while let Some((tag, result)) = self.store.finished() {
            any = true;
            match self.parts.moves.remove(tag.0) {
                Move::In(run) => {
                    result.map_err(|error| self.failed("read", error))?;
                    self.arrive(&run, Some(tag))?;
                }
                Move::Out(run) => {
                    self.parts.writes -= 1;
                    let written = self.written(result.map(|()| Begun::Done), run.len())?;
                    self.told(&run, &written);
                    self.room(matches!(written, Written::Done));
                }
            }
        }
        for batch in self.store.take_returned() {
            any = true;
            self.host.unexport(&self.lent[batch as usize], &mut self.parts.out);
        }
        Ok(any)
    }

    fn page_out(&mut self) -> Step {
        let mut outs = std::mem::take(&mut self.parts.outs);
        outs.sort_unstable();
        if self.protects {
            self.protect(&outs)?;
        }
        let mut room = !self.rests();
        for chunk in outs.chunks(MAX_RUN_PAGES) {
            let written = if room { self.write(chunk)? } else { Written::NoRoom };
            room = !matches!(written, Written::NoRoom);
            self.told(chunk, &written);
        }
        self.room(room && self.parts.writes == 0);
        outs.clear();
        self.parts.outs = outs;
        Ok(())
    }

    /// Whether the backing store was full and is not to be tried again yet.
    fn rests(&self) -> bool {
        self.parts.again.is_some_and(|again| (self.clock)() < again)
    }

    /// Tells the host what has become of pages on their way out.
    fn told(&mut self, pages: &[(u64, Ppn)], written: &Written) {
        for &(_, ppn) in pages {
            match written {
                Written::Done => {
                    self.parts.written[ppn.index()] = true;
                    self.tell(HostEvent::PagedOut(ppn));
                }
                Written::NoRoom => self.tell(HostEvent::PageOutFailed(ppn)),
                Written::Later => {}
            }
        }
    }

    /// Reports that a store that was full has room again, if it has.
    fn room(&mut self, room: bool) {
        if room && self.parts.full.take().is_some() {
            self.parts.again = None;
            (self.calls.notice)(Notice::Room);
        }
    }

    /// From here on a store to one of these pages faults and waits, so what is written out is what the page
    /// has when it is dropped.
    fn protect(&mut self, outs: &[(u64, Ppn)]) -> Step {
        for run in outs.chunk_by(|a, b| a.0 + 1 == b.0) {
            // If the program has dropped one of them, the copy would fault.
            mend(&self.memory, run[0].0, run.len() as u64).map_err(system("cannot put a page in place"))?;
            if run.iter().any(|&(_, ppn)| self.memory.writable(ppn)) {
                let (to, len) = (self.memory.address(run[0].0), run.len() as u64 * PAGE_BYTES);
                self.memory.kernel().protect(to, len, true).map_err(system("cannot write-protect pages"))?;
                run.iter().for_each(|&(_, ppn)| self.memory.set_writable(ppn, false));
            }
        }
        Ok(())
    }

    /// Writes pages out.
    fn write(&mut self, pages: &[(u64, Ppn)]) -> Result<Written, PagerError> {
        let list: Vec<u64> = pages.iter().map(|&(page, _)| page).collect();
        let tag = Tag(self.parts.moves.vacant_key());
        let begun = self.memory.write_out(&mut *self.store, &list, tag);
        let written = self.written(begun, pages.len())?;
        if matches!(written, Written::Later) {
            self.parts.moves.insert(Move::Out(pages.to_vec()));
            self.parts.writes += 1;
        }
        Ok(written)
    }

    /// Counts what has become of a write of so many pages.
    fn written(&mut self, result: io::Result<Begun>, pages: usize) -> Result<Written, PagerError> {
        match result {
            Ok(Begun::Later) => Ok(Written::Later),
            Ok(Begun::Done) => {
                self.counts.page_outs.add(pages as u64);
                self.counts.writes.add(1);
                self.host.set_full(false);
                Ok(Written::Done)
            }
            Err(error) if is_no_room(&error) => {
                self.counts.full.add(1);
                self.host.set_full(true);
                let now = (self.clock)();
                self.parts.again = Some(now + FULL_RETRY_INTERVAL);
                if self.parts.full.is_none() {
                    self.parts.full = Some(now);
                    let dir = self.store.file().dir().to_path_buf();
                    (self.calls.notice)(Notice::Full { dir, stored: self.store.stored() * PAGE_BYTES });
                }
                Ok(Written::NoRoom)
            }
            Err(error) => Err(self.failed("write", error)),
        }
    }
}
