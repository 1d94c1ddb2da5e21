//! Tasks that are measured on real memory and simulated alike. Every task runs on all ranks, takes its
//! times from the job's clock ([`Rank::now`], virtual in a simulation), and returns microseconds. Those of
//! rank 0 count.

use gasnet::atomics::Function;
use gasnet::sync::{McsLock, NicAtomics, Semaphore, WaitQueue};
use gasnet::{GlobalPtr, Rank, RankId};
use gasnet_clan::Notification;
use gasnet_sim::{Rng, Zipf};

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// The first word of a page of rank 1.
fn word(page: u64) -> GlobalPtr<u64> {
    GlobalPtr::new(RankId(1), page * PAGE)
}

/// The time of one operation of `count`, in microseconds.
fn each(rank: &Rank, count: usize, work: impl FnOnce()) -> f64 {
    let start = rank.now();
    work();
    (rank.now() - start).as_secs_f64() * 1e6 / count.max(1) as f64
}

/// Puts of a word to pages of rank 1, `depth` at a time.
pub fn puts(rank: &Rank, pages: &[u64], depth: usize) -> f64 {
    each(rank, pages.len(), || match depth {
        1 => pages.iter().for_each(|page| rank.write(word(*page), *page)),
        _ => pages.chunks(depth).for_each(|some| {
            let under: Vec<_> = some.iter().map(|page| rank.write_nb(word(*page), vec![*page])).collect();
            under.into_iter().for_each(|put| drop(put.wait()));
        }),
    })
}

/// Gets likewise.
pub fn gets(rank: &Rank, pages: &[u64], depth: usize) -> f64 {
    each(rank, pages.len(), || match depth {
        1 => pages.iter().for_each(|page| _ = rank.read(word(*page))),
        _ => pages.chunks(depth).for_each(|some| {
            let under: Vec<_> = some.iter().map(|page| rank.read_nb(word(*page), 1)).collect();
            under.into_iter().for_each(|get| drop(get.wait()));
        }),
    })
}

/// Pages of which some are wanted much more often than others: Zipf with 0.99.
pub fn zipf(pages: u64, count: u64, rng: &mut Rng) -> Vec<u64> {
    let zipf = Zipf::new(pages as usize, 0.99);
    (0..count).map(|_| zipf.draw(rng)).collect()
}

/// Every page once, neighbours far from each other.
pub fn scattered(pages: u64) -> Vec<u64> {
    // A prime: no number of pages here is a multiple.
    (0..pages).map(|i| i * 7919 % pages).collect()
}

/// Pages that are always there while [`parts`] are measured.
const HOT: u64 = 16;

/// Of sixteen, four of these pages and twelve that are there.
fn mixed(pages: &[u64]) -> Vec<u64> {
    pages.chunks_exact(4).flat_map(|cold| cold.iter().copied().chain(0..12)).collect()
}

/// Puts to few pages, which are there whatever the memory, and wanted too often to leave: one at a time, and
/// sixteen.
pub fn hits(rank: &Rank) -> [f64; 2] {
    let few: Vec<u64> = (0..2048).map(|i| i % HOT).collect();
    puts(rank, &few, 16);
    [puts(rank, &few, 1), puts(rank, &few, 16)]
}

/// [`hits`] by rank 0 while the others wait.
pub fn hits_alone(rank: &Rank) -> [f64; 2] {
    rank.barrier();
    let took = if rank.id().0 == 0 { hits(rank) } else { [0.0; 2] };
    rank.barrier();
    took
}

/// The parts of which the time of a put over the netvm conduit is made. Rank 1 has memory for a quarter of
/// `pages` pages.
pub fn parts(rank: &Rank, pages: u64) -> Vec<(&'static str, f64)> {
    let mut parts = Vec::new();
    if rank.id().0 == 0 {
        let all: Vec<u64> = scattered(pages).into_iter().filter(|page| *page >= HOT).collect();
        let [hit, hit16] = hits(rank);
        parts.extend([("hit", hit), ("hit16", hit16)]);
        // All are in the backing store, and those in memory are as they are there: fewer than have a place
        // there are put to then.
        let cold = &all[..pages as usize / 16];
        puts(rank, &all, 16);
        gets(rank, &all, 16);
        parts.push(("in", puts(rank, cold, 1)));
        gets(rank, &all, 16);
        parts.push(("in_all_of_16", puts(rank, cold, 16)));
        gets(rank, &all, 16);
        parts.push(("in_4_of_16", puts(rank, &mixed(cold), 16)));
        // All that are in memory have been written to.
        puts(rank, &all, 16);
        let (some, rest) = all.split_at(all.len() / 2);
        parts.push(("out_4_of_16", puts(rank, &mixed(some), 16)));
        parts.push(("out_all_of_16", puts(rank, rest, 16)));
    }
    rank.barrier();
    parts
}

/// A way to use a job: its name, and what it takes, the latter by all ranks.
pub type Operation = (&'static str, fn(&'static Rank, usize) -> f64);

fn sure<T>(rank: &Rank, result: Result<T, gasnet::Error>) -> T {
    result.unwrap_or_else(|problem| rank.fatal(&problem.to_string()))
}

/// Runs by rank 0 while the others wait.
fn alone(rank: &Rank, count: usize, work: impl FnMut(usize)) -> f64 {
    rank.barrier();
    let took = if rank.id().0 == 0 { each(rank, count, || (0..count).for_each(work)) } else { 0.0 };
    rank.barrier();
    took
}

/// Two ranks in turn: rank 0 gives first. Half a round is what is counted.
fn in_turn(rank: &Rank, count: usize, mut give: impl FnMut(), mut take: impl FnMut()) -> f64 {
    rank.barrier();
    each(rank, 2 * count, || {
        for _ in 0..count {
            if rank.id().0 == 0 {
                give();
                take();
            } else {
                take();
                give();
            }
        }
    })
}

/// Synchronisation between two ranks.
pub const SYNC: &[Operation] = &[
    ("atomic", |rank, count| {
        let at = GlobalPtr::<u32>::new(RankId(1), sure(rank, rank.allocate(64, 64)));
        alone(rank, count, |_| _ = NicAtomics::new(rank).incr(at))
    }),
    ("lock_alone", |rank, count| {
        let mut lock = sure(rank, McsLock::new(rank, RankId(1)));
        alone(rank, count, |_| {
            lock.acquire();
            lock.release();
        })
    }),
    ("lock_hand_over", |rank, count| {
        let mut lock = sure(rank, McsLock::new(rank, RankId(0)));
        rank.barrier();
        each(rank, 2 * count, || {
            for _ in 0..count {
                lock.acquire();
                lock.release();
            }
            rank.barrier();
        })
    }),
    ("semaphore_hand_over", |rank, count| {
        let mut there = sure(rank, Semaphore::new(rank, RankId(0), 0));
        let mut back = sure(rank, Semaphore::new(rank, RankId(1), 0));
        let (give, take) = if rank.id().0 == 0 { (&mut there, &mut back) } else { (&mut back, &mut there) };
        in_turn(rank, count, || sure(rank, give.signal()), || take.wait())
    }),
    ("queue_wake", |rank, count| {
        let mut there = sure(rank, WaitQueue::new(rank, RankId(0)));
        let mut back = sure(rank, WaitQueue::new(rank, RankId(1)));
        let (give, take) = if rank.id().0 == 0 { (&mut there, &mut back) } else { (&mut back, &mut there) };
        let wait = || {
            take.insert();
            take.wait();
        };
        in_turn(rank, count, || while !give.signal() {}, wait)
    }),
    ("notify_spin", |rank, count| notified(rank, count, |mine| while !mine.take(0) {})),
    ("notify_wait", |rank, count| notified(rank, count, |mine| mine.wait(0))),
    ("notify_handler", |rank, count| {
        notified(rank, count, |mine| {
            mine.arm(0, |_| ());
            while mine.dispatch() == 0 {}
        })
    }),
];

/// A word with a notification behind it, to and fro.
fn notified(rank: &Rank, count: usize, take: impl Fn(&mut Notification<'_>)) -> f64 {
    let mut mine = sure(rank, Notification::new(rank, 1, 0));
    let at = GlobalPtr::<u64>::new(RankId(1 - rank.id().0), sure(rank, rank.allocate(64, 64)));
    rank.barrier();
    each(rank, 2 * count, || {
        for i in 0..count {
            if rank.id().0 == 1 {
                take(&mut mine);
            }
            sure(rank, mine.put(at, &[i as u64], 0));
            if rank.id().0 == 0 {
                take(&mut mine);
            }
        }
    })
}

/// Collective operations of all ranks.
pub const COLLECTIVES: &[Operation] = &[
    ("barrier", |rank, count| together(rank, count, |_| rank.team_all().barrier())),
    ("broadcast_8", |rank, count| together(rank, count, |_| rank.team_all().broadcast(0, &mut [1u64]))),
    ("allreduce_8", |rank, count| {
        together(rank, count, |i| _ = rank.team_all().reduce_all_with(&[i as u64], Function::Add))
    }),
    ("allreduce_4k", |rank, count| {
        let mine = vec![1u64; 512];
        together(rank, count, |_| _ = rank.team_all().reduce_all_with(&mine, Function::Add))
    }),
    ("gather_all_8", |rank, count| together(rank, count, |i| _ = rank.team_all().gather_all(&[i as u64]))),
    ("exchange_8", |rank, count| {
        let values = vec![1u64; rank.size() as usize];
        together(rank, count, |_| _ = rank.team_all().exchange(&values))
    }),
    ("scatter_v_1k", |rank, count| {
        let (counts, values) = differing(rank);
        let mut mine = vec![0; counts[rank.id().0 as usize]];
        together(rank, count, |_| {
            let root = if rank.id().0 == 0 { &*values } else { &[] };
            rank.team_all().scatter_v(0, root, &counts, &mut mine);
        })
    }),
    ("gather_v_1k", |rank, count| {
        let (counts, values) = differing(rank);
        let mine = &values[..counts[rank.id().0 as usize]];
        together(rank, count, |_| _ = rank.team_all().gather_v(0, mine, &counts))
    }),
    ("exchange_v_1k", |rank, count| {
        // The block to each member is as long as the block to all others.
        let (to, values) = differing(rank);
        let from = vec![to[rank.id().0 as usize]; to.len()];
        together(rank, count, |_| _ = rank.team_all().exchange_v(&values, &to, &from))
    }),
];

/// Lengths of blocks of about a kilobyte, half of them twice as long as the others, and the blocks.
fn differing(rank: &Rank) -> (Vec<usize>, Vec<u64>) {
    let counts: Vec<usize> = (0..rank.size() as usize).map(|m| 85 << (m & 1)).collect();
    let all = vec![1; counts.iter().sum()];
    (counts, all)
}

fn together(rank: &Rank, count: usize, work: impl FnMut(usize)) -> f64 {
    rank.barrier();
    let took = each(rank, count, || (0..count).for_each(work));
    rank.barrier();
    took
}
