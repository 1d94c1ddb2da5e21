//! The conformance program at several numbers of ranks, over shared memory and over frames. Each test is one job.

use gasnet_tests::run::run;
use std::process::Command;
use std::time::Duration;

const PROGRAM: &str = env!("CARGO_BIN_EXE_conformance");

fn job(ranks: u32, settings: &[(&str, &str)], args: &[&str]) {
    let mut command = Command::new(PROGRAM);
    command.args(args).env("GASNET_PSHM_NODES", ranks.to_string()).env("GASNET_MAX_SEGSIZE", "64M");
    command.envs(settings.iter().copied());
    let outcome = run(command, "", Duration::from_secs(120)).expect("the program starts");
    let passed = outcome.status == Some(0) && outcome.stdout.ends_with("conformance: passed\n");
    assert!(passed, "{}", outcome.report());
    assert_eq!(outcome.stderr, "", "{}", outcome.report());
}

const FRAMES: (&str, &str) = ("GASNET_NEIGHBORHOOD", "off");

/// Pretends that every two ranks have a host of their own: both ways of reaching a rank in one job.
const PAIRS: (&str, &str) = ("GASNET_NEIGHBORHOOD", "2");

macro_rules! jobs {
    ($($name:ident: $ranks:expr, $settings:expr, $args:expr;)*) => {$(
        #[test]
        fn $name() {
            job($ranks, &$settings, &$args);
        }
    )*};
}

jobs! {
    alone: 1, [], [];
    alone_without_neighbourhood: 1, [FRAMES], ["--quick"];
    two: 2, [], [];
    two_over_frames: 2, [FRAMES], [];
    three: 3, [], [];
    three_over_frames: 3, [FRAMES], [];
    three_on_two_hosts: 3, [PAIRS], [];
    six_on_three_hosts: 6, [PAIRS], ["--quick"];
    checked_on_two_hosts: 4, [PAIRS, ("GASNET_CHECK", "1")], ["--quick", "regions", "indices", "flood-mixed", "threads", "rules"];
    eight: 8, [], ["--quick"];
    eight_over_frames: 8, [FRAMES], ["--quick"];
    // Above 16 ranks polls go by pending words instead of looking at every link.
    twenty: 20, [], ["--quick", "indices", "flood", "flood-mixed", "flood-threads", "barriers", "split-phase", "contention", "oracle", "collectives"];
    twenty_over_frames: 20, [FRAMES], ["--quick", "indices", "flood", "flood-mixed", "barriers", "oracle", "collectives"];
    // Two-level trees: neighbourhoods of three among eight ranks, of two among five.
    threes: 8, [("GASNET_NEIGHBORHOOD", "3")], ["--quick", "vis", "collectives", "collectives-typed", "team-barriers"];
    twos: 5, [("GASNET_NEIGHBORHOOD", "2")], ["--seed", "4", "vis", "collectives", "collectives-typed", "team-barriers"];
    delayed: 3, [FRAMES, ("GASNET_SMP_DELAY", "50us")], ["--quick", "regions", "pending", "events", "flood", "flood-mixed",
        "barriers", "split-phase", "litmus", "oracle", "threads", "rules", "collectives"];
    checked: 2, [FRAMES, ("GASNET_CHECK", "1")], ["--quick", "regions", "indices", "flood-mixed", "threads", "rules", "collectives", "collectives-typed"];
    // Waits that sleep at once, and waits that never do.
    impatient: 3, [("GASNET_SPIN", "0")], ["--quick", "flood-mixed", "barriers", "split-phase", "litmus"];
    spinning: 2, [("GASNET_SPIN", "1000000")], ["--quick", "flood-mixed", "barriers", "split-phase", "litmus"];
    other_seed: 3, [], ["--seed", "2", "--quick", "oracle", "flood-mixed", "barriers", "atomics"];
    other_seed_over_frames: 4, [FRAMES], ["--seed", "3", "--quick", "oracle", "flood-mixed", "barriers", "atomics"];
}
