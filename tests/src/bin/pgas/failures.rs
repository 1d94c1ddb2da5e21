//! Sections that end the job.

use crate::calls::double;
use gasnet_tests::sections::Section;
use pgas::{Layout, World};

pub const FAILURES: &[Section] = &[
    ("panic-in-send", panic_in_send),
    ("wait-in-call", wait_in_call),
    ("two-phases", two_phases),
    ("double-put", double_put),
    ("element", element),
    ("other-arrays", other_arrays),
    ("float-and", float_and),
    ("threads-make-arrays", threads_make_arrays),
];

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
