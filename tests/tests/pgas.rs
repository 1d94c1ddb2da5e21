//! The program `pgas` over several networks, and what it says of mistakes. Each test is one job.

use gasnet_tests::run::{Outcome, run};
use std::process::Command;
use std::time::Duration;

/// A job that takes so long is stuck.
const HANGS: Duration = Duration::from_secs(600);

fn job(ranks: u32, settings: &[(&str, &str)], args: &[&str]) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pgas"));
    command.args(args).env("GASNET_PSHM_NODES", ranks.to_string()).env("GASNET_MAX_SEGSIZE", "64M");
    command.envs(settings.iter().copied());
    run(command, "", HANGS).expect("the program starts")
}

fn passes(ranks: u32, settings: &[(&str, &str)], args: &[&str]) {
    let outcome = job(ranks, settings, args);
    let passed = outcome.status == Some(0) && outcome.stdout.ends_with("pgas: passed\n");
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
const CHECK: (&str, &str) = ("GASNET_CHECK", "1");
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
    four_on_two_hosts: 4, [PAIRS], ["--seed", "2"];
    eight: 8, [], ["--seed", "3"];
    checked: 3, [PAIRS, CHECK], ["--seed", "4"];
    with_progress_threads: 3, [PAIRS, THREAD], ["--seed", "5"];
    two_over_udp: 2, [UDP, FRAMES], [];
    four_over_udp: 4, [UDP, PAIRS], ["--seed", "6"];
    late_frames: 3, [FRAMES, LATE], ["--seed", "7"];
    three_over_netvm: 3, [NETVM], ["--seed", "8"];
    many_in_two_hops: 66, [FRAMES], ["settle", "table", "updates"];
}

macro_rules! mistakes {
    ($($name:ident: $settings:expr, $args:expr, $says:expr;)*) => {$(
        #[test]
        fn $name() {
            fails(2, &$settings, &$args, $says);
        }
    )*};
}

mistakes! {
    a_panic_of_what_was_sent_names_both: [], ["panic-in-send"], "that rank 0 has sent to rank 1 has panicked there";
    a_call_may_not_wait: [], ["wait-in-call"], "may not wait (the result of a remote call): make it async, and await";
    ranks_in_different_phases: [], ["two-phases"], "ranks have met that are in different places of the program";
    two_puts_to_an_element: [CHECK], ["double-put"], "two puts of one phase to the same element";
    arrays_of_different_lengths: [], ["other-arrays"], "ranks make different arrays";
    and_of_floats: [], ["float-and"], "it is for integers only";
    no_such_element: [], ["element"], "element 10 of an array of 10";
}

/// Many updates make few messages, and `GASNET_STATS` says so.
#[test]
fn batches_are_counted() {
    let outcome = job(3, &[FRAMES, ("GASNET_STATS", "1")], &["flood", "updates"]);
    let counts = |line: &str| {
        let words: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        (words[words.len() - 2], words[words.len() - 1])
    };
    let lines: Vec<_> =
        outcome.stderr.lines().filter(|line| line.contains("asked for")).map(counts).collect();
    assert_eq!(lines.len(), 3, "{}", outcome.report());
    for (asked, messages) in lines {
        assert!(asked > 6_000 && asked > 20 * messages, "{asked} asked for, {messages} messages");
    }
}
