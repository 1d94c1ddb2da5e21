//! Tasks, floods, the end of all calls, and who serves them.

use crate::calls::double;
use pgas::{Shared, World};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Tasks call others, and await them.
pub fn tasks(world: World, _: &mut fastrand::Rng) {
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
            first.await + second.await
        })
    }
    assert_eq!(world.block_on(fibonacci(world, 11)), 89);
    static DONE: AtomicU64 = AtomicU64::new(0);
    for i in 0..50 {
        world.spawn(async move {
            let n = world.call((world.rank() + i) % world.size(), |_, i: u32| i, i).await;
            DONE.fetch_add(u64::from(n), Relaxed);
        });
    }
    world.settle();
    assert_eq!(DONE.swap(0, Relaxed), (0..50).sum::<u64>());
}

/// All to all to all: what a call sends calls again. Much more is under way than the windows hold.
pub fn storm(world: World, random: &mut fastrand::Rng) {
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
pub fn settle(world: World, random: &mut fastrand::Rng) {
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
pub fn restless(world: World, _: &mut fastrand::Rng) {
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

/// More than a window of small ones to one rank, which must all arrive.
pub fn flood(world: World, _: &mut fastrand::Rng) {
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
pub fn threads(world: World, _: &mut fastrand::Rng) {
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
pub fn beside(world: World, _: &mut fastrand::Rng) {
    static STOP: AtomicU64 = AtomicU64::new(0);
    static COMPUTES: AtomicBool = AtomicBool::new(false);
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
        COMPUTES.store(false, Relaxed);
        SERVED_BY.lock().unwrap().clear();
        world.barrier();
    };
    world.serve_by_threads(2);
    world.barrier();
    if world.rank() == 0 {
        for to in 1..world.size() {
            // The rank may be in the barrier still, and serve.
            while !world.call(to, |_, ()| COMPUTES.load(Relaxed), ()).wait() {}
        }
        hold_up();
    } else {
        COMPUTES.store(true, Relaxed);
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
