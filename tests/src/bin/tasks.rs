//! Tasks are dealt to ranks in the order of a hash table, which is another one on each rank; with `sorted`,
//! in an order that all ranks know.

use gasnet::{GlobalPtr, RankId};
use std::collections::{BTreeMap, HashMap};

const TASKS: u64 = 12;

fn main() {
    gasnet_conduits::run(|rank| {
        let tasks = || (0..TASKS).map(|n| (format!("task {n}"), 1u64 << n));
        let in_turn: Vec<u64> = if std::env::args().nth(1).as_deref() == Some("sorted") {
            tasks().collect::<BTreeMap<_, _>>().into_values().collect()
        } else {
            tasks().collect::<HashMap<_, _>>().into_values().collect()
        };
        let (me, size) = (rank.id().0 as usize, rank.size() as usize);
        let mine: u64 = in_turn.iter().skip(me).step_by(size).sum();
        let done: GlobalPtr<u64> = GlobalPtr::new(RankId(0), 0);
        rank.atomics().fetch_add(done, mine);
        rank.barrier();
        if me == 0 {
            assert_eq!(rank.read(done), (1 << TASKS) - 1, "tasks are done twice, or by nobody");
        }
    });
}
