//! Random puts, gets and plain accesses to segments of which only a part may be in memory; every byte is
//! compared with a copy.
//!
//! Each rank's segment is cut into one part for every rank, and only that rank writes there, from wherever it
//! is; it keeps a copy of all its parts. Meanwhile a thread compares what is resident of the own segment with
//! what may be. Prints how many bytes were compared.
#![expect(unsafe_code, reason = "plain accesses to the own segment")]

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gasnet::{GlobalPtr, Rank, RankId};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| gasnet_wire::config::parse_size(&v)).unwrap_or(default)
}

/// How many bytes of whole pages are in memory, by the kernel's page map.
fn resident(of: &Range<usize>) -> u64 {
    let mut entries = vec![0; of.len() / 4096 * 8];
    let read = std::fs::File::open("/proc/self/pagemap").and_then(|map| {
        std::os::unix::fs::FileExt::read_exact_at(&map, &mut entries, of.start as u64 / 4096 * 8)
    });
    match read {
        // The highest bit: present.
        Ok(()) => entries.chunks(8).filter(|entry| entry[7] & 0x80 != 0).count() as u64 * 4096,
        Err(_) => 0,
    }
}

/// The part of every rank's segment that is this rank's, and the copy of what it has written there.
struct Parts<'a> {
    rank: &'a Rank,
    start: usize,
    len: usize,
    copies: Vec<Vec<u8>>,
    rng: fastrand::Rng,
    compared: u64,
}

impl Parts<'_> {
    fn place(&mut self, longest: usize) -> (usize, usize, usize) {
        let to = self.rng.usize(..self.copies.len());
        // Mostly short, as programs are.
        let longest = if self.rng.usize(..4) == 0 { longest } else { longest.min(300) };
        let len = 1 + self.rng.usize(..longest.min(self.len));
        (to, self.rng.usize(..self.len - len + 1), len)
    }

    fn at(&self, to: usize, offset: usize) -> GlobalPtr<u8> {
        GlobalPtr::new(RankId(to as u32), (self.start + offset) as u64)
    }

    fn own(&self, offset: usize) -> *mut u8 {
        let own = self.rank.table().get(self.rank.id()).expect("attached");
        own.local.wrapping_add(self.start + offset)
    }

    fn fill(&mut self, to: usize, offset: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        for chunk in bytes.chunks_mut(8) {
            let word = self.rng.u64(..).to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        self.copies[to][offset..offset + len].copy_from_slice(&bytes);
        bytes
    }

    fn compare(&mut self, to: usize, offset: usize, read: &[u8], how: &str) {
        let copy = &self.copies[to][offset..offset + read.len()];
        if read != copy {
            let i = read.iter().zip(copy).position(|(a, b)| a != b).unwrap_or(0);
            let (me, is, was) = (self.rank.id(), read[i], copy[i]);
            self.rank.fatal(&format!(
                "{how} of {} bytes at {to}+{:#x} by rank {me}: byte {i} is {is}, was written as {was}",
                read.len(),
                self.start + offset
            ));
        }
        self.compared += read.len() as u64;
    }

    fn step(&mut self) {
        let me = self.rank.id().0 as usize;
        match self.rng.usize(..8) {
            0..=2 => {
                let (to, offset, len) = self.place(40_000);
                let bytes = self.fill(to, offset, len);
                self.rank.write_slice(self.at(to, offset), &bytes);
            }
            3..=4 => {
                let (to, offset, len) = self.place(40_000);
                let mut read = vec![0; len];
                self.rank.read_slice(self.at(to, offset), &mut read);
                self.compare(to, offset, &read, "a get");
            }
            5 => {
                // Many at a time, each to a place of its own.
                let (to, ..) = self.place(1);
                let stride = self.len / 16;
                let puts: Vec<_> = (0..16)
                    .map(|i| {
                        let len = 1 + self.rng.usize(..stride.min(3000));
                        let bytes = self.fill(to, i * stride, len);
                        self.rank.write_nb(self.at(to, i * stride), bytes)
                    })
                    .collect();
                puts.into_iter().for_each(|put| drop(put.wait()));
            }
            6 => {
                let (_, offset, len) = self.place(20_000);
                let bytes = self.fill(me, offset, len);
                // SAFETY: inside the part of the own segment that nobody else touches.
                unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.own(offset), len) };
            }
            _ => {
                let (_, offset, len) = self.place(20_000);
                let mut read = vec![0; len];
                // SAFETY: as above.
                unsafe { core::ptr::copy_nonoverlapping(self.own(offset), read.as_mut_ptr(), len) };
                self.compare(me, offset, &read, "a plain read");
            }
        }
    }

    /// Reads everything.
    fn sweep(&mut self) {
        for to in 0..self.copies.len() {
            for offset in (0..self.len).step_by(50_000) {
                let mut read = vec![0; 50_000.min(self.len - offset)];
                self.rank.read_slice(self.at(to, offset), &mut read);
                self.compare(to, offset, &read, "a last get");
            }
        }
    }
}

fn body(rank: &Rank) {
    let own = *rank.table().get(rank.id()).expect("attached");
    let ranks = rank.size() as usize;
    let (bytes, seed) = (number("GASNET_TEST_BYTES", 2 << 20), number("GASNET_TEST_SEED", 1));
    let allowed = number("GASNET_TEST_RESIDENT", 0);
    let file = number("GASNET_TEST_FILE", 0);
    if file > 0 {
        let limit = libc::rlimit { rlim_cur: file, rlim_max: file };
        // SAFETY: a plain setting of this process: from now on files grow no further.
        unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) };
    }
    let addresses = own.addr..own.addr + own.size;
    let over = AtomicBool::new(false);
    let compared = std::thread::scope(|scope| {
        let (done, most) = (&over, &addresses);
        let sampler = scope.spawn(move || {
            let (mut samples, mut peak) = (0u32, 0);
            while !done.load(Ordering::Relaxed) {
                // The kernel reads the map page by page, while pages come and go. A reader that loses its
                // processor halfway counts some of them twice. Several readings are made, and the smallest
                // counts: pages that stay are in all of them.
                let readings = (0..3).map(|_| resident(most)).scan(true, |goes_on, n| {
                    core::mem::replace(goes_on, allowed > 0 && n > allowed).then_some(n)
                });
                peak = peak.max(readings.min().unwrap_or(0));
                samples += 1;
                std::thread::sleep(Duration::from_millis(3));
            }
            (samples, peak)
        });
        let len = own.size / ranks;
        let mut parts = Parts {
            rank,
            start: len * rank.id().0 as usize,
            len,
            copies: vec![vec![0; len]; ranks],
            rng: fastrand::Rng::with_seed(
                seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (u64::from(rank.id().0) + 1) << 32 | 1,
            ),
            compared: 0,
        };
        let begun = Instant::now();
        while parts.compared < bytes && begun.elapsed() < Duration::from_secs(600) {
            parts.step();
        }
        parts.sweep();
        rank.barrier();
        over.store(true, Ordering::Relaxed);
        let (samples, peak) = sampler.join().expect("it only reads");
        let most = allowed + 8 * 4096;
        if allowed > 0 && (samples == 0 || peak == 0 || peak > most) {
            rank.fatal(&format!("{peak} bytes were resident, {allowed} may be ({samples} samples)"));
        }
        parts.compared
    });
    let counters: Vec<String> =
        rank.counters().iter().map(|(name, value)| format!("{name}={value}")).collect();
    println!("rank {}: compared={compared} {}", rank.id(), counters.join(" "));
}

/// Rank 1 dies while the others work.
fn die(rank: &Rank) {
    if rank.id().0 == 1 {
        // SAFETY: ends this process, as somebody else's `kill -9` would.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    body(rank);
}

fn counter(rank: &Rank, name: &str) -> u64 {
    rank.counters().iter().find(|(known, _)| *known == name).map_or(0, |(_, value)| *value)
}

/// Rank 1 puts to more pages of rank 0 than there is memory for leases, some of which are taken back then;
/// and again to those that its firehoses are for. Prints how many were taken back, and how often it had to
/// ask for one again.
fn recall(rank: &Rank) {
    const PAGES: u64 = 300;
    let word = |page: u64| GlobalPtr::<u64>::new(RankId(0), page * 4096);
    let mut asked = 0;
    if rank.id().0 == 1 {
        let put = |first: u64, round: u64| {
            (first..PAGES).for_each(|page| rank.write(word(page), round << 32 | page));
        };
        put(0, 1);
        let before = counter(rank, "moves");
        // Three quarters of the memory are for peers, less a few.
        put(PAGES - number("GASNET_NETVM_MEMORY", 0) / 4096 * 3 / 4 + 12, 2);
        asked = counter(rank, "moves") - before;
        for page in 0..PAGES {
            let (is, least) = (rank.read(word(page)), 1 << 32 | page);
            if is != least && is != least + (1 << 32) {
                rank.fatal(&format!("page {page} has {is:#x}"));
            }
        }
    }
    rank.barrier();
    println!("rank {}: recalled={} asked={asked}", rank.id(), counter(rank, "leases recalled"));
}

/// Stores to all pages of the own segment, or compares them with what was stored.
fn pages(rank: &Rank, store: bool) {
    let own = rank.table().get(rank.id()).expect("attached");
    for page in 0..own.size / 4096 {
        let at = own.local.wrapping_add(page * 4096 + page % 512 * 8).cast::<u64>();
        let value = page as u64 ^ u64::from(rank.id().0 + 1) << 40;
        // SAFETY: a word of the own segment, which no other rank uses here.
        let is = unsafe {
            if store {
                at.write_volatile(value);
            }
            at.read_volatile()
        };
        if is != value {
            rank.fatal(&format!("page {page} has {is:#x}, and {value:#x} was stored"));
        }
    }
}

/// Rank 1 leaves while rank 0 has pages in its memory.
fn leave(rank: &Rank) {
    pages(rank, true);
    rank.barrier();
    if rank.id().0 == 0 {
        let begun = Instant::now();
        while counter(rank, "pages recalled") == 0 && begun.elapsed() < Duration::from_secs(60) {
            pages(rank, false);
        }
        (0..3).for_each(|_| pages(rank, false));
        println!("rank 0: recalled={}", counter(rank, "pages recalled"));
    }
    rank.done(0);
    std::process::exit(0);
}

/// Rank 0 fetches pages from the memory of rank 1, which neither polls nor computes.
fn fetch(rank: &Rank) {
    const WORK: [&str; 6] = ["faults", "page-ins", "page-outs", "bounces", "messages taken", "attended"];
    if rank.id().0 == 0 {
        pages(rank, true);
    }
    rank.barrier();
    let counts = || WORK.map(|name| counter(rank, name));
    if rank.id().0 == 1 {
        // The barrier's last messages.
        std::thread::sleep(Duration::from_millis(50));
        let (before, locks, begun) = (counts(), counter(rank, "locks"), Instant::now());
        while counter(rank, "locks") < locks + 1000 && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let (after, locks) = (counts(), counter(rank, "locks") - locks);
        let work: Vec<String> = (0..6).map(|i| format!("{}={}", WORK[i], after[i] - before[i])).collect();
        println!("rank 1: locks={locks} {}", work.join(" "));
    } else {
        (0..20).for_each(|_| pages(rank, false));
    }
    rank.barrier();
}

fn main() {
    let set = |name| std::env::var_os(name).is_some();
    let (dies, recalls) = (set("GASNET_TEST_DIES"), set("GASNET_TEST_RECALL"));
    let (leaves, fetches) = (set("GASNET_TEST_LEAVES"), set("GASNET_TEST_FETCH"));
    gasnet_conduits::run(|rank| match (dies, recalls) {
        (true, _) => die(rank),
        (_, true) => recall(rank),
        _ if leaves => leave(rank),
        _ if fetches => fetch(rank),
        _ => body(rank),
    });
}
