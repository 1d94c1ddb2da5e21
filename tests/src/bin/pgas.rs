//! The crate `pgas` over real ranks. [`gasnet_tests::sections`] runs the sections; those in
//! [`FAILURES`] end the job, and run only if they are named. The integration test `tests/pgas.rs` runs this
//! program over several networks.

use gasnet::Rank;
use gasnet_tests::sections::Section;
use pgas::{Array, Bulk, CallError, Layout, Pending, Remote, Reply, Shared, Tiling, World, lend};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const SECTIONS: &[Section] = &[
    ("calls", calls),
    ("arguments", arguments),
    ("large", large),
    ("bulk", bulk),
    ("errors", errors),
    ("table", table),
    ("delegation", delegation),
    ("ring", ring),
    ("tokens", tokens),
    ("references", references),
    ("teams", teams),
    ("tasks", tasks),
    ("storm", storm),
    ("settle", settle),
    ("restless", restless),
    ("flood", flood),
    ("threads", threads),
    ("beside", beside),
    ("updates", updates),
    ("phases", phases),
    ("layouts", layouts),
    ("iterators", iterators),
    ("memory", memory),
    ("files", files),
    ("matrices", matrices),
    ("collectives", collectives),
];

/// What rank 0 does alone, the programs of the others being over. These run only if they are named.
const ALONE: &[Section] = &[
    ("alone-calls", alone_calls),
    ("alone-barrier", |world, _| world.barrier()),
    ("alone-settle", |world, _| world.settle()),
    ("alone-phase", |world, _| world.array::<u32>(10, Layout::Block).read(|array| _ = array.get(9))),
    ("alone-sum", |world, _| _ = world.reduce(world.rank(), |a, b| a + b)),
];

const FAILURES: &[Section] = &[
    ("panic-in-send", panic_in_send),
    ("wait-in-call", wait_in_call),
    ("two-phases", two_phases),
    ("double-put", double_put),
    ("element", element),
    ("other-arrays", other_arrays),
    ("float-and", float_and),
];

fn main() {
    if std::env::args().any(|arg| arg == "left") {
        gasnet_conduits::run(left);
    }
    // The programs of all ranks but 0 are over at once.
    let alone = ALONE.iter().find(|(name, _)| std::env::args().any(|arg| arg == *name));
    let Some((_, section)) = alone else { return gasnet_tests::sections::run("pgas", SECTIONS, FAILURES) };
    pgas::run(|world| {
        if world.rank() == 0 {
            section(world, &mut fastrand::Rng::with_seed(1));
            println!("pgas: passed");
        }
    })
}

/// Calls that nobody has answered when all ranks leave, and what is asked for later. Runs only if named.
fn left(rank: &'static Rank) {
    static KEPT: Mutex<Vec<Reply<u64>>> = Mutex::new(Vec::new());
    let keep = |_: World, reply: Reply<u64>, ()| KEPT.lock().unwrap().push(reply);
    let (world, object, mut pending) = pgas::run_on(rank, |world| {
        let pending: Vec<_> = world.ranks().map(|to| (to, world.ask(to, keep, ()))).collect();
        assert_eq!(world.call(0, double, 4).wait(), 8);
        (world, world.call(0, |world, ()| world.remote(7u64), ()).wait(), pending)
    });
    pending.extend(world.ranks().map(|to| (to, world.call(to, double, 1))));
    for (to, pending) in pending {
        assert_eq!(pending.result(), Err(CallError::Gone { rank: to.into() }));
    }
    rank.barrier();
    // These do nothing.
    world.send(0, |_, ()| panic!("all have left"), ());
    KEPT.lock().unwrap().clear();
    drop(object);
    world.progress();
    rank.barrier();
    if world.rank() == 0 {
        println!("pgas: passed");
    }
}

fn double(_: World, x: u64) -> u64 {
    2 * x
}

fn calls(world: World, random: &mut fastrand::Rng) {
    for to in world.ranks() {
        assert_eq!(world.call(to, |world, ()| world.rank(), ()).wait(), to);
        assert_eq!(world.call(to, double, 21).wait(), 42);
    }
    // Many under way, answered in any order, taken in any order.
    let mut pending: Vec<(u64, Pending<u64>)> =
        (0..500).map(|i| (i, world.call(random.u32(..world.size()), double, i))).collect();
    random.shuffle(&mut pending);
    for (i, pending) in pending {
        assert_eq!(pending.wait(), 2 * i);
    }
    let pending = world.call(world.size() - 1, double, 4);
    while !pending.is_ready() {}
    assert_eq!(pending.wait(), 8);
    // Nobody waits for these.
    for to in world.ranks() {
        drop(world.call(to, double, 1));
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Shape {
    name: String,
    sides: Vec<(f64, i32)>,
    inner: Option<Box<Shape>>,
}

fn arguments(world: World, random: &mut fastrand::Rng) {
    let right = (world.rank() + 1) % world.size();
    for _ in 0..100 {
        let sides = (0..random.usize(..9)).map(|_| (random.f64(), random.i32(..))).collect();
        let inner = Shape { name: "inner".into(), sides: Vec::new(), inner: None };
        let shape = Shape {
            name: "ä".repeat(random.usize(..40)),
            sides,
            inner: random.bool().then(|| Box::new(inner)),
        };
        let back = world
            .call(
                right,
                |_, mut s: Shape| {
                    (s.sides.len(), {
                        s.name.push('!');
                        s
                    })
                },
                shape.clone(),
            )
            .wait();
        assert_eq!(back.0, shape.sides.len());
        assert_eq!(back.1.name, shape.name.clone() + "!");
        let words: Vec<u64> = (0..random.usize(..300)).map(|_| random.u64(..)).collect();
        let sum =
            world.call(right, |_, words: &[u64]| words.iter().fold(0, |a, b| a ^ b), lend(&words[..])).wait();
        assert_eq!(sum, words.iter().fold(0, |a, b| a ^ b));
        let text = "x".repeat(random.usize(..100));
        assert_eq!(world.call(right, |_, text: &str| text.len(), lend(&text[..])).wait(), text.len());
    }
}

/// Arguments and results that no message holds.
fn large(world: World, random: &mut fastrand::Rng) {
    for bytes in [16_000, 16_384, 17_000, 65_536, 70_000, 1 << 20, 5_000_001] {
        let data: Vec<u8> = (0..bytes).map(|_| random.u8(..)).collect();
        let to = random.u32(..world.size());
        let back = world
            .call(to, |_, data: &[u8]| data.iter().rev().copied().collect::<Vec<u8>>(), lend(&data[..]))
            .wait();
        assert!(back.iter().rev().eq(data.iter()), "{bytes} bytes");
    }
}

fn checksum(values: &[u64]) -> u64 {
    values.iter().fold(7, |sum: u64, value| sum.wrapping_mul(31).wrapping_add(*value))
}

/// Data that is put in place: beside other arguments, to many, from one to the next, and as what a delegated
/// call answers.
fn bulk(world: World, random: &mut fastrand::Rng) {
    for len in [0, 1, 511, 512, 70_001, 300_000] {
        let data = Bulk::from((0..len).map(|_| random.u64(..)).collect::<Vec<_>>());
        let sum = checksum(&data);
        let flip = |_: World, (mask, data): (u64, Bulk<u64>)| {
            let flipped: Vec<u64> = data.iter().map(|x| x ^ mask).collect();
            (checksum(&data), Bulk::from(flipped))
        };
        // From the same memory to all, which answer with as much.
        for (there, flipped) in world.all().call(flip, (5u64, data.clone())).wait() {
            assert_eq!(there, sum, "{len} words");
            assert!(flipped.iter().zip(&data[..]).all(|(a, b)| a ^ b == 5) && flipped.len() == len);
        }
        assert_eq!(data.into_vec().len(), len);
    }
    // The rank that is asked has it done by another one, whose result lands here.
    fn pass_on(world: World, (left, data, reply): (u32, Bulk<u8>, Reply<Bulk<u8>>)) {
        if left == 0 {
            return reply.answer(&Bulk::from(data.iter().rev().copied().collect::<Vec<u8>>()));
        }
        world.send((world.rank() + 1) % world.size(), pass_on, (left - 1, data, reply));
    }
    let data: Vec<u8> = (0..100_003).map(|_| random.u8(..)).collect();
    let ask = |world, reply, data| pass_on(world, (3, data, reply));
    let back = world.ask((world.rank() + 1) % world.size(), ask, Bulk::from(data.clone())).wait();
    assert!(back.iter().rev().eq(&data));
    // Many in one record, and more of them than payloads.
    let many: Vec<Bulk<u32>> = (0..300u32).map(|i| Bulk::from(vec![i; 1500])).collect();
    let sums = world.call(
        random.u32(..world.size()),
        |_, many: Vec<Bulk<u32>>| {
            many.iter().map(|one| one.iter().map(|&x| u64::from(x)).sum()).collect::<Vec<u64>>()
        },
        many,
    );
    assert!(sums.wait().into_iter().eq((0..300).map(|i| i * 1500)));
    // Nobody waits for these, but for `settle`.
    let bytes = world.share(AtomicU64::new(0));
    for _ in 0..20 {
        let data = Bulk::from(vec![1u8; random.usize(..200_000)]);
        let expect = data.len() as u64;
        bytes.send(
            random.u32(..world.size()),
            |sum, data: Bulk<u8>| _ = sum.fetch_add(data.iter().map(|&b| u64::from(b)).sum(), Relaxed),
            data,
        );
        bytes.send(0, |sum, n: u64| _ = sum.fetch_sub(n, Relaxed), expect);
        drop(world.call(random.u32(..world.size()), |_, ()| Bulk::from(vec![1u8; 50_000]), ()));
    }
    world.settle();
    assert_eq!(world.reduce(bytes.load(Relaxed), u64::wrapping_add), 0);
}

/// Objects that live as long as anybody has a reference.
fn references(world: World, random: &mut fastrand::Rng) {
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

fn teams(world: World, _: &mut fastrand::Rng) {
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

fn errors(world: World, _: &mut fastrand::Rng) {
    let to = world.size() - 1;
    // The hook would print each of them.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    world.barrier();
    let error = world.call(to, |_, x: u32| assert_eq!(x, 1, "not one"), 2).result().unwrap_err();
    let dropped = world.ask(to, |_, reply: Reply<u32>, ()| drop(reply), ()).result().unwrap_err();
    let lost = world.call_async(to, |_, x: u32| async move { [1u32, 2][x as usize] }, 1).result();
    world.barrier();
    std::panic::set_hook(hook);
    let CallError::Panicked { rank, message } = &error else { panic!("{error:?}") };
    assert_eq!(rank.0, to);
    assert!(message.contains("not one"), "{message}");
    assert_eq!(dropped, CallError::Abandoned { rank: to.into() });
    assert_eq!(lost, Ok(2));
}

fn owner(world: World, word: &str) -> u32 {
    word.bytes().fold(7u32, |hash, b| hash.wrapping_mul(31).wrapping_add(u32::from(b))) % world.size()
}

fn table(world: World, random: &mut fastrand::Rng) {
    let table = world.share(Mutex::new(HashMap::<String, u32>::new()));
    let words: Vec<String> = (0..3000).map(|_| format!("word-{}", random.u32(..100))).collect();
    for word in &words {
        let add = |t: &'static Mutex<HashMap<String, u32>>, w: &str| {
            *t.lock().unwrap().entry(w.to_string()).or_default() += 1;
        };
        table.send(owner(world, word), add, lend(&word[..]));
    }
    world.settle();
    let here: u32 = table.lock().unwrap().values().sum();
    assert_eq!(world.reduce(here, |a, b| a + b), 3000 * world.size());
    let mine = words.iter().filter(|w| **w == words[0]).count() as u32;
    let all =
        table.call(owner(world, &words[0]), |t, w: &str| t.lock().unwrap()[w], lend(&words[0][..])).wait();
    assert!(all >= mine);
    assert!(table.lock().unwrap().keys().all(|w| owner(world, w) == world.rank()));
}

/// Through all ranks and back: the last one answers.
fn delegation(world: World, _: &mut fastrand::Rng) {
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
fn ring(world: World, random: &mut fastrand::Rng) {
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

/// What has no bytes may be captured: the called rank has one of its own, where such a value may lie.
fn tokens(world: World, _: &mut fastrand::Rng) {
    #[derive(Clone, Copy)]
    #[repr(align(64))]
    struct Token(());
    let token = Token(());
    for to in world.ranks() {
        let address = world.call(to, move |_, ()| core::ptr::from_ref(&token).addr(), ()).wait();
        assert!(address > 0 && address.is_multiple_of(align_of::<Token>()), "{address:#x}");
        let () = world.call(to, move |_, ()| token.0, ()).wait();
    }
}

/// Tasks call others, and await them.
fn tasks(world: World, _: &mut fastrand::Rng) {
    /// Recursive, so boxed.
    type Number = core::pin::Pin<Box<dyn Future<Output = u64> + Send>>;
    fn fibonacci(world: World, n: u32) -> Number {
        Box::pin(async move {
            if n < 2 {
                return u64::from(n);
            }
            let there = (world.rank() + n) % world.size();
            let first = world.call_async(there, fibonacci, n - 1);
            let second = world.call_async(there, fibonacci, n - 2);
            first.await.unwrap() + second.await.unwrap()
        })
    }
    assert_eq!(world.block_on(fibonacci(world, 11)), 89);
    static DONE: AtomicU64 = AtomicU64::new(0);
    for i in 0..50 {
        world.spawn(async move {
            let n = world.call((world.rank() + i) % world.size(), |_, i: u32| i, i).await.unwrap();
            DONE.fetch_add(u64::from(n), Relaxed);
        });
    }
    world.settle();
    assert_eq!(DONE.swap(0, Relaxed), (0..50).sum::<u64>());
}

/// All to all to all: what a call sends calls again. Much more is under way than the windows hold.
fn storm(world: World, random: &mut fastrand::Rng) {
    static ARRIVED: AtomicU64 = AtomicU64::new(0);
    fn hit(world: World, (left, payload): (u32, Vec<u8>)) {
        ARRIVED.fetch_add(1, Relaxed);
        if left > 0 {
            for to in world.ranks() {
                world.send(to, hit, (left - 1, payload.clone()));
            }
        }
    }
    let ranks = u64::from(world.size());
    // Each hit of the first round makes 1 + n + n^2.
    let per_hit = 1 + ranks + ranks * ranks;
    let hits = (40_000 / (per_hit * ranks)).max(2);
    for _ in 0..hits {
        world.send(random.u32(..world.size()), hit, (2, vec![1; random.usize(..400)]));
    }
    world.settle();
    assert_eq!(world.reduce(ARRIVED.load(Relaxed), |a, b| a + b), hits * ranks * per_hit);
    world.barrier();
    ARRIVED.store(0, Relaxed);
}

/// Chains of calls that go on long after their first rank has come to wait.
fn settle(world: World, random: &mut fastrand::Rng) {
    let ends = world.share(AtomicU64::new(0));
    fn step(world: World, (left, seed, ends): (u32, u64, Shared<AtomicU64>)) {
        if left == 0 {
            ends.fetch_add(1, Relaxed);
            return;
        }
        let mut random = fastrand::Rng::with_seed(seed);
        world.send(random.u32(..world.size()), step, (left - 1, random.u64(..), ends));
    }
    for round in 0..20 {
        let chains = random.u32(..10);
        for _ in 0..chains {
            world.send(random.u32(..world.size()), step, (random.u32(..60), random.u64(..), ends));
        }
        world.settle();
        let ended = ends.swap(0, Relaxed);
        let (started, ended) =
            (world.reduce(u64::from(chains), |a, b| a + b), world.reduce(ended, |a, b| a + b));
        assert_eq!(started, ended, "round {round}");
        world.barrier();
    }
}

/// A task that asks for its next turn at once leaves others theirs, and a call that was never made is not
/// waited for.
fn restless(world: World, _: &mut fastrand::Rng) {
    let heard = world.share(AtomicU64::new(0));
    world.spawn(core::future::poll_fn(move |cx| {
        cx.waker().wake_by_ref();
        if heard.load(Relaxed) > 0 { core::task::Poll::Ready(()) } else { core::task::Poll::Pending }
    }));
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let nobody =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.send(world.size(), |_, ()| (), ())));
    std::panic::set_hook(hook);
    assert!(nobody.is_err());
    heard.send((world.rank() + 1) % world.size(), |heard, ()| heard.store(1, Relaxed), ());
    world.settle();
}

/// Who has come to its end serves: small calls and large ones, tasks, and what others of its kind ask of it.
fn alone_calls(world: World, _: &mut fastrand::Rng) {
    for round in 0..200u64 {
        for to in world.ranks() {
            assert_eq!(world.call(to, double, round).wait(), 2 * round);
            world.send((to + 1) % world.size(), |world, ()| drop(world.call(0, double, 1)), ());
        }
    }
    for to in world.ranks() {
        let bytes = world.call(to, |_, data: Bulk<u8>| data.len(), Bulk::from(vec![1u8; 100_000]));
        assert_eq!(bytes.wait(), 100_000);
        let ask_next = |world: World, x: u64| async move {
            world.call((world.rank() + 1) % world.size(), double, x).await.unwrap()
        };
        assert_eq!(world.call_async(to, ask_next, 4).wait(), 8);
    }
}

/// More than a window of small ones to one rank, which must all arrive.
fn flood(world: World, _: &mut fastrand::Rng) {
    let sum = world.share(AtomicU64::new(0));
    let each = 50_000u64;
    for i in 0..each {
        sum.send(0, |sum, i: u64| _ = sum.fetch_add(i, Relaxed), i);
    }
    world.settle();
    if world.rank() == 0 {
        assert_eq!(sum.load(Relaxed), u64::from(world.size()) * each * (each - 1) / 2);
    }
}

/// Several threads of a rank call at a time.
fn threads(world: World, _: &mut fastrand::Rng) {
    let count = world.share(AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            scope.spawn(move || {
                for i in 0..500 {
                    let to = ((thread + i) % u64::from(world.size())) as u32;
                    if i % 10 == 0 {
                        assert_eq!(world.call(to, double, i).wait(), 2 * i);
                    }
                    count.send(to, |count, ()| _ = count.fetch_add(1, Relaxed), ());
                }
            });
        }
    });
    world.settle();
    assert_eq!(world.reduce(count.load(Relaxed), |a, b| a + b), 1500 * u64::from(world.size()));
}

/// Calls run on a rank that computes, on threads for that; one that is held up does not hold up the others.
fn beside(world: World, _: &mut fastrand::Rng) {
    static STOP: AtomicU64 = AtomicU64::new(0);
    static SERVED_BY: Mutex<Vec<std::thread::ThreadId>> = Mutex::new(Vec::new());
    // From rank 0: the first call is over when the third has been made, which waits for the second.
    let hold_up = || {
        for to in 1..world.size() {
            let held_up = world.call(
                to,
                |_, ()| {
                    while STOP.load(Relaxed) == 0 {
                        std::thread::yield_now();
                    }
                },
                (),
            );
            world.call(to, |_, ()| SERVED_BY.lock().unwrap().push(std::thread::current().id()), ()).wait();
            world.send(to, |_, ()| STOP.store(1, Relaxed), ());
            held_up.wait();
        }
    };
    let clear = || {
        world.settle();
        STOP.store(0, Relaxed);
        SERVED_BY.lock().unwrap().clear();
        world.barrier();
    };
    world.serve_by_threads(2);
    world.barrier();
    if world.rank() == 0 {
        hold_up();
    } else {
        // No call of the runtime.
        while STOP.load(Relaxed) == 0 {
            std::hint::spin_loop();
        }
        assert_ne!(SERVED_BY.lock().unwrap()[0], std::thread::current().id());
    }
    clear();
    // Others wait in the runtime: the thread that waits may be the one that is held up.
    if world.rank() == 0 {
        hold_up();
    }
    clear();
}

/// Random updates by all ranks against the same made by one.
fn updates(world: World, random: &mut fastrand::Rng) {
    let seed = world.broadcast(0, random.u64(..));
    for (round, layout) in [Layout::Block, Layout::Cyclic, Layout::BlockCyclic(7)].into_iter().enumerate() {
        let len = 1000 + 37 * round;
        let mut array = world.array::<u64>(len, layout);
        let mut floats = world.array::<f32>(len, layout);
        let mut expected = vec![0u64; len];
        let mut highest = vec![0f32; len];
        for rank in world.ranks() {
            let mut random = fastrand::Rng::with_seed(seed ^ u64::from(rank));
            for _ in 0..3000 {
                let (i, n) = (random.usize(..len), random.u64(..));
                expected[i] = expected[i].wrapping_add(n);
                highest[i] = highest[i].max((n >> 40) as f32);
            }
        }
        let mine = || fastrand::Rng::with_seed(seed ^ u64::from(world.rank()));
        let mut random = mine();
        array.update(|array| {
            for _ in 0..3000 {
                array.add(random.usize(..len), random.u64(..));
            }
        });
        let mut random = mine();
        floats.update(|floats| {
            for _ in 0..3000 {
                let (i, n) = (random.usize(..len), random.u64(..));
                floats.max(i, (n >> 40) as f32);
            }
        });
        array.read(|array| {
            let all: Vec<usize> = (0..len).rev().collect();
            let values = array.gather(&all);
            assert!(values.iter().rev().eq(&expected), "{layout:?}");
            assert_eq!(array.get(len - 1), expected[len - 1]);
        });
        assert!(floats.read(|floats| (0..len).all(|i| floats.get(i) == highest[i])), "{layout:?}");
    }
    updates_in_turn(world, seed);
}

/// Runs of one function, of any length, each function to elements of its own.
fn updates_in_turn(world: World, seed: u64) {
    const LEN: usize = 300;
    const FUNCTIONS: usize = 5;
    const BEFORE: u32 = 0x5a5a_5a5a;
    let turns = |rank: u32| {
        let mut random = fastrand::Rng::with_seed(seed ^ u64::from(rank));
        let runs: Vec<(usize, usize)> = (0..20).map(|run| (run % FUNCTIONS, random.usize(..1300))).collect();
        let all = runs.into_iter().flat_map(|(function, count)| core::iter::repeat_n(function, count));
        let place = |f, random: &mut fastrand::Rng| FUNCTIONS * random.usize(..LEN / FUNCTIONS) + f;
        all.map(|f| (f, place(f, &mut random), random.u32(..))).collect::<Vec<_>>()
    };
    let mut expected = vec![BEFORE; LEN];
    for (function, i, n) in world.ranks().flat_map(turns) {
        let old = expected[i];
        expected[i] =
            [old.wrapping_add(n), old ^ n, old.max(n), old & (n | 0xff), old | (n & 0xff)][function];
    }
    let mut array = world.array::<u32>(LEN, Layout::Cyclic);
    array.local(|mine| mine.fill(BEFORE));
    array.update(|array| {
        for (function, i, n) in turns(world.rank()) {
            match function {
                0 => array.add(i, n),
                1 => array.xor(i, n),
                2 => array.max(i, n),
                3 => array.and(i, n | 0xff),
                _ => array.or(i, n & 0xff),
            }
        }
    });
    assert!(array.read(|array| (0..LEN).all(|i| array.get(i) == expected[i])), "seed {seed}");
}

fn phases(world: World, random: &mut fastrand::Rng) {
    let len = 5000;
    let mut array = world.array::<[u32; 3]>(len, Layout::BlockCyclic(11));
    let owned: Vec<usize> = (0..array.local_len()).map(|at| array.global_index(at)).collect();
    assert!(owned.iter().all(|&i| array.owner(i) == world.rank()));
    assert_eq!(world.reduce(owned.len() as u64, |a, b| a + b), len as u64);
    array.local(|mine| {
        for (at, value) in mine.iter_mut().enumerate() {
            *value = [owned[at] as u32, world.rank(), 1];
        }
    });
    // Each rank moves its share of the elements to their mirror images.
    let mut mirror = world.array::<[u32; 3]>(len, Layout::Cyclic);
    for turn in 0..3 {
        let mut mine: Vec<usize> =
            (0..len).filter(|i| i % world.size() as usize == world.rank() as usize).collect();
        random.shuffle(&mut mine);
        let values = array.read(|array| {
            assert_eq!(array.local().len(), owned.len());
            assert!(array.local().iter().zip(&owned).all(|(value, &i)| value[0] as usize == i));
            array.gather(&mine)
        });
        mirror.exchange(|mirror| {
            mine.iter().zip(&values).for_each(|(&i, value)| mirror.put(len - 1 - i, *value))
        });
        mirror.read(|mirror| {
            let i = random.usize(..len);
            let [was, owner, _] = mirror.get(i);
            assert_eq!(was as usize, len - 1 - i, "turn {turn}");
            assert_eq!(owner, array.owner(len - 1 - i));
        });
    }
    assert!(world.array::<u8>(0, Layout::Block).is_empty());
}

/// Sizes that add up to `len`, the same on all ranks.
fn sizes(world: World, len: usize) -> Vec<usize> {
    let ranks = world.size() as usize;
    let mut sizes: Vec<usize> =
        (0..ranks).map(|r| if r % 3 == 1 { 0 } else { len * r / ranks / ranks }).collect();
    sizes[0] += len - sizes.iter().sum::<usize>();
    sizes
}

/// Element `i` of an array for tests.
fn value(i: usize) -> u64 {
    (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn fill(array: &mut Array<u64>) {
    let numbers: Vec<usize> = (0..array.local_len()).map(|at| array.global_index(at)).collect();
    array.local(|mine| mine.iter_mut().zip(numbers).for_each(|(x, i)| *x = value(i)));
}

/// Every layout to every other, and to other lengths.
fn layouts(world: World, random: &mut fastrand::Rng) {
    for len in [0, 1, 5, 1000, 3001] {
        let sizes = sizes(world, len);
        let all = [
            Layout::Block,
            Layout::Cyclic,
            Layout::BlockCyclic(7),
            Layout::BlockCyclic(300),
            Layout::Custom(&sizes),
        ];
        for from in all {
            let mut array = world.array::<u64>(len, from);
            fill(&mut array);
            for to in all {
                let mut copy = world.array::<u64>(len, to);
                array.copy_to(&mut copy);
                copy.read(|copy| assert!(copy.iter().eq((0..len).map(value)), "{from:?} to {to:?}, {len}"));
                assert_eq!(copy.local_len(), copy.read(|copy| copy.local().len()));
            }
            array.resize(len + 500, Layout::Cyclic);
            array.read(|array| {
                let i = random.usize(..len + 500);
                assert_eq!(array.get(i), if i < len { value(i) } else { 0 });
            });
            array.resize(len / 2, Layout::Block);
            array.read(|array| assert!(array.iter().eq((0..len / 2).map(value))));
        }
    }
}

fn iterators(world: World, random: &mut fastrand::Rng) {
    let len = 20_011;
    for layout in [Layout::Block, Layout::Cyclic, Layout::BlockCyclic(13), Layout::Custom(&sizes(world, len))]
    {
        let mut array = world.array::<u64>(len, layout);
        fill(&mut array);
        array.read(|array| {
            assert!(array.iter().eq((0..len).map(value)), "{layout:?}");
            assert!(array.iter().take(5).eq((0..5).map(value)));
            let (a, b) = (random.usize(..len), random.usize(..=len));
            let (from, to) = (a.min(b), a.max(b));
            assert!(array.slice(from, to - from).into_iter().eq((from..to).map(value)));
            assert!(array.slice(len, 0).is_empty());
        });
    }
}

/// Arrays that come and go do not use up the segment, and begin as zero; ranks drop them at different times.
fn memory(world: World, random: &mut fastrand::Rng) {
    let words = 1 << 20;
    let mut kept: Vec<(u64, Array<u64>)> = Vec::new();
    for round in 0..40u64 {
        let mut array = world.array::<u64>(words / 2, Layout::Block);
        assert!(array.read(|array| array.local().iter().all(|&x| x == 0)), "round {round}");
        array.local(|mine| mine.fill(round));
        kept.push((round, array));
        // Each rank lets go of some other ones.
        if kept.len() > 2 {
            kept.remove(random.usize(..3));
        }
        if round % 3 == 2 {
            let rest = core::mem::take(&mut kept);
            let oldest = rest.iter().map(|(round, _)| *round).min().unwrap_or(round);
            assert!(oldest + 3 > round);
        }
    }
}

fn files(world: World, random: &mut fastrand::Rng) {
    let name = world.broadcast(0, std::process::id());
    let directory = std::env::temp_dir().join(format!("pgas-{name:x}"));
    if world.rank() == 0 {
        std::fs::create_dir(&directory).unwrap();
    }
    world.barrier();
    let path = directory.join("array");
    let len = 4099;
    for layout in [Layout::Block, Layout::BlockCyclic(9), Layout::Custom(&sizes(world, len))] {
        let mut array = world.array::<u64>(len, layout);
        fill(&mut array);
        array.save(&path).unwrap();
        for other in [Layout::Cyclic, Layout::Block] {
            let mut back = world.load::<u64>(&path, other).unwrap();
            assert_eq!(back.len(), len);
            back.read(|back| assert!(back.iter().eq((0..len).map(value)), "{layout:?}"));
        }
        let error = world.load::<u32>(&path, Layout::Block).unwrap_err().to_string();
        assert!(["have 8 bytes, not 4", "could not read"].iter().any(|part| error.contains(part)), "{error}");
    }
    // Files of two saves, of which the newer one was not finished; a file that was cut; one with a bit
    // flipped; one that is missing.
    let last = directory.join(format!("array.{}", world.size() - 1));
    let good = std::fs::read(&last).unwrap();
    let mut array = world.array::<u64>(len, Layout::Block);
    world.barrier();
    array.save(&path).unwrap();
    let new = std::fs::read(&last).unwrap();
    world.barrier();
    let mut flipped = new.clone();
    let bit = world.broadcast(0, random.u64(..)) as usize % (8 * new.len());
    flipped[bit / 8] ^= 1 << (bit % 8);
    let cut = new[..new.len() - 8].to_vec();
    for (what, bytes) in
        [("old", Some(good)), ("cut", Some(cut)), ("flipped", Some(flipped)), ("missing", None)]
    {
        if what == "old" && world.size() == 1 {
            continue;
        }
        if world.rank() == 0 {
            match bytes {
                Some(bytes) => std::fs::write(&last, bytes).unwrap(),
                None => std::fs::remove_file(&last).unwrap(),
            }
        }
        world.barrier();
        let error = world.load::<u64>(&path, Layout::Block).unwrap_err().to_string();
        let says = ["another save", "torn", "none of an array", "No such file", "could not read"];
        assert!(says.iter().any(|part| error.contains(part)), "{what}: {error}");
    }
    // It cannot be written: an error everywhere.
    assert!(array.save(directory.join("no/such/directory")).is_err());
    world.barrier();
    if world.rank() == 0 {
        std::fs::remove_dir_all(&directory).unwrap();
    }
}

fn matrices(world: World, random: &mut fastrand::Rng) {
    for (rows, columns, tiling) in [
        (1, 1, Tiling::Rows),
        (17, 5, Tiling::Rows),
        (3, 40, Tiling::Tiles { rows: 2, columns: 7 }),
        (33, 34, Tiling::Tiles { rows: 8, columns: 8 }),
        (0, 4, Tiling::Rows),
    ] {
        let mut matrix = world.matrix::<u64>(rows, columns, tiling);
        let cells = matrix.local(|tiles| {
            let mut cells = 0;
            for tile in tiles.iter_mut() {
                let (height, width) = (tile.rows(), tile.columns());
                for (r, c) in (0..height).flat_map(|r| (0..width).map(move |c| (r, c))) {
                    tile[(r, c)] = value((tile.row + r) * columns + tile.column + c);
                    cells += 1;
                }
                for r in 0..tile.rows() {
                    assert_eq!(tile.row_mut(r).len(), tile.columns());
                }
            }
            cells
        });
        assert_eq!(world.reduce(cells, |a, b| a + b), rows * columns, "{tiling:?}");
        matrix.read(|matrix| {
            for row in 0..rows {
                assert!(
                    matrix
                        .row(row, 0..columns)
                        .into_iter()
                        .eq((0..columns).map(|c| value(row * columns + c)))
                );
                let column = random.usize(..columns);
                assert_eq!(matrix.get(row, column), value(row * columns + column));
                assert_eq!(
                    matrix.gather(&[(row, column), (0, 0)]),
                    [value(row * columns + column), value(0)]
                );
            }
        });
        let mine: Vec<(usize, usize)> = (0..rows * columns)
            .filter(|i| i % world.size() as usize == world.rank() as usize)
            .map(|i| (i / columns, i % columns))
            .collect();
        matrix.exchange(|matrix| mine.iter().for_each(|&(r, c)| matrix.put(r, c, 1)));
        matrix.update(|matrix| {
            for i in 0..rows * columns {
                matrix.add(i / columns, i % columns, i as u64);
            }
        });
        let ranks = u64::from(world.size());
        matrix.read(|matrix| {
            for row in 0..rows {
                let expect = (0..columns).map(|c| 1 + ranks * (row * columns + c) as u64);
                assert!(matrix.row(row, 0..columns).into_iter().eq(expect), "{tiling:?}");
            }
        });
        if rows > 0 {
            assert!(matrix.owner(rows - 1, columns - 1) < world.size());
        }
    }
}

fn collectives(world: World, _: &mut fastrand::Rng) {
    let all = world.gather_all(u64::from(world.rank()));
    assert!(all.iter().copied().eq(world.ranks().map(u64::from)));
    assert_eq!(world.broadcast(world.size() - 1, world.rank()), world.size() - 1);
    assert_eq!(world.reduce(world.rank(), u32::max), world.size() - 1);
}

fn panic_in_send(world: World, _: &mut fastrand::Rng) {
    if world.rank() == 0 {
        world.send(world.size() - 1, |_, ()| panic!("as it is meant to"), ());
    }
    world.settle();
}

fn wait_in_call(world: World, _: &mut fastrand::Rng) {
    let to = world.size() - 1;
    if world.rank() == 0 {
        world.call(to, |world, ()| world.call(0, double, 1).wait(), ()).wait();
    }
    world.settle();
}

fn two_phases(world: World, _: &mut fastrand::Rng) {
    let mut array = world.array::<u32>(10, Layout::Block);
    if world.rank() == 0 {
        array.update(|array| array.add(1, 1));
    } else {
        array.read(|array| array.get(1));
    }
}

/// With `GASNET_CHECK=1`.
fn double_put(world: World, _: &mut fastrand::Rng) {
    let mut array = world.array::<u32>(10, Layout::Block);
    array.exchange(|array| array.put(3, 1));
}

fn element(world: World, _: &mut fastrand::Rng) {
    let mut array = world.array::<u32>(10, Layout::Block);
    array.read(|array| array.get(10));
}

fn other_arrays(world: World, _: &mut fastrand::Rng) {
    world.array::<u32>(if world.rank() == 0 { 10 } else { 11 }, Layout::Block);
}

fn float_and(world: World, _: &mut fastrand::Rng) {
    let mut array = world.array::<f32>(10, Layout::Block);
    array.update(|array| array.and(3, 1.0));
}
