//! UTS: unbalanced tree search. Counts the nodes of a tree whose shape nobody knows beforehand: the number of
//! a node's children comes out of its random state. Ranks that have none left get some of others.
//!
//! Shows: `WorkPool`.
//!
//! Check: rank 0 counts the same tree by itself.

use gasnet_examples::{mix, passed, sizes};
use pgas::WorkPool;
use serde::{Deserialize, Serialize};
use std::time::Instant;

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Node {
    state: u64,
    children: u64,
}

/// Every node but the root has four children with a probability of just under 1/4. The grain is the work that
/// a node takes.
fn child(parent: Node, number: u64, grain: u64) -> Node {
    let mut state = mix(parent.state.wrapping_add(number.wrapping_mul(0x632b_e59b_d9b4_e019)));
    for _ in 0..grain {
        state = mix(state);
    }
    Node { state, children: if state % 10_000 < 2470 { 4 } else { 0 } }
}

fn main() {
    pgas::run(|world| {
        let wanted = [("ROOT_CHILDREN", 2000, 1..=1_000_000), ("GRAIN", 100, 0..=1_000_000)];
        let Some([root_children, grain]) = sizes(world, wanted) else { return };
        let root = Node { state: 42, children: root_children };

        let start = Instant::now();
        let pool = WorkPool::<Node>::new(world);
        // The state: nodes counted here. All work begins on rank 0.
        let mine = pool.run((world.rank() == 0).then_some(root), 0u64, move |count, node, todo| {
            *count += 1;
            todo.extend((0..node.children).map(|i| child(node, i, grain)));
        });
        let all = world.gather_all(mine);
        let elapsed = start.elapsed().as_secs_f64();

        if world.rank() == 0 {
            let (mut stack, mut expected) = (vec![root], 0);
            while let Some(node) = stack.pop() {
                expected += 1;
                stack.extend((0..node.children).map(|i| child(node, i, grain)));
            }
            assert_eq!(all.iter().sum::<u64>(), expected);
            let rate = expected as f64 / elapsed / 1e6;
            println!("uts: {expected} nodes, of ranks {all:?}: {elapsed:.3} s, {rate:.2} M/s");
        }
        passed(world);
    })
}
