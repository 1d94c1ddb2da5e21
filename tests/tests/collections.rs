//! The program `collections` over several networks, and what it says of mistakes. Each test is one job.

use gasnet_tests::run::{Outcome, run};
use std::process::Command;
use std::time::Duration;

/// A job that takes so long is stuck.
const HANGS: Duration = Duration::from_secs(600);

fn job(ranks: u32, settings: &[(&str, &str)], args: &[&str]) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_collections"));
    command.args(args).env("GASNET_PSHM_NODES", ranks.to_string()).env("GASNET_MAX_SEGSIZE", "64M");
    command.envs(settings.iter().copied());
    run(command, "", HANGS).expect("the program starts")
}

fn passes(ranks: u32, settings: &[(&str, &str)], args: &[&str]) {
    let outcome = job(ranks, settings, args);
    let passed = outcome.status == Some(0) && outcome.stdout.ends_with("collections: passed\n");
    assert!(passed && outcome.stderr.is_empty(), "{}", outcome.report());
}

fn fails(ranks: u32, settings: &[(&str, &str)], args: &[&str], says: &str) {
    let outcome = job(ranks, settings, args);
    assert!(outcome.status != Some(0) && outcome.stderr.contains(says), "{}", outcome.report());
}

const FRAMES: (&str, &str) = ("GASNET_NEIGHBORHOOD", "off");
const PAIRS: (&str, &str) = ("GASNET_NEIGHBORHOOD", "2");
const UDP: (&str, &str) = ("GASNET_CONDUIT", "udp");
const NETVM: (&str, &str) = ("GASNET_CONDUIT", "netvm");
const THREAD: (&str, &str) = ("GASNET_PROGRESS", "thread");
const LATE: (&str, &str) = ("GASNET_FAULTY", "reorder=10%,delay=5%,by=100us,seed=3");

macro_rules! jobs {
    ($($name:ident: $ranks:expr, $settings:expr, $args:expr;)*) => {$(
        #[test]
        fn $name() {
            passes($ranks, &$settings, &$args);
        }
    )*};
}

jobs! {
    alone: 1, [], [];
    two: 2, [], [];
    three_over_frames: 3, [FRAMES], [];
    five_on_three_hosts: 5, [PAIRS], ["--seed", "2"];
    eight: 8, [], ["--seed", "3"];
    with_progress_threads: 3, [PAIRS, THREAD], ["--seed", "5"];
    four_over_udp: 4, [UDP, PAIRS], ["--seed", "6"];
    late_frames: 3, [FRAMES, LATE], ["--seed", "7"];
    three_over_netvm: 3, [NETVM], ["--seed", "8"];
}

#[test]
fn who_has_a_part_may_not_wait() {
    fails(2, &[], &["wait-in-for-each"], "has waited, or has used the collection: it may not");
}

#[test]
fn a_panic_in_a_pool_ends_the_job() {
    fails(2, &[], &["panic-in-pool"], "as it is meant to");
}
