//! The NIC as carrier of a pager's store ([`crate::pager::store::peers`]), over the pager's port.
#![expect(unsafe_code, reason = "shows trays as pages")]

use crate::engine::{Card, PORT};
use crate::lending::{Opened, PAGER_PORT, PagerPort, TRAY_BYTES, TRAYS};
use crate::pager::StoreBell;
use crate::pager::store::Page;
use crate::pager::store::peers::{Area, BATCH_BYTES, BATCH_SLOTS, Buffer, Carrier, Message, Remote, Report};
use netvm_fw::host::Segment;
use netvm_fw::library::{Fence, Handle, Library, LibraryError, Transfer};
use netvm_fw::port::Counter;
use netvm_fw::{Key, Node, PAGE, PortId};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// A command that waits for room.
#[derive(Debug)]
enum Command {
    Move(Buffer, Counter, Transfer),
    Tell(u32, Message),
}

/// The NIC as carrier.
#[derive(Debug)]
pub(crate) struct NicCarrier {
    me: u32,
    port: Arc<PagerPort>,
    card: Weak<Card>,
    library: Library,
    own: Option<Handle>,
    /// Batches by rank and number, with the keys they have been lent with last.
    batches: FxHashMap<(u32, u64), (u64, Handle)>,
    waiting: VecDeque<Command>,
    /// Writes and reads under way, and the number of refusals when each began.
    under: [VecDeque<(Fence, Buffer, u32)>; 2],
    /// When this thread began to wait for reads without having done anything for them.
    waits: Option<Instant>,
}

/// How long the paging thread looks after reads before it sleeps: about as long as a sleep and the wakes of
/// the NIC's thread and of this one take.
const PATIENCE: Duration = Duration::from_micros(50);

impl NicCarrier {
    /// The carrier of a port, for the paging thread.
    pub(crate) fn new(port: &Arc<PagerPort>, card: &Arc<Card>, me: u32, bell: StoreBell) -> NicCarrier {
        let _ = port.bell.set(bell);
        let library = Library::new(Node(me), PAGER_PORT, port.memory.clone(), card.bell.clone());
        NicCarrier {
            me,
            port: port.clone(),
            card: Arc::downgrade(card),
            library,
            own: None,
            batches: FxHashMap::default(),
            waiting: VecDeque::new(),
            under: [VecDeque::new(), VecDeque::new()],
            waits: None,
        }
    }

    fn opened(&self) -> &Opened {
        self.port.opened.get().expect("nobody lends or asks before the memory is there")
    }

    fn offset(&self, at: Buffer) -> u64 {
        self.opened().trays + at.tray as u64 * TRAY_BYTES + at.page as u64 * u64::from(PAGE)
    }

    fn own(&mut self) -> Handle {
        let export = self.opened().export;
        let (me, library) = (self.me, &mut self.library);
        *self.own.get_or_insert_with(|| library.add_segment(Node(me), export))
    }

    /// A slot's place in the export of its batch. The rank checks key and range.
    fn there(&mut self, remote: Remote) -> (Handle, u64) {
        let Remote { rank, area: Area { key, at }, slot } = remote;
        let batch = slot / BATCH_SLOTS as u64;
        let offset = slot % BATCH_SLOTS as u64 * u64::from(PAGE);
        match self.batches.get(&(rank, batch)) {
            Some((same, handle)) if *same == key => return (*handle, offset),
            // It was lent before, and nothing is on its way by that key.
            Some((_, old)) => drop(self.library.remove_segment(*old)),
            None => {}
        }
        let address = at + batch * BATCH_BYTES;
        let export = Segment { port: PORT, name: 1 + batch, address, size: BATCH_BYTES, key: Key(key) };
        let handle = self.library.add_segment(Node(rank), export);
        self.batches.insert((rank, batch), (key, handle));
        (handle, offset)
    }

    fn give(&mut self, command: Command) {
        self.waiting.push_back(command);
        self.advance();
    }

    /// Gives commands to the NIC as far as there is room.
    fn advance(&mut self) {
        let mut some = false;
        while let Some(command) = self.waiting.front_mut() {
            let done = match command {
                // Pages do not travel with their commands.
                Command::Move(_, _, transfer) => self.library.issue(transfer, |_, _| ()),
                Command::Tell(to, message) => {
                    self.library.message(Node(*to), PortId(0), 0, &message.encode()).map(|()| true)
                }
            };
            match done {
                Ok(true) => {}
                Ok(false) | Err(LibraryError::Busy) => {
                    let room = self.library.wait_for_room();
                    if self.library.want(room) {
                        continue;
                    }
                    break;
                }
                Err(error) => unreachable!("pages of exported memory: {error}"),
            }
            some = true;
            if let Some(Command::Move(at, which, _)) = self.waiting.pop_front() {
                let began = (self.library.fence(which), at, self.library.memory().refused());
                self.under[usize::from(which == Counter::Reads)].push_back(began);
            }
        }
        if !some {
            return;
        }
        // The NIC reports only what it was asked for.
        let fronts = self.under.iter().filter_map(|under| under.front());
        let fences: Vec<Fence> = fronts.map(|&(fence, ..)| fence).collect();
        if fences.into_iter().fold(false, |met, fence| met | self.library.want(fence)) {
            self.port.ring();
        }
    }
}

impl Carrier for NicCarrier {
    fn attend(&mut self) -> bool {
        let Some(card) = self.card.upgrade() else { return false };
        if self.under.iter().all(VecDeque::is_empty) && !card.bell.is_rung() {
            return false;
        }
        if card.work_for_pager() {
            self.waits = None;
            return true;
        }
        // Nobody waits for writes.
        if !self.under[usize::from(true)].is_empty()
            && self.waits.get_or_insert_with(Instant::now).elapsed() < PATIENCE
        {
            if card.is_crowded() {
                std::thread::yield_now();
            }
            return true;
        }
        self.waits = None;
        card.leave_to_thread()
    }

    fn trays(&self) -> usize {
        TRAYS
    }

    fn fill(&mut self, at: Buffer, page: &Page) {
        self.opened().region.write(self.offset(at), &page.0);
    }

    fn pages(&self, tray: usize, count: usize) -> &[Page] {
        let at = self.opened().region.at(self.offset(Buffer { tray, page: 0 }), count * PAGE as usize);
        // SAFETY: the tray is that long and starts at a page; the store reads it when no transfer uses it,
        // and peers write to it only what this rank has asked for.
        unsafe { core::slice::from_raw_parts(at.as_ptr().cast(), count) }
    }

    fn write(&mut self, from: Buffer, to: Remote) {
        let (own, there) = ((self.own(), self.offset(from)), self.there(to));
        let transfer = Transfer::write(own, there, PAGE.into()).acknowledge();
        self.give(Command::Move(from, Counter::Written, transfer));
    }

    fn read(&mut self, to: Buffer, from: Remote) {
        let (own, there) = ((self.own(), self.offset(to)), self.there(from));
        self.give(Command::Move(to, Counter::Reads, Transfer::read(own, there, PAGE.into())));
    }

    fn send(&mut self, to: u32, message: Message) {
        self.give(Command::Tell(to, message));
    }

    fn next(&mut self) -> Option<Report> {
        self.advance();
        while let Some((head, bytes)) = self.port.take() {
            if let Some(bell) = self.port.bell.get() {
                bell.consumed(head);
            }
            if let Some(message) = Message::decode(&bytes) {
                return Some(Report::Told(head.from.0, message));
            }
        }
        let refused = self.library.memory().refused();
        for under in &mut self.under {
            if let Some((fence, at, before)) = under.front().copied()
                && self.library.want(fence)
            {
                under.pop_front();
                // A refusal does not say of what: then none of those under way is trusted.
                return Some(Report::Moved(at, before == refused));
            }
        }
        None
    }
}
