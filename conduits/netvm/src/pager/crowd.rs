//! Ranks that evict to each other, in virtual time (GMS-4, 6, 7). Engine, host half and store are those of
//! live segments; the kernel ([`Model`]), the network ([`Network`]) and the programs are models.
#![expect(unsafe_code, reason = "fills pages of a mapping, as a kernel and a program")]

use gasnet_sys::mutex::lock;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use firehose_live::uffd::Fault;
use netvm_fw::shadow::{LockError, NicTable};
use netvm_fw::{Key, PortId, Vpn};

use super::engine::PagerEngine;
use super::error::PagerError;
use super::kernel::Kernel;
use super::queue::{Command, Queue};
use super::store::peers::{
    BATCH_BYTES, Buffer, Carrier, Message, Offering, PeerStore, Remote, Report, Share, TRAY_PAGES, Terms,
};
use super::store::{FileStore, PAGE_BYTES, Page};
use super::{Calls, PagerConfig};

const US: u64 = 1_000;
const SECOND: u64 = 1_000_000_000;

/// Nanoseconds since the beginning.
#[derive(Debug, Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

// ---- the kernel

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Missing,
    Protected,
    Open,
}

#[derive(Debug, Default)]
struct Pages {
    base: u64,
    access: Vec<Access>,
    faults: Vec<Fault>,
    /// The page that the program waits for.
    waits: Option<u64>,
}

/// A kernel that serves one thread's faults on ordinary memory.
#[derive(Debug, Default)]
struct Model(Mutex<Pages>);

impl Model {
    /// The program touches a page. Returns whether it can; else it waits.
    fn touch(&self, page: u64, write: bool) -> bool {
        let mut pages = lock(&self.0);
        let protected = match pages.access[page as usize] {
            Access::Missing => false,
            Access::Protected if write => true,
            _ => return true,
        };
        let address = pages.base + page * PAGE_BYTES;
        pages.faults.push(Fault { address, write, protected });
        pages.waits = Some(page);
        false
    }
}

impl Pages {
    fn range(&self, start: u64, len: u64) -> Range<usize> {
        let first = (start - self.base) / PAGE_BYTES;
        first as usize..(first + len / PAGE_BYTES) as usize
    }

    fn wake(&mut self, range: Range<usize>) {
        self.waits = self.waits.filter(|&page| !range.contains(&(page as usize)));
    }
}

impl Kernel for Arc<Model> {
    fn register(&self, start: u64, len: u64) -> io::Result<()> {
        let mut pages = lock(&self.0);
        (pages.base, pages.access) = (start, vec![Access::Missing; (len / PAGE_BYTES) as usize]);
        Ok(())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        unreachable!("nobody waits in virtual time")
    }

    fn serves_system_calls(&self) -> bool {
        true
    }

    fn faults(&self, into: &mut Vec<Fault>) -> io::Result<()> {
        into.append(&mut lock(&self.0).faults);
        Ok(())
    }

    fn fill(&self, start: u64, from: &[Page], protect: bool) -> io::Result<()> {
        let mut pages = lock(&self.0);
        let range = pages.range(start, from.len() as u64 * PAGE_BYTES);
        if pages.access[range.clone()].iter().any(|access| *access != Access::Missing) {
            return Err(io::Error::from_raw_os_error(libc::EEXIST));
        }
        // SAFETY: pages of the mapping, which no reference is to.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), start as *mut Page, from.len()) };
        pages.access[range.clone()].fill(if protect { Access::Protected } else { Access::Open });
        pages.wake(range);
        Ok(())
    }

    fn protect(&self, start: u64, len: u64, protect: bool) -> io::Result<()> {
        let mut pages = lock(&self.0);
        let range = pages.range(start, len);
        for access in pages.access[range.clone()].iter_mut().filter(|access| **access != Access::Missing) {
            *access = if protect { Access::Protected } else { Access::Open };
        }
        if !protect {
            pages.wake(range);
        }
        Ok(())
    }

    fn wake(&self, start: u64, len: u64) {
        let mut pages = lock(&self.0);
        let range = pages.range(start, len);
        pages.wake(range);
    }

    fn present(&self, start: u64, count: u64) -> io::Result<Vec<bool>> {
        let pages = lock(&self.0);
        let range = pages.range(start, count * PAGE_BYTES);
        Ok(pages.access[range].iter().map(|access| *access != Access::Missing).collect())
    }

    fn drop_pages(&self, start: u64, len: u64) -> io::Result<()> {
        let mut pages = lock(&self.0);
        let range = pages.range(start, len);
        pages.access[range].fill(Access::Missing);
        // SAFETY: pages of the mapping. Who uses them now sees that they are gone.
        unsafe { std::ptr::write_bytes(start as *mut u8, 0xdd, len as usize) };
        Ok(())
    }

    fn pin(&self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn unpin(&self, _: u64, _: u64) {}
}

// ---- the network

#[derive(Debug)]
struct Move {
    due: u64,
    buffer: Buffer,
    remote: Remote,
    out: bool,
}

#[derive(Debug, Default)]
struct End {
    slots: HashMap<u64, Box<Page>>,
    /// Until when its NIC is busy.
    busy: u64,
    moves: Vec<Move>,
    inbox: VecDeque<(u64, u32, Message)>,
}

/// The NICs of all ranks. A page takes `service` time of its donor's, and `latency` besides.
#[derive(Debug)]
struct Network {
    clock: Clock,
    random: fastrand::Rng,
    latency: Range<u64>,
    service: u64,
    ends: Vec<End>,
}

impl Network {
    fn delay(&mut self) -> u64 {
        self.random.u64(self.latency.clone())
    }

    /// When something happens at a rank next.
    fn due(&self, rank: usize) -> Option<u64> {
        let end = &self.ends[rank];
        end.moves.iter().map(|moved| moved.due).chain(end.inbox.front().map(|&(due, ..)| due)).min()
    }
}

struct WireEnd {
    me: u32,
    wire: Arc<Mutex<Network>>,
    trays: Vec<Vec<Page>>,
}

impl WireEnd {
    fn begin(&mut self, buffer: Buffer, remote: Remote, out: bool) {
        let mut wire = lock(&self.wire);
        let (half, now) = (wire.delay() / 2, wire.clock.now());
        let donor = remote.rank as usize;
        let served = wire.ends[donor].busy.max(now + half) + wire.service;
        wire.ends[donor].busy = served;
        wire.ends[self.me as usize].moves.push(Move { due: served + half, buffer, remote, out });
    }
}

impl Carrier for WireEnd {
    fn trays(&self) -> usize {
        self.trays.len()
    }

    fn fill(&mut self, at: Buffer, page: &Page) {
        self.trays[at.tray][at.page] = *page;
    }

    fn pages(&self, tray: usize, count: usize) -> &[Page] {
        &self.trays[tray][..count]
    }

    fn write(&mut self, from: Buffer, to: Remote) {
        self.begin(from, to, true);
    }

    fn read(&mut self, to: Buffer, from: Remote) {
        self.begin(to, from, false);
    }

    fn send(&mut self, to: u32, message: Message) {
        let mut wire = lock(&self.wire);
        let due = wire.clock.now() + wire.delay();
        let inbox = &mut wire.ends[to as usize].inbox;
        // Those that were sent before arrive before.
        let due = inbox.back().map_or(due, |&(before, ..)| due.max(before));
        inbox.push_back((due, self.me, message));
    }

    fn next(&mut self) -> Option<Report> {
        let wire = self.wire.clone();
        let mut wire = lock(&wire);
        let (now, me) = (wire.clock.now(), self.me as usize);
        if let Some(i) = wire.ends[me].moves.iter().position(|moved| moved.due <= now) {
            let Move { buffer, remote, out, .. } = wire.ends[me].moves.swap_remove(i);
            let page = &mut self.trays[buffer.tray][buffer.page];
            let slots = &mut wire.ends[remote.rank as usize].slots;
            if out {
                slots.insert(remote.slot, Box::new(*page));
            } else {
                *page = *slots[&remote.slot];
            }
            return Some(Report::Moved(buffer, true));
        }
        let inbox = &mut wire.ends[me].inbox;
        inbox.front().is_some_and(|&(due, ..)| due <= now).then(|| {
            let (_, from, message) = inbox.pop_front().expect("looked at");
            Report::Told(from, message)
        })
    }
}

// ---- ranks

/// The memory and the settings of a rank.
#[derive(Debug, Clone, Copy)]
struct Means {
    pages: u64,
    frames: u64,
    /// Batches that it lends.
    batches: u32,
    /// Pages that its file has room for.
    file: u64,
    share: Share,
    read_ahead: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Runs,
    /// Its program has ended.
    Done,
    /// It takes its memory back: how many batches are lent, and since when.
    Leaves(u64, u64),
    Over,
}

struct Member {
    engine: PagerEngine,
    nic: NicTable,
    model: Arc<Model>,
    terms: Arc<Terms>,
    means: Means,
    timer: Option<u64>,
    facts: Vec<u64>,
    /// Accesses that are left, and the one under way.
    left: u32,
    access: Option<(u64, bool)>,
    phase: Phase,
}

/// How long a rank waits for memory that does not come back: a tenth of what it is live, as is patience.
const CLOSE: u64 = SECOND / 2;

impl Member {
    fn new(me: u32, all: &[Means], wire: &Arc<Mutex<Network>>, clock: &Clock, left: u32) -> Member {
        let means = all[me as usize];
        let mut config = PagerConfig::new(means.pages * PAGE_BYTES, means.frames * PAGE_BYTES, "/dev/shm");
        config.lent = u64::from(means.batches) * BATCH_BYTES;
        config.extra = config.lent;
        (config.read_ahead, config.patience) = (means.read_ahead, Duration::from_secs(1));
        let mut file = FileStore::new(Path::new("/dev/shm"), means.pages)
            .or_else(|_| FileStore::new(&std::env::temp_dir(), means.pages))
            .expect("a file");
        file.most = means.file;
        let trays = vec![vec![Page([0; PAGE_BYTES as usize]); TRAY_PAGES]; 8];
        let carrier = WireEnd { me, wire: wire.clone(), trays };
        let terms = Arc::new(Terms::default());
        let to = (0..all.len() as u32).filter(|&rank| rank != me).collect();
        let store = Box::new(PeerStore::new(file, means.pages, carrier, means.share, terms.clone()));
        let model = Arc::new(Model::default());
        let queue = Arc::new(Queue::new().expect("a queue"));
        let kernel = Box::new(model.clone());
        let (mut engine, export, nic) =
            super::engine(&config, Calls::default(), queue, kernel, store).expect("an engine");
        let keys = engine.lent.iter().map(|batch| batch.key.0).collect();
        terms.offer(Offering { at: export.size, keys, to });
        let (start, time) = (Instant::now(), clock.clone());
        engine.clock = Box::new(move || start + Duration::from_nanos(time.now()));
        Member {
            engine,
            nic,
            model,
            terms,
            means,
            timer: Some(0),
            facts: vec![0; means.pages as usize],
            left,
            access: None,
            phase: Phase::Runs,
        }
    }

    /// One access of the program. Returns whether it did something.
    fn step(&mut self, choose: impl FnOnce(u64) -> (u64, bool)) -> bool {
        if self.phase != Phase::Runs || lock(&self.model.0).waits.is_some() {
            return false;
        }
        if self.left == 0 {
            self.phase = Phase::Done;
            return true;
        }
        let (page, write) = *self.access.get_or_insert_with(|| choose(self.means.pages));
        if self.model.touch(page, write) {
            let at = (self.engine.memory.base().as_ptr() as u64 + page * PAGE_BYTES) as *mut [u64; 512];
            // SAFETY: a page of the mapping, used by this thread alone.
            let words = unsafe { &mut *at };
            let fact = &mut self.facts[page as usize];
            assert_eq!((words[0], words[511]), (*fact, *fact), "page {page}");
            if write {
                *fact += (u64::from(self.left) << 32) | (page + 1);
                (words[0], words[511]) = (*fact, *fact);
            }
            self.left -= 1;
            self.access = None;
        }
        true
    }

    /// A turn of the paging thread, if it is due.
    fn turn(&mut self, now: u64, arrived: bool) -> Result<bool, PagerError> {
        let faulted = !lock(&self.model.0).faults.is_empty();
        if !arrived && !faulted && self.timer.is_none_or(|timer| timer > now) {
            return Ok(false);
        }
        if arrived {
            assert!(self.engine.queue.push(Command::Stored).is_ok());
        }
        self.engine.turn(faulted, arrived, false)?;
        self.timer = self.engine.timeout().map(|wait| now + (wait.as_nanos() as u64).max(US));
        Ok(true)
    }

    /// The rank leaves. Returns whether something has changed.
    fn leave(&mut self, now: u64) -> bool {
        let lent = self.terms.lent();
        match self.phase {
            Phase::Done => {
                self.terms.leave();
                // It is woken. It may find no command, as when a bell rings late.
                (self.phase, self.timer) = (Phase::Leaves(lent, now), Some(now));
            }
            Phase::Leaves(..) if self.terms.is_over() => self.phase = Phase::Over,
            Phase::Leaves(before, _) if before != lent => self.phase = Phase::Leaves(lent, now),
            Phase::Leaves(_, since) if now - since > CLOSE => {
                self.terms.give_up();
                (self.phase, self.timer) = (Phase::Over, Some(now));
            }
            _ => return false,
        }
        true
    }
}

/// How a job ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// All programs have ended, and all memory is back.
    Done,
    /// A rank has said that pages waited for room for too long.
    Full,
    /// A page was at a rank that left, and there was no room for it here. A rank has said so.
    Lost,
}

/// Longest virtual time of a job, and most turns of it.
const MOST: u64 = 60 * SECOND;
const MOST_TURNS: u64 = 2_000_000;

/// Runs programs that `choose` their accesses. Returns how the job ends, and when. `together`: a rank leaves
/// when all programs have ended.
fn job(
    seed: u64,
    all: &[Means],
    (latency, service): (Range<u64>, u64),
    accesses: u32,
    together: bool,
    mut choose: impl FnMut(usize, u64) -> (u64, bool),
) -> (Outcome, u64) {
    let clock = Clock::default();
    let random = fastrand::Rng::with_seed(seed);
    let ends = all.iter().map(|_| End::default()).collect();
    let wire = Network { clock: clock.clone(), random, latency, service, ends };
    let wire = Arc::new(Mutex::new(wire));
    let mut members: Vec<Member> =
        (0..all.len() as u32).map(|me| Member::new(me, all, &wire, &clock, accesses)).collect();
    let mut turns = 0u64;
    loop {
        let now = clock.now();
        assert!(now < MOST, "seed {seed}: no end");
        assert!(turns < MOST_TURNS, "seed {seed}: no end at {now} ns");
        turns += 1;
        let mut busy = false;
        let wait = together && members.iter().any(|member| member.phase == Phase::Runs);
        for (me, member) in members.iter_mut().enumerate() {
            let arrived = lock(&wire).due(me).is_some_and(|due| due <= now);
            match member.turn(now, arrived) {
                Ok(done) => busy |= done,
                Err(PagerError::Full { .. }) => return (Outcome::Full, now),
                Err(error) if error.to_string().contains("no longer has it") => return (Outcome::Lost, now),
                Err(error) => panic!("seed {seed}: {error}"),
            }
            busy |= member.step(|pages| choose(me, pages));
            busy |= !wait && member.leave(now);
        }
        if members.iter().all(|member| member.phase == Phase::Over) {
            return (Outcome::Done, now);
        }
        let dues = (0..members.len()).filter_map(|me| lock(&wire).due(me));
        let closing = members.iter().filter_map(|member| match member.phase {
            Phase::Leaves(_, since) => Some(since + CLOSE + US),
            _ => None,
        });
        let next = dues.chain(members.iter().filter_map(|member| member.timer)).chain(closing).min();
        let next = if busy { Some(now + US) } else { next };
        let Some(next) = next else { panic!("seed {seed}: a rank waits, and nothing will happen") };
        clock.0.store(next.max(now + 1), Ordering::Relaxed);
    }
}

/// All ranks evict to all, whatever room there is.
#[test]
fn gms_04_all_evict_to_all_with_donors_and_files_full() {
    let mut outcomes = HashMap::new();
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut means = |_| {
            let pages = random.u64(100..350);
            Means {
                pages,
                frames: random.u64(64..96),
                batches: random.u32(..4),
                file: [0, 64, 128, 256, u64::MAX][random.usize(..5)],
                share: Share { borrow: 64 * random.u64(..5), safe: random.u8(..4) == 0 },
                read_ahead: random.u32(..5),
            }
        };
        let all: Vec<Means> = (0..2 + seed as usize % 4).map(&mut means).collect();
        let choose = |_: usize, pages: u64| (random.u64(..pages), random.u8(..10) < 7);
        let (outcome, _) = job(seed, &all, (5 * US..60 * US, 2 * US), 200, seed % 2 == 0, choose);
        if all.iter().all(|means| means.file == u64::MAX) {
            assert_eq!(outcome, Outcome::Done, "seed {seed}: there was room for all");
        }
        *outcomes.entry(format!("{outcome:?}")).or_insert(0) += 1;
    }
    assert!(outcomes["Done"] > 30 && outcomes["Full"] > 30, "{outcomes:?}");
}

/// A window of pages takes the network's latency once, and the donor's time for each page. So depth 0 is
/// serial, and more depth helps less the more the donor's time outweighs the rest.
#[test]
fn gms_07_read_ahead_shares_the_latency_of_a_window() {
    const PAGES: u64 = 1024;
    let (latency, service) = (80 * US, 5 * US);
    let share = Share { borrow: 2 * PAGES, safe: false };
    let reader = Means { pages: PAGES, frames: 512, batches: 0, file: u64::MAX, share, read_ahead: 0 };
    let donor = Means { batches: 32, share: Share::default(), ..reader };
    let end = |read_ahead: u32, passes: u64| {
        let all = [Means { read_ahead, ..reader }, donor];
        let mut turn = 0u64;
        // Two passes of stores bring all pages to the donor, the others read them.
        let choose = |rank: usize, _: u64| {
            turn += u64::from(rank == 0);
            if rank == 0 { ((turn - 1) % PAGES, turn <= 2 * PAGES) } else { (0, false) }
        };
        let accesses = ((2 + passes) * PAGES) as u32;
        let (outcome, end) = job(7, &all, (latency..latency + 1, service), accesses, true, choose);
        assert_eq!(outcome, Outcome::Done);
        end
    };
    let depths = [0, 1, 3, 7, 15, 31];
    let pages = depths.map(|depth| (end(depth, 3) - end(depth, 1)) as f64 / (2 * PAGES) as f64);
    for (depth, page) in depths.into_iter().zip(pages) {
        let law = service as f64 + latency as f64 / f64::from(depth + 1);
        assert!(page >= law && page < 1.1 * law + 3.0 * US as f64, "depth {depth}: {page} ns for {law}");
    }
    assert!(pages.is_sorted_by(|a, b| a > b), "{pages:?}");
}

/// The answers of a donor to a message of rank 1.
fn answers(donor: &mut Member, wire: &Mutex<Network>, message: Option<Message>) -> Vec<Message> {
    let now = {
        let mut wire = lock(wire);
        let now = wire.clock.now() + 200 * US;
        wire.clock.0.store(now, Ordering::Relaxed);
        wire.ends[0].inbox.extend(message.map(|message| (now, 1, message)));
        now
    };
    donor.turn(now, message.is_some()).expect("no error");
    lock(wire).ends[1].inbox.drain(..).map(|(.., message)| message).collect()
}

/// A batch that has come back is lent again under another key, when no DMA is under way that the old one has
/// opened. The old one opens nothing.
#[test]
fn gms_06_the_nic_refuses_the_old_key_of_a_batch() {
    let clock = Clock::default();
    let random = fastrand::Rng::with_seed(1);
    let ends = vec![End::default(), End::default()];
    let wire = Network { clock: clock.clone(), random, latency: 1..2, service: 0, ends };
    let wire = Arc::new(Mutex::new(wire));
    let share = Share::default();
    let means = Means { pages: 100, frames: 100, batches: 2, file: u64::MAX, share, read_ahead: 0 };
    let mut donor = Member::new(0, &[means; 2], &wire, &clock, 0);
    donor.engine.keep_extra().expect("frames");
    let offer = answers(&mut donor, &wire, None);
    let [Message::Offer { free: 2, at }] = offer[..] else { panic!("{offer:?}") };
    let say = |donor: &mut Member, message| answers(donor, &wire, message);
    let granted = |answers: Vec<Message>| match answers[..] {
        [Message::Grant { batch, key, .. }] => (batch, Key(key)),
        _ => panic!("{answers:?}"),
    };
    let (batch, old) = granted(say(&mut donor, Some(Message::Ask)));
    let vpn = Vpn::of(PortId(1), at + u64::from(batch) * BATCH_BYTES + 5 * PAGE_BYTES);
    let (other, other_key) = granted(say(&mut donor, Some(Message::Ask)));
    assert!(other != batch && other_key != old);
    assert_eq!(donor.nic.lock(vpn, vpn.hash(), other_key), Err(LockError::Refused), "of another batch");
    let frame = donor.nic.lock(vpn, vpn.hash(), old).expect("the key of the batch");
    // It comes back, though a DMA is under way: until that ends it is not lent.
    assert_eq!(say(&mut donor, Some(Message::Return { batch })), []);
    assert_eq!(say(&mut donor, Some(Message::Ask)), [Message::Refuse]);
    assert_eq!(donor.nic.lock(vpn, vpn.hash(), old), Err(LockError::Missing));
    assert_eq!(say(&mut donor, None), []);
    donor.nic.unlock(frame);
    assert_eq!(say(&mut donor, None), [Message::Offer { free: 1, at }]);
    let (again, new) = granted(say(&mut donor, Some(Message::Ask)));
    assert!(again == batch && new != old);
    assert_eq!(donor.nic.lock(vpn, vpn.hash(), old), Err(LockError::Refused));
    assert_eq!(donor.nic.lock(vpn, vpn.hash(), new), Ok(frame));
    donor.nic.unlock(frame);
    // The other batch was in use all the time.
    let vpn = Vpn::of(PortId(1), at + u64::from(other) * BATCH_BYTES);
    assert!(donor.nic.lock(vpn, vpn.hash(), other_key).is_ok());
}
