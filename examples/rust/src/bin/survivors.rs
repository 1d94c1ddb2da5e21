//! Counts primes, and goes on when ranks die: `gasnetrun -n 4 --on-death shrink survivors`.
//!
//! Every rank has all results so far. A rank that dies takes only the task with it that it was working on.

use gasnet_examples::{passed, sizes};
use pgas::World;
use std::collections::BTreeMap;

/// Numbers of a task.
const TASK: u64 = 2000;

fn primes(task: u64) -> u64 {
    let is_prime = |n: &u64| *n > 1 && (2..).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
    (task * TASK..(task + 1) * TASK).filter(is_prime).count() as u64
}

/// Adds what all ranks have found to what this one knows.
fn share(world: World, known: &mut BTreeMap<u64, u64>, found: Vec<(u64, u64)>) {
    world.gather_all(found).into_iter().for_each(|of_rank| known.extend(of_rank));
}

/// Counts the primes of this number of tasks. Returns them, and the world that is left.
fn count(first: World, tasks: u64) -> (u64, World) {
    let (mut world, mut known) = (first, BTreeMap::new());
    loop {
        let tried = world.attempt(|world| {
            // After a death some may know more than others.
            let knows = known.iter().map(|(task, found)| (*task, *found)).collect();
            share(world, &mut known, knows);
            while (known.len() as u64) < tasks {
                let mut open = (0..tasks).filter(|task| !known.contains_key(task));
                let mine = open.nth(world.rank() as usize).map(|task| (task, primes(task)));
                share(world, &mut known, mine.into_iter().collect());
            }
        });
        match tried {
            Ok(()) => return (known.values().sum(), world),
            Err(died) => {
                eprintln!("rank {} goes on: {died}", world.rank());
                world = world.shrink();
            }
        }
    }
}

fn main() {
    pgas::run(|world| {
        let Some([tasks]) = sizes(world, [("tasks", 60, 1..=100_000)]) else { return };
        let (found, world) = count(world, tasks);
        if world.rank() == 0 {
            println!("{found} primes below {}, counted by {} ranks", tasks * TASK, world.size());
        }
        let _ = world.attempt(passed);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rank of a simulated job dies, at any event of it.
    #[test]
    fn any_event_may_be_the_moment_of_a_death() {
        let mut survived = 0;
        for event in (5..400).step_by(13) {
            let victim = event % 3;
            let job = gasnet_simulate::ranks(3).survives().faults(&format!("kill={victim}@event:{event}"));
            let ended = job.try_run(|rank| {
                pgas::run_on(rank, |world| assert_eq!(count(world, 8).0, 1_862));
            });
            match ended {
                Ok(()) => survived += 1,
                // Before the first attempt a death ends the job.
                Err(why) => assert!(why.contains(&format!("rank {victim} has died")), "{event}: {why}"),
            }
        }
        assert!(survived > 20, "{survived} deaths were survived");
    }

    /// One of the ranks dies at whatever moment.
    #[test]
    fn a_rank_may_die() {
        pgas::testing::Job::new(4).survives().setting("GASNET_MAX_SEGSIZE", "16M").run(|world| {
            if world.rank() == 1 {
                std::thread::spawn(|| {
                    std::thread::sleep(std::time::Duration::from_millis(3));
                    std::process::abort();
                });
                count(world, 60);
                // It may have counted before it dies.
                loop {
                    std::thread::park();
                }
            }
            assert_eq!(count(world, 60).0, 11_301);
        });
    }
}
