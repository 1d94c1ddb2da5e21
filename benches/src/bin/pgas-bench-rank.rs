//! The measured half of `pgas-bench smp` in Rust: one subcommand a run, results as lines `KEY VALUE` from
//! rank 0.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use gasnet::{GlobalPtr, Handler, OneThread, Rank, RankId, Threading};
use pgas_bench::ranks::{BATCHES, batches, ns_each};

/// Between puts of which each is to find the target as it is when nothing has come for a while.
const APART: Duration = Duration::from_micros(200);

fn main() {
    let begun = Instant::now();
    // The mode of most programs: UPC, and C in SEQ mode.
    let threading = match std::env::args().nth(2).as_deref() {
        #[expect(unsafe_code, reason = "promises that this program has one thread")]
        // SAFETY: no task starts a thread.
        Some("alone") => Threading::Serial(unsafe { OneThread::always_the_same() }),
        _ => Threading::Parallel,
    };
    gasnet_conduits::run_as(threading, move |rank| {
        let task = std::env::args().nth(1).unwrap_or_default();
        match task.as_str() {
            "rma" => rma(rank),
            "am_short" => am_short(rank),
            "am_flood" => am_flood(rank),
            "am_medium" => am_medium(rank),
            "am_reqreq" => am_reqreq(rank),
            "incast" => incast(rank),
            "barrier" => barrier(rank),
            "fadd" => fadd(rank),
            "allreduce_8" => allreduce_8(rank),
            "bcast_1m" => bcast_1m(rank),
            "lock" => lock(rank),
            "rows" => rows(rank),
            "semaphore" => semaphore(rank),
            "start" => start(rank, begun),
            "put_8" => put_8(rank),
            "put_1m" => put_large(rank, 1 << 20, |count, _| count == 400),
            "put_4m" => put_large(rank, 4 << 20, |count, _| count == 100),
            "puts_4m" => put_large(rank, 4 << 20, |_, since| since > Duration::from_millis(500)),
            "private" => private(rank),
            "attentive" => attentiveness(rank, ["put_attentive", "get_attentive", "apart_attentive"], false),
            "computing" => attentiveness(rank, ["put_computing", "get_computing", "apart_computing"], true),
            // The launcher's own time is what is measured.
            "first_barrier" => {
                rank.barrier();
                if rank.id().0 == 0 {
                    println!("ready {:.6}", begun.elapsed().as_secs_f64());
                }
            }
            other => {
                if rank.id().0 == 0 {
                    eprintln!("pgas-bench-rank: no task `{other}`");
                }
                rank.global_exit(2);
            }
        }
    })
}

fn rma(rank: &Rank) {
    const MIB: usize = 1 << 20;
    let at: GlobalPtr<u64> = GlobalPtr::new(RankId(1 % rank.size()), allocate(rank, MIB as u64));
    // The first large allocation, as in the floor: malloc maps it; what comes after one was freed lies
    // elsewhere.
    let source = vec![1u64; MIB / 8];
    rank.write_slice(at.on(rank.id()), &vec![2; MIB / 8]);
    let (words, copies) = (2_000_000u64, 100);
    batches(rank, || {
        if rank.id().0 != 0 {
            return vec![];
        }
        let start = Instant::now();
        puts(rank, at, words);
        let put = ns_each(start, words);
        let start = Instant::now();
        black_box(gets(rank, at, words));
        let get = ns_each(start, words);
        let start = Instant::now();
        for _ in 0..copies {
            rank.write_slice(at, black_box(&source));
        }
        let rate = MIB as f64 / ns_each(start, copies);
        assert_eq!(rank.read(at.add(100)), 1);
        vec![("put8", put), ("get8", get), ("bw", rate)]
    });
}

/// Words that are written, written 64 at a time, and read.
fn put_8(rank: &Rank) {
    let at: GlobalPtr<u64> = GlobalPtr::new(RankId(1), allocate(rank, 4096));
    let count = 20_000;
    batches(rank, || {
        if rank.id().0 != 0 {
            return vec![];
        }
        let start = Instant::now();
        for i in 0..count {
            rank.write(at, i);
        }
        let put = ns_each(start, count);
        let start = Instant::now();
        for i in 0..count / 64 {
            let under: Vec<_> = (0..64).map(|_| rank.write_nb(at, vec![i])).collect();
            under.into_iter().for_each(|one| drop(one.wait()));
        }
        let many = ns_each(start, count / 64 * 64);
        let start = Instant::now();
        black_box(gets(rank, at, count));
        vec![("put8", put), ("put8_many", many), ("get8", ns_each(start, count))]
    });
}

/// Puts and gets of 8 bytes to a rank that waits in the runtime, or that computes and does not call it; and
/// puts with 200 us between them.
fn attentiveness(rank: &Rank, keys: [&'static str; 3], computes: bool) {
    let at: GlobalPtr<u64> = GlobalPtr::new(RankId(1), allocate(rank, 64));
    // Rank 1 computes for longer than rank 0 measures, if that gets its answers meanwhile.
    let (measured, computing) = (Duration::from_millis(100), Duration::from_millis(150));
    for (which, key) in keys.into_iter().enumerate() {
        batches(rank, || {
            let start = Instant::now();
            if rank.id().0 == 1 && computes {
                while start.elapsed() < computing {
                    black_box((0..1000u64).fold(0, |a, b| black_box(a ^ b)));
                }
            }
            if rank.id().0 != 0 {
                return vec![];
            }
            // The other has begun by then.
            std::thread::sleep(Duration::from_millis(10));
            let (start, mut count) = (Instant::now(), 0);
            let mut between = Duration::ZERO;
            while start.elapsed() < measured {
                match which {
                    1 => _ = black_box(rank.read(at)),
                    _ => rank.write(at, count),
                }
                count += 1;
                if which == 2 {
                    let pause = Instant::now();
                    while pause.elapsed() < APART {
                        core::hint::spin_loop();
                    }
                    between += pause.elapsed();
                }
            }
            vec![(key, ns_each(start, count) - between.as_nanos() as f64 / count as f64)]
        });
    }
}

fn put_large(rank: &Rank, bytes: usize, enough: fn(u64, Duration) -> bool) {
    let at: GlobalPtr<u64> = GlobalPtr::new(RankId(1), allocate(rank, bytes as u64));
    let source = vec![1u64; bytes / 8];
    rank.write_slice(at.on(rank.id()), &vec![2; bytes / 8]);
    batches(rank, || {
        if rank.id().0 != 0 {
            return vec![];
        }
        let (start, mut count) = (Instant::now(), 0);
        while !enough(count, start.elapsed()) {
            rank.write_slice(at, black_box(&source));
            count += 1;
        }
        let rate = bytes as f64 / ns_each(start, count);
        assert_eq!(rank.read(at.add(100)), 1);
        vec![("bw", rate)]
    });
}

#[inline(never)]
/// Puts from memory that is not the segment's: from one buffer again and again, from many in turn, and from
/// new ones.
fn private(rank: &Rank) {
    const LARGE: usize = 1 << 20;
    const MANY: usize = 64;
    let at: GlobalPtr<u64> = GlobalPtr::new(RankId(1), allocate(rank, LARGE as u64));
    let buffers: Vec<Vec<u64>> = (0..MANY as u64).map(|k| vec![k; LARGE / 8]).collect();
    batches(rank, || {
        if rank.id().0 != 0 {
            return vec![];
        }
        let timed = |count: u64, one: &dyn Fn(u64)| {
            let start = Instant::now();
            (0..count).for_each(one);
            ns_each(start, count)
        };
        let small = 64 << 10;
        vec![
            ("same_64k", timed(400, &|_| rank.write_slice(at, &buffers[0][..small / 8]))),
            ("same_1m", timed(100, &|_| rank.write_slice(at, &buffers[0]))),
            ("turns_1m", timed(2 * MANY as u64, &|k| rank.write_slice(at, &buffers[k as usize % MANY]))),
            ("new_1m", timed(50, &|k| rank.write_slice(at, black_box(&vec![k; LARGE / 8])))),
        ]
    });
}

#[inline(never)]
fn puts(rank: &Rank, at: GlobalPtr<u64>, count: u64) {
    for i in 0..count {
        rank.write(at.add(i as usize & 511), black_box(i));
    }
}

#[inline(never)]
fn gets(rank: &Rank, at: GlobalPtr<u64>, count: u64) -> u64 {
    (0..count).fold(0, |sum, i| sum.wrapping_add(rank.read(at.add(black_box(i as usize & 511)))))
}

fn allocate(rank: &Rank, bytes: u64) -> u64 {
    match rank.allocate(bytes, 64) {
        Ok(offset) => offset,
        Err(problem) => rank.fatal(&problem.to_string()),
    }
}

/// Rows with a gap as long as they are in the neighbour's memory, and without one here: the shapes of the
/// floor `vis.c`. The owner waits.
fn rows(rank: &Rank) {
    const ROOM: usize = 64 << 10;
    let at: GlobalPtr<u64> = GlobalPtr::new(RankId(1 % rank.size()), allocate(rank, ROOM as u64));
    rank.write_slice(at.on(rank.id()), &vec![2; ROOM / 8]);
    let mut values = vec![1u64; ROOM / 16];
    let times = 2000;
    batches(rank, || {
        let mut results = Vec::new();
        if rank.id().0 > 0 {
            return results;
        }
        let shapes = [
            ("write_rows8", "read_rows8", 1, 1024),
            ("write_rows64", "read_rows64", 8, 256),
            ("write_rows512", "read_rows512", 64, 64),
        ];
        for (written, read, columns, count) in shapes {
            let values = &mut values[..columns * count];
            let start = Instant::now();
            for _ in 0..times {
                rank.shapes().write_rows(at, 2 * columns, columns, black_box(&*values));
            }
            results.push((written, ns_each(start, times)));
            let start = Instant::now();
            for _ in 0..times {
                rank.shapes().read_rows(at, 2 * columns, columns, black_box(&mut *values));
            }
            results.push((read, ns_each(start, times)));
        }
        results
    });
}

const REQUEST: u8 = 200;
const REPLY: u8 = 201;
const STOP: u8 = 202;
const STOPPED: u8 = 203;
/// Replies that came back to this rank, or requests that arrived.
static COUNT: AtomicU64 = AtomicU64::new(0);
static STOPS: AtomicU64 = AtomicU64::new(0);
static BACK: AtomicU64 = AtomicU64::new(0);

fn register(rank: &Rank, index: u8, handler: Handler) {
    if let Err(problem) = rank.register(index, handler) {
        rank.fatal(&problem.to_string());
    }
}

fn sure(rank: &Rank, result: Result<(), gasnet::Error>) {
    if let Err(problem) = result {
        rank.fatal(&problem.to_string());
    }
}

/// Even ranks ask, odd ranks answer.
fn am_short(rank: &Rank) {
    register(rank, REQUEST, Handler::new(|token, _| token.reply_short(REPLY, &[]).expect("may reply")));
    register(
        rank,
        REPLY,
        Handler::new(|_, _| {
            COUNT.fetch_add(1, Relaxed);
        }),
    );
    let round_trips = if rank.size() == 2 { 50_000 } else { 2_000 };
    ask(rank, round_trips, || {
        let peer = RankId(rank.id().0 ^ 1);
        let goal = COUNT.load(Relaxed) + 1;
        sure(rank, rank.request_short(peer, REQUEST, &[]));
        rank.wait_until("a reply", || COUNT.load(Relaxed) == goal);
    });
}

/// Even ranks ask, odd ranks answer: by a request, from outside of the handler.
fn am_reqreq(rank: &Rank) {
    register(
        rank,
        REQUEST,
        Handler::new(|_, _| {
            COUNT.fetch_add(1, Relaxed);
        }),
    );
    let round_trips = if rank.size() == 2 { 50_000 } else { 2_000 };
    let peer = RankId(rank.id().0 ^ 1);
    let asks = rank.id().0.is_multiple_of(2);
    let mut goal = 0;
    rank.barrier();
    batches(rank, || {
        let start = Instant::now();
        for _ in 0..round_trips {
            goal += 1;
            if asks {
                sure(rank, rank.request_short(peer, REQUEST, &[]));
            }
            rank.wait_until("a request", || COUNT.load(Relaxed) == goal);
            if !asks {
                sure(rank, rank.request_short(peer, REQUEST, &[]));
            }
        }
        let took = ns_each(start, round_trips);
        rank.barrier();
        vec![("rtt", took)]
    });
}

/// All other ranks put to rank 0: together, and then the first of them alone, bytes per ns.
fn incast(rank: &Rank) {
    const BLOCK: u64 = 1 << 20;
    let senders = u64::from(rank.size() - 1);
    let at: GlobalPtr<u64> = GlobalPtr::new(RankId(0), allocate(rank, senders * BLOCK));
    let me = u64::from(rank.id().0);
    let source = vec![me; BLOCK as usize / 8];
    let round = |blocks: u64, sends: bool| {
        rank.barrier();
        let start = Instant::now();
        if sends {
            let own = at.add((me as usize - 1) * BLOCK as usize / 8);
            (0..blocks).for_each(|_| rank.write_slice(own, black_box(&source)));
        }
        rank.barrier();
        start
    };
    batches(rank, || {
        let blocks = 64u64.div_ceil(senders);
        let all = (blocks * senders * BLOCK) as f64 / ns_each(round(blocks, me > 0), 1);
        let one = (64 * BLOCK) as f64 / ns_each(round(64, me == 1), 1);
        vec![("all", all), ("one", one)]
    });
}

/// Batches of round trips between pairs; `once` is one round trip of the asking side.
fn ask(rank: &Rank, round_trips: u64, mut once: impl FnMut()) {
    register(
        rank,
        STOP,
        Handler::new(|_, _| {
            STOPS.fetch_add(1, Relaxed);
        }),
    );
    rank.barrier();
    let mut batch = 0;
    batches(rank, || {
        batch += 1;
        let start = Instant::now();
        if rank.id().0.is_multiple_of(2) {
            for _ in 0..round_trips {
                once();
            }
            sure(rank, rank.request_short(RankId(rank.id().0 ^ 1), STOP, &[]));
        } else {
            rank.wait_until("requests", || STOPS.load(Relaxed) == batch);
        }
        rank.barrier();
        vec![("rtt", ns_each(start, round_trips))]
    });
}

fn am_medium(rank: &Rank) {
    const BYTES: usize = 4096;
    use std::sync::Mutex;
    static OUT: [u8; BYTES] = [7; BYTES];
    static IN: Mutex<[u8; BYTES]> = Mutex::new([0; BYTES]);
    register(
        rank,
        REQUEST,
        Handler::new(|token, message| {
            IN.lock().expect("whole").copy_from_slice(message.bytes());
            token.reply_medium(REPLY, &[], &OUT).expect("may reply");
        }),
    );
    register(
        rank,
        REPLY,
        Handler::new(|_, message| {
            IN.lock().expect("whole").copy_from_slice(message.bytes());
            COUNT.fetch_add(1, Relaxed);
        }),
    );
    ask(rank, 10_000, || {
        let goal = COUNT.load(Relaxed) + 1;
        sure(rank, rank.request_medium(RankId(rank.id().0 ^ 1), REQUEST, &[], &OUT));
        rank.wait_until("a reply", || COUNT.load(Relaxed) == goal);
    });
    assert_eq!(IN.lock().expect("whole")[BYTES - 1], 7);
}

/// Rank 0 sends; rank 1 counts, and tells when it has them all.
fn am_flood(rank: &Rank) {
    register(
        rank,
        REQUEST,
        Handler::new(|_, _| {
            COUNT.fetch_add(1, Relaxed);
        }),
    );
    register(
        rank,
        STOPPED,
        Handler::new(|_, _| {
            BACK.fetch_add(1, Relaxed);
        }),
    );
    rank.barrier();
    let count = 300_000;
    let mut batch = 0;
    batches(rank, || {
        batch += 1;
        let start = Instant::now();
        if rank.id().0 == 0 {
            for _ in 0..count {
                sure(rank, rank.request_short(RankId(1), REQUEST, &[]));
            }
            rank.wait_until("the end of the flood", || BACK.load(Relaxed) == batch);
        } else {
            rank.wait_until("the flood", || COUNT.load(Relaxed) == batch * count);
            sure(rank, rank.request_short(RankId(0), STOPPED, &[]));
        }
        vec![("flood", ns_each(start, count) / 1000.0)]
    });
}

fn barrier(rank: &Rank) {
    let count = if rank.size() <= 2 { 50_000 } else { 2_000 };
    batches(rank, || {
        let start = Instant::now();
        for _ in 0..count {
            rank.barrier();
        }
        vec![("barrier", ns_each(start, count))]
    });
}

fn allreduce_8(rank: &'static Rank) {
    use gasnet::coll::{Reduction, SyncMode};
    let team = rank.team_all();
    let count = if rank.size() <= 2 { 50_000 } else { 2_000 };
    let how = Reduction::known(gasnet::atomics::Function::Add, gasnet::atomics::WordType::U64);
    let mut sum = 0u64;
    batches(rank, || {
        let start = Instant::now();
        for i in 0..count {
            let mine = black_box(i);
            #[expect(unsafe_code, reason = "the raw form, without vectors")]
            // SAFETY: two words of this frame.
            unsafe {
                let (to, from) = ((&raw mut sum).cast(), (&raw const mine).cast());
                team.reduce_all_raw(to, from, 8, how.clone(), SyncMode::MY);
            }
            assert_eq!(sum, i * u64::from(rank.size()));
        }
        vec![("allreduce", ns_each(start, count))]
    });
}

fn bcast_1m(rank: &'static Rank) {
    use gasnet::coll::SyncMode;
    const BYTES: usize = 1 << 20;
    let team = rank.team_all();
    let at = allocate(rank, BYTES as u64);
    let own = rank.table().get(rank.id()).map_or(std::ptr::null_mut(), |own| own.local);
    let own = own.wrapping_add(at as usize);
    rank.write_slice(GlobalPtr::new(rank.id(), at), &vec![rank.id().0 as u8 + 1; BYTES]);
    let count = 100;
    batches(rank, || {
        let start = Instant::now();
        for _ in 0..count {
            #[expect(unsafe_code, reason = "the raw form, in segments")]
            // SAFETY: that much of the own segment.
            unsafe {
                team.broadcast_raw(0, own, own, BYTES, SyncMode::MY);
            }
        }
        let rate = (BYTES * (team.size() - 1)) as f64 / ns_each(start, count);
        assert_eq!(rank.read(GlobalPtr::<u8>::new(rank.id(), at + 12_345)), 1);
        vec![("bcast", rate)]
    });
}

/// All take a lock in turn: a hand-over each.
fn lock(rank: &Rank) {
    let mut lock = match gasnet::sync::McsLock::new(rank, RankId(0)) {
        Ok(lock) => lock,
        Err(problem) => rank.fatal(&problem.to_string()),
    };
    let count = 50_000;
    batches(rank, || {
        let start = Instant::now();
        for _ in 0..count {
            lock.acquire();
            lock.release();
        }
        rank.barrier();
        vec![("lock", ns_each(start, count))]
    });
}

/// Two ranks wake each other in turn.
fn semaphore(rank: &Rank) {
    use gasnet::sync::Semaphore;
    let make = |home| match Semaphore::new(rank, RankId(home), 0) {
        Ok(semaphore) => semaphore,
        Err(problem) => rank.fatal(&problem.to_string()),
    };
    let (mut to, mut back) = (make(0), make(1));
    let count = 50_000;
    batches(rank, || {
        let start = Instant::now();
        for _ in 0..count {
            if rank.id().0 == 0 {
                sure(rank, to.signal());
                back.wait();
            } else {
                to.wait();
                sure(rank, back.signal());
            }
        }
        vec![("semaphore", ns_each(start, count))]
    });
}

fn fadd(rank: &Rank) {
    let word: GlobalPtr<u64> = GlobalPtr::new(RankId(0), allocate(rank, 64));
    let count = 500_000;
    batches(rank, || {
        let start = Instant::now();
        for _ in 0..count {
            black_box(rank.atomics().fetch_add(word, 1));
        }
        rank.barrier();
        vec![("fadd", ns_each(start, count))]
    });
    assert_eq!(rank.read(word), count * u64::from(rank.size()) * (BATCHES as u64 + 1));
}

/// 100 barriers; then what this rank occupies. The launcher's own time is in the figure: it began before this
/// process.
fn start(rank: &Rank, begun: Instant) {
    for _ in 0..100 {
        rank.barrier();
    }
    let ready = begun.elapsed().as_secs_f64();
    let sums: GlobalPtr<u64> = GlobalPtr::new(RankId(0), allocate(rank, 16));
    let memory = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    for (i, name) in ["Rss:", "Pss:"].iter().enumerate() {
        let kib = memory.lines().find_map(|line| line.strip_prefix(name));
        let kib = kib.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0);
        rank.atomics().fetch_add(sums.add(i), kib);
    }
    rank.barrier();
    if rank.id().0 == 0 {
        println!("ready {ready:.6}");
        println!("rss {}", rank.read(sums) / u64::from(rank.size()));
        println!("pss {}", rank.read(sums.add(1)) / u64::from(rank.size()));
    }
}
