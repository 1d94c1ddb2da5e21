//! Collections over real ranks, each test a job of its own.

use pgas::testing::{self, Job};
use pgas::{DistMap, DistVec, WorkPool, World};

/// On neighbours, and on ranks that reach each other by frames.
fn both(test: impl FnOnce(World) + Copy) {
    testing::run(3, test);
    Job::new(2).setting("GASNET_NEIGHBORHOOD", "off").run(test);
}

#[test]
fn a_map_counts_words_of_all_ranks() {
    both(|world| {
        let table = DistMap::<String, u32>::new(world);
        for word in ["a", "b", "a", &format!("of {}", world.rank())] {
            table.update(word.to_string(), |count, by: u32| *count += by, 1);
        }
        world.settle();
        let counts = table.get_many(["a".to_string(), "b".to_string(), "none".to_string()]);
        assert_eq!(counts, [Some(2 * world.size()), Some(world.size()), None]);
    });
}

#[test]
fn a_vector_is_sorted_as_a_whole() {
    both(|world| {
        let all = DistVec::<u64>::new(world);
        let own = (0..100).map(|i| (i * 7919 + u64::from(world.rank()) * 104_729) % 1000);
        own.for_each(|value| all.push(value));
        all.sort();
        let sorted = all.with_local(|mine| mine.is_sorted());
        assert!(sorted);
        let ends = world.gather_all(all.with_local(|mine| {
            [mine.first().copied().unwrap_or(u64::MAX), mine.last().copied().unwrap_or(0)]
        }));
        let there: Vec<_> = ends.into_iter().filter(|[first, _]| *first != u64::MAX).collect();
        assert!(there.windows(2).all(|pair| pair[0][1] <= pair[1][0]), "{there:?}");
    });
}

#[test]
fn a_pool_does_all_work_once() {
    both(|world| {
        // Counts the nodes of a tree: an item is a depth, and has as many children.
        let pool = WorkPool::<u32>::new(world);
        let roots = (world.rank() == 0).then_some(6);
        let mine: u64 = pool.run(roots, 0, |count, depth, todo| {
            *count += 1;
            (0..depth).for_each(|_| todo.push(depth - 1));
        });
        assert_eq!(world.reduce(mine, |a, b| a + b), 1957);
    });
}
