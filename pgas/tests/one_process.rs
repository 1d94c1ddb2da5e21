//! Whole jobs in one process, a thread per rank, over shared memory and over a toy network: calls and arrays
//! where Miri sees every access.

#[path = "../../gasnet-rs/core/tests/toy/mod.rs"]
mod toy;

use gasnet::Rank;
use pgas::{Array, Bulk, Layout, Reply, World};
use std::sync::Mutex;
use toy::job;

const MANY: usize = if cfg!(miri) { 2 } else { 200 };
/// For Miri, where a rank that waits takes the time of those that work, two neighbours.
const HOSTS: &[&[u32]] = if cfg!(miri) { &[&[0, 1]] } else { &[&[0, 2], &[1]] };
const ELEMENTS: usize = if cfg!(miri) { 9 } else { 300 };

fn start(rank: &'static Rank, program: fn(World)) {
    rank.segments().attach_and_keep(if cfg!(miri) { 1 << 16 } else { 1 << 20 }, None).unwrap();
    pgas::run_on(rank, program);
}

/// Each rank and the one to its right call each other in every way.
fn calls(world: World) {
    let right = (world.rank() + 1) % world.size();
    let add = |world: World, (a, b): (u64, u32)| a + u64::from(b) + u64::from(world.rank());
    assert_eq!(world.call(right, add, (5, 7)).wait(), 12 + u64::from(right));
    let mut text = "gr\u{fc}n ".repeat(MANY);
    let double = |_: World, text: &str| text.repeat(2);
    assert_eq!(world.call_lent(right, double, &*text).wait(), {
        text = text.repeat(2);
        text
    });
    // Whose answer comes from a third rank, and one that nobody gives.
    let ask = |world: World, reply: Reply<Vec<u32>>, last: u32| {
        world.send(last, |world: World, reply: Reply<Vec<u32>>| reply.answer(&vec![world.rank(); 3]), reply);
    };
    let last = (right + 1) % world.size();
    assert_eq!(world.ask(right, ask, last).wait(), [last; 3]);
    assert!(world.ask(right, |_, reply: Reply<u8>, ()| drop(reply), ()).result().wait().is_err());
    let task = |world: World, to: u32| async move { world.call(to, |world, ()| world.rank(), ()).await };
    assert_eq!(world.call_async(right, task, last).wait(), last);
    // A body of its own, and a payload that is put in place both ways.
    assert_eq!(world.call(right, |_, words: Vec<u16>| words.len(), vec![1; 2000]).wait(), 2000);
    let long = Bulk::from((0..600u64).collect::<Vec<_>>());
    let more = |_: World, long: Bulk<u64>| Bulk::from(long.iter().map(|x| x + 1).collect::<Vec<_>>());
    assert_eq!(world.call(right, more, long).wait().into_vec(), (1..601).collect::<Vec<u64>>());
    let seen = world.share(Mutex::new(Vec::new()));
    for round in 0..MANY {
        for to in world.ranks() {
            seen.send(to, |seen, from: (u32, usize)| seen.lock().unwrap().push(from), (world.rank(), round));
        }
    }
    world.settle();
    let mut all = std::mem::take(&mut *seen.local().lock().unwrap());
    all.sort_unstable();
    let expected: Vec<_> = world.ranks().flat_map(|from| (0..MANY).map(move |round| (from, round))).collect();
    assert_eq!(all, expected);
    // An object that lives as long as somebody has it.
    let own = world.remote(Mutex::new(1u32));
    let given = world.gather_all(world.call(world.rank(), |world, ()| world.rank(), ()).wait());
    assert_eq!(given, world.ranks().collect::<Vec<_>>());
    own.send(|own, ()| *own.lock().unwrap() += 1, ());
    world.settle();
    assert_eq!(own.call(|own, ()| *own.lock().unwrap(), ()).wait(), 2);
}

/// All phases of arrays of every layout.
fn arrays(world: World) {
    let sizes: Vec<usize> = {
        let (n, first) = (world.size() as usize, ELEMENTS / 2);
        (0..n)
            .map(|r| {
                if r == 0 {
                    first
                } else if r == 1 {
                    ELEMENTS - first
                } else {
                    0
                }
            })
            .collect()
    };
    let layouts = [Layout::Cyclic, Layout::Block, Layout::Custom(&sizes)];
    for layout in &layouts[..if cfg!(miri) { 1 } else { layouts.len() }] {
        let mut array: Array<u64> = world.array(ELEMENTS, *layout);
        let owned: Vec<u64> = (0..array.local_len()).map(|at| array.global_index(at) as u64).collect();
        array.local(|mine| mine.copy_from_slice(&owned));
        array.read(|array| {
            assert_eq!(array.local(), owned);
            assert!((0..ELEMENTS).all(|i| array.get(i) == i as u64));
            let backwards: Vec<usize> = (0..ELEMENTS).rev().collect();
            assert!(array.gather(&backwards).into_iter().eq((0..ELEMENTS as u64).rev()));
        });
        array.update(|array| (0..ELEMENTS).for_each(|i| array.add(i, 10)));
        array.update(|array| (0..ELEMENTS).for_each(|i| array.xor(i, 1 << (world.rank() + 20))));
        let (n, all) = (u64::from(world.size()), ((1 << world.size()) - 1) << 20);
        array.read(|array| assert!((0..ELEMENTS).all(|i| array.get(i) == (i as u64 + 10 * n) ^ all)));
        let size = world.size() as usize;
        array.exchange(|array| {
            let own = (0..ELEMENTS).filter(|i| i % size == world.rank() as usize);
            own.for_each(|i| array.put(ELEMENTS - 1 - i, i as u64));
        });
        array.read(|array| assert!((0..ELEMENTS).all(|i| array.get(ELEMENTS - 1 - i) == i as u64)));
    }
    // Elements that have the value of others beside them in a word.
    let mut floats: Array<f32> = world.array(9, Layout::Block);
    floats.update(|floats| (0..9).for_each(|i| floats.add(i, 0.5)));
    floats.read(|floats| assert_eq!(floats.get(8), 0.5 * world.size() as f32));
}

#[test]
fn calls_between_neighbours_and_hosts() {
    job(HOSTS, false, u32::MAX, |rank, _| start(rank, calls));
}

#[test]
fn arrays_of_neighbours_and_hosts() {
    job(HOSTS, true, u32::MAX, |rank, _| start(rank, arrays));
}
