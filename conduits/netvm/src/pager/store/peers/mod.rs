//! Memory of peers as backing store, over a file.
//!
//! # Words
//!
//! - *donor*: a rank that lends memory; *borrower*: a rank whose pages are there. A rank may be both.
//! - *slot*: room for one page in a donor's memory. *Batch*: [`BATCH_SLOTS`] slots, which are lent together.
//! - *tray*: buffers of this rank, through which pages travel. The NIC reaches trays and slots at any time,
//!   because both are memory that is never paged.
//! - *carrier*: what moves pages and messages: the NIC, or the tests' network ([`Carrier`]).
//! - *scratch*: a page is at a peer *or* in the file. *Safe*: the file has every page, the peers have copies.
//!
//! # Where a page is
//!
//! ```text
//! zeros ----> file <----> peer(slot)
//!               ^            |  recalled: scratch reads it and writes it to the file; safe drops the copy
//!               +------------+
//!                            +-----> lost (scratch): the donor went without giving the page back
//! ```
//!
//! A page is written to its slot, or to a free one, or, if there is none, to the file. Nothing waits for a
//! batch: it is asked for ahead, and until it comes pages go to the file. A page that was read stays at the
//! peer (the paper's *sticky*), so a clean page leaves memory without a transfer.
//!
//! # Messages
//!
//! | Message | From, to | Meaning |
//! |---|---|---|
//! | `Offer` | donor, all | there are so many free batches, in this memory |
//! | `Ask` | borrower, donor | lend me a batch |
//! | `Grant`, `Refuse` | donor, borrower | this one, and its key; none (an `Offer` follows when there is one) |
//! | `Recall` | donor, borrower | give this batch back |
//! | `Return` | borrower, donor | nothing of mine is in this batch, and nothing is on its way to it |
//! | `Leave` | borrower, donor | my segment ends; all my batches are free |
//! | `Gone` | donor, borrower | the donor waits no longer: what is at it is lost |
//!
//! **Who waits for whom.** A transfer waits for the two NICs only: it runs no paging thread at the donor, and
//! both its ends stay in place. Messages are handled by the paging thread of their receiver, which waits for
//! nobody; the traffic of pagers has windows of its own. A `Recall` waits for reads of the donor's NIC and
//! writes of the borrower's file. The donor's *program* waits for its end when the rank leaves, while the
//! donor's NIC and paging thread go on; ranks that leave together tell each other `Leave`. So there is no
//! cycle.
//!
//! # Invariants
//!
//! 1. A slot has at most one page, and is given to another page only when no transfer uses it.
//! 2. A page counts as written when the donor's NIC has reported that its bytes are in place (hazard 13).
//! 3. The borrower keeps a checksum of each page at a peer, and compares it before the page is used. Bytes
//!    other than those that were written are never used: in safe mode the file's copy takes their place,
//!    otherwise an error names the page and the donor.
//! 4. A batch that was returned is not used again before it is granted again: then it has another key, and
//!    the donor's NIC refuses the old one.

mod lend;
mod message;
#[cfg(test)]
pub(in crate::pager) mod net;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use slab::Slab;

use super::{Begun, FileStore, MAX_RUN_PAGES, PAGE_BYTES, Page, Store, Tag};
use lend::{Lender, Letters};

pub(crate) use message::{Area, Message};

/// Slots of a batch.
pub(crate) const BATCH_SLOTS: usize = 64;
/// Bytes of a batch.
pub(crate) const BATCH_BYTES: u64 = BATCH_SLOTS as u64 * PAGE_BYTES;
/// Pages of a tray.
pub(crate) const TRAY_PAGES: usize = 16;
/// Free slots that a borrower wants to have at hand.
const SPARE_SLOTS: usize = 4 * BATCH_SLOTS;

/// A buffer of a tray.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Buffer {
    pub(crate) tray: usize,
    pub(crate) page: usize,
}

/// A slot of a donor's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Remote {
    pub(crate) rank: u32,
    pub(crate) area: Area,
    /// The number of the slot in the area.
    pub(crate) slot: u64,
}

/// A report of the carrier.
#[derive(Debug)]
pub(crate) enum Report {
    /// A transfer is over. False: it was refused, or its donor is gone.
    Moved(Buffer, bool),
    /// A message from a rank.
    Told(u32, Message),
}

/// The transport of pages and messages. No call waits: work that has no room yet is kept in a list.
pub(crate) trait Carrier: Send {
    /// Number of trays.
    fn trays(&self) -> usize;
    /// Puts a page into a buffer.
    fn fill(&mut self, at: Buffer, page: &Page);
    /// The first pages of a tray.
    fn pages(&self, tray: usize, count: usize) -> &[Page];
    /// Begins to copy a buffer to a slot.
    fn write(&mut self, from: Buffer, to: Remote);
    /// Begins to copy a slot to a buffer.
    fn read(&mut self, to: Buffer, from: Remote);
    /// Sends a message. Those to one rank arrive in order.
    fn send(&mut self, to: u32, message: Message);
    /// The next event since the last call.
    fn next(&mut self) -> Option<Report>;
    /// Does work for what is under way. Returns whether a read will probably end sooner than a thread sleeps
    /// and wakes.
    fn attend(&mut self) -> bool {
        false
    }
}

/// How much is borrowed and lent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Share {
    /// Pages that may be at peers.
    pub(crate) borrow: u64,
    /// Whether the file has them too.
    pub(crate) safe: bool,
}

/// Memory that a rank lends, and the ranks that it offers it to.
#[derive(Debug)]
pub(crate) struct Offering {
    /// Where the first slot is, in the addresses of the rank's export.
    pub(crate) at: u64,
    /// Each batch's key.
    pub(crate) keys: Vec<u64>,
    pub(crate) to: Vec<u32>,
}

/// Messages between a rank and its store, which neither waits for.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    offering: OnceLock<Offering>,
    /// The rank leaves: batches that it lent are recalled, and what it borrowed is given up.
    leaving: AtomicBool,
    /// The rank waits no longer for batches that it lent.
    gone: AtomicBool,
    /// The store has given up what it borrowed.
    left: AtomicBool,
    /// Batches that are lent.
    lent: AtomicU64,
    away: AtomicU64,
    sent: AtomicU64,
    fetched: AtomicU64,
    recalled: AtomicU64,
}

/// The counters of a store with peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Lent {
    /// Pages at peers now.
    pub(crate) away: u64,
    /// Pages written to peers.
    pub(crate) sent: u64,
    /// Pages read from peers.
    pub(crate) fetched: u64,
    /// Pages that were moved to the file because their donor wanted its memory.
    pub(crate) recalled: u64,
}

impl Terms {
    /// The rank lends memory. The store must be woken.
    pub(crate) fn offer(&self, offering: Offering) {
        // A rank has one segment.
        let _ = self.offering.set(offering);
    }

    /// The rank leaves. The store must be woken if this is new.
    pub(crate) fn leave(&self) -> bool {
        !self.leaving.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn counts(&self) -> Lent {
        let [away, sent, fetched, recalled] = [&self.away, &self.sent, &self.fetched, &self.recalled]
            .map(|count| count.load(Ordering::Relaxed));
        Lent { away, sent, fetched, recalled }
    }

    /// Whether the store has left, and all that it lent is back.
    pub(crate) fn is_over(&self) -> bool {
        // ORDER: Acquire; pairs with Release in `turn`; the number of batches.
        self.left.load(Ordering::Acquire) && self.lent() == 0
    }

    /// Batches that are lent.
    pub(crate) fn lent(&self) -> u64 {
        self.lent.load(Ordering::Relaxed)
    }

    /// The rank waits no longer for what it lent. The store must be woken.
    pub(crate) fn give_up(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }
}

/// Where a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PagePlace {
    /// In the file, or zeros.
    File,
    /// In a slot: the number of the batch times [`BATCH_SLOTS`], and the slot in it.
    Peer(u32),
    /// It was at this rank.
    Lost(u32),
}

/// A batch that was lent to this rank.
#[derive(Debug)]
struct Batch {
    donor: u32,
    number: u32,
    area: Area,
    /// The page in each slot that is in use, and its checksum.
    pages: [Option<u64>; BATCH_SLOTS],
    sums: [u64; BATCH_SLOTS],
    /// Transfers that use each slot.
    busy: [u8; BATCH_SLOTS],
    free: u32,
    recalled: bool,
    /// The donor is gone.
    gone: bool,
    /// Pages could not be moved: the file had no room.
    stuck: bool,
}

impl Batch {
    fn is_usable(&self) -> bool {
        !self.recalled && !self.gone
    }

    fn is_idle(&self) -> bool {
        self.busy.iter().all(|&busy| busy == 0)
    }
}

/// The state of a donor, by its messages.
#[derive(Debug, Clone, Copy)]
struct Donor {
    free: u32,
    at: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Read(Tag),
    Write(Tag),
    /// Brings pages of a recalled batch.
    Recall,
}

/// Pages that travel together in a tray.
#[derive(Debug)]
struct Load {
    purpose: Purpose,
    items: Vec<Item>,
    /// Transfers that are not over.
    left: usize,
}

#[derive(Debug, Clone, Copy)]
struct Item {
    page: u64,
    slot: u32,
    /// Of the page in the segment, for writes.
    address: u64,
    ok: bool,
}

/// Contents of pages at peers and in a file.
pub(crate) struct PeerStore<C> {
    file: FileStore,
    carrier: C,
    share: Share,
    terms: Arc<Terms>,
    lender: Lender,
    places: Box<[PagePlace]>,
    batches: Slab<Batch>,
    donors: BTreeMap<u32, Donor>,
    /// Batches asked for.
    asked: FxHashMap<u32, u32>,
    /// Free slots of usable batches, and the batch that slots were taken from last.
    spare: usize,
    last: usize,
    /// Batches that are not usable.
    ending: usize,
    /// Pages have left memory.
    demand: bool,
    /// The rank leaves: nothing is borrowed any more. And its donors know.
    leaving: bool,
    left: bool,
    trays: Vec<Option<Load>>,
    /// Loads that wait for a tray: reads, and others.
    waiting: [VecDeque<Load>; 2],
    /// Loads of each write that are not over, and the errors of those that are.
    writes: FxHashMap<Tag, (usize, io::Result<()>)>,
    finished: VecDeque<(Tag, io::Result<()>, Option<usize>)>,
    /// The read that was reported last, and its tray.
    shown: Option<(Tag, usize, usize)>,
}

/// A checksum that sees exchanged words.
fn sum(page: &Page) -> u64 {
    let mut lanes = [1u64, 2, 3, 4];
    for words in page.0.chunks_exact(32) {
        for (lane, word) in lanes.iter_mut().zip(words.chunks_exact(8)) {
            let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
            *lane = (lane.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
    lanes.iter().fold(0, |sum, lane| (sum ^ lane).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(31))
}

impl<C: Carrier> PeerStore<C> {
    /// A store over `file` for `pages` pages.
    pub(in crate::pager) fn new(
        file: FileStore,
        pages: u64,
        carrier: C,
        share: Share,
        terms: Arc<Terms>,
    ) -> Self {
        PeerStore {
            trays: (0..carrier.trays()).map(|_| None).collect(),
            file,
            carrier,
            share,
            terms,
            lender: Lender::default(),
            places: vec![PagePlace::File; pages as usize].into(),
            batches: Slab::new(),
            donors: BTreeMap::new(),
            asked: FxHashMap::default(),
            spare: 0,
            last: 0,
            ending: 0,
            demand: false,
            leaving: false,
            left: false,
            waiting: Default::default(),
            writes: FxHashMap::default(),
            finished: VecDeque::new(),
            shown: None,
        }
    }

    fn post(&mut self, letters: Letters) {
        letters.into_iter().for_each(|(to, message)| self.carrier.send(to, message));
    }

    /// Asks for up to so many lent batches back.
    #[cfg(test)]
    pub(in crate::pager) fn recall(&mut self, most: u32) {
        let letters = self.lender.recall(most);
        self.post(letters);
    }

    fn batch(&mut self, slot: u32) -> (&mut Batch, usize) {
        (&mut self.batches[slot as usize / BATCH_SLOTS], slot as usize % BATCH_SLOTS)
    }

    fn remote(&self, slot: u32) -> Remote {
        let batch = &self.batches[slot as usize / BATCH_SLOTS];
        let slot = u64::from(batch.number) * BATCH_SLOTS as u64 + u64::from(slot) % BATCH_SLOTS as u64;
        Remote { rank: batch.donor, area: batch.area, slot }
    }

    // ---- slots

    /// A free slot for a page, which is now in use.
    fn take_slot(&mut self, page: u64) -> Option<u32> {
        if self.spare == 0 {
            return None;
        }
        let capacity = self.batches.capacity();
        for key in (0..capacity).map(|i| (self.last + i) % capacity) {
            let Some(batch) = self.batches.get_mut(key).filter(|b| b.free > 0 && b.is_usable()) else {
                continue;
            };
            let free = |i: &usize| batch.pages[*i].is_none() && batch.busy[*i] == 0;
            if let Some(i) = (0..BATCH_SLOTS).find(free) {
                batch.pages[i] = Some(page);
                batch.free -= 1;
                (self.last, self.spare) = (key, self.spare - 1);
                return Some((key * BATCH_SLOTS + i) as u32);
            }
        }
        None
    }

    fn free_slot(&mut self, slot: u32) {
        let (batch, i) = self.batch(slot);
        let freed = u32::from(batch.pages[i].take().is_some());
        batch.free += freed;
        let usable = batch.is_usable();
        self.spare += if usable { freed as usize } else { 0 };
    }

    /// Batches are not usable any more: the donor wants them, or is gone.
    fn end(&mut self, which: impl Fn(&Batch) -> bool, mark: impl Fn(&mut Batch)) {
        for (_, batch) in self.batches.iter_mut().filter(|(_, batch)| which(batch)) {
            if batch.is_usable() {
                self.spare -= batch.free as usize;
                self.ending += 1;
            }
            mark(batch);
        }
    }

    /// A page is here from now on, and at no peer elsewhere.
    fn settle(&mut self, page: u64, place: PagePlace) {
        let old = std::mem::replace(&mut self.places[page as usize], place);
        if let PagePlace::Peer(slot) = old
            && old != place
        {
            self.free_slot(slot);
        }
        let away = |place| u64::from(matches!(place, PagePlace::Peer(_)));
        let count = self.terms.away.load(Ordering::Relaxed) + away(place) - away(old);
        self.terms.away.store(count, Ordering::Relaxed);
    }

    fn count(counter: &AtomicU64, n: u64) {
        counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }

    // ---- loads

    fn begin(&mut self, purpose: Purpose, items: Vec<Item>) {
        for item in &items {
            let (batch, i) = self.batch(item.slot);
            batch.busy[i] += 1;
        }
        let queue = usize::from(!matches!(purpose, Purpose::Read(_)));
        self.waiting[queue].push_back(Load { purpose, left: items.len(), items });
        self.dispatch();
    }

    /// Gives trays to loads. Reads go first: a program waits for them.
    fn dispatch(&mut self) {
        let shown = self.shown.map(|(_, tray, _)| tray);
        for tray in 0..self.trays.len() {
            let held = self.finished.iter().any(|(.., of)| *of == Some(tray));
            if self.trays[tray].is_some() || shown == Some(tray) || held {
                continue;
            }
            let [reads, others] = &mut self.waiting;
            let Some(load) = reads.pop_front().or_else(|| others.pop_front()) else { return };
            self.start(tray, &load);
            self.trays[tray] = Some(load);
        }
    }

    #[expect(unsafe_code, reason = "reads pages that are written out")]
    fn start(&mut self, tray: usize, load: &Load) {
        for (page, item) in load.items.iter().enumerate() {
            let (at, remote) = (Buffer { tray, page }, self.remote(item.slot));
            if !matches!(load.purpose, Purpose::Write(_)) {
                self.carrier.read(at, remote);
                continue;
            }
            // SAFETY: `Store::write`: the page is mapped and does not change before the write has finished.
            let bytes = unsafe { &*(item.address as *const Page) };
            self.carrier.fill(at, bytes);
            let sum = sum(&self.carrier.pages(tray, page + 1)[page]);
            let (batch, i) = self.batch(item.slot);
            batch.sums[i] = sum;
            self.carrier.write(at, remote);
        }
    }

    fn moved(&mut self, at: Buffer, ok: bool) {
        let Some(load) = &mut self.trays[at.tray] else { return };
        load.items[at.page].ok = ok;
        load.left -= 1;
        if load.left > 0 {
            return;
        }
        let Some(load) = self.trays[at.tray].take() else { return };
        for item in &load.items {
            let (batch, i) = self.batch(item.slot);
            batch.busy[i] -= 1;
        }
        match load.purpose {
            Purpose::Read(tag) => {
                let result = self.came(at.tray, &load.items);
                self.finished.push_back((tag, result, Some(at.tray)));
            }
            Purpose::Write(tag) => self.went(tag, &load.items),
            Purpose::Recall => self.moved_back(at.tray, &load.items),
        }
    }

    /// Whether the bytes in a buffer are those that were written to a slot.
    fn is_true(&self, tray: usize, index: usize, item: &Item) -> bool {
        let batch = &self.batches[item.slot as usize / BATCH_SLOTS];
        let page = &self.carrier.pages(tray, index + 1)[index];
        item.ok && sum(page) == batch.sums[item.slot as usize % BATCH_SLOTS]
    }

    /// A read is over.
    fn came(&mut self, tray: usize, items: &[Item]) -> io::Result<()> {
        for (index, item) in items.iter().enumerate() {
            if self.is_true(tray, index, item) {
                continue;
            }
            let donor = self.batches[item.slot as usize / BATCH_SLOTS].donor;
            if !self.share.safe {
                self.settle(item.page, PagePlace::Lost(donor));
                return Err(lost(item.page, donor));
            }
            self.settle(item.page, PagePlace::File);
            self.file.read(item.page, 1, Tag(0))?;
            self.carrier.fill(Buffer { tray, page: index }, &self.file.pages(Tag(0))[0]);
        }
        Self::count(&self.terms.fetched, items.len() as u64);
        Ok(())
    }

    /// A part of a write is over.
    fn went(&mut self, tag: Tag, items: &[Item]) {
        let mut result = Ok(());
        for item in items {
            let batch = &self.batches[item.slot as usize / BATCH_SLOTS];
            if item.ok && !batch.gone {
                self.settle(item.page, PagePlace::Peer(item.slot));
                if !self.share.safe {
                    self.file.forget(item.page);
                }
                Self::count(&self.terms.sent, 1);
                continue;
            }
            if self.places[item.page as usize] != PagePlace::Peer(item.slot) {
                self.free_slot(item.slot);
            }
            result = result.and(self.keep(&[(item.page, item.address)]));
        }
        let over = self.writes.get_mut(&tag).is_some_and(|(left, all)| {
            *left -= 1;
            if let (Ok(()), Err(_)) = (&*all, &result) {
                *all = result;
            }
            *left == 0
        });
        if over && let Some((_, result)) = self.writes.remove(&tag) {
            self.finished.push_back((tag, result, None));
        }
    }

    /// Pages that are being written go to the file. In safe mode they are there.
    #[expect(unsafe_code, reason = "writes pages of a write that has not finished")]
    fn keep(&mut self, pages: &[(u64, u64)]) -> io::Result<()> {
        if !self.share.safe {
            // SAFETY: the pages are mapped until the write has finished.
            unsafe { self.file.write(pages, Tag(0)) }?;
        }
        pages.iter().for_each(|&(page, _)| self.settle(page, PagePlace::File));
        Ok(())
    }

    // ---- recall

    /// Pages of a recalled batch are here (scratch).
    #[expect(unsafe_code, reason = "writes pages of a tray to the file")]
    fn moved_back(&mut self, tray: usize, items: &[Item]) {
        for (index, item) in items.iter().enumerate() {
            if self.places[item.page as usize] != PagePlace::Peer(item.slot) {
                // Written elsewhere since, or given up.
                continue;
            }
            let donor = self.batches[item.slot as usize / BATCH_SLOTS].donor;
            if !self.is_true(tray, index, item) {
                self.settle(item.page, PagePlace::Lost(donor));
                continue;
            }
            let address = self.carrier.pages(tray, index + 1)[index].0.as_ptr() as u64;
            // SAFETY: a buffer of a tray, which nothing else uses now.
            match unsafe { self.file.write(&[(item.page, address)], Tag(0)) } {
                Ok(_) => {
                    Self::count(&self.terms.recalled, 1);
                    self.settle(item.page, PagePlace::File);
                }
                Err(_) => self.batch(item.slot).0.stuck = true,
            }
        }
    }

    /// Empties batches that were recalled, and returns those that are empty.
    fn give_back(&mut self) {
        if self.ending == 0 || self.leaving {
            return;
        }
        let recalled: Vec<usize> =
            self.batches.iter().filter(|(_, batch)| !batch.is_usable()).map(|(key, _)| key).collect();
        for key in recalled {
            let slots = (0..BATCH_SLOTS).filter_map(|i| {
                let batch = &self.batches[key];
                let page = batch.pages[i].filter(|_| batch.busy[i] == 0)?;
                Some((page, (key * BATCH_SLOTS + i) as u32))
            });
            let slots: Vec<(u64, u32)> = slots.collect();
            let batch = &self.batches[key];
            let (donor, gone, stuck) = (batch.donor, batch.gone, batch.stuck);
            if gone || self.share.safe {
                let place = if self.share.safe { PagePlace::File } else { PagePlace::Lost(donor) };
                slots.iter().for_each(|&(page, _)| self.settle(page, place));
            } else if !stuck {
                let item = |&(page, slot): &(u64, u32)| Item { page, slot, address: 0, ok: false };
                for part in slots.chunks(TRAY_PAGES) {
                    self.begin(Purpose::Recall, part.iter().map(item).collect());
                }
            }
            let batch = &self.batches[key];
            if batch.free as usize == BATCH_SLOTS && batch.is_idle() {
                let batch = self.batches.remove(key);
                self.ending -= 1;
                if !batch.gone {
                    self.carrier.send(donor, Message::Return { batch: batch.number });
                }
            }
        }
    }

    // ---- messages

    fn told(&mut self, from: u32, message: Message) {
        match message {
            Message::Offer { free, at } => {
                self.donors.insert(from, Donor { free, at });
            }
            Message::Grant { batch, free, key } => self.granted(from, batch, free, key),
            Message::Refuse => {
                self.answered(from);
                self.donors.entry(from).and_modify(|donor| donor.free = 0);
            }
            Message::Recall { batch } => {
                self.end(|b| b.donor == from && b.number == batch, |b| b.recalled = true);
                // A donor that takes memory back lends no more for now.
                self.donors.entry(from).and_modify(|donor| donor.free = 0);
            }
            Message::Gone => self.gone(from),
            Message::Ask | Message::Return { .. } | Message::Leave => {
                let letters = self.lender.told(from, message);
                self.post(letters);
            }
        }
    }

    fn answered(&mut self, from: u32) -> bool {
        match self.asked.get_mut(&from) {
            Some(asked) if *asked > 0 => {
                *asked -= 1;
                true
            }
            _ => false,
        }
    }

    fn granted(&mut self, from: u32, number: u32, free: u32, key: u64) {
        let asked = self.answered(from);
        let Some(donor) = self.donors.get_mut(&from).filter(|_| asked && !self.leaving) else {
            return self.carrier.send(from, Message::Return { batch: number });
        };
        donor.free = free;
        self.spare += BATCH_SLOTS;
        self.batches.insert(Batch {
            donor: from,
            number,
            area: Area { key, at: donor.at },
            pages: [None; BATCH_SLOTS],
            sums: [0; BATCH_SLOTS],
            busy: [0; BATCH_SLOTS],
            free: BATCH_SLOTS as u32,
            recalled: false,
            gone: false,
            stuck: false,
        });
    }

    fn gone(&mut self, donor: u32) {
        self.donors.remove(&donor);
        self.asked.remove(&donor);
        self.end(|b| b.donor == donor, |b| b.gone = true);
    }

    /// Asks for batches ahead, of the donors that have most.
    fn ask(&mut self) {
        if !self.demand || self.leaving {
            return;
        }
        let asked: usize = self.asked.values().map(|&n| n as usize).sum();
        let most = (self.share.borrow as usize / BATCH_SLOTS).saturating_sub(self.batches.len() + asked);
        let wanted = SPARE_SLOTS.saturating_sub(self.spare + asked * BATCH_SLOTS).div_ceil(BATCH_SLOTS);
        for _ in 0..wanted.min(most) {
            let best = self.donors.iter_mut().filter(|(_, donor)| donor.free > 0);
            let Some((&rank, donor)) = best.max_by_key(|(_, donor)| donor.free) else { return };
            donor.free -= 1;
            *self.asked.entry(rank).or_default() += 1;
            self.carrier.send(rank, Message::Ask);
        }
    }

    /// The rank leaves: what it lent is recalled; what it borrowed is given up when nothing is on its way.
    fn leave(&mut self) {
        if !self.leaving && self.terms.leaving.load(Ordering::Relaxed) {
            self.leaving = true;
            let letters = self.lender.recall(u32::MAX);
            self.post(letters);
        }
        let quiet = self.trays.iter().all(Option::is_none) && self.waiting.iter().all(VecDeque::is_empty);
        if self.leaving && !self.left && quiet {
            self.left = true;
            let mut donors: Vec<u32> =
                self.asked.iter().filter(|(_, n)| **n > 0).map(|(rank, _)| *rank).collect();
            for page in 0..self.places.len() as u64 {
                if let PagePlace::Peer(slot) = self.places[page as usize] {
                    let donor = self.remote(slot).rank;
                    self.settle(page, if self.share.safe { PagePlace::File } else { PagePlace::Lost(donor) });
                }
            }
            donors.extend(self.batches.drain().filter(|batch| !batch.gone).map(|batch| batch.donor));
            (self.spare, self.ending) = (0, 0);
            donors.sort_unstable();
            donors.dedup();
            donors.into_iter().for_each(|rank| self.carrier.send(rank, Message::Leave));
        }
        if self.terms.gone.load(Ordering::Relaxed) {
            let letters = self.lender.give_up();
            self.post(letters);
        }
    }

    /// Handles what the carrier has reported.
    fn turn(&mut self) {
        if let Some(offering) = self.terms.clone().offering.get() {
            let letters = self.lender.open(offering);
            self.post(letters);
        }
        while let Some(event) = self.carrier.next() {
            match event {
                Report::Moved(at, ok) => self.moved(at, ok),
                Report::Told(from, message) => self.told(from, message),
            }
        }
        self.leave();
        self.give_back();
        self.ask();
        self.dispatch();
        self.terms.lent.store(self.lender.lent(), Ordering::Relaxed);
        // ORDER: Release; pairs with Acquire in `is_over`.
        self.terms.left.store(self.left, Ordering::Release);
    }
}

fn lost(page: u64, donor: u32) -> io::Error {
    io::Error::other(format!(
        "page {page} of the segment was in the memory of rank {donor}, which no longer has it, and in no file: \
         `peers:SIZE:safe` in GASNET_NETVM_BACKING keeps a copy of every page in the file"
    ))
}

impl<C: Carrier> Store for PeerStore<C> {
    fn has(&self, page: u64) -> bool {
        self.places[page as usize] != PagePlace::File || self.file.has(page)
    }

    fn run(&self, page: u64, most: usize) -> usize {
        let places = &self.places[page as usize..];
        let alike = |most: usize, is: fn(PagePlace) -> bool| {
            places.iter().take(most).take_while(|&&place| is(place)).count()
        };
        match places[0] {
            PagePlace::File => alike(self.file.run(page, most), |place| place == PagePlace::File),
            PagePlace::Peer(_) => alike(most.min(TRAY_PAGES), |place| matches!(place, PagePlace::Peer(_))),
            PagePlace::Lost(_) => 1,
        }
    }

    fn read(&mut self, page: u64, count: usize, tag: Tag) -> io::Result<Begun> {
        let mut items = Vec::new();
        for page in page..page + count as u64 {
            match self.places[page as usize] {
                PagePlace::File => return self.file.read(page, count, tag),
                PagePlace::Lost(donor) => return Err(lost(page, donor)),
                PagePlace::Peer(slot) => items.push(Item { page, slot, address: 0, ok: false }),
            }
        }
        self.begin(Purpose::Read(tag), items);
        Ok(Begun::Later)
    }

    fn pages(&self, tag: Tag) -> &[Page] {
        match self.shown {
            Some((shown, tray, count)) if shown == tag => self.carrier.pages(tray, count),
            _ => self.file.pages(tag),
        }
    }

    #[expect(unsafe_code, reason = "passes pages on to the file")]
    unsafe fn write(&mut self, pages: &[(u64, u64)], tag: Tag) -> io::Result<Begun> {
        self.demand = true;
        if self.ending > 0 {
            self.batches.iter_mut().for_each(|(_, batch)| batch.stuck = false);
        }
        let (mut out, mut filed) = (Vec::new(), Vec::new());
        for &(page, address) in pages {
            let usable = |slot: u32| self.batches[slot as usize / BATCH_SLOTS].is_usable();
            let slot = match self.places[page as usize] {
                _ if self.leaving => None,
                PagePlace::Peer(slot) if usable(slot) => Some(slot),
                _ => self.take_slot(page),
            };
            match slot {
                Some(slot) => out.push(Item { page, slot, address, ok: false }),
                None => filed.push((page, address)),
            }
        }
        let kept = if self.share.safe { pages } else { &filed };
        if !kept.is_empty() {
            // SAFETY: passed on to the caller.
            let written = unsafe { self.file.write(kept, tag) };
            if let Err(error) = written {
                for item in out {
                    if self.places[item.page as usize] != PagePlace::Peer(item.slot) {
                        self.free_slot(item.slot);
                    }
                }
                return Err(error);
            }
        }
        filed.iter().for_each(|&(page, _)| self.settle(page, PagePlace::File));
        self.ask();
        if out.is_empty() {
            return Ok(Begun::Done);
        }
        self.writes.insert(tag, (out.len().div_ceil(TRAY_PAGES), Ok(())));
        for part in out.chunks(TRAY_PAGES) {
            self.begin(Purpose::Write(tag), part.to_vec());
        }
        Ok(Begun::Later)
    }

    fn forget(&mut self, page: u64) -> bool {
        let was = self.places[page as usize] != PagePlace::File;
        self.settle(page, PagePlace::File);
        self.file.forget(page) || was
    }

    fn finished(&mut self) -> Option<(Tag, io::Result<()>)> {
        self.shown = None;
        self.turn();
        let (tag, result, tray) = self.finished.pop_front()?;
        if let Some(tray) = tray {
            self.shown = Some((tag, tray, TRAY_PAGES));
        }
        Some((tag, result))
    }

    fn take_returned(&mut self) -> Vec<u32> {
        self.lender.take_returned()
    }

    fn renewed(&mut self, batch: u32, key: u64) {
        let letters = self.lender.renewed(batch, key);
        self.post(letters);
    }

    fn attend(&mut self) -> bool {
        self.carrier.attend()
    }

    fn stored(&self) -> u64 {
        let away = self.terms.away.load(Ordering::Relaxed);
        self.file.stored() + if self.share.safe { 0 } else { away }
    }

    fn file(&self) -> &FileStore {
        &self.file
    }

    fn is_slow(&self) -> bool {
        true
    }
}

const _: () = assert!(TRAY_PAGES <= MAX_RUN_PAGES && PAGE_BYTES.is_multiple_of(32));
