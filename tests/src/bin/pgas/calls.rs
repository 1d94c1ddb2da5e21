//! Calls, their arguments and results, and what a caller learns of a call that failed.

use pgas::{Bulk, CallError, Pending, Reply, World};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub fn double(_: World, x: u64) -> u64 {
    2 * x
}

pub fn calls(world: World, random: &mut fastrand::Rng) {
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

pub fn arguments(world: World, random: &mut fastrand::Rng) {
    let right = (world.rank() + 1) % world.size();
    // Where a function takes a string, one that is borrowed may be given.
    let name = "grüße".to_string();
    for sum in [
        world.call(right, |_, text: String| text.len(), "grüße"),
        world.call(right, |_, text: String| text.len(), &name),
        world.call_async(right, |_, text: String| async move { text.len() }, &name[..]),
        world.ask(right, |_, reply, text: String| reply.answer(&text.len()), &name),
    ] {
        assert_eq!(sum.wait(), name.len());
    }
    assert_eq!(world.all().call(|_, text: String| text, &name).wait(), vec![name; world.size() as usize]);
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
            world.call_lent(right, |_, words: &[u64]| words.iter().fold(0, |a, b| a ^ b), &words[..]).wait();
        assert_eq!(sum, words.iter().fold(0, |a, b| a ^ b));
        let text = "x".repeat(random.usize(..100));
        assert_eq!(world.call_lent(right, |_, text: &str| text.len(), &text[..]).wait(), text.len());
    }
}

/// Arguments and results that no message holds.
pub fn large(world: World, random: &mut fastrand::Rng) {
    for bytes in [16_000, 16_384, 17_000, 65_536, 70_000, 1 << 20, 5_000_001] {
        let data: Vec<u8> = (0..bytes).map(|_| random.u8(..)).collect();
        let to = random.u32(..world.size());
        let back = world
            .call_lent(to, |_, data: &[u8]| data.iter().rev().copied().collect::<Vec<u8>>(), &data[..])
            .wait();
        assert!(back.iter().rev().eq(data.iter()), "{bytes} bytes");
    }
}

pub fn checksum(values: &[u64]) -> u64 {
    values.iter().fold(7, |sum: u64, value| sum.wrapping_mul(31).wrapping_add(*value))
}

/// Data that is put in place: beside other arguments, to many, from one to the next, and as what a delegated
/// call answers.
pub fn bulk(world: World, random: &mut fastrand::Rng) {
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

/// Fields that `serde` leaves out.
pub fn left_out(world: World, _: &mut fastrand::Rng) {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Thin {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        a: Option<u8>,
        b: Option<u8>,
    }
    for to in world.ranks() {
        for thin in [Thin { a: None, b: Some(0) }, Thin { a: Some(0), b: None }, Thin { a: None, b: None }] {
            let (there, back) =
                world.call(to, |_, thin: Thin| (format!("{thin:?}"), thin), thin.clone()).wait();
            assert_eq!((there, back), (format!("{thin:?}"), thin));
        }
    }
}

pub fn errors(world: World, _: &mut fastrand::Rng) {
    let to = world.size() - 1;
    // The hook would print each of them.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    world.barrier();
    let error = world.call(to, |_, x: u32| assert_eq!(x, 1, "not one"), 2).result().wait().unwrap_err();
    let dropped = world.ask(to, |_, reply: Reply<u32>, ()| drop(reply), ()).result().wait().unwrap_err();
    let lost = world.call_async(to, |_, x: u32| async move { [1u32, 2][x as usize] }, 1).result().wait();
    let in_task = world
        .call_async(
            to,
            |world, n: u32| async move {
                // Once before it has waited, once after.
                assert!(n == 0 || world.call(0, double, 1).result().await == Ok(2));
                if n < 2 {
                    panic!("in the task, {n}")
                }
            },
            1,
        )
        .result()
        .wait();
    let at_once = world.call_async(to, |_, ()| async { panic!("in the task, at once") }, ()).result().wait();
    world.barrier();
    std::panic::set_hook(hook);
    for (result, says) in [(in_task, "in the task, 1"), (at_once, "in the task, at once")] {
        let Err(CallError::Panicked { rank, message }) = &result else { panic!("{result:?}") };
        assert_eq!((rank.0, message.as_str()), (to, says));
    }
    // Nothing of them is left that ranks would wait for.
    world.settle();
    let CallError::Panicked { rank, message } = &error else { panic!("{error:?}") };
    assert_eq!(rank.0, to);
    assert!(message.contains("not one"), "{message}");
    assert_eq!(dropped, CallError::Abandoned { rank: to.into() });
    assert_eq!(lost, Ok(2));
}

/// Who has come to its end serves: small calls and large ones, tasks, and what others of its kind ask of it.
pub fn alone_calls(world: World, _: &mut fastrand::Rng) {
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
            world.call((world.rank() + 1) % world.size(), double, x).await
        };
        assert_eq!(world.call_async(to, ask_next, 4).wait(), 8);
    }
}
