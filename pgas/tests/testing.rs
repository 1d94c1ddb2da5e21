//! Tests of programs over many ranks: [`pgas::testing`].

use pgas::testing::{self, Job};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The text of a panic.
fn says(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[test]
fn ranks_are_there() {
    let captured = 7u32;
    testing::run(4, move |world| {
        assert_eq!((world.size(), captured), (4, 7));
        assert_eq!(world.reduce(u64::from(world.rank()), |a, b| a + b), 6);
    });
}

#[test]
fn a_rank_that_panics_fails_the_test() {
    let failed = catch_unwind(|| {
        testing::run(3, |world| assert!(world.rank() != 2, "as it is meant to"));
    });
    let why = says(&*failed.unwrap_err());
    assert!(why.contains("a job of 3 ranks has failed: exit status: 101"), "{why}");
}

#[test]
fn a_status_fails_the_test() {
    let failed = catch_unwind(|| testing::run(2, |world| world.exit(3)));
    let why = says(&*failed.unwrap_err());
    assert!(why.contains("exit status: 3"), "{why}");
}

#[test]
fn a_test_has_many_jobs() {
    for ranks in 1..4 {
        testing::run(ranks, move |world| assert_eq!(world.size(), ranks));
    }
    let last = catch_unwind(|| testing::run(2, |_| panic!("as it is meant to")));
    assert!(last.is_err());
}

#[test]
fn settings_are_the_jobs() {
    Job::new(2).setting("GASNET_NEIGHBORHOOD", "off").run(|world| {
        assert!(!world.is_neighbour(1 - world.rank()));
    });
    testing::run(2, |world| assert!(world.is_neighbour(1 - world.rank())));
}

#[test]
fn another_test_than_this_is_told() {
    let failed = catch_unwind(|| Job::new(1).test("no::such::test").run(|_| ()));
    let why = says(&*failed.unwrap_err());
    assert!(why.contains("there is no test `no::such::test` that calls this"), "{why}");
}

/// It would end the harness's process, with the status of one that passed.
#[test]
fn run_in_a_test_is_refused() {
    let refused = catch_unwind(AssertUnwindSafe(|| {
        pgas::run(|_| ());
    }));
    let why = says(&*refused.unwrap_err());
    assert!(why.contains("Use `pgas::testing::run`"), "{why}");
}
