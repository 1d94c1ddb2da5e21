//! Results of remote calls, awaited in executors of other crates: their threads sleep, and do not serve.

use pgas::{World, testing};
use rayon::prelude::*;

/// Calls one after the other, and many at a time, that call back while this rank waits.
async fn work(world: World) -> u32 {
    let right = (world.rank() + 1) % world.size();
    let mut sum = 0;
    for i in 0..20 {
        sum += world.call(right, |world, x: u32| x + world.rank(), i).await;
    }
    let many: Vec<_> = world.ranks().map(|to| world.call(to, |world, ()| world.rank(), ())).collect();
    for pending in many {
        sum += pending.await;
    }
    let ask = |world: World, to: u32| async move { world.call(to, |w, ()| w.rank(), ()).await };
    sum + world.call_async(right, ask, world.rank()).await
}

fn expected(world: World) -> u32 {
    let right = (world.rank() + 1) % world.size();
    (0..20).sum::<u32>() + 20 * right + world.ranks().sum::<u32>() + world.rank()
}

#[test]
fn tokio_with_one_thread() {
    testing::run(3, |world| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(work(world)), expected(world));
    });
}

#[test]
fn tokio_with_many_threads() {
    testing::run(2, |world| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        runtime.block_on(async {
            let tasks: Vec<_> = (0..8).map(|_| tokio::spawn(work(world))).collect();
            for task in tasks {
                assert_eq!(task.await.unwrap(), expected(world));
            }
        });
    });
}

#[test]
fn smol_and_its_spawned_tasks() {
    testing::run(2, |world| {
        let task = smol::spawn(work(world));
        assert_eq!(smol::block_on(work(world)), expected(world));
        assert_eq!(smol::block_on(task), expected(world));
    });
}

#[test]
fn pollster_blocks() {
    testing::run(2, |world| assert_eq!(pollster::block_on(work(world)), expected(world)));
}

#[test]
fn rayon_waits_on_its_threads() {
    testing::run(2, |world| {
        let sum: u32 = (0..64u32)
            .into_par_iter()
            .map(|i| world.call(1 - world.rank(), |world, x: u32| x + world.rank(), i).wait())
            .sum();
        assert_eq!(sum, (0..64).sum::<u32>() + 64 * (1 - world.rank()));
        let awaited: u32 = (0..8u32).into_par_iter().map(|_| pollster::block_on(work(world))).sum();
        assert_eq!(awaited, 8 * expected(world));
    });
}
