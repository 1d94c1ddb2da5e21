//! Measures the cost of paging on this computer: each kind of fault, reading and writing in order and at
//! random, with little memory.
#![expect(unsafe_code, reason = "uses segments by address")]

use super::{Calls, Hold, Pager, PagerConfig, PagerError, PagerStats};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const PAGE_BYTES: u64 = 4096;

/// Reads a byte of the page.
fn load(base: NonNull<u8>, page: u64) -> u8 {
    // SAFETY: callers stay inside of their mapping.
    unsafe { base.as_ptr().add((page * PAGE_BYTES) as usize).read_volatile() }
}

/// Writes a byte of the page.
fn store(base: NonNull<u8>, page: u64, value: u8) {
    // SAFETY: as above.
    unsafe { base.as_ptr().add((page * PAGE_BYTES) as usize).write_volatile(value) }
}

/// A measured access pattern.
#[derive(Debug)]
pub struct Use {
    /// The settings.
    pub setting: String,
    /// The access pattern.
    pub what: &'static str,
    /// The number of pages.
    pub pages: u64,
    /// The time it took.
    pub time: Duration,
    /// The pager's counters before and after.
    pub stats: Option<(PagerStats, PagerStats)>,
}

impl Use {
    /// Microseconds per page.
    pub fn each(&self) -> f64 {
        self.time.as_secs_f64() * 1e6 / self.pages as f64
    }
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn native(pages: u64) -> Use {
    let len = (pages * PAGE_BYTES) as usize;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh mapping, used inside of its bounds and given back.
    let base = unsafe {
        let base = libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert!(base != libc::MAP_FAILED, "no room for a mapping of {len} bytes");
        libc::madvise(base, len, libc::MADV_NOHUGEPAGE);
        NonNull::new(base.cast::<u8>()).expect("a mapping")
    };
    let took = time(|| (0..pages).for_each(|page| store(base, page, 1)));
    // SAFETY: the mapping made above.
    unsafe { libc::munmap(base.as_ptr().cast(), len) };
    Use {
        setting: "no pager".into(),
        what: "the kernel's own fault: store, zeros",
        pages,
        time: took,
        stats: None,
    }
}

/// The cost of waking the paging thread, and of holding and releasing a resident page.
#[derive(Debug, Clone, Copy)]
pub struct Holding {
    /// From the request until the thread works on it and its answer is seen.
    pub wake: Duration,
    /// Pinning and unpinning a page, with all that belongs to it on that thread.
    pub page: Duration,
}

/// Holds pages with `mlock`, one and sixteen at a time, and releases them. `None`: the system does not allow
/// it.
///
/// # Errors
/// No such pager can be started.
pub fn holding(backing: &Path) -> Result<Option<Holding>, PagerError> {
    const MANY_PAGES: u64 = 16;
    const MEASUREMENT_ROUNDS: usize = 400;
    let (pager, _) =
        Pager::start(PagerConfig::new(64 * PAGE_BYTES, 64 * PAGE_BYTES, backing), Calls::default())?;
    (0..64).for_each(|page| store(pager.base(), page, 1));
    let failed = Arc::new(AtomicBool::new(false));
    let round = |count: u64| {
        let left = Arc::new(AtomicU64::new(count));
        let start = Instant::now();
        for page in 0..count {
            let (left, failed) = (left.clone(), failed.clone());
            let done = move |result: Result<(), _>| {
                failed.fetch_or(result.is_err(), Ordering::Relaxed);
                // ORDER: Release; pairs with Acquire below; `failed`.
                left.fetch_sub(1, Ordering::Release);
            };
            pager.hold_later(page..page + 1, Hold::Pin, true, Box::new(done));
        }
        pager.flush();
        // ORDER: Acquire; pairs with Release above.
        while left.load(Ordering::Acquire) > 0 {
            std::thread::yield_now();
        }
        let took = start.elapsed();
        (0..count).for_each(|page| pager.release(page..page + 1, Hold::Pin));
        took
    };
    let median = |count| {
        let mut all: Vec<Duration> = (0..MEASUREMENT_ROUNDS).map(|_| round(count)).collect();
        all.sort_unstable();
        all[MEASUREMENT_ROUNDS / 2]
    };
    // Each round unpins what the one before pinned.
    let (one, many) = (median(1), median(MANY_PAGES));
    if failed.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let page = many.saturating_sub(one) / (MANY_PAGES as u32 - 1);
    Ok(Some(Holding { wake: one.saturating_sub(page), page }))
}

/// Measures with a segment of so many megabytes, backed by a file in a folder, and so many random accesses;
/// repeats this for each depth of read-ahead.
///
/// # Errors
/// No such pager can be started.
pub fn measure(backing: &Path, megabytes: u64, random: u64, ahead: &[u32]) -> Result<Vec<Use>, PagerError> {
    let pages = megabytes * 256;
    let mut uses = vec![native(pages)];
    for &ahead in ahead {
        for percent in [200, 25] {
            let mut config =
                PagerConfig::new(pages * PAGE_BYTES, pages * PAGE_BYTES * percent / 100, backing);
            config.read_ahead = ahead;
            let (pager, _) = Pager::start(config, Calls::default())?;
            let io = if pager.is_direct() { "direct I/O" } else { "through the page cache" };
            let setting = format!("budget {percent} %, read-ahead of up to {ahead} pages, {io}");
            let base = pager.base();
            let mut line = |what, pages, work: &mut dyn FnMut()| {
                let before = pager.stats();
                let time = time(work);
                let stats = Some((before, pager.stats()));
                uses.push(Use { setting: setting.clone(), what, pages, time, stats });
            };
            let mut rng = fastrand::Rng::with_seed(9);
            line("loads in order, zeros", pages, &mut || (0..pages).for_each(|page| _ = load(base, page)));
            line("stores in order", pages, &mut || (0..pages).for_each(|page| store(base, page, 1)));
            line("loads in order", pages, &mut || (0..pages).for_each(|page| _ = load(base, page)));
            line("stores in order, again", pages, &mut || (0..pages).for_each(|page| store(base, page, 2)));
            if percent >= 100 {
                continue;
            }
            line("loads at random", random, &mut || {
                (0..random).for_each(|_| _ = load(base, rng.u64(..pages)));
            });
            line("stores at random", random, &mut || {
                (0..random).for_each(|_| store(base, rng.u64(..pages), 3));
            });
            let mut skewed = || {
                let range = if rng.u64(..10) > 0 { pages / 10 } else { pages };
                rng.u64(..range) * 7919 % pages
            };
            line("stores at random, 9 of 10 to a tenth", random, &mut || {
                (0..random).for_each(|_| store(base, skewed(), 3));
            });
            line("loads at random, 9 of 10 to a tenth", random, &mut || {
                (0..random).for_each(|_| _ = load(base, skewed()));
            });
        }
    }
    Ok(uses)
}
