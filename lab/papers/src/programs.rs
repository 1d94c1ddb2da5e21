//! The programs that the papers measured, over the runtime, to be run on the simulated cluster.
//!
//! Both applications move their data word by word with blocking puts, as the paper's did, and their sizes
//! give the paper's numbers of puts. Their results are checked.

use gasnet::{GlobalPtr, Rank, RankId};
use gasnet_sim::{PutTimes, Registered, Rng, Time, compute, now, registration};

/// The fine-grained puts of one rank.
#[derive(Debug, Clone, Copy, Default)]
pub struct Puts {
    /// Counts and times, as the NIC saw them.
    pub times: PutTimes,
    /// Buckets that this rank pinned meanwhile.
    pub pins: u64,
    /// How many puts the program made.
    pub made: u64,
    /// How long it took to make them, everything included.
    pub took: Time,
}

impl Puts {
    /// All ranks' together.
    pub fn sum(all: impl IntoIterator<Item = Puts>) -> Puts {
        all.into_iter().fold(Puts::default(), |a, b| Puts {
            times: PutTimes {
                hits: a.times.hits + b.times.hits,
                hit_time: a.times.hit_time + b.times.hit_time,
                misses: a.times.misses + b.times.misses,
                miss_time: a.times.miss_time + b.times.miss_time,
            },
            pins: a.pins + b.pins,
            made: a.made + b.made,
            took: a.took + b.took,
        })
    }

    /// Mean time of those that did not ask the peer, in microseconds.
    pub fn hit_us(&self) -> f64 {
        self.times.hit_time.as_us() / self.times.hits.max(1) as f64
    }

    /// Mean time of those that did.
    pub fn miss_us(&self) -> f64 {
        self.times.miss_time.as_us() / self.times.misses.max(1) as f64
    }

    /// Mean time of all.
    pub fn mean_us(&self) -> f64 {
        (self.times.hit_time + self.times.miss_time).as_us()
            / (self.times.hits + self.times.misses).max(1) as f64
    }

    /// Mean time from one put to the next, everything included.
    pub fn each_us(&self) -> f64 {
        self.took.as_us() / self.made.max(1) as f64
    }
}

/// Counts and times puts: the difference that a phase makes.
struct Meter {
    puts: Puts,
    before: Registered,
    begun: Time,
}

impl Meter {
    /// Before the first.
    fn begin() -> Meter {
        Meter { puts: Puts::default(), before: registered(), begun: time() }
    }

    /// After the last.
    fn end(mut self) -> Puts {
        let (a, b) = (self.before.puts, registered().puts);
        self.puts.times = PutTimes {
            hits: b.hits - a.hits,
            hit_time: b.hit_time.since(a.hit_time),
            misses: b.misses - a.misses,
            miss_time: b.miss_time.since(a.miss_time),
        };
        self.puts.pins = registered().stats.pins - self.before.stats.pins;
        self.puts.took = time().since(self.begun);
        self.puts
    }
}

fn registered() -> Registered {
    registration().unwrap_or_default()
}

fn time() -> Time {
    now().unwrap_or_default()
}

/// The result of an application.
#[derive(Debug, Clone, Copy)]
pub struct ApplicationOutcome {
    /// Its fine-grained puts.
    pub puts: Puts,
    /// How long it took, set-up left out.
    pub took: Time,
    /// A sum over the computed result.
    #[cfg_attr(not(test), expect(dead_code, reason = "for tests"))]
    pub check: f64,
}

/// Cannon's matrix multiply.
#[derive(Debug, Clone, Copy)]
pub struct Cannon {
    /// Each has blocks of this many by this many.
    pub grid: u32,
    /// Each rank has blocks of this many by this many words.
    pub block: usize,
    /// The time of all multiplications together.
    pub compute: Time,
}

impl Cannon {
    /// The paper's: 4 nodes, 1.5 million puts: two blocks of 433 by 433 words go from each node, once.
    pub const PAPER: Cannon = Cannon { grid: 2, block: 433, compute: Time::ZERO };

    /// Fine-grained puts of all ranks.
    #[cfg(test)]
    pub fn puts(&self) -> u64 {
        let shifts = u64::from(self.grid - 1);
        2 * shifts * (self.block * self.block) as u64 * u64::from(self.grid * self.grid)
    }

    /// Bytes of a block, in whole pages.
    fn area(&self) -> u64 {
        (self.block as u64 * self.block as u64 * 8).next_multiple_of(4096)
    }

    /// Bytes of a segment.
    pub fn segment(&self) -> usize {
        4 * self.area() as usize
    }

    /// The elements of the factors.
    fn element(which: u64, row: usize, column: usize) -> f64 {
        ((row * 7 + column * 3 + which as usize * 5) % 11) as f64 - 5.0
    }

    /// Runs it. The blocks lie one place off where they are needed first, and get there in bulk: the areas
    /// that later receive the words are then its source. (The paper's mean handler time says that the pages
    /// of its moves had been pinned before.)
    pub fn run(&self, rank: &Rank) -> ApplicationOutcome {
        let (p, b) = (self.grid, self.block);
        let words = b * b;
        let me = rank.id().0;
        let (row, column) = (me / p, me % p);
        let at = |r: u32, c: u32| RankId((r % p) * p + c % p);
        let (left, up) = (at(row, column + p - 1), at(row + p - 1, column));
        let area = |which: u64| which * self.area();
        let local = |which: u64| {
            let mut block = vec![0.0f64; words];
            rank.read_slice(GlobalPtr::new(rank.id(), area(which)), &mut block);
            block
        };
        // A block (row, row + column) is needed here; what lies here is what the left neighbour needs.
        let fill = |which: u64, block_row: u32, block_column: u32| {
            let (r0, c0) = (block_row as usize % p as usize * b, block_column as usize % p as usize * b);
            let block: Vec<f64> =
                (0..words).map(|i| Cannon::element(which, r0 + i / b, c0 + i % b)).collect();
            rank.write_slice(GlobalPtr::new(rank.id(), area(2 * which + 1)), &block);
        };
        let (left_column, upper_row) = (left.0 % p, up.0 / p);
        fill(0, row, row + left_column);
        fill(1, upper_row + column, column);
        rank.barrier();
        for (which, to) in [(0, left), (1, up)] {
            bulk(rank, to, area(2 * which), own(rank, area(2 * which + 1)), words * 8);
        }
        rank.barrier();
        let begin = time();
        let mut meter = Meter::begin();
        let mut product = vec![0.0f64; words];
        for step in 0..p {
            let (now_at, next) = (u64::from(step % 2), u64::from((step + 1) % 2));
            let (x, y) = (local(now_at), local(2 + now_at));
            multiply(b, &x, &y, &mut product);
            compute(Time::ps(self.compute.as_ps() / u64::from(p)));
            rank.barrier();
            if step + 1 < p {
                for (which, to) in [(0, left), (1, up)] {
                    let (target, source) = (area(2 * which + next), own(rank, area(2 * which + now_at)));
                    for i in 0..words {
                        bulk(rank, to, target + i as u64 * 8, source.wrapping_add(i * 8), 8);
                    }
                }
                meter.puts.made += 2 * words as u64;
                rank.barrier();
            }
        }
        let took = time().since(begin);
        let puts = meter.end();
        let check = product.iter().enumerate().map(|(i, v)| v * (1 + i % 7) as f64).sum();
        ApplicationOutcome { puts, took, check }
    }

    /// The same sum, computed without ranks.
    #[cfg(test)]
    pub fn expected(&self, rank: u32) -> f64 {
        let (b, n) = (self.block, self.block * self.grid as usize);
        let (row, column) = ((rank / self.grid) as usize * b, (rank % self.grid) as usize * b);
        let mut sum = 0.0;
        for i in 0..b * b {
            let (r, c) = (row + i / b, column + i % b);
            let v: f64 = (0..n).map(|k| Cannon::element(0, r, k) * Cannon::element(1, k, c)).sum();
            sum += v * (1 + i % 7) as f64;
        }
        sum
    }
}

/// One put of memory that lies in the own segment.
fn bulk(rank: &Rank, to: RankId, offset: u64, from: *const u8, len: usize) {
    #[expect(unsafe_code, reason = "a put from the own segment, which has no slice")]
    // SAFETY: the source is `len` bytes of the own segment, which nobody writes until the barrier.
    unsafe {
        rank.put(to, offset, from, len);
    }
}

/// An address in the own segment.
pub fn own(rank: &Rank, offset: u64) -> *const u8 {
    let base = rank.table().get(rank.id()).map_or(core::ptr::null_mut(), |e| e.local);
    base.wrapping_add(offset as usize)
}

fn multiply(b: usize, x: &[f64], y: &[f64], product: &mut [f64]) {
    for i in 0..b {
        for k in 0..b {
            let a = x[i * b + k];
            for (p, v) in product[i * b..(i + 1) * b].iter_mut().zip(&y[k * b..(k + 1) * b]) {
                *p += a * v;
            }
        }
    }
}

/// Bitonic sort of blocks of keys.
#[derive(Debug, Clone, Copy)]
pub struct Bitonic {
    /// Ranks, a power of two.
    pub ranks: u32,
    /// Keys of a rank, even.
    pub keys: usize,
    /// The time of all local sorting together.
    pub compute: Time,
}

impl Bitonic {
    /// The paper's: 8 nodes, 2.125 million puts: six exchanges of 44,270 keys from each node.
    pub const PAPER: Bitonic = Bitonic { ranks: 8, keys: 44_270, compute: Time::ZERO };

    fn stages(&self) -> u64 {
        let log = u64::from(self.ranks.trailing_zeros());
        log * (log + 1) / 2
    }

    /// Fine-grained puts of all ranks.
    #[cfg(test)]
    pub fn puts(&self) -> u64 {
        self.stages() * self.keys as u64 * u64::from(self.ranks)
    }

    /// Where peers put half a block.
    fn area(&self) -> u64 {
        (self.keys as u64 / 2 * 4).next_multiple_of(4096)
    }

    /// Bytes of a segment: that, the keys, and where they come from at first.
    pub fn segment(&self) -> usize {
        5 * self.area() as usize
    }

    /// Sorts; each rank ends with its part of the sorted whole. In an exchange each rank sends the upper half
    /// of its keys and gets back what it keeps instead: as many puts as it has keys, to half as much memory.
    /// The keys of a rank are made by its predecessor and handed over in bulk, so what they are sent from
    /// later has been a source before, as in [`Cannon::run`].
    pub fn run(&self, rank: &Rank) -> (ApplicationOutcome, Vec<u32>) {
        let me = rank.id().0;
        let half = self.keys / 2;
        let (keys, inbox) = (self.area(), 3 * self.area());
        let next = RankId((me + 1) % rank.size());
        let mut rng = Rng::new(0x0b17_0000 + u64::from(next.0));
        let made: Vec<u32> = (0..self.keys).map(|_| rng.word() as u32).collect();
        rank.write_slice(GlobalPtr::new(rank.id(), keys), &made);
        bulk(rank, next, inbox, own(rank, keys), self.keys * 4);
        rank.barrier();
        let mut mine = vec![0; self.keys];
        rank.read_slice(GlobalPtr::new(rank.id(), inbox), &mut mine);
        mine.sort_unstable();
        rank.barrier();
        let begin = time();
        let mut meter = Meter::begin();
        let staging = GlobalPtr::<u32>::new(rank.id(), 0);
        let stages = self.stages();
        let mut size = 2;
        while size <= self.ranks {
            let mut distance = size / 2;
            while distance > 0 {
                let peer = RankId(me ^ distance);
                // The lower keys go to the rank that comes first in this stage's direction.
                let ascending = me & size == 0;
                let low = (me < peer.0) == ascending;
                let mut send = |keys: &[u32]| {
                    let source = self.area();
                    rank.write_slice(GlobalPtr::new(rank.id(), source), keys);
                    for i in 0..half as u64 {
                        bulk(rank, peer, i * 4, own(rank, source + i * 4), 4);
                    }
                    meter.puts.made += half as u64;
                    rank.barrier();
                    let mut got = vec![0; half];
                    rank.read_slice(staging, &mut got);
                    rank.barrier();
                    got
                };
                // Pair my i-th key with the peer's i-th from the end. Each rank decides the pairs of its own
                // lower half.
                let theirs = send(&mine[half..]);
                let mut back = vec![0; half];
                for i in 0..half {
                    let (a, b) = (mine[i], theirs[half - 1 - i]);
                    let (keep, give) = if (a < b) == low { (a, b) } else { (b, a) };
                    mine[i] = keep;
                    back[half - 1 - i] = give;
                }
                let got = send(&back);
                mine[half..].copy_from_slice(&got);
                mine.sort_unstable();
                compute(Time::ps(self.compute.as_ps() / stages));
                distance /= 2;
            }
            size *= 2;
        }
        rank.barrier();
        let took = time().since(begin);
        let check = mine.iter().map(|k| f64::from(*k)).sum();
        (ApplicationOutcome { puts: meter.end(), took, check }, mine)
    }
}

/// Puts by rank 0 into the memory of rank 1.
#[derive(Debug, Clone, Copy)]
pub struct Scatter {
    /// Bytes of memory that the puts go to.
    pub set: u64,
    /// Bytes of a put.
    pub bytes: usize,
    /// Puts that are measured, after each page was touched.
    pub puts: u64,
}

impl Scatter {
    /// Bytes of a segment: the memory, and a source.
    pub fn segment(&self) -> usize {
        self.set as usize + self.bytes.next_multiple_of(4096)
    }

    /// Runs the puts, and returns rank 0's measurements.
    pub fn run(&self, rank: &Rank) -> Puts {
        let mut measured = Puts::default();
        if rank.id().0 == 0 {
            let source = own(rank, self.set);
            let step = (self.bytes as u64).max(4096);
            let places = (self.set / step).max(1);
            let mut rng = Rng::new(0x5ca7);
            // In random order: the order of a sweep would be that in which victims are taken.
            let mut order: Vec<u32> = (0..places as u32).collect();
            for i in (1..order.len()).rev() {
                order.swap(i, rng.below(i as u64 + 1) as usize);
            }
            for place in order {
                bulk(rank, RankId(1), u64::from(place) * step, source, self.bytes);
            }
            let mut meter = Meter::begin();
            for _ in 0..self.puts {
                bulk(rank, RankId(1), rng.below(places) * step, source, self.bytes);
            }
            meter.puts.made = self.puts;
            measured = meter.end();
        }
        rank.barrier();
        measured
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gasnet_sim::{Cluster, CostModel};

    #[test]
    fn cannon_multiplies() {
        for grid in [2, 3] {
            let c = Cannon { grid, block: 9, compute: Time::us(10.0) };
            let report = Cluster::new(grid * grid, CostModel::modern_ib())
                .segment(c.segment())
                .run(|rank| c.run(rank))
                .unwrap();
            for (r, o) in report.results.iter().enumerate() {
                assert_eq!(o.check, c.expected(r as u32), "rank {r}");
            }
            assert_eq!(Puts::sum(report.results.iter().map(|o| o.puts)).made, c.puts());
        }
        assert_eq!(Cannon::PAPER.puts(), 1_499_912);
    }

    #[test]
    fn bitonic_sorts() {
        for ranks in [2, 4, 8] {
            let b = Bitonic { ranks, keys: 50, compute: Time::ZERO };
            let report = Cluster::new(ranks, CostModel::modern_ib())
                .segment(b.segment())
                .run(|rank| b.run(rank))
                .unwrap();
            let all: Vec<u32> = report.results.iter().flat_map(|(_, keys)| keys.clone()).collect();
            assert!(all.is_sorted() && all.len() == 50 * ranks as usize);
            let mut before: Vec<u32> = (0..ranks)
                .flat_map(|r| {
                    let mut rng = Rng::new(0x0b17_0000 + u64::from(r));
                    (0..50).map(move |_| rng.word() as u32)
                })
                .collect();
            before.sort_unstable();
            assert_eq!(all, before);
            assert_eq!(Puts::sum(report.results.iter().map(|(o, _)| o.puts)).made, b.puts());
        }
        assert_eq!(Bitonic::PAPER.puts(), 2_124_960);
    }
}
