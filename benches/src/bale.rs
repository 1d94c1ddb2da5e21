//! The programs of bale, Cray's and IDA's collection of small programs with irregular communication, over
//! `pgas`: each in the form that sends much at once. Each checks what it has done. `NAME` is over all ranks,
//! `NAME_alone` the same work by one rank with plain loops: the floor. Results are ns for each operation of a
//! rank: an update, an index, an element, a nonzero, a wedge.

use pgas::{Layout, Plain, Shared, World};
use std::collections::VecDeque;
use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

/// Nonzeros of a row, but the diagonal.
const DEGREE: u64 = 10;
/// Bytes that a rank gathers for another before it sends them.
const BATCH_BYTES: usize = 8000;
/// Numbers that are shuffled together, at most, about; buckets for each rank, at least.
const BUCKET: usize = 32 * 1024;
const BUCKETS: usize = 32;
/// Numbers for a bucket that are put together.
const RUN: usize = 64;
/// Columns that are looked up together.
const TOGETHER: usize = 64;

/// Runs a program by its name, with a size for each rank; whether there is one.
pub fn run(world: World, task: &str, size: usize) -> bool {
    let work: fn(World, usize) -> (f64, usize) = match task {
        "histogram" => histogram,
        "histogram_alone" => histogram_alone,
        "gather" => gather,
        "gather_alone" => gather_alone,
        "randperm" => randperm,
        "randperm_alone" => randperm_alone,
        "toposort" => toposort,
        "toposort_alone" => toposort_alone,
        "triangle" => triangle,
        "triangle_alone" => triangle_alone,
        "transpose" => transpose,
        "transpose_alone" => transpose_alone,
        _ => return false,
    };
    for round in 0..4 {
        let (ns, operations) = work(world, size);
        // The first warms up.
        if world.rank() == 0 && round > 0 {
            let key = task.trim_end_matches("_alone");
            println!("{key} {:.6}", ns / operations.max(1) as f64);
        }
    }
    true
}

/// Random numbers of an index.
fn mix(index: u64) -> u64 {
    let mut x = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A number under `end`, of a random one. Without a division.
fn below(random: u64, end: u64) -> u64 {
    ((u128::from(random) * u128::from(end)) >> 64) as u64
}

/// How long all ranks take.
fn timed<T>(world: World, work: impl FnOnce() -> T) -> (f64, T) {
    world.barrier();
    let start = Instant::now();
    let result = work();
    world.barrier();
    (start.elapsed().as_nanos() as f64, result)
}

/// Places in a table of a thousand words for each rank, as bale has it.
fn places(world: World, count: usize) -> (usize, Vec<usize>) {
    let table = 1000 * world.size() as usize;
    let seed = u64::from(world.rank()) << 40;
    (table, (0..count as u64).map(|i| (mix(seed + i) % table as u64) as usize).collect())
}

fn histogram(world: World, count: usize) -> (f64, usize) {
    let (table, places) = places(world, count);
    let mut counts = world.array::<u64>(table, Layout::Cyclic);
    let (ns, ()) = timed(world, || counts.update(|counts| places.iter().for_each(|&i| counts.add(i, 1))));
    let sum = counts.local(|mine| mine.iter().sum());
    assert_eq!(world.reduce(sum, |a: u64, b| a + b), count as u64 * u64::from(world.size()));
    (ns, count)
}

fn histogram_alone(world: World, count: usize) -> (f64, usize) {
    let (table, places) = places(world, count);
    let mut counts = vec![0u64; table];
    let (ns, ()) = timed(world, || black_box(&places).iter().for_each(|&i| counts[i] += 1));
    assert_eq!(counts.iter().sum::<u64>(), count as u64);
    (ns, count)
}

fn gather(world: World, count: usize) -> (f64, usize) {
    let (table, places) = places(world, count);
    let mut array = world.array::<u64>(table, Layout::Cyclic);
    let first = u64::from(world.rank());
    let ranks = u64::from(world.size());
    array.local(|mine| mine.iter_mut().zip(0..).for_each(|(value, at)| *value = 3 * (at * ranks + first)));
    let (ns, values) = timed(world, || array.read(|array| array.gather(&places)));
    assert!(values.iter().zip(&places).all(|(&value, &i)| value == 3 * i as u64));
    (ns, count)
}

fn gather_alone(world: World, count: usize) -> (f64, usize) {
    let (table, places) = places(world, count);
    let array: Vec<u64> = (0..table as u64).map(|i| 3 * i).collect();
    let (ns, values) = timed(world, || black_box(&places).iter().map(|&i| array[i]).collect::<Vec<_>>());
    assert!(values.iter().zip(&places).all(|(&value, &i)| value == 3 * i as u64));
    (ns, count)
}

/// Words that wait to be sent, by rank. There a function of a shared object takes them.
struct Lanes<T: 'static, W> {
    object: Shared<T>,
    lanes: Vec<Vec<W>>,
    apply: fn(&'static T, &[W]),
}

impl<T: Send + Sync + 'static, W: Plain> Lanes<T, W> {
    fn new(object: Shared<T>, apply: fn(&'static T, &[W])) -> Self {
        Lanes { object, lanes: object.world().ranks().map(|_| Vec::new()).collect(), apply }
    }

    /// Adds words that stay together.
    #[inline]
    fn push(&mut self, rank: u32, words: &[&[W]]) {
        let lane = &mut self.lanes[rank as usize];
        words.iter().for_each(|words| lane.extend_from_slice(words));
        if size_of_val(&lane[..]) >= BATCH_BYTES {
            self.apply(rank);
        }
    }

    /// Those for this rank need no message.
    fn apply(&mut self, rank: u32) {
        let lane = &mut self.lanes[rank as usize];
        if rank == self.object.world().rank() {
            (self.apply)(self.object.local(), lane);
        } else {
            self.object.send_lent(rank, self.apply, &lane[..]);
        }
        lane.clear();
    }

    fn flush(&mut self) {
        for rank in self.object.world().ranks() {
            if !self.lanes[rank as usize].is_empty() {
                self.apply(rank);
            }
        }
    }
}

/// Each number goes to one of many buckets at random, and each bucket is shuffled: with that all orders are
/// equally likely. Where a bucket lies, and what each rank puts where in it, they know before they put
/// anything, since they count first. A bucket is no larger than what a fast cache holds, and small beside a
/// rank's part, since two ranks may have to shuffle the same one.
fn randperm(world: World, count: usize) -> (f64, usize) {
    let (ranks, me) = (world.size() as usize, world.rank() as usize);
    let seed = mix(0xace1);
    let numbers = (me * count) as u64..((me + 1) * count) as u64;
    let buckets = ranks * count.div_ceil(BUCKET).max(BUCKETS);
    let bucket_of = |number| below(mix(seed ^ number), buckets as u64) as usize;
    let (ns, mut permutation) = timed(world, || {
        let mut permutation = world.array::<u64>(ranks * count, Layout::Block);
        let mut counts = vec![0; buckets];
        numbers.clone().for_each(|number| counts[bucket_of(number)] += 1);
        let Places { starts, mut next } = places_in(world, counts);
        permutation.exchange(|permutation| {
            let mut runs = vec![[0; RUN]; buckets];
            let mut waiting = vec![0; buckets];
            let mut put = |bucket: usize, run: &[u64]| {
                permutation.put_slice(next[bucket], run);
                next[bucket] += run.len();
            };
            for number in numbers {
                let bucket = bucket_of(number);
                let (run, waiting) = (&mut runs[bucket], &mut waiting[bucket]);
                run[*waiting] = number;
                *waiting += 1;
                if *waiting == RUN {
                    put(bucket, run);
                    *waiting = 0;
                }
            }
            runs.iter().zip(waiting).enumerate().for_each(|(bucket, (run, n))| put(bucket, &run[..n]));
        });
        let mine = me * count..(me + 1) * count;
        let buckets = (0..buckets).map(|bucket| (bucket, starts[bucket]..starts[bucket + 1]));
        let of_mine = buckets.filter(|(_, of)| of.start < mine.end && of.end > mine.start);
        let (whole, shared): (Vec<_>, Vec<_>) =
            of_mine.partition(|(_, of)| mine.start <= of.start && of.end <= mine.end);
        // All ranks that have a part of a bucket shuffle all of it, in the same way.
        let shared: Vec<_> = permutation.read(|permutation| {
            let shuffled = |(bucket, of): (usize, Range<usize>)| {
                let mut numbers = permutation.slice(of.start, of.len());
                shuffle(&mut numbers, bucket as u64);
                (of, numbers)
            };
            shared.into_iter().map(shuffled).collect()
        });
        permutation.local(|part| {
            for (bucket, of) in whole {
                shuffle(&mut part[of.start - mine.start..of.end - mine.start], bucket as u64);
            }
            for (of, numbers) in shared {
                let here = of.start.max(mine.start)..of.end.min(mine.end);
                part[here.start - mine.start..here.end - mine.start]
                    .copy_from_slice(&numbers[here.start - of.start..here.end - of.start]);
            }
        });
        permutation
    });
    let sum = permutation.local(|mine| mine.iter().fold(0u64, |sum, &n| sum.wrapping_add(mix(n))));
    let all = (0..(ranks * count) as u64).fold(0u64, |sum, n| sum.wrapping_add(mix(n)));
    assert_eq!(world.reduce(sum, u64::wrapping_add), all, "no permutation");
    assert_eq!(permutation.local_len(), count);
    (ns, count)
}

/// Where buckets begin in an array of all, and where in each a rank puts what it has.
struct Places {
    starts: Vec<usize>,
    next: Vec<usize>,
}

/// Places, of how many elements each rank has for each bucket.
fn places_in(world: World, counts: Vec<usize>) -> Places {
    let (buckets, me) = (counts.len(), world.rank() as usize);
    let all = world.gather_all_slice(counts);
    let (mut starts, mut next) = (vec![0; buckets + 1], vec![0; buckets]);
    for (rank, counts) in all.chunks(buckets).enumerate() {
        for (bucket, count) in counts.iter().enumerate() {
            starts[bucket + 1] += count;
            next[bucket] += if rank < me { *count } else { 0 };
        }
    }
    (0..buckets).for_each(|bucket| starts[bucket + 1] += starts[bucket]);
    next.iter_mut().zip(&starts).for_each(|(next, start)| *next += start);
    Places { starts, next }
}

fn shuffle(numbers: &mut [u64], seed: u64) {
    for i in (1..numbers.len()).rev() {
        numbers.swap(i, below(mix(seed << 40 ^ i as u64), i as u64 + 1) as usize);
    }
}

fn randperm_alone(world: World, count: usize) -> (f64, usize) {
    let (ns, numbers) = timed(world, || {
        let mut numbers: Vec<u64> = (0..count as u64).collect();
        shuffle(&mut numbers, 1);
        numbers
    });
    black_box(numbers);
    (ns, count)
}

/// Columns below the diagonal that a row has something in, in order.
fn row(i: u64) -> Vec<u64> {
    let mut columns: Vec<u64> = (0..DEGREE.min(i)).map(|k| mix(i << 8 | k) % i).collect();
    columns.sort();
    columns.dedup();
    columns
}

/// A sparse matrix by columns: the rows of column `at` are from `starts[at]` to `starts[at + 1]`.
struct Columns {
    starts: Vec<usize>,
    rows: Vec<u64>,
}

impl Columns {
    /// From pairs of a column and a row.
    fn of<'a>(count: usize, pairs: impl Iterator<Item = &'a [u64; 2]> + Clone) -> Columns {
        let mut starts = vec![0; count + 1];
        pairs.clone().for_each(|&[at, _]| starts[at as usize + 1] += 1);
        (0..count).for_each(|at| starts[at + 1] += starts[at]);
        let (mut next, mut rows) = (starts.clone(), vec![0; starts[count]]);
        for &[at, row] in pairs {
            let place = &mut next[at as usize];
            rows[*place] = row;
            *place += 1;
        }
        Columns { starts, rows }
    }

    fn column(&self, at: usize) -> &[u64] {
        &self.rows[self.starts[at]..self.starts[at + 1]]
    }
}

/// The rows of each column: each rank has the rows, and then the columns, whose number modulo the ranks is
/// its own.
fn transpose(world: World, count: usize) -> (f64, usize) {
    let (ranks, me) = (u64::from(world.size()), u64::from(world.rank()));
    let rows: Vec<(u64, Vec<u64>)> =
        (0..count as u64).map(|at| at * ranks + me).map(|i| (i, row(i))).collect();
    let nonzeros: usize = rows.iter().map(|(_, columns)| columns.len()).sum();
    let (ns, columns) = timed(world, || {
        let pairs = world.share(Mutex::new(Vec::<u64>::with_capacity(2 * nonzeros + nonzeros / 4)));
        let add =
            |pairs: &'static Mutex<Vec<u64>>, words: &[u64]| pairs.lock().unwrap().extend_from_slice(words);
        let mut lanes = Lanes::new(pairs, add);
        for (i, row) in &rows {
            row.iter().for_each(|j| lanes.push((j % ranks) as u32, &[&[j / ranks, *i]]));
        }
        lanes.flush();
        world.settle();
        let pairs = core::mem::take(&mut *pairs.lock().unwrap());
        Columns::of(count, pairs.as_chunks::<2>().0.iter())
    });
    let there = columns.rows.len() as u64;
    assert_eq!(world.reduce(there, |a: u64, b| a + b), world.reduce(nonzeros as u64, |a, b| a + b));
    let right = |at: usize| columns.column(at).iter().all(|&i| row(i).contains(&(at as u64 * ranks + me)));
    assert!((0..count).step_by(17).all(right), "a column has a row that has it not");
    (ns, nonzeros)
}

fn transpose_alone(world: World, count: usize) -> (f64, usize) {
    let rows: Vec<Vec<u64>> = (0..count as u64).map(row).collect();
    let nonzeros = rows.iter().map(Vec::len).sum();
    let (ns, columns) = timed(world, || {
        let pairs: Vec<[u64; 2]> =
            (0..).zip(&rows).flat_map(|(i, row)| row.iter().map(move |&j| [j, i])).collect();
        Columns::of(count, pairs.iter())
    });
    black_box(columns.rows);
    (ns, nonzeros)
}

/// A graph's nodes, each with its smaller neighbours in order: those of node `at` are from `starts[at]` to
/// `starts[at + 1]`.
struct Graph {
    starts: Vec<usize>,
    neighbours: Vec<u32>,
}

impl Graph {
    fn of(nodes: impl Iterator<Item = u64>) -> Graph {
        let mut graph = Graph { starts: vec![0], neighbours: Vec::new() };
        for node in nodes {
            graph.neighbours.extend(row(node).into_iter().map(|j| j as u32));
            graph.starts.push(graph.neighbours.len());
        }
        graph
    }

    fn node(&self, at: usize) -> &[u32] {
        &self.neighbours[self.starts[at]..self.starts[at + 1]]
    }

    fn nodes(&self) -> impl Iterator<Item = &[u32]> {
        (1..self.starts.len()).map(|at| self.node(at - 1))
    }

    /// Pairs of neighbours of one node.
    fn wedges(&self) -> usize {
        self.nodes().map(|list| list.len() * list.len().saturating_sub(1) / 2).sum()
    }
}

/// A set of numbers, a bit for each number that there is.
struct Marks(Vec<u64>);

impl Marks {
    fn new(numbers: u64) -> Marks {
        Marks(vec![0; numbers.div_ceil(64) as usize])
    }

    #[inline]
    fn flip(&mut self, number: u32) {
        self.0[number as usize / 64] ^= 1 << (number % 64);
    }

    /// How many of these are marked. Without branches on which.
    #[inline]
    fn among(&self, numbers: &[u32]) -> u64 {
        numbers.iter().map(|&number| self.0[number as usize / 64] >> (number % 64) & 1).sum()
    }
}

/// For each two neighbours `k < j` of `i` that are smaller: are they neighbours? A rank is sent the list of
/// each node that has neighbours there, once, and which of its own nodes they are: it marks the list, and
/// counts what the lists of its own nodes have marked.
fn triangle(world: World, count: usize) -> (f64, usize) {
    let (ranks, me) = (world.size(), world.rank());
    struct Part {
        graph: Graph,
        marks: Mutex<Marks>,
        found: AtomicU64,
    }
    let all = count as u64 * u64::from(ranks);
    let graph = Graph::of((0..count as u64).map(|at| at * u64::from(ranks) + u64::from(me)));
    let wedges = graph.wedges();
    let part = world.share(Part { graph, marks: Mutex::new(Marks::new(all)), found: AtomicU64::new(0) });
    let (ns, ()) = timed(world, || {
        // How many a list has, how many are the rank's own, the list, and the numbers of its own.
        let look = |part: &'static Part, mut words: &[u32]| {
            let (mut found, mut marks) = (0, part.marks.lock().unwrap());
            while let &[many, own, ref rest @ ..] = words {
                let (list, rest) = rest.split_at(many as usize);
                let (own, rest) = rest.split_at(own as usize);
                list.iter().for_each(|&k| marks.flip(k));
                found += own.iter().map(|&at| marks.among(part.graph.node(at as usize))).sum::<u64>();
                list.iter().for_each(|&k| marks.flip(k));
                words = rest;
            }
            part.found.fetch_add(found, Relaxed);
        };
        let mut lanes = Lanes::new(part, look);
        let mut own = vec![Vec::new(); ranks as usize];
        for list in part.graph.nodes() {
            // The smallest has no neighbours among the others.
            list.iter().skip(1).for_each(|j| own[(j % ranks) as usize].push(j / ranks));
            for (rank, own) in (0..).zip(&mut own).filter(|(_, own)| !own.is_empty()) {
                lanes.push(rank, &[&[list.len() as u32, own.len() as u32], list, own]);
                own.clear();
            }
        }
        lanes.flush();
        world.settle();
    });
    let found = world.reduce(part.found.load(Relaxed), |a, b| a + b);
    if world.rank() == 0 {
        assert_eq!(found, triangles_by_search(&Graph::of(0..all)));
    }
    (ns, wedges)
}

/// The triangles of a graph, in another way.
fn triangles_by_search(graph: &Graph) -> u64 {
    let of_node = |list: &[u32]| -> u64 {
        let smaller = list.iter().enumerate();
        smaller.map(|(smaller, &j)| in_both(&list[..smaller], graph.node(j as usize))).sum()
    };
    graph.nodes().map(of_node).sum()
}

/// How many numbers two ordered lists have in common.
fn in_both(one: &[u32], other: &[u32]) -> u64 {
    one.iter().filter(|number| other.binary_search(number).is_ok()).count() as u64
}

fn triangle_alone(world: World, count: usize) -> (f64, usize) {
    let graph = Graph::of(0..count as u64);
    let mut marks = Marks::new(count as u64);
    let (ns, found) = timed(world, || {
        let mut found = 0;
        for list in black_box(&graph).nodes() {
            list.iter().for_each(|&k| marks.flip(k));
            found += list.iter().skip(1).map(|&j| marks.among(graph.node(j as usize))).sum::<u64>();
            list.iter().for_each(|&k| marks.flip(k));
        }
        found
    });
    assert_eq!(found, triangles_by_search(&graph));
    (ns, graph.wedges())
}

/// A rank's rows and columns of a matrix that can be made triangular.
struct Part {
    name: OnceLock<Shared<Part>>,
    /// Rows that have something in a column, as they are sent: for each rank that has some its number, how
    /// many, and which of its rows. Those of column `at` of this rank are from `starts[at]` to
    /// `starts[at + 1]`.
    starts: Vec<u32>,
    entries: Vec<u32>,
    rows: Mutex<Vec<Row>>,
}

impl Part {
    #[inline]
    fn column(&self, at: u32) -> &[u32] {
        &self.entries[self.starts[at as usize] as usize..self.starts[at as usize + 1] as usize]
    }
}

/// Fields that are used together: the number of columns left; their sum (if none is left: the column that
/// was taken); and the step after the one in which the last column was taken.
#[derive(Clone, Copy, Default)]
struct Row {
    left: u32,
    sum: u32,
    step: u32,
}

impl Row {
    /// Loses a column, in a step; whether one is left then.
    #[inline]
    fn lose(&mut self, column: u32, step: u32) -> bool {
        // The row that took the column has none left.
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.sum = self.sum.wrapping_sub(column);
        self.step = self.step.max(step + 1);
        self.left == 1
    }
}

/// Row number `i` of a triangular matrix, and its columns, after rows and columns have been permuted. `n` is
/// a power of two.
fn permuted(i: u64, n: u64) -> (u64, Vec<u64>) {
    let place = |i: u64, by: u64| i.wrapping_mul(by) & (n - 1);
    (place(i, 0x85eb_ca6b), row(i).into_iter().chain([i]).map(|j| place(j, 0x9e37_79b1)).collect())
}

/// A rank's part of the matrix, and its nonzeros.
fn permuted_part(n: u64, ranks: u64, me: u64) -> (Part, Vec<(u64, u64)>) {
    let places = (n - me).div_ceil(ranks) as usize;
    let mut columns = vec![Vec::new(); places];
    let mut rows = vec![Row::default(); places];
    let mut mine = Vec::new();
    for (r, taken) in (0..n).map(|i| permuted(i, n)) {
        for &c in taken.iter().filter(|&c| c % ranks == me) {
            columns[(c / ranks) as usize].push(((r % ranks) as u32, (r / ranks) as u32));
        }
        if r % ranks == me {
            let sum = taken.iter().fold(0, |sum: u32, &c| sum.wrapping_add(c as u32));
            rows[(r / ranks) as usize] = Row { left: taken.len() as u32, sum, step: 0 };
            mine.extend(taken.into_iter().map(|c| (r, c)));
        }
    }
    let (mut starts, mut entries) = (vec![0], Vec::new());
    for mut column in columns {
        column.sort();
        for of_rank in column.chunk_by(|one, next| one.0 == next.0) {
            entries.extend([of_rank[0].0, of_rank.len() as u32]);
            entries.extend(of_rank.iter().map(|&(_, row)| row));
        }
        starts.push(entries.len() as u32);
    }
    (Part { name: OnceLock::new(), starts, entries, rows: Mutex::new(rows) }, mine)
}

/// Finds an order of rows and columns that makes a matrix triangular: a row with one column left is next, and
/// its column is taken out of all other rows.
fn toposort(world: World, count: usize) -> (f64, usize) {
    let (ranks, me) = (u64::from(world.size()), u64::from(world.rank()));
    let n = (count as u64 * ranks).next_power_of_two();
    let (mut part, mine) = permuted_part(n, ranks, me);
    let rows = (0..).zip(part.rows.get_mut().unwrap());
    let ready: Vec<u32> = rows.filter(|(_, row)| row.left == 1).map(|(at, _)| at).collect();
    let part = world.share(part);
    part.name.get_or_init(|| part);
    let mut place_of_row = world.array::<u64>(n as usize, Layout::Cyclic);
    let mut place_of_column = world.array::<u64>(n as usize, Layout::Cyclic);
    let (ns, ()) = timed(world, || {
        advance(part, ready, Vec::new());
        world.settle();
        let rows = part.rows.lock().unwrap();
        let mut next = first_places(world, &rows);
        place_of_row.local(|places| {
            for (place, row) in places.iter_mut().zip(&*rows) {
                let next = &mut next[row.step as usize];
                *place = *next;
                *next += 1;
            }
            place_of_column.exchange(|columns| {
                places.iter().zip(&*rows).for_each(|(&at, row)| columns.put(row.sum as usize, at));
            });
        });
    });
    assert!(part.rows.lock().unwrap().iter().all(|row| row.left == 0), "rows are missing");
    // Each rank looks at its nonzeros.
    let (of, at): (Vec<usize>, Vec<usize>) = mine.iter().map(|&(r, c)| (r as usize, c as usize)).unzip();
    let rows = place_of_row.read(|rows| rows.gather(&of));
    let columns = place_of_column.read(|columns| columns.gather(&at));
    assert!(columns.iter().zip(&rows).all(|(column, row)| column <= row), "not triangular");
    (ns, mine.len())
}

/// For each step: where the first of this rank's rows of that step is in the order.
fn first_places(world: World, rows: &[Row]) -> Vec<u64> {
    let ranks = world.size() as usize;
    let steps = 1 + world.reduce(rows.iter().map(|row| row.step).max().unwrap_or(0), u32::max) as usize;
    let mut mine = vec![0; steps];
    rows.iter().for_each(|row| mine[row.step as usize] += 1);
    let mut counts = world.array::<u64>(steps * ranks, Layout::Block);
    let me = world.rank() as usize;
    counts.exchange(|counts| {
        mine.iter().enumerate().for_each(|(step, &rows)| counts.put(step * ranks + me, rows));
    });
    counts.read(|counts| {
        let before = counts.iter().scan(0, |sum, rows| Some(core::mem::replace(sum, *sum + rows)));
        before.skip(me).step_by(ranks).collect()
    })
}

/// Goes on from rows that have one column left, and columns that are taken in a step, as far as this rank
/// can; what concerns others is sent to them together.
fn advance(part: Shared<Part>, mut ready: Vec<u32>, mut taken: Vec<[u32; 2]>) {
    let world = part.world();
    let (ranks, me) = (world.size(), world.rank());
    let mut far = vec![Vec::new(); ranks as usize];
    let mut found = Vec::new();
    while !(ready.is_empty() && taken.is_empty()) {
        let mut rows = part.rows.lock().unwrap();
        for at in ready.drain(..) {
            let row = &mut rows[at as usize];
            row.left = 0;
            match (row.sum / ranks, row.sum % ranks) {
                (at, rank) if rank == me => taken.push([at, row.step]),
                (at, rank) => far[rank as usize].extend([at, row.step, 0]),
            }
        }
        // Some at a time: looked up together, so that waits for memory overlap, and in short messages.
        let some = taken.drain(taken.len().saturating_sub(TOGETHER)..);
        found.extend(some.map(|[at, step]| (at * ranks + me, step, part.column(at))));
        for (column, step, mut words) in found.drain(..) {
            while let &[rank, many, ref rest @ ..] = words {
                let (losing, rest) = rest.split_at(many as usize);
                if rank == me {
                    ready.extend(losing.iter().filter(|&&at| rows[at as usize].lose(column, step)));
                } else {
                    far[rank as usize].extend_from_slice(&[column, step, many]);
                    far[rank as usize].extend_from_slice(losing);
                }
                words = rest;
            }
        }
        // Whoever sends may have to serve others meanwhile.
        drop(rows);
        let done = ready.is_empty() && taken.is_empty();
        for (rank, words) in (0..).zip(&mut far) {
            if size_of_val(&words[..]) >= BATCH_BYTES || done && !words.is_empty() {
                part.send_lent(rank, columns_are_taken, &words[..]);
                words.clear();
            }
        }
    }
}

/// Columns, the step in which each is taken, and how many of this rank's rows lose it, and which. None means
/// that the column is one of this rank's.
fn columns_are_taken(part: &'static Part, mut words: &[u32]) {
    let (mut ready, mut taken) = (Vec::new(), Vec::new());
    let mut rows = part.rows.lock().unwrap();
    while let &[column, step, many, ref rest @ ..] = words {
        let (losing, rest) = rest.split_at(many as usize);
        if many == 0 {
            taken.push([column, step]);
        }
        ready.extend(losing.iter().filter(|&&at| rows[at as usize].lose(column, step)));
        words = rest;
    }
    drop(rows);
    if !(ready.is_empty() && taken.is_empty()) {
        advance(part.name.get().copied().expect("it is named before anything is sent"), ready, taken);
    }
}

fn toposort_alone(world: World, count: usize) -> (f64, usize) {
    let n = (count as u64).next_power_of_two();
    let mut columns = vec![Vec::new(); n as usize];
    let (mut left, mut sum) = (vec![0u32; n as usize], vec![0u64; n as usize]);
    let mut nonzeros = 0;
    for (r, taken) in (0..n).map(|i| permuted(i, n)) {
        left[r as usize] = taken.len() as u32;
        sum[r as usize] = taken.iter().sum();
        nonzeros += taken.len();
        taken.into_iter().for_each(|c| columns[c as usize].push(r));
    }
    let (ns, order) = timed(world, || {
        let mut order = Vec::with_capacity(n as usize);
        let mut ready: VecDeque<u64> = (0..n).filter(|&r| left[r as usize] == 1).collect();
        while let Some(r) = ready.pop_front() {
            let c = sum[r as usize];
            order.push((r, c));
            for &other in &columns[c as usize] {
                left[other as usize] -= 1;
                sum[other as usize] -= c;
                if left[other as usize] == 1 {
                    ready.push_back(other);
                }
            }
        }
        order
    });
    assert_eq!(order.len() as u64, n);
    (ns, nonzeros)
}
