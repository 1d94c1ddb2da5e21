//! Shared and counted objects, teams, and replies that are handed on.

use crate::calls::{checksum, double};
use pgas::{CallError, Data, Pending, Remote, Reply, Shared, World};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Objects that live as long as anybody has a reference.
pub fn references(world: World, random: &mut fastrand::Rng) {
    static DROPPED: AtomicU64 = AtomicU64::new(0);
    struct Thing {
        maker: u32,
        calls: AtomicU64,
    }
    impl Drop for Thing {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Relaxed);
        }
    }
    let call = |thing: &Thing, x: u64| (thing.maker, thing.calls.fetch_add(x, Relaxed) + x);
    let kept = world.share(Mutex::new(Vec::<Remote<Thing>>::new()));
    let thing = world.remote(Thing { maker: world.rank(), calls: AtomicU64::new(0) });
    assert_eq!(thing.local().map(|thing| thing.maker), Some(world.rank()));
    // More copies than there is weight for without new counters; from hand to hand, and called at each.
    fn wander(world: World, (left, seed, thing): (u32, u64, Remote<Thing>)) {
        let mut random = fastrand::Rng::with_seed(seed);
        thing.send(|thing, ()| _ = thing.calls.fetch_add(1, Relaxed), ());
        if left > 0 {
            let copy = if random.bool() { thing.clone() } else { thing };
            world.send(random.u32(..world.size()), wander, (left - 1, random.u64(..), copy));
        }
    }
    for _ in 0..150 {
        world.send(random.u32(..world.size()), wander, (random.u32(..80), random.u64(..), thing.clone()));
    }
    let keeper = random.u32(..world.size());
    kept.send(keeper, |kept, thing: Remote<Thing>| kept.lock().unwrap().push(thing), thing.clone());
    world.settle();
    assert_eq!(DROPPED.load(Relaxed), 0);
    let (maker, before) = thing.call(call, 0).wait();
    assert!(maker == world.rank() && before >= 150, "{before}");
    drop(thing);
    world.settle();
    assert_eq!(DROPPED.load(Relaxed), 0, "a reference is kept elsewhere");
    // Ranks that go on from here make others drop things, also ranks that have not looked yet.
    world.barrier();
    // Who keeps them calls them: also those whose maker has none any more. Then each gives its references to
    // the next rank, which drops them.
    let mine = core::mem::take(&mut *kept.lock().unwrap());
    for thing in mine {
        assert_eq!(thing.call(call, 1).wait().0, thing.rank());
        assert_eq!(thing.local().is_some(), thing.rank() == world.rank());
        world.send((world.rank() + 1) % world.size(), |_, thing: Remote<Thing>| drop(thing), thing);
    }
    world.settle();
    assert_eq!(DROPPED.swap(0, Relaxed), 1);
    world.barrier();
    // A call whose caller lets go of the object at once.
    let things: Vec<_> = world
        .all()
        .call(|world, ()| world.remote(Thing { maker: world.rank(), calls: AtomicU64::new(0) }), ())
        .wait();
    let last: Vec<_> = things.into_iter().map(|thing| thing.call(call, 3)).collect();
    assert!(last.into_iter().map(Pending::wait).eq(world.ranks().map(|rank| (rank, 3))));
    world.settle();
    assert_eq!(DROPPED.swap(0, Relaxed), u64::from(world.size()));
    world.barrier();
}

pub fn teams(world: World, _: &mut fastrand::Rng) {
    assert!(
        world
            .all()
            .call(|world, x: u32| world.rank() + x, 10)
            .wait()
            .into_iter()
            .eq(world.ranks().map(|r| r + 10))
    );
    assert_eq!(world.block_on(world.all().call(|world, ()| world.rank(), ())).len(), world.size() as usize);
    // The ranks of the other kind are busy calling while these make their team.
    let odd = world.rank() % 2;
    let team = world.all().split(Some(odd), world.size() - world.rank()).unwrap();
    assert!(team.ranks().eq(world.ranks().rev().filter(|r| r % 2 == odd)));
    assert_eq!((team.rank(team.member()), team.member_of(world.rank())), (world.rank(), Some(team.member())));
    for round in 0..20u32 {
        let sum = team.reduce(world.rank(), |a, b| a + b);
        assert_eq!(sum, team.ranks().sum());
        assert!(team.gather_all(world.rank()).into_iter().eq(team.ranks()));
        assert_eq!(team.broadcast(round % team.size(), world.rank()), team.rank(round % team.size()));
        let names = team.gather_all("r".repeat(world.rank() as usize * 30));
        assert!(names.iter().map(|name| name.len() as u32 / 30).eq(team.ranks()));
        assert_eq!(team.reduce(vec![world.rank()], |a, b| [a, b].concat()), team.ranks().collect::<Vec<_>>());
        assert_eq!(world.call((world.rank() + 1) % world.size(), double, 4).wait(), 8);
        team.barrier();
    }
    let heard = world.share(AtomicU64::new(0));
    team.send(
        |_, (heard, from): (Shared<AtomicU64>, u32)| _ = heard.fetch_add(u64::from(from), Relaxed),
        (heard, 1),
    );
    world.settle();
    assert_eq!(heard.load(Relaxed), u64::from(team.size()));
    let first = world.team(if world.rank() == 0 { &[0] } else { &[] });
    assert_eq!(first.is_some(), world.rank() == 0);
    if let Some(alone) = first {
        assert_eq!(alone.call(|world, ()| world.rank(), ()).wait(), [0]);
    }
}

pub fn collectives(world: World, random: &mut fastrand::Rng) {
    values(world, random);
    let all = world.gather_all(u64::from(world.rank()));
    assert!(all.iter().copied().eq(world.ranks().map(u64::from)));
    let pairs = world.gather_all_slice(vec![world.rank(), world.rank() + 1]);
    assert!(pairs.into_iter().eq(world.ranks().flat_map(|rank| [rank, rank + 1])));
    assert_eq!(world.broadcast(world.size() - 1, world.rank()), world.size() - 1);
    assert_eq!(world.reduce(world.rank(), u32::max), world.size() - 1);
}

/// The value that a rank contributes in [`values`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Given {
    Nothing,
    Point { x: f64, y: f64 },
    Named(String, Option<Box<Given>>),
}

/// A value of any type from each rank; `of` tells what a rank gives, on all ranks the same.
fn value<T: Data + PartialEq + core::fmt::Debug>(world: World, of: impl Fn(u32) -> T) {
    let expected: Vec<T> = world.ranks().map(&of).collect();
    assert_eq!(world.gather_all(of(world.rank())), expected);
    for root in world.ranks() {
        assert_eq!(world.broadcast(root, of(world.rank())), expected[root as usize]);
    }
    assert_eq!(&world.reduce(of(world.rank()), |_, last| last), expected.last().unwrap());
    assert_eq!(world.reduce(of(world.rank()), |first, _| first), expected[0]);
}

/// Collective calls over all that `serde` writes, of other sizes on each rank.
fn values(world: World, random: &mut fastrand::Rng) {
    let seed = world.broadcast(0, random.u64(..));
    let size = world.size();
    value(world, |rank| rank % 2 == 1);
    value(world, |rank| char::from_u32(0x1f600 + rank).unwrap());
    value(world, |_| ());
    value(world, |rank| i128::MIN + i128::from(rank));
    value(world, |rank| (rank as u8, f64::from(rank), rank % 3 == 0));
    value(world, |rank| (rank > 0).then_some([rank; 30]));
    value(world, |rank| ["", "grüße", &"lang ".repeat(rank as usize * 17)].map(str::to_string));
    value(world, |rank| (0..rank).map(|i| (i, i.to_string())).collect::<HashMap<_, _>>());
    value(world, |rank| match rank % 3 {
        0 => Given::Nothing,
        1 => Given::Point { x: -0.5, y: f64::from(rank) },
        _ => Given::Named("n".repeat(rank as usize), Some(Box::new(Given::Nothing))),
    });
    for round in 0..20 {
        let length = |rank: u32| {
            let mut random = fastrand::Rng::with_seed(seed ^ round << 32 ^ u64::from(rank));
            // Around what a block holds, and far from it.
            if random.bool() { random.usize(40..56) } else { random.usize(..200_000) >> random.u32(..18) }
        };
        value(world, |rank| (0..length(rank)).map(|i| (i as u32 ^ rank) as u8).collect::<Vec<u8>>());
    }
    // In the order of ranks: short; some that grow beyond a block; all long.
    for len in [1usize, 20, 100] {
        let of = |rank: u32| char::from(b'a' + (rank % 26) as u8).to_string().repeat(len);
        let all = world.reduce(of(world.rank()), |a, b| a + &b);
        assert_eq!(all, world.ranks().map(of).collect::<String>());
    }
    let farthest =
        world.reduce((f64::from(world.rank()), world.rank()), |a, b| if b.0 > a.0 { b } else { a });
    assert_eq!(farthest, (f64::from(size - 1), size - 1));
    assert!(world.reduce(world.rank() < size, |a, b| a && b));
    // A name of an object means the object there.
    let counts = world.share(AtomicU64::new(0));
    for count in world.gather_all(counts) {
        count.fetch_add(1, Relaxed);
    }
    assert_eq!(counts.swap(0, Relaxed), u64::from(size));
    assert_eq!(world.broadcast_slice(size - 1, vec![[world.rank(); 2]]), [[size - 1; 2]]);
    assert_eq!(world.reduce_slice(vec![1u8, 2], |a, b| a + b), [size as u8, 2 * size as u8]);
    // Others serve meanwhile.
    let next = (world.rank() + 1) % size;
    assert_eq!(world.call(next, double, 4).wait(), 8);
}

fn owner(world: World, word: &str) -> u32 {
    word.bytes().fold(7u32, |hash, b| hash.wrapping_mul(31).wrapping_add(u32::from(b))) % world.size()
}

pub fn table(world: World, random: &mut fastrand::Rng) {
    let table = world.share(Mutex::new(HashMap::<String, u32>::new()));
    let words: Vec<String> = (0..3000).map(|_| format!("word-{}", random.u32(..100))).collect();
    for word in &words {
        let add = |t: &'static Mutex<HashMap<String, u32>>, w: &str| {
            *t.lock().unwrap().entry(w.to_string()).or_default() += 1;
        };
        table.send_lent(owner(world, word), add, &word[..]);
    }
    world.settle();
    let here: u32 = table.lock().unwrap().values().sum();
    assert_eq!(world.reduce(here, |a, b| a + b), 3000 * world.size());
    let mine = words.iter().filter(|w| **w == words[0]).count() as u32;
    let all =
        table.call_lent(owner(world, &words[0]), |t, w: &str| t.lock().unwrap()[w], &words[0][..]).wait();
    assert!(all >= mine);
    assert!(table.lock().unwrap().keys().all(|w| owner(world, w) == world.rank()));
}

/// Through all ranks and back: the last one answers.
pub fn delegation(world: World, _: &mut fastrand::Rng) {
    fn pass_on(world: World, (left, path, reply): (u32, Vec<u32>, Reply<Vec<u32>>)) {
        let mut path = path;
        path.push(world.rank());
        if left == 0 {
            return reply.answer(&path);
        }
        world.send((world.rank() + 1) % world.size(), pass_on, (left - 1, path, reply));
    }
    for hops in (0..9).chain([40]) {
        let first = (world.rank() + 1) % world.size();
        let path = world
            .ask(first, |world, reply, hops: u32| pass_on(world, (hops, Vec::new(), reply)), hops)
            .wait();
        let expected: Vec<u32> = (0..=hops).map(|i| (first + i) % world.size()).collect();
        assert_eq!(path, expected);
    }
    // Kept, and answered later.
    let kept = world.share(Mutex::new(Vec::<Reply<u32>>::new()));
    let pending: Vec<_> = world
        .ranks()
        .map(|to| kept.ask(to, |kept, reply: Reply<u32>, ()| kept.lock().unwrap().push(reply), ()))
        .collect();
    world.settle();
    let replies = core::mem::take(&mut *kept.lock().unwrap());
    assert_eq!(replies.len(), world.size() as usize);
    for reply in replies {
        reply.answer(&world.rank());
    }
    for (to, pending) in world.ranks().zip(pending) {
        assert_eq!(pending.wait(), to);
    }
}

/// Every rank floods every other with questions that go round the ring before they are answered, with more
/// bytes than there are windows: who sends one on never waits, so it ends.
pub fn ring(world: World, random: &mut fastrand::Rng) {
    fn pass_on(world: World, (left, sum, data, reply): (u32, u64, Vec<u64>, Reply<u64>)) {
        let sum = sum.wrapping_add(checksum(&data));
        if left == 0 {
            return reply.answer(&sum);
        }
        world.send((world.rank() + 1) % world.size(), pass_on, (left - 1, sum, data, reply));
    }
    let ask =
        |world: World, reply: Reply<u64>, data: Vec<u64>| pass_on(world, (world.size() - 1, 0, data, reply));
    for _ in 0..4 {
        let mut pending = Vec::new();
        for to in world.ranks().flat_map(|to| [to; 30]) {
            let data: Vec<u64> = (0..random.usize(..1200)).map(|_| random.u64(..)).collect();
            let sum = checksum(&data).wrapping_mul(u64::from(world.size()));
            pending.push((sum, world.ask(to, ask, data)));
        }
        for (sum, pending) in pending {
            assert_eq!(pending.wait(), sum);
        }
    }
}

/// A result that nobody waits for is dropped where it arrives: references in it are returned, and dropped
/// replies tell their callers.
pub fn abandoned(world: World, _: &mut fastrand::Rng) {
    struct Noted(Arc<AtomicBool>);
    impl Drop for Noted {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }
    let to = (world.rank() + 1) % world.size();
    // Dropped before the answer is there, and after.
    for comes_first in [false, true] {
        let gone = Arc::new(AtomicBool::new(false));
        let object = world.remote(Noted(gone.clone()));
        let pending = world.call(to, |_, object: Remote<Noted>| object, object.clone());
        while comes_first && !pending.is_ready() {}
        drop(pending);
        drop(object);
        world.settle();
        world.settle();
        assert!(gone.load(Relaxed), "a reference in a result was never returned");
    }
    let ask = |world: World, reply: Reply<u32>, ()| {
        drop(world.call(world.rank(), |_, reply: Reply<u32>| reply, reply));
    };
    assert!(matches!(world.ask(to, ask, ()).result().wait(), Err(CallError::Abandoned { .. })));
    world.settle();
}
