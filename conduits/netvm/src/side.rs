//! The rank's side of its NIC: the commands it posts, and the progress it knows of.
//!
//! **Layout of exported memory** behind the segment: the *board* (memory that the NICs of all ranks reach at
//! the same offset), the *slots* (copies of sources and destinations outside of the segment), and the *mail*
//! ([`crate::lanes`]).
//!
//! **Order.** Commands for one peer leave in the order of the posts. Frames that find no room in the command
//! queue wait here, in one line.

use crate::desk::Desks;
use crate::engine::PORT;
use crate::exports::reason;
use crate::lanes::{Draft, Drafts};
use crate::region::ExportedMemory;
use gasnet_wire::conduit::Completion;
use netvm_fw::host::Segment;
use netvm_fw::library::{Append, Fence, Handle, Library, LibraryError, Transfer};
use netvm_fw::port::Counter;
use netvm_fw::region::RegionName;
use netvm_fw::shadow::Lease;
use netvm_fw::wire::MAX_INLINE_BYTES;
use netvm_fw::{Node, PAGE};
use std::collections::VecDeque;

/// Bytes of a slot, and the most bytes of one piece of a transfer.
pub(crate) const SLOT_BYTES: usize = 32 << 10;
/// Number of slots.
const SLOT_COUNT: u32 = 16;
/// Bytes of the board.
pub(crate) const BOARD_BYTES: u64 = gasnet_wire::port::BOARD as u64;
/// Offset of the bytes of short puts, which stay there only until they travel with their command.
const SHORT_PUT_OFFSET: u64 = BOARD_BYTES + SLOT_COUNT as u64 * SLOT_BYTES as u64;
/// Transfers of at most this many bytes are read in one piece.
const WORD_BYTES: usize = 8;
/// Offset of the mail.
pub(crate) const MAIL_OFFSET: u64 = SHORT_PUT_OFFSET + PAGE as u64;

/// A transfer of the core under way.
struct PendingTransfer {
    token: u64,
    /// Whether the source has not been given back yet.
    local: bool,
    slot: Option<u32>,
    /// Copy the bytes of a read from the slot to this address, with this length.
    copy: Option<(usize, usize)>,
    /// The number of its first command, if it may be refused.
    first: Option<u32>,
}

/// A location in a peer's memory.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PeerLocation {
    /// In its segment.
    Segment(u64),
    /// Behind its segment.
    Behind(u64),
}

/// A put or get to be started.
pub(crate) struct Start {
    pub(crate) peer: u32,
    /// Offset in the peer's region, or else in its segment.
    pub(crate) remote: u64,
    pub(crate) region: Option<RegionName>,
    /// Address in memory of the program.
    pub(crate) local: usize,
    pub(crate) len: usize,
    pub(crate) put: bool,
    pub(crate) token: u64,
    /// A lease of the remote page; for transfers inside one page.
    pub(crate) lease: Option<Lease>,
}

/// A command that waits for room in the command queue.
enum Outbound {
    /// A frame, in its draft.
    Frame(Append, Draft),
    /// Word to the own NIC that there is room in this queue.
    Room(u32),
}

impl Outbound {
    /// Commands that it takes.
    fn commands(&self) -> u32 {
        match self {
            Outbound::Frame(append, _) => append.left().div_ceil(PAGE),
            Outbound::Room(_) => 1,
        }
    }
}

/// The state of the side; one thread of the rank at a time uses it.
pub(crate) struct Side {
    pub(crate) library: Library,
    own: Handle,
    pub(crate) region: ExportedMemory,
    segment: u64,
    /// Segments of peers, and their lengths.
    peers: Vec<Option<(Handle, u64)>>,
    writes: VecDeque<(Fence, PendingTransfer)>,
    reads: VecDeque<(Fence, PendingTransfer)>,
    free: Vec<u32>,
    drafts: Drafts,
    /// Drafts that the NIC may not have read yet.
    sent: VecDeque<(Fence, Draft)>,
    waiting: VecDeque<Outbound>,
    done: VecDeque<(u64, Completion)>,
    /// The same for regions, which no strategy of registration has a part in.
    region_done: VecDeque<(u64, Completion)>,
}

impl Side {
    pub(crate) fn new(
        mut library: Library,
        me: u32,
        size: u32,
        export: Segment,
        segment: u64,
        region: ExportedMemory,
    ) -> Side {
        let own = library.add_segment(Node(me), export);
        Side {
            library,
            own,
            region,
            segment,
            peers: vec![None; size as usize],
            writes: VecDeque::new(),
            reads: VecDeque::new(),
            free: (0..SLOT_COUNT).collect(),
            drafts: Drafts::new(),
            sent: VecDeque::new(),
            waiting: VecDeque::new(),
            done: VecDeque::new(),
            region_done: VecDeque::new(),
        }
    }

    fn peer(&mut self, desks: &Desks, rank: u32) -> (Handle, u64) {
        if let Some(known) = self.peers[rank as usize] {
            return known;
        }
        let (export, segment) = desks.import(rank, PORT).expect("ranks attach before anybody uses them");
        let known = (self.library.add_segment(Node(rank), export), segment);
        self.peers[rank as usize] = Some(known);
        known
    }

    fn remote(&mut self, desks: &Desks, rank: u32, there: PeerLocation) -> (Handle, u64) {
        let (handle, segment) = self.peer(desks, rank);
        match there {
            PeerLocation::Segment(offset) => (handle, offset),
            PeerLocation::Behind(offset) => (handle, segment + offset),
        }
    }

    /// The offset of something behind the own segment.
    pub(crate) fn behind(&self, offset: u64) -> u64 {
        self.segment + offset
    }

    /// The offset of something in the own mail.
    pub(crate) fn mail(&self, offset: u64) -> u64 {
        self.behind(MAIL_OFFSET + offset)
    }

    /// The library, with the own board and that of a peer (which may be the own rank): handles and offsets of
    /// their first bytes.
    pub(crate) fn boards<R>(
        &mut self,
        desks: &Desks,
        peer: u32,
        f: impl FnOnce(&mut Library, (Handle, u64), (Handle, u64)) -> R,
    ) -> R {
        let there = self.remote(desks, peer, PeerLocation::Behind(0));
        let here = (self.own, self.behind(0));
        f(&mut self.library, here, there)
    }

    /// A free draft of a lane for `len` bytes.
    pub(crate) fn draft(&mut self, lane: usize, len: usize) -> Option<Draft> {
        self.drafts.take(lane, len).or_else(|| {
            while let Some((read, draft)) = self.sent.front()
                && self.library.want(*read)
            {
                self.drafts.give(*draft);
                self.sent.pop_front();
            }
            self.drafts.take(lane, len)
        })
    }

    /// A draft was not used.
    pub(crate) fn give_draft(&mut self, draft: Draft) {
        self.drafts.give(draft);
    }

    /// Posts a frame to a peer's queue of its lane. It is issued at once or as soon as there is room.
    pub(crate) fn append(&mut self, desks: &Desks, draft: Draft, peer: u32, len: u32) {
        let (to, _) = self.peer(desks, peer);
        let append = Append::new((self.own, self.mail(draft.offset())), to, draft.lane(), len);
        self.waiting.push_back(Outbound::Frame(append, draft));
        self.advance();
    }

    /// Tells the own NIC that there is room in a queue.
    pub(crate) fn room_freed(&mut self, queue: u32) {
        self.waiting.push_back(Outbound::Room(queue));
        self.advance();
    }

    /// Posts what waits as far as there is room; returns how much.
    pub(crate) fn advance(&mut self) -> usize {
        let mut posted = 0;
        while let Some(first) = self.waiting.front() {
            let commands = first.commands();
            if self.library.room() < commands {
                // Commands may have ended without being counted: ask for an update.
                let room = self.library.wait_for_slots(commands);
                if !self.library.want(room) {
                    break;
                }
            }
            match self.waiting.pop_front() {
                Some(Outbound::Frame(append, draft)) => self.issue_frame(append, draft),
                Some(Outbound::Room(queue)) => {
                    self.library.room_freed(queue).expect("there was room for a command");
                }
                None => break,
            }
            posted += 1;
        }
        posted
    }

    fn issue_frame(&mut self, mut append: Append, draft: Draft) {
        let inline = append.left() as usize <= MAX_INLINE_BYTES;
        let all = self.library.append(&mut append, |offset, into| self.region.read(offset, into));
        assert_eq!(all, Ok(true), "there was room for all of it");
        if inline {
            self.drafts.give(draft);
        } else {
            self.sent.push_back((self.library.fence(Counter::Commands), draft));
        }
    }

    /// Starts a put or get; `false` if it would block. Sources in the segment are read in place, and
    /// destinations written in place.
    ///
    /// # Safety
    /// 1. `start.local` is valid for `start.len` bytes: for a put until [`Completion::Local`], for a get (and
    ///    used by nobody) until [`Completion::Remote`] (owed by the caller).
    #[expect(unsafe_code, reason = "copies memory of the program")]
    pub(crate) unsafe fn start(&mut self, desks: &Desks, start: &Start) -> bool {
        // Pages at either end split it.
        let most = 2 * (start.len as u32 / PAGE + 2);
        if !self.waiting.is_empty() || self.room() < most {
            return false;
        }
        let inline = start.put && start.len <= MAX_INLINE_BYTES;
        let here = if inline { None } else { self.region.offset_of(start.local as *const u8, start.len) };
        // A word across a page boundary would be read in two parts, and its owner might write it between
        // the two. And an access that is one step at the far end must stay one: a region may allow only
        // one.
        let splits = |at: u64| at % u64::from(PAGE) + start.len as u64 > PAGE.into();
        let one_step = start.len <= WORD_BYTES || start.region.is_some() && !splits(start.remote);
        let place = here.filter(|at| !one_step || !splits(*at));
        let slot = match place {
            None if !inline => match self.free.pop() {
                Some(slot) => Some(slot),
                None => return false,
            },
            _ => None,
        };
        let elsewhere =
            slot.map_or(SHORT_PUT_OFFSET, |slot| BOARD_BYTES + u64::from(slot) * SLOT_BYTES as u64);
        let local = place.unwrap_or_else(|| self.behind(elsewhere));
        if start.put && place.is_none() {
            // SAFETY: (1).
            unsafe { self.region.copy_from(local, start.local as *const u8, start.len) };
        }
        let (here, node, len) = ((self.own, local), Node(start.peer), start.len as u64);
        let mut transfer = match start.region {
            Some(region) => Transfer::write_region(here, node, region, start.remote, len),
            None => Transfer::write(
                here,
                self.remote(desks, start.peer, PeerLocation::Segment(start.remote)),
                len,
            ),
        };
        let counter = if start.put { Counter::Written } else { Counter::Reads };
        transfer = if start.put { transfer.acknowledge() } else { transfer.reading() };
        if let Some(lease) = start.lease {
            transfer = transfer.under(lease);
        }
        let first = self.library.fence(counter).count;
        let all = issue(&mut self.library, &mut transfer, self.region);
        assert!(all, "there was room for all of it");
        let under = PendingTransfer {
            token: start.token,
            local: start.put && place.is_some(),
            slot,
            copy: (!start.put && slot.is_some()).then_some((start.local, start.len)),
            first: start.region.map(|_| first),
        };
        if start.put && !under.local {
            self.reports(&under).push_back((start.token, Completion::Local));
        }
        let queue = if start.put { &mut self.writes } else { &mut self.reads };
        queue.push_back((self.library.fence(counter), under));
        true
    }

    fn room(&mut self) -> u32 {
        self.library.room()
    }

    fn slot(&self, slot: u32) -> u64 {
        self.behind(BOARD_BYTES + u64::from(slot) * SLOT_BYTES as u64)
    }

    /// Handles what the NIC has completed; returns how much it was.
    #[expect(unsafe_code, reason = "copies to memory of the program")]
    pub(crate) fn progress(&mut self) -> usize {
        let mut done = 0;
        while let Some((fence, under)) = self.take_done() {
            let denied = under
                .first
                .and_then(|first| self.library.memory().take_denial(fence.which, first, fence.count))
                .map(reason);
            if let (Some(slot), Some((to, len)), None) = (under.slot, under.copy, denied) {
                // SAFETY: owed by the caller of `start`: the get is not complete yet.
                unsafe { self.region.copy_to(self.slot(slot), to as *mut u8, len) };
            }
            self.free.extend(under.slot);
            let reports = self.reports(&under);
            if under.local {
                reports.push_back((under.token, Completion::Local));
            }
            reports.push_back((under.token, denied.map_or(Completion::Remote, Completion::Refused)));
            done += 1;
        }
        done + self.advance()
    }

    /// Where the progress of a transfer is reported.
    fn reports(&mut self, of: &PendingTransfer) -> &mut VecDeque<(u64, Completion)> {
        if of.first.is_some() { &mut self.region_done } else { &mut self.done }
    }

    fn take_done(&mut self) -> Option<(Fence, PendingTransfer)> {
        for queue in [&mut self.writes, &mut self.reads] {
            if let Some((fence, _)) = queue.front()
                && self.library.want(*fence)
            {
                return queue.pop_front();
            }
        }
        None
    }

    /// The next completion to report to the core.
    pub(crate) fn completed(&mut self) -> Option<(u64, Completion)> {
        self.done.pop_front()
    }

    /// The next completion of an operation on a region to report to the core.
    pub(crate) fn region_completed(&mut self) -> Option<(u64, Completion)> {
        self.region_done.pop_front()
    }

    /// Takes all completions to report; `into` is empty.
    pub(crate) fn take_completed(&mut self, into: &mut VecDeque<(u64, Completion)>) {
        if !self.done.is_empty() {
            core::mem::swap(into, &mut self.done);
        }
    }

    /// Whether everything posted is complete, as far as this end knows.
    pub(crate) fn is_quiet(&mut self) -> bool {
        let commands = self.library.fence(Counter::Commands);
        let waits = self.waiting.is_empty() && self.writes.is_empty() && self.reads.is_empty();
        waits && self.library.want(commands)
    }

    /// Number of operations that NICs refused: it must be 0.
    pub(crate) fn refused(&self) -> u32 {
        self.library.memory().refused()
    }
}

/// Issues a transfer whose local end is exported memory of this rank. Returns true if all of it was issued.
fn issue(library: &mut Library, transfer: &mut Transfer, region: ExportedMemory) -> bool {
    match library.issue(transfer, |offset, into| region.read(offset, into)) {
        Ok(all) => all,
        Err(LibraryError::Busy) => false,
        Err(e) => unreachable!("a transfer between two exported segments: {e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::map;
    use core::ptr::NonNull;
    use netvm_fw::port::{Doorbell, PortMemory};
    use netvm_fw::{Key, PortId};
    use std::os::fd::AsFd;
    use std::sync::Arc;
    use std::time::Duration;

    /// How many commands a get of so many bytes becomes, to this offset of the segment.
    #[expect(unsafe_code, reason = "a side works on memory")]
    fn commands(local: u64, len: usize) -> usize {
        const SEGMENT: u64 = 4 * PAGE as u64;
        let size = SEGMENT + MAIL_OFFSET;
        let file = crate::desk::tests::memory();
        let memory = map(file.as_fd(), 0, size as usize).expect("memory");
        let file = crate::desk::tests::memory();
        let desks = Desks::map(file.as_fd(), 0, 2, 0, Duration::from_millis(1)).expect("desks");
        let export = Segment { port: PORT, name: 0, address: 0, size, key: Key(5) };
        desks.note(1, export.key, SEGMENT, MAIL_OFFSET);
        let (port, bell) = (Arc::new(PortMemory::new(8, 8)), Arc::new(Doorbell::new(1)));
        let library = Library::new(Node(0), PORT, port, bell.clone());
        let base = NonNull::new(memory.base()).expect("mapped");
        // SAFETY: it is mapped as long as the side is used, by this thread.
        let region = unsafe { ExportedMemory::new(base, size) };
        let mut side = Side::new(library, 0, 2, export, SEGMENT, region);
        let local = region.at(local, len).as_ptr() as usize;
        let get = Start { peer: 1, remote: 64, region: None, local, len, put: false, token: 1, lease: None };
        // SAFETY: the memory made above.
        assert!(unsafe { side.start(&desks, &get) });
        let rings: Vec<PortId> = core::iter::from_fn(|| bell.answer()).collect();
        rings.len()
    }

    /// A reader of a word sees the old or the new value while its owner writes it, at any destination.
    #[test]
    fn a_word_is_read_at_once() {
        let end = u64::from(PAGE);
        for at in [0, 1, end - 8, end - 7, end - 4, end - 1, end] {
            assert_eq!(commands(at, 8), 1, "to {at}");
        }
        assert_eq!((commands(end - 4, 9), commands(end - 8, 16)), (2, 2));
    }
}
