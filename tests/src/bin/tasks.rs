//! Tasks are dealt to ranks in the order of a hash table, which is another one on each rank; with `sorted`,
//! in an order that all ranks know.

use std::collections::{BTreeMap, HashMap};

const TASKS: u64 = 12;

fn main() {
    pgas::run(|world| {
        let tasks = || (0..TASKS).map(|n| (format!("task {n}"), 1u64 << n));
        let in_turn: Vec<u64> = if std::env::args().nth(1).as_deref() == Some("sorted") {
            tasks().collect::<BTreeMap<_, _>>().into_values().collect()
        } else {
            tasks().collect::<HashMap<_, _>>().into_values().collect()
        };
        let mine: u64 = in_turn.iter().skip(world.rank() as usize).step_by(world.size() as usize).sum();
        let done = world.reduce(mine, |a, b| a + b);
        if world.rank() == 0 {
            assert_eq!(done, (1 << TASKS) - 1, "tasks are done twice, or by nobody");
        }
    });
}
