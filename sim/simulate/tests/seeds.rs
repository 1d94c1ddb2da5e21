//! Simulations in tests: the one that `docs/simulate.md` shows, and the environment's variables for seeds.

use gasnet::{GlobalPtr, RankId};
use std::process::Command;

#[test]
fn queue_loses_nothing() {
    let word = |index: u64| GlobalPtr::<u64>::new(RankId(0), 8 * index);
    gasnet_simulate::ranks(6).runs(200).run(|rank| {
        let end = rank.atomics().fetch_add(word(0), 1);
        rank.write(word(1 + end), 1 + u64::from(rank.id().0));
        rank.barrier();
        assert_eq!((0..6).map(|i| rank.read(word(1 + i))).sum::<u64>(), 21);
    });
}

/// A program that is right.
#[test]
#[ignore = "started by the test below"]
fn any_program() {
    let right = |rank: &gasnet::Rank| {
        let now = gasnet_sim::now().expect("a simulation");
        rank.barrier();
        assert!(gasnet_sim::now() > Some(now));
    };
    let ended = gasnet_simulate::ranks(2).runs(3).try_run(right);
    println!("ended: {ended:?}");
}

fn with(name: &str, value: &str) -> String {
    let mut command = Command::new(std::env::current_exe().expect("a program"));
    command.args(["--ignored", "--exact", "any_program", "--nocapture"]).env(name, value);
    let output = command.output().expect("it starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn seeds_are_those_of_the_environment() {
    for name in ["GASNET_SIM_SEED", "GASNET_SIM_RUNS"] {
        assert!(with(name, "2").contains("ended: Ok"), "{}", with(name, "2"));
        let said = with(name, "two");
        assert!(said.contains(&format!("{name}=two: a number is needed")), "{said}");
    }
}
