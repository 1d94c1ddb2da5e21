//! Tests of the pager alone: programs on threads, a thread in the role of the NIC, little memory.
#![expect(unsafe_code, reason = "uses the segment by address, as programs do")]

use std::collections::VecDeque;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command as Process, Output, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use netvm_fw::nic::OpId;
use netvm_fw::shadow::LockError;
use netvm_fw::wire::Span;
use netvm_fw::{FrameAddress, PageMemory};

use super::store::peers::net::{Net, NetEnd};
use super::store::peers::{BATCH_SLOTS, PeerStore, Share, Terms};
use super::store::slow::Slow;
use super::*;

/// Bytes of the segments, unless a test says otherwise.
const SEGMENT: u64 = 8 << 20;
const WORDS: u64 = PAGE_BYTES / 8;

fn config(segment: u64, budget: u64) -> PagerConfig {
    PagerConfig::new(segment, budget, std::env::temp_dir())
}

fn pager(segment: u64, budget: u64) -> Pager {
    pager_on(Kind::File, segment, budget)
}

/// The store behind a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A file.
    File,
    /// A file whose reads and writes finish later.
    Slow,
    /// Memory of a peer that has room for all, and now and then wants some of it back; and a file.
    Peers,
    /// Memory of a peer that has room for some, and the file has everything too.
    Safe,
}

/// The store of a rank whose peer lends so many batches and recalls some of them at random.
fn over_a_peer(file: FileStore, queue: &Arc<Queue>, batches: u32, safe: bool) -> Box<dyn Store> {
    let net = Net::new(2, 1);
    let terms = Arc::new(Terms::default());
    terms.offer(net.lock().expect("no panic").offering(1, batches, vec![0]));
    let nothing = FileStore::new(&std::env::temp_dir(), 1).expect("a file");
    let carrier = NetEnd::new(&net, 1, 2);
    let mut donor = PeerStore::new(nothing, 1, carrier, Share::default(), terms);
    let (queue, others) = (Arc::downgrade(queue), net.clone());
    thread::spawn(move || {
        let mut random = fastrand::Rng::with_seed(1);
        while let Some(queue) = queue.upgrade() {
            if random.u8(..50) == 0 {
                donor.recall(random.u32(1..4));
            }
            assert!(donor.finished().is_none());
            for batch in donor.take_returned() {
                let key = others.lock().expect("no panic").renew(1, batch);
                donor.renewed(batch, key);
            }
            // An error: the pager has ended.
            let _ = queue.push(super::queue::Command::Stored);
            drop(queue);
            thread::sleep(Duration::from_micros(60));
        }
    });
    let share = Share { borrow: u64::from(batches) * BATCH_SLOTS as u64, safe };
    let carrier = NetEnd::new(&net, 0, 8);
    Box::new(PeerStore::new(file, SEGMENT / PAGE_BYTES, carrier, share, Arc::default()))
}

fn start(kind: Kind, config: PagerConfig, calls: Calls, protects: bool) -> (Pager, NicTable) {
    let store = |file, queue: Arc<Queue>| match kind {
        Kind::File => Box::new(file) as Box<dyn Store>,
        Kind::Slow => Box::new(Slow::new(file, &queue, 1)),
        Kind::Peers => over_a_peer(file, &queue, 40, false),
        Kind::Safe => over_a_peer(file, &queue, 12, true),
    };
    Pager::start_with(config, calls, protects, store).expect("a pager")
}

fn pager_on(kind: Kind, segment: u64, budget: u64) -> Pager {
    start(kind, config(segment, budget), Calls::default(), true).0
}

/// Tests that hold whatever the backing store.
macro_rules! on_all_stores {
    ($($name:ident,)*) => {
        mod on_a_file {
            $(#[test]
            fn $name() {
                super::$name(super::Kind::File);
            })*
        }

        mod on_a_slow_store {
            $(#[test]
            fn $name() {
                super::$name(super::Kind::Slow);
            })*
        }

        mod gms_01_on_peers {
            $(#[test]
            fn $name() {
                super::$name(super::Kind::Peers);
            })*
        }

        mod gms_01_on_peers_and_a_file {
            $(#[test]
            fn $name() {
                super::$name(super::Kind::Safe);
            })*
        }
    };
}

on_all_stores! {
    memory_is_memory_whatever_the_budget,
    no_store_is_lost_to_an_eviction,
    without_write_protection_stores_are_lost,
    dma_and_paging_at_the_same_time,
    a_nic_that_writes_to_a_clean_page_does_not_fault,
    pages_that_are_held_stay,
    gms_08_blocks_come_as_a_whole_and_overwritten_ones_are_not_read,
    gms_08_bytes_beside_an_overwritten_range_stay,
    what_leaves_is_kept_and_its_frames_are_free,
    advice_and_faults_at_the_same_time,
    system_calls_use_pages_that_are_out,
    pages_that_the_program_drops_are_zeros,
    extra_memory_stays_and_is_exported,
    gms_05_a_page_under_way_is_fetched_once,
}

impl Pager {
    fn word(&self, index: u64) -> &AtomicU64 {
        assert!(index < self.len / 8);
        // SAFETY: inside of the segment, aligned, and there are atomics all over it.
        unsafe { &*self.base().cast::<AtomicU64>().as_ptr().add(index as usize) }
    }

    fn load(&self, index: u64) -> u64 {
        self.word(index).load(Ordering::Relaxed)
    }

    fn store(&self, index: u64, value: u64) {
        self.word(index).store(value, Ordering::Relaxed);
    }

    /// The kernel's figure for the segment, in kB. (A pin splits the mapping.)
    fn smaps(&self, field: &str) -> u64 {
        let (first, last) = (self.base().as_ptr() as u64, self.base().as_ptr() as u64 + self.len);
        let text = fs::read_to_string("/proc/self/smaps").expect("procfs");
        let (mut inside, mut sum) = (false, 0);
        for line in text.lines() {
            let word = line.split_whitespace().next().unwrap_or("");
            if let Some((from, to)) = word.split_once('-')
                && let (Ok(from), Ok(to)) = (u64::from_str_radix(from, 16), u64::from_str_radix(to, 16))
            {
                inside = from >= first && to <= last;
            } else if inside && word == field {
                sum += line.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).expect("a number");
            }
        }
        sum
    }

    fn hold_now(&self, pages: Range<u64>, kind: Hold, wait: bool) -> Result<(), HoldError> {
        let (done, wait_for) = channel();
        self.hold(pages, kind, wait, Box::new(move |result| done.send(result).expect("it waits")));
        wait_for.recv().expect("an answer")
    }
}

fn memory_is_memory_whatever_the_budget(kind: Kind) {
    // The store matters where pages go out: the shares that do not depend on it are for one.
    let percents: &[u64] = if kind == Kind::File { &[5, 20, 60, 100, 200] } else { &[5, 60, 100] };
    for &percent in percents {
        let pager = pager_on(kind, SEGMENT, SEGMENT * percent / 100);
        let mut facts = vec![0u64; (SEGMENT / 8) as usize];
        let mut random = fastrand::Rng::with_seed(percent);
        // In order, backwards in strides, at random.
        for at in (0..SEGMENT / 8).step_by(64) {
            (facts[at as usize], _) = (at + 1, pager.store(at, at + 1));
        }
        for round in 0..12_000u64 {
            let at = if round % 3 == 0 { SEGMENT / 8 - 1 - round * 80 } else { random.u64(..SEGMENT / 8) };
            if round % 2 == 0 {
                (facts[at as usize], _) = (round, pager.store(at, round));
            }
            assert_eq!(pager.load(at), facts[at as usize], "word {at}, round {round}, {percent} %");
            if round % 2000 == 0 {
                assert!(pager.smaps("Rss:") * 1024 <= pager.budget());
            }
        }
        for at in 0..SEGMENT / 8 {
            assert_eq!(pager.load(at), facts[at as usize], "word {at}, {percent} %");
        }
        assert!(pager.smaps("Rss:") * 1024 <= pager.budget());
        let stats = pager.stats();
        assert!(stats.most_resident * PAGE_BYTES <= pager.budget(), "{stats:?}");
        if percent < 100 {
            assert!(stats.page_outs > 0 && stats.page_ins > 0 && stats.clean_drops > 0, "{stats:?}");
            assert!(stats.write_protect_faults > 0 && stats.read_ahead > 0, "{stats:?}");
        } else {
            assert_eq!((stats.page_outs, stats.page_ins, stats.drops), (0, 0, 0), "{stats:?}");
        }
    }
}

/// Threads keep storing to their words of some pages, while another thread pushes those pages out by so many
/// faults. Returns how many stores were lost.
fn racing_stores(kind: Kind, protects: bool, faults: u64) -> (u64, PagerStats) {
    let settings = config(256 * PAGE_BYTES, PagerConfig::MIN_BUDGET);
    let pager = start(kind, settings, Calls::default(), protects).0;
    let (lost, done) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for me in 0..2 {
            let (pager, lost, done) = (&pager, &lost, &done);
            scope.spawn(move || {
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    for page in 0..12 {
                        let at = page * WORDS + me * 8;
                        lost.fetch_add(u64::from(pager.load(at) != last), Ordering::Relaxed);
                        pager.store(at, last + 1);
                    }
                    last += 1;
                }
            });
        }
        let mut random = fastrand::Rng::with_seed(5);
        (0..faults).for_each(|_| pager.store((16 + random.u64(..240)) * WORDS, 1));
        done.store(true, Ordering::Relaxed);
    });
    (lost.into_inner(), pager.stats())
}

fn no_store_is_lost_to_an_eviction(kind: Kind) {
    let (lost, stats) = racing_stores(kind, true, 3000);
    assert_eq!(lost, 0, "{stats:?}");
    assert!(stats.page_outs > 1000 && stats.write_protect_faults > 50, "{stats:?}");
}

fn without_write_protection_stores_are_lost(kind: Kind) {
    let lost = (0..20).map(|_| racing_stores(kind, false, 1000).0).find(|&lost| lost > 0);
    assert!(lost.is_some(), "the test above could not fail");
}

/// Locks pages as a NIC does, and reads and writes them by DMA; it asks the host for missing pages.
struct Nic<'a> {
    pager: &'a Pager,
    table: NicTable,
    replies: Receiver<HostReply>,
    misses: u64,
    locks: u64,
}

impl Nic<'_> {
    fn with(&mut self, page: u64, dirty: bool, work: impl Fn(&PagedMemory, FrameAddress)) {
        let export = self.pager.export();
        let vpn = netvm_fw::Vpn::of(export.port, page * PAGE_BYTES);
        let mut restarted = false;
        let ppn = loop {
            let lock = self.table.lock(vpn, vpn.hash(), export.key);
            if restarted {
                self.pager.interrupt(Interrupt::Settled(vpn));
            }
            match lock {
                Ok(ppn) => break ppn,
                Err(LockError::Refused) => panic!("the key is right"),
                Err(LockError::Missing) => {
                    self.misses += 1;
                    let span = Span { vpn, hash: vpn.hash(), key: export.key, offset: 0, len: 8 };
                    self.pager.interrupt(Interrupt::SourceMissing { op: OpId(7), span });
                    self.pager.flush();
                    let reply = self.replies.recv().expect("an answer");
                    assert_eq!(reply, HostReply::Resume(OpId(7)));
                    restarted = true;
                }
            }
        };
        self.locks += 1;
        work(&self.pager.memory, FrameAddress { ppn, offset: 0 });
        if dirty { self.table.unlock_dirty(ppn) } else { self.table.unlock(ppn) }
    }
}

fn replies() -> (Calls, Receiver<HostReply>) {
    let (send, receive): (Sender<HostReply>, _) = channel();
    let calls = Calls { reply: Box::new(move |reply| send.send(reply).expect("a NIC")), ..Calls::default() };
    (calls, receive)
}

/// Two program threads and a NIC, each with its own third of every page; returns the bytes that were
/// compared.
fn dma_and_paging(kind: Kind, segment: u64, budget: u64, rounds: u64, seed: u64) -> u64 {
    let (calls, replies) = replies();
    let (pager, table) = start(kind, config(segment, budget), calls, true);
    let pages = segment / PAGE_BYTES;
    let third = WORDS / 3;
    let (bytes, done) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let mut workers = Vec::new();
        for me in 0..2u64 {
            let (pager, bytes) = (&pager, &bytes);
            workers.push(scope.spawn(move || {
                let mut facts = vec![0u64; pages as usize];
                let mut random = fastrand::Rng::with_seed(seed * 2 + me);
                for round in 1..=rounds {
                    let page = if round % 4 < 2 { random.u64(..pages) } else { round % pages };
                    let at = page * WORDS + me * third;
                    for word in 0..third {
                        assert_eq!(pager.load(at + word), facts[page as usize], "page {page}, thread {me}");
                    }
                    bytes.fetch_add(third * 8, Ordering::Relaxed);
                    if random.u64(..3) == 0 {
                        facts[page as usize] = round;
                        (0..third).for_each(|word| pager.store(at + word, round));
                    }
                }
            }));
        }
        let mut nic = Nic { pager: &pager, table, replies, misses: 0, locks: 0 };
        let bytes = &bytes;
        workers.push(scope.spawn(move || {
            let mut facts = vec![0u8; pages as usize];
            let mut random = fastrand::Rng::with_seed(seed + 77);
            let (offset, len) = ((2 * third * 8) as u32, (third * 8) as usize);
            for round in 1..=rounds {
                let page = random.u64(..pages);
                let write = random.u64(..2) == 0;
                let fact = facts[page as usize];
                let now = if write { round as u8 } else { fact };
                nic.with(page, write, |memory, place| {
                    let at = FrameAddress { offset, ..place };
                    let mut found = vec![0; len];
                    memory.read(at, &mut found);
                    assert!(found.iter().all(|&byte| byte == fact), "page {page}: DMA of {fact}");
                    if write {
                        memory.write(at, &vec![now; len]);
                    }
                });
                facts[page as usize] = now;
                bytes.fetch_add(len as u64, Ordering::Relaxed);
            }
            assert!(nic.misses > 0 && nic.locks > nic.misses / 2, "{} {}", nic.misses, nic.locks);
        }));
        let (watched, done) = (&pager, &done);
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                // The kernel walks the pages while they come and go, and counts pages that move ahead of it
                // twice.
                let before = watched.stats().drops;
                let resident = watched.smaps("Rss:") * 1024 / PAGE_BYTES;
                let moved = watched.stats().drops - before + 32;
                assert!(
                    resident <= watched.budget() / PAGE_BYTES + moved,
                    "{resident} pages resident, {moved} moved"
                );
                thread::sleep(Duration::from_millis(20));
            }
        });
        let failed = workers.into_iter().map(|worker| worker.join().is_err()).filter(|&f| f).count();
        done.store(true, Ordering::Relaxed);
        assert_eq!(failed, 0, "{:?}", pager.stats());
    });
    let stats = pager.stats();
    assert!(
        pager.smaps("Rss:") * 1024 <= pager.budget() && stats.most_resident * PAGE_BYTES <= pager.budget(),
        "{stats:?}"
    );
    assert!(budget >= segment || stats.page_outs > 0 && stats.drops > 0, "{stats:?}");
    bytes.into_inner()
}

fn dma_and_paging_at_the_same_time(kind: Kind) {
    for (seed, percent) in [(1, 6), (2, 30), (3, 80), (4, 150)] {
        let segment = 1200 * PAGE_BYTES;
        assert!(
            dma_and_paging(kind, segment, (segment * percent / 100).max(64 * PAGE_BYTES), 2500, seed)
                > 10_000_000
        );
    }
}

#[test]
#[ignore = "a soak, run by `cargo xtask soak`: 2 * 10^9 bytes, or PAGER_BYTES, from PAGER_SEED on"]
fn soak_dma_and_paging() {
    let number = |name| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let (wanted, first) = (number("PAGER_BYTES").unwrap_or(2_000_000_000), number("PAGER_SEED").unwrap_or(1));
    let mut bytes = 0;
    for seed in first % (1 << 40) + 1.. {
        let segment = (400 + seed * 1117 % 6000) * PAGE_BYTES;
        let percent = 5 + seed * 61 % 97;
        let kind = if seed % 2 == 0 { Kind::File } else { Kind::Slow };
        bytes += dma_and_paging(kind, segment, (segment * percent / 100).max(64 * PAGE_BYTES), 20_000, seed);
        if bytes > wanted {
            println!("{bytes} bytes compared");
            break;
        }
    }
}

fn a_nic_that_writes_to_a_clean_page_does_not_fault(kind: Kind) {
    let (calls, replies) = replies();
    let (pager, table) = start(kind, config(SEGMENT, 64 * PAGE_BYTES), calls, true);
    let mut nic = Nic { pager: &pager, table, replies, misses: 0, locks: 0 };
    assert_eq!(pager.load(0), 0);
    nic.with(0, true, |memory, place| memory.write(place, &9u64.to_ne_bytes()));
    assert_eq!((pager.load(0), pager.stats().write_protect_faults), (9, 0));
    // The pages that it wrote are written out.
    (1..SEGMENT / PAGE_BYTES).for_each(|page| assert_eq!(pager.load(page * WORDS), 0));
    assert_eq!(pager.load(0), 9);
    assert!(pager.stats().page_outs > 0);
}

fn pages_that_are_held_stay(kind: Kind) {
    let pager = pager_on(kind, SEGMENT, 256 * PAGE_BYTES);
    let most = pager.holdable();
    assert!((128..256).contains(&most));
    pager.hold_now(10..74, Hold::Pin, false).expect("room");
    assert_eq!(pager.smaps("Locked:"), 64 * 4);
    // Holding twice adds nothing.
    pager.hold_now(60..80, Hold::Pin, false).expect("room");
    pager.hold_now(10..20, Hold::Stay, false).expect("room");
    assert_eq!(pager.smaps("Locked:"), 70 * 4);
    (10..80).for_each(|page| pager.store(page * WORDS + 3, page));
    (0..SEGMENT / PAGE_BYTES)
        .filter(|page| !(10..80).contains(page))
        .for_each(|page| pager.store(page * WORDS, page));
    let before = pager.stats();
    (10..80).for_each(|page| assert_eq!(pager.load(page * WORDS + 3), page));
    assert_eq!(pager.stats().faults, before.faults, "they were here");
    assert!(before.page_outs > 0);
    // Holds alone make no page dirty.
    let clean = start(kind, config(SEGMENT, 256 * PAGE_BYTES), Calls::default(), true).0;
    for first in (0..SEGMENT / PAGE_BYTES).step_by(64) {
        clean.hold_now(first..first + 64, Hold::Pin, false).expect("room");
        clean.release(first..first + 64, Hold::Pin);
    }
    assert_eq!(clean.stats().page_outs, 0);
    let error = pager.hold_now(100..100 + most, Hold::Stay, false).expect_err("too many");
    assert_eq!(error, HoldError::Budget { need: most, held: 70, most });
    assert!(pager.hold_now(100..101 + most, Hold::Stay, true).is_err(), "never");
    assert_eq!(pager.hold_now(0..SEGMENT / PAGE_BYTES + 1, Hold::Stay, true), Err(HoldError::Outside));
    // A hold that waits gets its turn.
    let (done, wait) = channel();
    pager.hold(100..100 + most, Hold::Stay, true, Box::new(move |result| done.send(result).expect("waits")));
    assert!(wait.recv_timeout(Duration::from_millis(50)).is_err());
    pager.release(10..74, Hold::Pin);
    pager.release(60..80, Hold::Pin);
    pager.release(10..20, Hold::Stay);
    assert_eq!(wait.recv().expect("an answer"), Ok(()));
    assert_eq!(pager.smaps("Locked:"), 0);
    pager.release(100..100 + most, Hold::Stay);
    (0..SEGMENT / PAGE_BYTES).for_each(|page| {
        let at = page * WORDS + if (10..80).contains(&page) { 3 } else { 0 };
        assert_eq!(pager.load(at), page);
    });
    let stats = pager.stats();
    assert_eq!((stats.pins, stats.unpins), (70, 70), "{stats:?}");
    assert!(stats.most_resident <= 256);
}

impl Pager {
    /// Gives advice on pages, and waits until so many more of them have been brought in.
    fn announce(&self, pages: Range<u64>, advice: Advice, brought: u64) {
        let came = || self.stats().page_ins + self.stats().zero_fills;
        let before = came();
        self.advise(pages.start * PAGE_BYTES..pages.end * PAGE_BYTES, advice);
        let begun = Instant::now();
        while came() < before + brought {
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", self.stats());
            thread::yield_now();
        }
        // The thread has counted them; when it takes the next command they are in place.
        self.hold_now(pages.start..pages.start + 1, Hold::Stay, true).expect("room");
        self.release(pages.start..pages.start + 1, Hold::Stay);
    }
}

/// The difference of a counter.
fn more(pager: &Pager, before: PagerStats, of: impl Fn(PagerStats) -> u64) -> u64 {
    of(pager.stats()) - of(before)
}

fn gms_08_blocks_come_as_a_whole_and_overwritten_ones_are_not_read(kind: Kind) {
    const BLOCK: u64 = 64;
    let pager = pager_on(kind, SEGMENT, 512 * PAGE_BYTES);
    let pages = SEGMENT / PAGE_BYTES;
    (0..pages).for_each(|page| pager.store(page * WORDS, page + 1));
    let faults = |s: PagerStats| s.faults + s.write_protect_faults;

    let before = pager.stats();
    pager.announce(0..BLOCK, Advice::Coming, BLOCK);
    (0..BLOCK).for_each(|page| assert_eq!(pager.load(page * WORDS), page + 1));
    assert_eq!((more(&pager, before, |s| s.page_ins), more(&pager, before, faults)), (BLOCK, 0));
    assert_eq!(more(&pager, before, |s| s.announced), BLOCK);
    assert!(more(&pager, before, |s| s.reads) <= BLOCK / 2, "many together: {:?}", pager.stats());

    let before = pager.stats();
    pager.announce(BLOCK..2 * BLOCK, Advice::Overwrite, BLOCK);
    (BLOCK * WORDS..2 * BLOCK * WORDS).for_each(|at| pager.store(at, at));
    let after = pager.stats();
    assert_eq!((after.page_ins, after.reads), (before.page_ins, before.reads), "no page is read");
    assert_eq!((more(&pager, before, |s| s.forgotten), more(&pager, before, faults)), (BLOCK, 0));

    // Without advice all of them are read, and perhaps some behind them.
    let before = pager.stats();
    (2 * BLOCK * WORDS..3 * BLOCK * WORDS).for_each(|at| pager.store(at, at));
    assert!(more(&pager, before, |s| s.page_ins) >= BLOCK);

    // All that was written is there, and nothing else has changed.
    for at in 0..SEGMENT / 8 {
        let page = at / WORDS;
        let plain = if at % WORDS == 0 { page + 1 } else { 0 };
        let expect = if (BLOCK..3 * BLOCK).contains(&page) { at } else { plain };
        assert_eq!(pager.load(at), expect, "word {at}");
    }
}

fn gms_08_bytes_beside_an_overwritten_range_stay(kind: Kind) {
    let pager = pager_on(kind, SEGMENT, 64 * PAGE_BYTES);
    (0..SEGMENT / 8).for_each(|at| pager.store(at, at + 1));
    pager.advise(3 * PAGE_BYTES + 8..6 * PAGE_BYTES + 16, Advice::Overwrite);
    pager.advise(7 * PAGE_BYTES..7 * PAGE_BYTES, Advice::Overwrite);
    // A value written after the call stays, whatever the pager still does.
    pager.store(4 * WORDS + 5, 7);
    for at in 0..20 * WORDS {
        match (at / WORDS, pager.load(at)) {
            (4, value) if at == 4 * WORDS + 5 => assert_eq!(value, 7),
            (4 | 5, value) => assert!(value == 0 || value == at + 1, "word {at}: {value}"),
            (_, value) => assert_eq!(value, at + 1, "word {at}"),
        }
    }
    assert_eq!(pager.stats().forgotten, 2);
    // Beyond the end there is nothing to advise on.
    pager.advise(SEGMENT - 8..u64::MAX, Advice::Overwrite);
    pager.advise(SEGMENT..SEGMENT + 1, Advice::Coming);
    assert!((SEGMENT / 8 - 10..SEGMENT / 8 - 1).all(|at| pager.load(at) == at + 1));
}

fn what_leaves_is_kept_and_its_frames_are_free(kind: Kind) {
    let small = pager_on(kind, SEGMENT, 512 * PAGE_BYTES);
    (0..448).for_each(|page| small.store(page * WORDS, page + 1));
    let before = small.stats();
    small.advise(100 * PAGE_BYTES..356 * PAGE_BYTES, Advice::Leaving);
    let begun = Instant::now();
    while more(&small, before, |s| s.page_outs) < 256 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", small.stats());
        thread::yield_now();
    }
    assert_eq!(more(&small, before, |s| s.given_up), 256);
    // Their frames are taken before those of pages that are in use.
    let before = small.stats();
    (448..648).for_each(|page| small.store(page * WORDS, page + 1));
    let faults = small.stats().faults;
    for page in (0..100).chain(356..448) {
        assert_eq!(small.load(page * WORDS), page + 1);
    }
    assert_eq!(small.stats().faults, faults, "they stayed: {:?}", small.stats());
    assert_eq!(more(&small, before, |s| s.waits), 0);
    (0..648).for_each(|page| assert_eq!(small.load(page * WORDS), page + 1));

    // Where all fits there is nothing to gain.
    let whole = pager_on(kind, SEGMENT, SEGMENT);
    whole.store(0, 5);
    whole.advise(0..SEGMENT, Advice::Leaving);
    whole.announce(0..SEGMENT / PAGE_BYTES, Advice::Coming, SEGMENT / PAGE_BYTES - 1);
    assert_eq!((whole.load(0), whole.stats().given_up, whole.stats().page_outs), (5, 0, 0));
}

/// Threads that touch the same page while it is on its way wait for the one read.
fn gms_05_a_page_under_way_is_fetched_once(kind: Kind) {
    const THREADS: u64 = 8;
    let pager = pager_on(kind, SEGMENT, 64 * PAGE_BYTES);
    let pages = SEGMENT / PAGE_BYTES;
    (0..pages).for_each(|page| pager.store(page * WORDS, page + 1));
    let before = pager.stats();
    let meeting = Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        for me in 0..THREADS {
            let (pager, meeting) = (&pager, &meeting);
            scope.spawn(move || {
                // None of them in order, so that none is read ahead.
                for page in (0..1000).step_by(50) {
                    meeting.wait();
                    assert_eq!(pager.load(page * WORDS), page + 1, "thread {me}");
                    if me == 0 {
                        pager.store(page * WORDS + 1, page);
                    }
                }
            });
        }
    });
    assert_eq!(more(&pager, before, |s| s.page_ins), 20, "{:?}", pager.stats());
    assert!((0..1000).step_by(50).all(|page| pager.load(page * WORDS + 1) == page));
}

/// Two threads give advice on their halves at random while they use them, with little memory.
fn advice_and_faults_at_the_same_time(kind: Kind) {
    const PAGES: u64 = 400;
    for (seed, percent) in [(1, 16), (2, 30), (3, 80), (4, 150)] {
        let pager =
            pager_on(kind, PAGES * PAGE_BYTES, (PAGES * PAGE_BYTES * percent / 100).max(64 * PAGE_BYTES));
        thread::scope(|scope| {
            for me in 0..2u64 {
                let pager = &pager;
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed * 2 + me);
                    let base = me * PAGES / 2;
                    let mut facts = vec![0u64; PAGES as usize / 2];
                    for round in 1..=1500u64 {
                        let first = random.u64(..PAGES / 2);
                        let block = first..(first + random.u64(1..40)).min(PAGES / 2);
                        let bytes = (base + block.start) * PAGE_BYTES..(base + block.end) * PAGE_BYTES;
                        match random.u64(..6) {
                            0 => pager.advise(bytes, Advice::Coming),
                            1 => pager.advise(bytes, Advice::Leaving),
                            2 => {
                                pager.advise(bytes, Advice::Overwrite);
                                for page in block {
                                    let at = (base + page) * WORDS;
                                    (at..at + WORDS).for_each(|at| pager.store(at, round));
                                    facts[page as usize] = round;
                                }
                            }
                            _ => {
                                for page in block.take(8) {
                                    let at = (base + page) * WORDS;
                                    let fact = facts[page as usize];
                                    for word in [0, 100, WORDS - 1] {
                                        assert_eq!(pager.load(at + word), fact, "page {page}, round {round}");
                                    }
                                }
                            }
                        }
                    }
                    for page in 0..PAGES / 2 {
                        let at = (base + page) * WORDS;
                        let fact = facts[page as usize];
                        assert!((at..at + WORDS).all(|at| pager.load(at) == fact), "page {page} of {me}");
                    }
                });
            }
        });
        let stats = pager.stats();
        assert!(stats.most_resident * PAGE_BYTES <= pager.budget(), "{stats:?}");
        assert!(
            stats.announced > 0 && (percent > 100 || stats.given_up > 0 && stats.forgotten > 0),
            "{stats:?}"
        );
    }
}

/// Where no file can be made, pages go to memory, if that is allowed.
#[test]
fn without_a_directory_pages_stay_in_memory() {
    let nowhere = || PagerConfig { backing: "/no/such/directory".into(), ..config(SEGMENT, 64 * PAGE_BYTES) };
    let refused = Pager::start(nowhere(), Calls::default()).err();
    assert!(matches!(refused, Some(PagerError::Backing { .. })), "{refused:?}");
    let (pager, _) = start(Kind::File, PagerConfig { or_memory: true, ..nowhere() }, Calls::default(), true);
    assert!(pager.is_in_memory());
    for at in (0..WORDS * SEGMENT / PAGE_BYTES).step_by(100) {
        pager.store(at, at * 3);
    }
    for at in (0..WORDS * SEGMENT / PAGE_BYTES).step_by(100) {
        assert_eq!(pager.load(at), at * 3);
    }
    assert!(pager.stats().page_outs > 0, "{:?}", pager.stats());
}

fn system_calls_use_pages_that_are_out(kind: Kind) {
    let pager = pager_on(kind, SEGMENT, 64 * PAGE_BYTES);
    if !pager.serves_system_calls() {
        return;
    }
    let path = std::env::temp_dir().join(format!("netvm-pager-test.{}", std::process::id()));
    let pattern: Vec<u8> = (0..SEGMENT).map(|i| (i / 7) as u8).collect();
    fs::write(&path, &pattern).expect("a file");
    let file = fs::File::options().read(true).write(true).open(&path).expect("a file");
    let _ = fs::remove_file(&path);
    let whole = SEGMENT as usize;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
    let base = pager.base().as_ptr();
    let mut done = 0;
    while done < whole {
        // SAFETY: reads into the segment.
        let n = unsafe { libc::pread(fd, base.add(done).cast(), whole - done, done as i64) };
        assert!(n > 0, "{}", io::Error::last_os_error());
        done += n as usize;
    }
    for at in 0..SEGMENT / 8 {
        let expect = u64::from_ne_bytes(pattern[at as usize * 8..][..8].try_into().expect("8"));
        assert_eq!(pager.load(at), expect, "word {at}");
    }
    file.set_len(0).expect("it is ours");
    let mut done = 0;
    while done < whole {
        // SAFETY: writes out of the segment.
        let n = unsafe { libc::pwrite(fd, base.add(done).cast(), whole - done, done as i64) };
        assert!(n > 0, "{}", io::Error::last_os_error());
        done += n as usize;
    }
    let mut back = vec![0; whole];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut back, 0).expect("what was written");
    assert!(back == pattern);
}

fn pages_that_the_program_drops_are_zeros(kind: Kind) {
    let pager = pager_on(kind, SEGMENT, 64 * PAGE_BYTES);
    (0..200).for_each(|page| pager.store(page * WORDS, 5));
    (0..3).for_each(|page| pager.store(page * WORDS, 5));
    // SAFETY: inside of the segment, and no thread uses it.
    unsafe { libc::madvise(pager.base().as_ptr().cast(), PAGE_BYTES as usize, libc::MADV_DONTNEED) };
    assert_eq!((pager.load(0), pager.load(WORDS)), (0, 5));
    (3..200).for_each(|page| assert_eq!(pager.load(page * WORDS), 5));
    assert_eq!((pager.load(0), pager.load(WORDS)), (0, 5));
}

#[test]
fn what_cannot_be_is_said() {
    let error = Pager::start(config(SEGMENT, 10_000), Calls::default()).expect_err("too little");
    assert!(error.to_string().contains("at least 262144 bytes"), "{error}");
    let nowhere = PagerConfig::new(SEGMENT, 64 * PAGE_BYTES, "/nonexistent");
    let error = Pager::start(nowhere, Calls::default()).expect_err("no directory");
    assert!(error.to_string().contains("GASNET_NETVM_BACKING"), "{error}");
    // A small segment that fits as a whole; and none at all.
    pager(5 * PAGE_BYTES, 5 * PAGE_BYTES).store(7, 1);
    let none = pager(0, 0);
    assert!(none.is_empty());
    assert_eq!(none.export().size, PAGE_BYTES);
}

fn extra_memory_stays_and_is_exported(kind: Kind) {
    let (calls, replies) = replies();
    let mut settings = config(SEGMENT, 64 * PAGE_BYTES);
    settings.extra = 10 * PAGE_BYTES;
    let (pager, table) = start(kind, settings, calls, true);
    assert_eq!(pager.export().size, SEGMENT + 10 * PAGE_BYTES);
    let mut nic = Nic { pager: &pager, table, replies, misses: 0, locks: 0 };
    for page in SEGMENT / PAGE_BYTES..SEGMENT / PAGE_BYTES + 10 {
        nic.with(page, true, |memory, place| memory.write(place, &page.to_ne_bytes()));
        // SAFETY: in the memory behind the segment.
        let at = unsafe { pager.base().as_ptr().add((page * PAGE_BYTES) as usize).cast::<u64>().read() };
        assert_eq!(at, page);
    }
    (0..SEGMENT / PAGE_BYTES).for_each(|page| pager.store(page * WORDS, page));
    (0..SEGMENT / PAGE_BYTES).for_each(|page| assert_eq!(pager.load(page * WORDS), page));
    assert_eq!(nic.misses, 0);
    assert!(pager.smaps("Rss:") * 1024 <= pager.budget());
}

#[test]
fn a_fork_does_not_hang() {
    let pager = pager(SEGMENT, 64 * PAGE_BYTES);
    (0..SEGMENT / PAGE_BYTES).for_each(|page| pager.store(page * WORDS, page));
    assert!(Process::new("true").status().expect("a program").success());
    // SAFETY: the child touches memory that it may not touch, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends this process at once: no core, no handlers.
        unsafe {
            libc::signal(libc::SIGSEGV, libc::SIG_DFL);
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &none);
            let found = pager.base().cast::<u64>().as_ptr().read_volatile();
            libc::_exit(found as i32);
        }
    }
    let mut status = 0;
    // SAFETY: waits for the child.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV, "{status:#x}");
    (0..SEGMENT / PAGE_BYTES).for_each(|page| assert_eq!(pager.load(page * WORDS), page));
}

// ---- in processes of their own

/// Runs one of the tests below in a process of its own.
fn alone(name: &str, environment: &[(&str, &str)]) -> Process {
    let mut process = Process::new(std::env::current_exe().expect("this program"));
    process.args([&format!("pager::tests::{name}"), "--exact", "--ignored", "--nocapture"]);
    process.envs(environment.iter().copied()).stdin(Stdio::null());
    process.stdout(Stdio::piped()).stderr(Stdio::piped());
    process
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

fn limit_files(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: a limit for this process.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
}

#[test]
#[ignore = "run by full_stores"]
fn child_of_full_stores() {
    static NOTICES: AtomicU32 = AtomicU32::new(0);
    let recovers = std::env::var_os("RECOVERS").is_some();
    limit_files(2 << 20);
    let calls = Calls {
        notice: Box::new(|notice| {
            let bit = if notice == Notice::Room { 2 } else { 1 };
            NOTICES.fetch_or(bit, Ordering::Relaxed);
        }),
        fatal: Box::new(|error| {
            gasnet_sys::stdio::say(&format!("{error}\n"));
            // SAFETY: ends the process.
            unsafe { libc::_exit(7) }
        }),
        ..Calls::default()
    };
    let mut settings = config(SEGMENT, 1 << 20);
    settings.patience = Duration::from_millis(if recovers { 20_000 } else { 200 });
    let pager = Pager::start(settings, calls).expect("a pager").0;
    thread::scope(|scope| {
        scope.spawn(|| (0..SEGMENT / 8).for_each(|at| pager.store(at, at * 3 + 1)));
        while NOTICES.load(Ordering::Relaxed) == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        // It waits, and what is there can be used.
        thread::sleep(Duration::from_millis(50));
        if recovers {
            limit_files(libc::RLIM_INFINITY);
        }
    });
    (0..SEGMENT / 8).for_each(|at| assert_eq!(pager.load(at), at * 3 + 1));
    assert_eq!(NOTICES.load(Ordering::Relaxed), 3);
    assert!(pager.stats().full > 0);
}

#[test]
fn full_stores() {
    let output = alone("child_of_full_stores", &[("RECOVERS", "1")]).output().expect("a process");
    assert!(output.status.success(), "{}", text(&output));
    let output = alone("child_of_full_stores", &[]).output().expect("a process");
    assert_eq!(output.status.code(), Some(7), "{}", text(&output));
    assert!(
        text(&output).contains("is full") && text(&output).contains("nothing was lost"),
        "{}",
        text(&output)
    );
}

#[test]
#[ignore = "run by a_killed_process_leaves_no_file"]
fn child_that_is_killed() {
    let dir = std::env::var_os("BACKING").expect("a directory");
    let pager =
        Pager::start(PagerConfig::new(SEGMENT, 64 * PAGE_BYTES, dir), Calls::default()).expect("a pager").0;
    (0..SEGMENT / PAGE_BYTES).for_each(|page| pager.store(page * WORDS, page));
    assert!(pager.stats().stored > 0);
    // SAFETY: the end.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
}

#[test]
fn a_killed_process_leaves_no_file() {
    let dir = std::env::temp_dir().join(format!("netvm-pager-kill.{}", std::process::id()));
    fs::create_dir(&dir).expect("a directory");
    let environment = [("BACKING", dir.to_str().expect("a plain name"))];
    let output = alone("child_that_is_killed", &environment).output().expect("a process");
    assert_eq!(output.status.signal(), Some(libc::SIGKILL), "{}", text(&output));
    let left = fs::read_dir(&dir).expect("the directory").count();
    fs::remove_dir_all(&dir).expect("ours");
    assert_eq!(left, 0);
}

#[test]
#[ignore = "run by a_panic_of_the_paging_thread_ends_the_job"]
fn child_whose_pager_panics() {
    let calls = Calls {
        reply: Box::new(|_| panic!("out of queue")),
        fatal: Box::new(|error| {
            gasnet_sys::stdio::say(&format!("{error}\n"));
            // SAFETY: ends the process.
            unsafe { libc::_exit(7) }
        }),
        ..Calls::default()
    };
    let pager = Pager::start(config(SEGMENT, 64 * PAGE_BYTES), calls).expect("a pager").0;
    let vpn = netvm_fw::Vpn::of(pager.export().port, 0);
    let span = Span { vpn, hash: vpn.hash(), key: pager.export().key, offset: 0, len: 8 };
    pager.interrupt(Interrupt::SourceMissing { op: OpId(1), span });
    pager.flush();
    loop {
        // Faults that will never be served.
        (0..SEGMENT / PAGE_BYTES).for_each(|page| pager.store(page * WORDS, 1));
    }
}

#[test]
fn a_panic_of_the_paging_thread_ends_the_job() {
    let output = alone("child_whose_pager_panics", &[]).output().expect("a process");
    assert_eq!(output.status.code(), Some(7), "{}", text(&output));
    assert!(text(&output).contains("the paging thread has panicked: out of queue"), "{}", text(&output));
}

#[test]
fn commands_come_in_order_and_end() {
    let queue = Queue::new().expect("a queue");
    let mut taken = VecDeque::new();
    let give_back = |n| queue.push(Command::Interrupt(Interrupt::Settled(netvm_fw::Vpn(n)))).is_ok();
    let ask = || queue.push_later(Command::Interrupt(Interrupt::Notice(PortId(1)))).is_ok();
    let rings = || wait([queue.fd(), queue.fd()], Some(Duration::ZERO)).expect("poll") == [true; 2];
    assert!((1..=5).all(give_back) && !rings(), "who gives back does not wake anybody");
    assert!(ask() && !rings(), "more may follow");
    queue.flush();
    assert!(rings());
    queue.take(true, &mut taken);
    let numbers: Vec<u64> = taken
        .iter()
        .map(|c| match c {
            Command::Interrupt(Interrupt::Settled(vpn)) => vpn.0,
            _ => 0,
        })
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 0]);
    assert!(!rings());
    queue.flush();
    assert!(!rings(), "there is nothing to wake for");
    // A thread that sleeps and needs what others give back is woken, or does not go to sleep.
    assert!(!queue.rest(true) && give_back(6) && rings());
    queue.take(true, &mut taken);
    assert!(!queue.rest(false) && give_back(7) && !rings() && queue.rest(true));
    queue.take(false, &mut taken);
    assert_eq!(taken.len(), 8);
    assert!(queue.close().is_empty());
    assert!(queue.push(Command::Stop).is_err());
}
