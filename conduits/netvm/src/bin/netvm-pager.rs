//! What paging costs on this computer: each kind of fault, reading and writing in order and at random, with little memory.
//!
//! `netvm-pager [--backing DIR] [--megabytes N] [--quick]`
#![expect(unsafe_code, reason = "uses segments by address")]

use std::path::PathBuf;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use gasnet_netvm::Rng;
use gasnet_netvm::pager::{Calls, Pager, PagerConfig, PagerStats};

const PAGE: u64 = 4096;

/// A word of the page, read.
fn load(base: NonNull<u8>, page: u64) -> u8 {
    // SAFETY: callers stay inside of their mapping.
    unsafe { base.as_ptr().add((page * PAGE) as usize).read_volatile() }
}

/// And written.
fn store(base: NonNull<u8>, page: u64, value: u8) {
    // SAFETY: as above.
    unsafe { base.as_ptr().add((page * PAGE) as usize).write_volatile(value) }
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

struct Line {
    what: &'static str,
    pages: u64,
    time: Duration,
    stats: Option<(PagerStats, PagerStats)>,
}

impl Line {
    fn print(&self) {
        let each = self.time.as_secs_f64() * 1e6 / self.pages as f64;
        let rate = self.pages as f64 * PAGE as f64 / 1e6 / self.time.as_secs_f64();
        print!("{:<44} {each:>9.2} us/page {rate:>8.0} MB/s", self.what);
        if let Some((before, after)) = &self.stats {
            let d = |f: fn(&PagerStats) -> u64| f(after) - f(before);
            print!(
                "  {:>6} faults {:>6} protected {:>6} in /{:>5} {:>6} out /{:>5}",
                d(|s| s.faults),
                d(|s| s.write_protect_faults),
                d(|s| s.page_ins),
                d(|s| s.reads),
                d(|s| s.page_outs),
                d(|s| s.writes)
            );
        }
        println!();
    }
}

fn native(pages: u64) {
    let len = (pages * PAGE) as usize;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh mapping, used inside of its bounds and given back.
    let base = unsafe {
        let base = libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        libc::madvise(base, len, libc::MADV_NOHUGEPAGE);
        NonNull::new(base.cast::<u8>()).expect("a mapping")
    };
    let took = time(|| (0..pages).for_each(|page| store(base, page, 1)));
    Line { what: "the kernel's own fault: store, zeros", pages, time: took, stats: None }.print();
    // SAFETY: the mapping made above.
    unsafe { libc::munmap(base.as_ptr().cast(), len) };
}

fn main() {
    let mut backing = std::env::temp_dir();
    let (mut megabytes, mut quick) = (64, false);
    let mut parser = lexopt::Parser::from_env();
    while let Ok(Some(argument)) = parser.next() {
        use lexopt::prelude::*;
        match argument {
            Long("backing") => backing = PathBuf::from(parser.value().expect("a directory")),
            Long("megabytes") => megabytes = parser.value().and_then(|v| v.parse()).expect("a number"),
            Long("quick") => quick = true,
            other => {
                eprintln!("netvm-pager: {}", other.unexpected());
                std::process::exit(2);
            }
        }
    }
    let pages = megabytes * 256;
    let random = if quick { 2000 } else { 20_000 };
    println!("segment {megabytes} MiB, backing {}", backing.display());
    native(pages);
    for (ahead, name) in [(0, "no read-ahead"), (16, "read-ahead of up to 16 pages")] {
        for percent in [200, 25] {
            let mut config = PagerConfig::new(pages * PAGE, pages * PAGE * percent / 100, &backing);
            config.read_ahead = ahead;
            let (pager, _) = match Pager::start(config, Calls::default()) {
                Ok(pager) => pager,
                Err(error) => {
                    eprintln!("netvm-pager: {error}");
                    std::process::exit(1);
                }
            };
            println!(
                "\nbudget {percent} %, {name}, {}",
                if pager.is_direct() { "direct I/O" } else { "through the page cache" }
            );
            let base = pager.base();
            let line = |what, pages, work: &mut dyn FnMut()| {
                let before = pager.stats();
                let time = time(work);
                Line { what, pages, time, stats: Some((before, pager.stats())) }.print();
            };
            let mut rng = Rng::new(9);
            line("loads in order, zeros", pages, &mut || (0..pages).for_each(|page| _ = load(base, page)));
            line("stores in order", pages, &mut || (0..pages).for_each(|page| store(base, page, 1)));
            line("loads in order", pages, &mut || (0..pages).for_each(|page| _ = load(base, page)));
            line("stores in order, again", pages, &mut || (0..pages).for_each(|page| store(base, page, 2)));
            if percent < 100 {
                line("loads at random", random, &mut || {
                    (0..random).for_each(|_| _ = load(base, rng.below(pages)));
                });
                line("stores at random", random, &mut || {
                    (0..random).for_each(|_| store(base, rng.below(pages), 3));
                });
                line("stores at random, 9 of 10 to a tenth", random, &mut || {
                    (0..random).for_each(|_| {
                        let range = if rng.below(10) > 0 { pages / 10 } else { pages };
                        store(base, rng.below(range) * 7919 % pages, 3);
                    });
                });
                line("loads at random, 9 of 10 to a tenth", random, &mut || {
                    (0..random).for_each(|_| {
                        let range = if rng.below(10) > 0 { pages / 10 } else { pages };
                        load(base, rng.below(range) * 7919 % pages);
                    });
                });
            }
        }
    }
}
