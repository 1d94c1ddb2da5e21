//! Sections that end the job.

use crate::calls::double;
use gasnet_tests::sections::Section;
use pgas::{Layout, Reply, World};
use serde::{Deserialize, Serialize};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread::Thread;

pub const FAILURES: &[Section] = &[
    ("panic-in-send", panic_in_send),
    ("wait-in-call", wait_in_call),
    ("two-phases", two_phases),
    ("double-put", double_put),
    ("element", element),
    ("block", block),
    ("other-arrays", other_arrays),
    ("float-and", float_and),
    ("threads-make-arrays", threads_make_arrays),
    ("too-many-threads", |world, _| world.serve_by_threads(100_000)),
    ("gather-of-others", gather_of_others),
    ("gather-of-numbers-and-strings", gather_of_numbers_and_strings),
    ("broadcast-of-others", broadcast_of_others),
    ("gather-of-other-numbers", |world, _| {
        if world.rank() == 0 { drop(world.gather_all(1u64)) } else { drop(world.gather_all(1f64)) }
    }),
    ("broadcast-of-other-numbers", |world, _| {
        if world.rank() == 0 { _ = world.broadcast(0, 1u32) } else { _ = world.broadcast(0, 1f32) }
    }),
    ("reduction-of-others", reduction_of_others),
    ("panic-in-reduction", |world, _| panic_in_reduction(world, 1)),
    ("panic-in-long-reduction", |world, _| panic_in_reduction(world, 100)),
    ("call-in-long-reduction", call_in_long_reduction),
    ("gather-of-references", |world, _| drop(world.gather_all(world.remote(7u64)))),
    ("gather-of-replies", gather_of_replies),
    ("gather-of-flattened", gather_of_flattened),
    ("gather-too-deep", gather_too_deep),
    ("await-for-ever", await_for_ever),
];

/// In an executor of its own, whose thread sleeps, each rank awaits what the next one never answers.
fn await_for_ever(world: World, _: &mut fastrand::Rng) {
    struct Sleeper(Thread);
    impl Wake for Sleeper {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    static KEPT: Mutex<Vec<Reply<u8>>> = Mutex::new(Vec::new());
    let next = (world.rank() + 1) % world.size();
    let mut never = [0u8; 3].map(|_| world.ask(next, |_, reply, ()| KEPT.lock().unwrap().push(reply), ()));
    let waker = Waker::from(Arc::new(Sleeper(std::thread::current())));
    let cx = &mut Context::from_waker(&waker);
    while never.iter_mut().all(|never| Pin::new(never).poll(cx).is_pending()) {
        std::thread::park();
    }
}

fn gather_of_others(world: World, _: &mut fastrand::Rng) {
    match world.rank() {
        0 => drop(world.gather_all("text".to_string())),
        _ => drop(world.gather_all(vec![1u8])),
    }
}

fn gather_of_numbers_and_strings(world: World, _: &mut fastrand::Rng) {
    match world.rank() {
        0 => drop(world.gather_all(1u64)),
        _ => drop(world.gather_all("text".to_string())),
    }
}

fn broadcast_of_others(world: World, _: &mut fastrand::Rng) {
    match world.rank() {
        0 => drop(world.broadcast(0, (1u8, 2u8))),
        _ => drop(world.broadcast(0, 'a')),
    }
}

fn reduction_of_others(world: World, _: &mut fastrand::Rng) {
    match world.rank() {
        0 => drop(world.reduce((1u8, 2u8), |a, _| a)),
        _ => drop(world.reduce(true, |a, _| a)),
    }
    world.settle();
}

/// All go on after it, if they can.
fn panic_in_reduction(world: World, len: usize) {
    let give_up = |_, _| panic!("the sum gives up");
    let sum = || world.reduce("x".repeat(len), give_up);
    drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(sum)));
    world.settle();
}

fn call_in_long_reduction(world: World, _: &mut fastrand::Rng) {
    let sum = |a: String, b: String| {
        world_of_test().barrier();
        a + &b
    };
    fn world_of_test() -> World {
        *WORLD.get().unwrap()
    }
    static WORLD: std::sync::OnceLock<World> = std::sync::OnceLock::new();
    WORLD.set(world).unwrap();
    world.reduce("x".repeat(100), sum);
}

fn gather_of_replies(world: World, _: &mut fastrand::Rng) {
    static KEPT: Mutex<Option<Reply<u8>>> = Mutex::new(None);
    let pending = world.ask(world.rank(), |_, reply, ()| *KEPT.lock().unwrap() = Some(reply), ());
    world.settle();
    drop(world.gather_all(KEPT.lock().unwrap().take()));
    drop(pending);
}

fn gather_of_flattened(world: World, _: &mut fastrand::Rng) {
    #[derive(Serialize, Deserialize)]
    struct Inner {
        x: u8,
    }
    #[derive(Serialize, Deserialize)]
    struct Outer {
        #[serde(flatten)]
        inner: Inner,
    }
    world.gather_all(Outer { inner: Inner { x: 1 } });
}

fn gather_too_deep(world: World, _: &mut fastrand::Rng) {
    #[derive(Serialize, Deserialize)]
    struct List(Option<Box<List>>);
    let mut list = List(None);
    for _ in 0..2000 {
        list = List(Some(Box::new(list)));
    }
    world.gather_all(list);
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

/// More elements than there is memory, or a number, for.
fn block(world: World, _: &mut fastrand::Rng) {
    let mut matrix = world.matrix::<u64>(10, 10, pgas::Tiling::Rows);
    matrix.read(|matrix| matrix.block(0..1 << 40, 0..1 << 24));
}

fn other_arrays(world: World, _: &mut fastrand::Rng) {
    world.array::<u32>(if world.rank() == 0 { 10 } else { 11 }, Layout::Block);
}

fn float_and(world: World, _: &mut fastrand::Rng) {
    let mut array = world.array::<f32>(10, Layout::Block);
    array.update(|array| array.and(3, 1.0));
}

fn threads_make_arrays(world: World, _: &mut fastrand::Rng) {
    // Rank 1 never comes, so the threads of rank 0 are there together.
    if world.rank() == 0 {
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| drop(world.array::<u64>(64, Layout::Block)));
            }
        });
    }
    world.settle();
}
