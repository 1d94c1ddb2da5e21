//! The collections of the crate `pgas` over real ranks. [`gasnet_tests::sections`] runs the sections; those
//! in [`FAILURES`] end the job, and run only if they are named. The integration test `tests/pgas.rs` runs
//! this program over several networks.

use gasnet_tests::sections::Section;
use pgas::{DistMap, DistVec, WorkPool, World};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

const SECTIONS: &[Section] = &[
    ("map", map),
    ("map-of-maps", map_of_maps),
    ("entries", entries),
    ("vector", vector),
    ("sorts", sorts),
    ("stable", stable),
    ("pool", pool),
    ("pools", pools),
    ("streams", streams),
];

const FAILURES: &[Section] = &[("wait-in-for-each", wait_in_for_each), ("panic-in-pool", panic_in_pool)];

fn main() {
    gasnet_tests::sections::run("collections", SECTIONS, FAILURES);
}

/// The words and numbers that a rank adds to a table. They depend on the rank only, so that others can
/// compute them.
fn words(rank: u32) -> impl Iterator<Item = (String, u64)> {
    let mut random = fastrand::Rng::with_seed(u64::from(rank));
    (0..2000).map(move |_| (format!("word-{}", random.u32(..500)), random.u64(..10)))
}

fn map(world: World, _: &mut fastrand::Rng) {
    let counts = DistMap::<String, u64>::new(world);
    assert!(counts.is_empty());
    for (word, n) in words(world.rank()) {
        counts.update(word, |sum, n: u64| *sum += n, n);
    }
    world.settle();
    let mut expected = HashMap::<String, u64>::new();
    world.ranks().flat_map(words).for_each(|(word, n)| *expected.entry(word).or_default() += n);
    assert_eq!(counts.len(), expected.len());
    let keys: Vec<String> = (0..600).map(|n| format!("word-{n}")).collect();
    let values = counts.get_many(keys.iter().cloned());
    assert!(keys.iter().zip(&values).all(|(key, value)| expected.get(key) == value.as_ref()));
    assert_eq!(counts.get_many([]), []);
    let mut here = 0;
    counts.for_each(|word, n| {
        assert_eq!(counts.owner(word), world.rank());
        assert_eq!(expected[word], *n);
        here += 1;
    });
    assert_eq!(here, counts.local_len());
    world.barrier();
    // Each rank removes its share of them.
    for key in keys.iter().skip(world.rank() as usize).step_by(world.size() as usize) {
        assert_eq!(counts.remove(key.clone()).wait(), expected.get(key).copied());
    }
    world.barrier();
    assert!(counts.is_empty());
    for i in 0..100 {
        counts.insert(format!("{i} of {}", world.rank()), i);
    }
    world.settle();
    let right = (world.rank() + 1) % world.size();
    assert_eq!(counts.get(format!("99 of {right}")).wait(), Some(99));
    assert_eq!(counts.get("no such".into()).wait(), None);
    world.barrier();
    let all = counts.take_local().len() as u64;
    assert_eq!(world.reduce(all, |a, b| a + b), 100 * u64::from(world.size()));
}

/// Names of collections travel, and remote functions use them.
fn map_of_maps(world: World, _: &mut fastrand::Rng) {
    let first = DistMap::<u64, u64>::new(world);
    let second = DistMap::<u64, Vec<u64>>::new(world);
    // On the rank that has the entry of `first`, an update of `second` is sent on.
    for i in 0..500u64 {
        let chain = |entry: Entry<'_, u64, u64>, (second, by): (DistMap<u64, Vec<u64>>, u64)| {
            let (key, n) = (*entry.key(), entry.or_insert(0));
            *n += 1;
            second.update(key % 10, |list, by: u64| list.push(by), by);
        };
        drop(first.call(i, chain, (second, u64::from(world.rank()))));
    }
    world.settle();
    let ranks = u64::from(world.size());
    assert!((0..500).all(|i| first.get(i).wait() == Some(ranks)));
    for list in second.get_many(0..10) {
        let mut counts = BTreeMap::<u64, u64>::new();
        list.expect("it is there").into_iter().for_each(|by| *counts.entry(by).or_default() += 1);
        assert!(counts.into_iter().eq((0..ranks).map(|by| (by, 50))));
    }
}

/// One of all ranks wins each entry.
fn entries(world: World, _: &mut fastrand::Rng) {
    let winners = DistMap::<u32, u32>::new(world);
    let mut won = 0;
    for place in 0..200 {
        let claim = |entry: Entry<'_, u32, u32>, by| match entry {
            Entry::Vacant(entry) => {
                entry.insert(by);
                true
            }
            Entry::Occupied(_) => false,
        };
        won += u32::from(winners.call(place, claim, world.rank()).wait());
    }
    assert_eq!(world.reduce(won, |a, b| a + b), 200);
    let mine = winners.get_many(0..200).into_iter().filter(|by| *by == Some(world.rank())).count();
    assert_eq!(mine, won as usize);
}

/// All elements in order, on all ranks.
fn all_of<T: pgas::Data + Clone + Send + Sync>(world: World, vector: DistVec<T>) -> Vec<T> {
    let parts = world.share(vector.with_local(|part| part.clone()));
    let parts: Vec<Vec<T>> =
        world.ranks().map(|rank| parts.call(rank, |part, ()| part.clone(), ()).wait()).collect();
    world.barrier();
    parts.concat()
}

fn vector(world: World, random: &mut fastrand::Rng) {
    let vector = DistVec::<String>::new(world);
    assert!(vector.is_empty());
    vector.extend((0..random.usize(..50)).map(|i| format!("{} {i}", world.rank())));
    vector.push("last".into());
    world.barrier();
    let before = all_of(world, vector);
    assert_eq!(before.len(), vector.len());
    vector.balance();
    assert_eq!(all_of(world, vector), before);
    let each = before.len().div_ceil(world.size() as usize);
    let expected = before.chunks(each).nth(world.rank() as usize).unwrap_or(&[]);
    vector.with_local(|part| assert_eq!(part, expected));
    world.barrier();
    for to in world.ranks() {
        vector.push_to(to, format!("from {}", world.rank()));
    }
    world.settle();
    let from = vector.take_local().iter().filter(|s| s.starts_with("from")).count();
    assert_eq!(from, world.size() as usize);
}

/// Against a sort of everything in one place.
fn sorts(world: World, random: &mut fastrand::Rng) {
    let many = 20_000 / world.size() as usize;
    type Make = fn(&mut fastrand::Rng, usize) -> u64;
    let kinds: [(usize, Make); 6] = [
        (many, |random, _| random.u64(..)),
        (many, |random, _| random.u64(..3)),
        (many, |_, _| 5),
        (many, |_, i| 1_000_000 - i as u64),
        (3, |random, _| random.u64(..10)),
        (0, |_, _| 0),
    ];
    for (kind, (most, make)) in kinds.into_iter().enumerate() {
        for lopsided in [false, true] {
            let vector = DistVec::<u64>::new(world);
            let len = if lopsided && world.rank() != world.size() / 2 { 0 } else { random.usize(..=most) };
            vector.extend((0..len).map(|i| make(random, i)));
            world.barrier();
            let mut expected = all_of(world, vector);
            expected.sort();
            vector.sort();
            let each = expected.len().div_ceil(world.size() as usize).max(1);
            let mine = expected.chunks(each).nth(world.rank() as usize).unwrap_or(&[]);
            vector.with_local(|part| assert!(part == mine, "kind {kind}, lopsided {lopsided}"));
            world.barrier();
        }
    }
}

/// Equal elements stay in order, and an order may be a closure.
fn stable(world: World, random: &mut fastrand::Rng) {
    let vector = DistVec::<(f32, u32, u32)>::new(world);
    vector.extend((0..3000).map(|i| ((random.u32(..20) as f32) / 4.0, world.rank(), i)));
    world.barrier();
    let mut expected = all_of(world, vector);
    expected.sort_by(|a, b| b.0.total_cmp(&a.0));
    vector.sort_by(|a, b| b.0.total_cmp(&a.0));
    assert!(all_of(world, vector) == expected);
}

/// Nodes of a random tree below one that is this deep, one by one.
fn children(seed: u64, depth: u32) -> impl Iterator<Item = (u64, u32)> {
    let mut random = fastrand::Rng::with_seed(seed);
    let most = if depth == 0 { 0 } else { 5 };
    (0..random.u32(..=most)).map(move |_| (random.u64(..), depth - 1))
}

fn pool(world: World, random: &mut fastrand::Rng) {
    let seed = world.broadcast(0, random.u64(..));
    let mut stack = vec![(seed, 13)];
    // Not of the trees that end at once.
    stack.extend((0..40).map(|i| (seed ^ i, 8)));
    let roots = stack.clone();
    let mut expected = 0u64;
    while let Some((seed, depth)) = stack.pop() {
        expected += 1;
        stack.extend(children(seed, depth));
    }
    let pool = WorkPool::<(u64, u32)>::new(world);
    for round in 0..world.size().min(3) {
        // All of it on one rank; then dealt out.
        let mine: Vec<_> = match round {
            0 => roots.iter().copied().filter(|_| world.rank() == world.size() - 1).collect(),
            _ => roots.iter().copied().skip(world.rank() as usize).step_by(world.size() as usize).collect(),
        };
        let (count, deepest) = pool.run(mine, (0u64, 13), |(count, deepest), (seed, depth), todo| {
            *count += 1;
            *deepest = depth.min(*deepest);
            todo.extend(children(seed, depth));
        });
        assert_eq!(world.reduce(count, |a, b| a + b), expected, "round {round}");
        assert!(deepest <= 13);
    }
    // No work at all.
    assert_eq!(pool.run([], 7, |_, _, _| panic!("there is nothing to do")), 7);
}

/// Few items, slow ones: others get some. Items that call others while they are worked on.
fn pools(world: World, _: &mut fastrand::Rng) {
    let pool = WorkPool::<String>::new(world);
    let done = DistMap::<String, u32>::new(world);
    let items = (world.rank() == 0).then(|| (0..8 * world.size()).map(|i| format!("item {i}")));
    let mine = pool.run(items.into_iter().flatten(), 0u32, move |count, item, todo| {
        std::thread::sleep(std::time::Duration::from_millis(2));
        if !item.ends_with('+') {
            todo.push(format!("{item}+"));
        }
        done.update(item, |times, by: u32| *times += by, 1);
        *count += 1;
    });
    assert_eq!(world.reduce(mine, |a, b| a + b), 16 * world.size());
    assert_eq!(done.len(), 16 * world.size() as usize);
    done.for_each(|_, times| assert_eq!(*times, 1));
    let workers = world.reduce(u32::from(mine > 0), |a, b| a + b);
    assert!(workers >= world.size().min(2), "rank 0 has done everything itself");
}

fn streams(world: World, _: &mut fastrand::Rng) {
    use rand_core::Rng;
    let mut random = world.random(5);
    let first: Vec<u64> = world.gather_all(random.next_u64());
    let mut sorted = first.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), world.size() as usize, "{first:?}");
    assert_eq!(first[world.rank() as usize], world.random(5).next_u64());
}

fn wait_in_for_each(world: World, _: &mut fastrand::Rng) {
    let map = DistMap::<u32, u32>::new(world);
    (0..100).for_each(|i| map.insert(i, i));
    world.settle();
    map.for_each(|key, _| assert!(map.get(*key).wait().is_some()));
}

fn panic_in_pool(world: World, _: &mut fastrand::Rng) {
    let pool = WorkPool::<u32>::new(world);
    pool.run([world.rank()], (), |(), item, _| assert!(item != 1, "as it is meant to"));
}
