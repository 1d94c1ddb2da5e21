//! What it costs to survive: attempts in which nobody dies, copies with a partner, and deaths.

use pgas::{Layout, World};
use std::hint::black_box;
use std::time::{Duration, Instant, SystemTime};

/// Deaths in a job, at most.
const DEATHS: u32 = 10;
/// The last rank dies this long after all have met.
const LEAD: Duration = Duration::from_millis(20);

/// Runs the task of this name, if there is one.
pub fn run(world: World, task: &str, number: usize) -> bool {
    match task {
        "attempt" => attempt(world),
        "keep" => keep(world, number),
        "heal" => deaths(world, number, World::heal),
        "shrink" => deaths(world, number, World::shrink),
        _ => return false,
    }
    true
}

/// An attempt at nothing, beside the nothing.
fn attempt(world: World) {
    let count = 1_000_000;
    crate::batches(world, "nothing", || {
        let start = Instant::now();
        (0..count).for_each(|i| _ = black_box(black_box(|i: u64| i)(i)));
        crate::ns_each(start, count)
    });
    crate::batches(world, "attempt", || {
        let start = Instant::now();
        (0..count).for_each(|i| _ = black_box(world.attempt(|_| black_box(i))));
        crate::ns_each(start, count)
    });
}

/// All ranks save their parts of so many MiB, beside a put of the same to the next rank.
fn keep(world: World, mib: usize) {
    let words = mib << 17;
    let (me, size) = (world.rank() as usize, world.size() as usize);
    let mut array = world.array::<u64>(words * size, Layout::Block);
    let values = vec![7u64; words];
    crate::batches(world, "put", || {
        let start = Instant::now();
        array.exchange(|all| all.put_slice((me + 1) % size * words, &values));
        crate::ns_each(start, 1)
    });
    let keep = world.keep();
    let mut version = 0;
    crate::batches(world, "save", || {
        version += 1;
        let start = Instant::now();
        keep.save(version, |save| save.part(&array));
        crate::ns_each(start, 1)
    });
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// The last rank dies again and again, and the others start the next world. In ns from the death on: until
/// all know it, and until all are in the next world. If they have a state of so many MiB: how long a new
/// process takes to get it back, too.
fn deaths(first: World, mib: usize, next: fn(World) -> World) {
    let (mut world, words, mut times) = (first, mib << 17, vec![0u64; 2]);
    loop {
        let slowest = world.reduce_slice(times, u64::max);
        if world.rank() == 0 && slowest[0] > 0 {
            println!("known {}\nnext {}\nknown_us {}", slowest[0], slowest[1], slowest[0] / 1000);
        }
        let victim = world.size() - 1;
        let keep = world.keep();
        if words > 0 {
            let mut state = world.array::<u64>(words * world.size() as usize, Layout::Block);
            world.barrier();
            let start = Instant::now();
            let restored = keep.restore(|saved| saved.part(&mut state)).is_some();
            if restored && world.rank() == victim {
                println!("restore {}", start.elapsed().as_nanos());
            }
            keep.save(u64::from(world.epoch()) + 1, |save| save.part(&state));
        }
        if world.epoch() == DEATHS || victim == 0 {
            return;
        }
        let at = world.broadcast(0, now() + LEAD.as_nanos() as u64);
        let tried = world.attempt(|world| {
            if world.rank() == victim {
                while now() < at {
                    std::hint::spin_loop();
                }
                gasnet_sys::process::kill(gasnet_sys::process::pid(), 9);
            }
            world.barrier();
        });
        let known = now().saturating_sub(at);
        assert!(tried.is_err(), "nobody waits for the dead");
        world = next(world);
        times = vec![known, now().saturating_sub(at)];
    }
}
