//! Leases instead of pins, for `firehose-over-locks`.
//!
//! The [`firehose::Firehose`] of a rank decides as usual. To *pin* a bucket means that the own NIC leases
//! each of its pages ([`Library::lease`](netvm_fw::library::Library::lease)): a lock in the shadow table that
//! stays, at the cost of a command and its reply. To unpin means to end the leases. (Where pages are
//! [held](crate::Registration::Held), the host brings them first, and keeps them resident.) The answer to a
//! move carries the leases (frame and break count of each page). A transfer names its lease, so that the NIC
//! at its target neither searches nor locks.
//!
//! **Recall.** A lease keeps its page resident. The host takes it back when other pages wait for a frame, and
//! the NIC ends it at once, whatever this rank's program is doing. A transfer under a lease that has ended
//! takes the ordinary path: lock, or bounce. The strategy learns of it as of any changed mapping
//! ([`Change::Removed`](firehose::Change::Removed)): it ends the registration and has its firehoses dropped.

use crate::event::{Owner, Start};
use crate::paging::Paging;
use crate::shared::Caller;
use firehose::{Message, PinError, Run};
use gasnet_ops::home::REPLY_WORDS;
use netvm_fw::library::Library;
use netvm_fw::shadow::Lease;
use netvm_fw::{PAGE, Ppn};
use slab::Slab;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A pin or unpin that has ended.
pub(crate) type Settled = (Run, bool, Result<(), PinError>);

/// A command to the own NIC.
#[derive(Debug, Clone, Copy)]
struct Command {
    page: u64,
    /// Whether the host has to bring the page first.
    bring: bool,
    /// The lease to be ended; `None`: a lease is wanted.
    end: Option<Lease>,
    /// The pin or unpin that the command is part of.
    job: Option<u32>,
}

/// A pin or unpin under way.
#[derive(Debug)]
struct PinJob {
    run: Run,
    pin: bool,
    left: usize,
    failed: bool,
}

/// Bytes of a lease in the answer to a move: page, frame, break count.
const LEASE_BYTES: usize = 16;

struct LeaseState {
    /// Pages in a bucket.
    pages: u64,
    /// Leases of own pages.
    own: HashMap<u64, Lease>,
    /// Leases of peers' pages.
    far: HashMap<(u32, u64), Lease>,
    /// The runs of peers' questions, by the peers' ids.
    asked: HashMap<(u32, u64), Vec<Run>>,
    jobs: Slab<PinJob>,
    line: VecDeque<Command>,
    /// Commands whose page is being brought in.
    coming: Vec<Command>,
    /// Commands without an answer yet.
    posted: Vec<(u32, Command)>,
    settled: VecDeque<Settled>,
}

impl LeaseState {
    fn pages(&self, run: Run) -> std::ops::Range<u64> {
        run.first * self.pages..(run.first + run.count) * self.pages
    }

    /// Ends the leases of these pages; returns how many there were.
    fn give_back(&mut self, run: Run, job: Option<u32>) -> usize {
        let before = self.line.len();
        for page in self.pages(run) {
            let end = self.own.remove(&page);
            self.line.extend(end.map(|lease| Command { page, bring: false, end: Some(lease), job }));
        }
        self.line.len() - before
    }

    /// A command is answered.
    fn answered(&mut self, command: Command, reply: Option<[u32; REPLY_WORDS]>) {
        let mut failed = false;
        if command.end.is_none() {
            match reply.and_then(Library::lease_of) {
                Some(lease) => drop(self.own.insert(command.page, lease)),
                None => failed = true,
            }
        }
        self.ended(command, failed);
    }

    /// A command has ended.
    fn ended(&mut self, command: Command, failed: bool) {
        let Some((number, job)) = command.job.and_then(|n| Some((n, self.jobs.get_mut(n as usize)?))) else {
            return;
        };
        job.failed |= failed;
        job.left -= 1;
        if job.left == 0 {
            self.settle(number);
        }
    }

    /// This rank gives up a peer's leases.
    fn forget(&mut self, peer: u32, run: Run) {
        for page in self.pages(run) {
            self.far.remove(&(peer, page));
        }
    }

    fn settle(&mut self, number: u32) {
        let Some(job) = self.jobs.try_remove(number as usize) else { return };
        let mut result = Ok(());
        if job.failed {
            // All of the pages, or none.
            self.give_back(job.run, None);
            result = Err(PinError::Unmapped);
        }
        self.settled.push_back((job.run, job.pin, result));
    }
}

/// A rank's leases, its own and those that peers granted it.
pub(crate) struct Leases {
    pub(crate) paging: Arc<Paging>,
    state: Mutex<LeaseState>,
    keeps: Keeps,
}

/// The mechanism that keeps leased pages in their frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// The leases alone; the NIC asks for the pages.
    Nic,
    /// The leases alone; the host brings the pages first.
    Leases,
    /// The host, as long as the pages are leased.
    Host,
}

impl Leases {
    pub(crate) fn new(paging: Arc<Paging>, bucket: u64, keeps: Keeps) -> Leases {
        let state = LeaseState {
            pages: (bucket / u64::from(PAGE)).max(1),
            own: HashMap::new(),
            far: HashMap::new(),
            asked: HashMap::new(),
            jobs: Slab::new(),
            line: VecDeque::new(),
            coming: Vec::new(),
            posted: Vec::new(),
            settled: VecDeque::new(),
        };
        Leases { paging, state: Mutex::new(state), keeps }
    }

    fn state(&self) -> MutexGuard<'_, LeaseState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for leases on buckets, or for the end of their leases.
    pub(crate) fn ask(&self, run: Run, pin: bool) {
        let all = self.paging.pages();
        let s = &mut *self.state();
        let number = s.jobs.insert(PinJob { run, pin, left: 0, failed: false }) as u32;
        let left = if pin {
            // The last bucket may reach beyond the segment.
            let pages = s.pages(run).filter(|page| *page < all);
            let before = s.line.len();
            let command =
                |page| Command { page, bring: self.keeps != Keeps::Nic, end: None, job: Some(number) };
            s.line.extend(pages.map(command));
            s.line.len() - before
        } else {
            s.give_back(run, Some(number))
        };
        match s.jobs.get_mut(number as usize) {
            Some(job) if left > 0 => job.left = left,
            _ => s.settle(number),
        }
    }

    /// Posts as many commands as there is room for.
    pub(crate) fn post(&self, at: &Caller) {
        self.come(at);
        loop {
            let Some(command) = self.state().line.pop_front() else { return };
            if command.bring {
                self.state().coming.push(command);
                at.with_card(|card, w| card.hold(w, command.page));
                continue;
            }
            if let (Some(lease), true) = (command.end, self.keeps != Keeps::Nic) {
                at.shared.work(at.rank, self.paging.costs.unlock);
                at.with_card(|card, w| {
                    card.end_lease(lease);
                    if self.keeps == Keeps::Host {
                        card.release(w, command.page);
                    }
                });
                self.state().ended(command, false);
                continue;
            }
            let Some(cookie) = self.paging.ask_lease(command.page, command.end) else {
                return self.state().line.push_front(command);
            };
            self.state().posted.push((cookie, command));
            self.paging.post(&at.shared, at.rank, 1);
        }
    }

    /// Leases the pages that the host has brought. This rank's software does so without asking the NIC.
    fn come(&self, at: &Caller) {
        if self.state().coming.is_empty() {
            return;
        }
        let here = at.with_card(|card, _| core::mem::take(&mut card.here));
        for page in here {
            let i = self.state().coming.iter().position(|command| command.page == page);
            let Some(command) = i.map(|i| self.state().coming.remove(i)) else { continue };
            at.shared.work(at.rank, self.paging.costs.lock);
            let lease = at.with_card(|card, w| {
                let lease = card.lease(page);
                if self.keeps == Keeps::Leases {
                    card.release(w, page);
                }
                lease
            });
            // A full row of the table may have pushed the page out: then transfers to it lock it, and the
            // host maps it again.
            let mut s = self.state();
            if let Some(lease) = lease {
                s.own.insert(page, lease);
            }
            s.ended(command, false);
        }
    }

    /// The next pin or unpin that has ended.
    pub(crate) fn settled(&self) -> Option<Settled> {
        let s = &mut *self.state();
        let mut answers = Vec::new();
        s.posted.retain(|(cookie, command)| match self.paging.reply(*cookie) {
            Some(reply) => {
                answers.push((*command, reply));
                false
            }
            None => true,
        });
        answers.into_iter().for_each(|(command, reply)| s.answered(command, reply));
        s.settled.pop_front()
    }

    /// A message is about to be sent; returns the leases to send with it.
    pub(crate) fn sending(&self, to: u32, message: &Message) -> Vec<u8> {
        let s = &mut *self.state();
        let mut bytes = Vec::new();
        match message {
            Message::Move { release, .. } => release.iter().for_each(|held| s.forget(to, held.run)),
            Message::Finish { run, .. } => s.forget(to, *run),
            Message::Moved { id, .. } | Message::Answer { id, .. } => {
                for run in s.asked.remove(&(to, *id)).unwrap_or_default() {
                    for page in s.pages(run) {
                        let Some(lease) = s.own.get(&page) else { continue };
                        bytes.extend_from_slice(&page.to_le_bytes());
                        bytes.extend_from_slice(&lease.ppn.get().to_le_bytes());
                        bytes.extend_from_slice(&lease.breaks.to_le_bytes());
                    }
                }
            }
            _ => {}
        }
        bytes
    }

    /// A message came, with these leases.
    pub(crate) fn received(&self, from: u32, message: &Message, bytes: &[u8]) {
        let s = &mut *self.state();
        match message {
            Message::Move { id, acquire, .. } => drop(s.asked.insert((from, *id), acquire.clone())),
            Message::Ask { id, run, .. } => drop(s.asked.insert((from, *id), vec![*run])),
            Message::Moved { .. } | Message::Answer { .. } => {
                for entry in bytes.chunks_exact(LEASE_BYTES) {
                    let word =
                        |i: usize| u32::from_le_bytes([entry[i], entry[i + 1], entry[i + 2], entry[i + 3]]);
                    let page = u64::from(word(0)) | u64::from(word(4)) << 32;
                    let Some(ppn) = Ppn::new(word(8)) else { continue };
                    s.far.insert((from, page), Lease { ppn, breaks: word(12) });
                }
            }
            Message::Invalidate { held } => held.iter().for_each(|held| s.forget(from, held.run)),
            _ => {}
        }
    }

    /// Starts a transfer under the peer's leases; `false` if there is no room now.
    pub(crate) fn start(&self, at: &Caller, start: Start<'_>) -> bool {
        let peer = start.peer;
        self.paging.start(at, start, Owner::Strategy, |page| self.state().far.get(&(peer, page)).copied())
    }
}
