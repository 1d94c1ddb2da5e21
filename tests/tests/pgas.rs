//! The programs `pgas` and `collections` over several networks, and what they say of mistakes. Each test is
//! one job.

use gasnet_tests::run::{Outcome, run, signal};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// A job that takes so long is stuck.
const HANGS: Duration = Duration::from_secs(600);

/// A program: its name, and where it is.
type Program = (&'static str, &'static str);

const PGAS: Program = ("pgas", env!("CARGO_BIN_EXE_pgas"));
const COLLECTIONS: Program = ("collections", env!("CARGO_BIN_EXE_collections"));

type Settings<'a> = &'a [(&'a str, &'a str)];

fn job((_, path): Program, ranks: u32, settings: Settings, args: &[&str]) -> Outcome {
    let mut command = Command::new(path);
    command.args(args).env("GASNET_PSHM_NODES", ranks.to_string()).env("GASNET_MAX_SEGSIZE", "64M");
    command.envs(settings.iter().copied());
    run(command, "", HANGS).expect("the program starts")
}

fn passes(program: Program, ranks: u32, settings: Settings, args: &[&str]) {
    let outcome = job(program, ranks, settings, args);
    let passed = outcome.status == Some(0) && outcome.stdout.ends_with(&format!("{}: passed\n", program.0));
    assert!(passed && outcome.stderr.is_empty(), "{}", outcome.report());
}

fn fails(program: Program, settings: Settings, args: &[&str], says: &str) {
    let outcome = job(program, 2, settings, args);
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
    ($($name:ident: $program:expr, $ranks:expr, $settings:expr, $args:expr;)*) => {$(
        #[test]
        fn $name() {
            passes($program, $ranks, &$settings, &$args);
        }
    )*};
}

jobs! {
    alone: PGAS, 1, [], [];
    two: PGAS, 2, [], [];
    three_over_frames: PGAS, 3, [FRAMES], [];
    four_on_two_hosts: PGAS, 4, [PAIRS], ["--seed", "2"];
    eight: PGAS, 8, [], ["--seed", "3"];
    checked: PGAS, 3, [PAIRS, CHECK], ["--seed", "4"];
    with_progress_threads: PGAS, 3, [PAIRS, THREAD], ["--seed", "5"];
    two_over_udp: PGAS, 2, [UDP, FRAMES], [];
    four_over_udp: PGAS, 4, [UDP, PAIRS], ["--seed", "6"];
    late_frames: PGAS, 3, [FRAMES, LATE], ["--seed", "7"];
    three_over_netvm: PGAS, 3, [NETVM], ["--seed", "8"];
    ranks_at_their_end_serve: PGAS, 3, [], ["alone-calls"];
    ranks_at_their_end_serve_over_udp: PGAS, 3, [UDP, PAIRS], ["alone-calls"];
    calls_of_ranks_that_have_left: PGAS, 3, [], ["left"];
    calls_of_ranks_that_have_left_over_udp: PGAS, 3, [UDP, PAIRS], ["left"];
    calls_of_ranks_that_have_left_with_threads: PGAS, 3, [PAIRS, THREAD], ["left"];
    arrays_lie_together_where_ranks_differ: PGAS, 3, [], ["unequal"];
    arrays_lie_together_over_frames: PGAS, 3, [FRAMES], ["unequal"];
    arrays_lie_together_over_netvm: PGAS, 2, [NETVM], ["unequal"];
    arrays_lie_apart_from_the_segments: PGAS, 2, [], ["allocate-again"];
    many_in_two_hops: PGAS, 66, [FRAMES], ["settle", "table", "updates"];

    collections_alone: COLLECTIONS, 1, [], [];
    collections_of_two: COLLECTIONS, 2, [], [];
    collections_of_three_over_frames: COLLECTIONS, 3, [FRAMES], [];
    collections_of_five_on_three_hosts: COLLECTIONS, 5, [PAIRS], ["--seed", "2"];
    collections_of_eight: COLLECTIONS, 8, [], ["--seed", "3"];
    collections_with_progress_threads: COLLECTIONS, 3, [PAIRS, THREAD], ["--seed", "5"];
    collections_of_four_over_udp: COLLECTIONS, 4, [UDP, PAIRS], ["--seed", "6"];
    collections_with_late_frames: COLLECTIONS, 3, [FRAMES, LATE], ["--seed", "7"];
    collections_of_three_over_netvm: COLLECTIONS, 3, [NETVM], ["--seed", "8"];
}

macro_rules! mistakes {
    ($($name:ident: $program:expr, $settings:expr, $args:expr, $says:expr;)*) => {$(
        #[test]
        fn $name() {
            fails($program, &$settings, &$args, $says);
        }
    )*};
}

mistakes! {
    a_panic_of_what_was_sent_names_both: PGAS, [], ["panic-in-send"],
        "a function that rank 0 has sent to rank 1 has panicked there: as it is meant to";
    a_call_may_not_wait: PGAS, [], ["wait-in-call"],
        "may not wait (the result of a remote call): make it async, and await";
    ranks_in_different_phases: PGAS, [], ["two-phases"],
        "this rank has made a collective call while another rank made a different one, or ended";
    a_barrier_without_ranks_at_their_end: PGAS, [], ["alone-barrier"],
        "this rank has made a collective call while another rank made a different one, or ended";
    a_settlement_without_ranks_at_their_end: PGAS, [FRAMES], ["alone-settle"],
        "this rank has made a collective call while another rank made a different one, or ended";
    a_phase_without_ranks_at_their_end: PGAS, [FRAMES], ["alone-phase"],
        "this rank has made a collective call while another rank made a different one, or ended";
    a_sum_without_ranks_at_their_end: PGAS, [], ["alone-sum"], "collective operations do not match";
    two_puts_to_an_element: PGAS, [CHECK], ["double-put"], "two puts of one phase to the same element";
    arrays_of_different_lengths: PGAS, [], ["other-arrays"], "ranks make different arrays";
    a_write_to_a_part_that_is_lent: PGAS, [], ["write-to-array"], "is outside the segment of rank";
    a_write_to_a_part_that_is_lent_over_frames: PGAS, [FRAMES], ["write-to-array"], "is outside the segment of rank";
    an_atomic_to_a_part_that_is_lent: PGAS, [], ["add-to-array"], "is outside the segment of rank";
    a_message_to_a_part_that_is_lent: PGAS, [], ["send-to-array"], "is outside the segment of rank";
    two_threads_make_arrays: PGAS, [], ["threads-make-arrays"],
        "two threads of a rank are in collective calls at the same time";
    a_rank_has_one_world: PGAS, [], ["twice-on-a-rank"], "`run_on` was called twice on one rank";
    a_process_is_one_rank: PGAS, [], ["run-in-run"], "`run` was called twice in one process";
    a_message_that_was_forgotten: PGAS, [], ["forget"], "prepared message that was forgotten";
    a_message_that_was_forgotten_over_frames: PGAS, [FRAMES], ["forget"], "prepared message that was forgotten";
    a_message_that_was_forgotten_over_udp: PGAS, [FRAMES, UDP], ["forget"], "prepared message that was forgotten";
    a_reply_that_was_forgotten: PGAS, [], ["forget-reply"], "prepared, and neither sent nor dropped";
    a_message_that_another_thread_forgot: PGAS, [], ["forget-elsewhere"], "prepared, and neither sent nor dropped";
    messages_that_other_threads_forgot_over_udp: PGAS, [FRAMES, UDP], ["forget-all-elsewhere"],
        "were prepared, and neither sent nor dropped";
    messages_that_other_threads_forgot_over_netvm: PGAS, [NETVM], ["forget-all-elsewhere"],
        "were prepared, and neither sent nor dropped";
    and_of_floats: PGAS, [], ["float-and"], "it is for integers only";
    more_threads_than_a_rank_needs: PGAS, [], ["too-many-threads"], "100000 threads that serve: at most 1024";
    values_of_different_types: PGAS, [], ["gather-of-others"], "a gathering of values: rank";
    values_of_different_types_over_frames: PGAS, [FRAMES], ["broadcast-of-others"],
        "gives a value of type `char`, and rank 0 one of another type";
    numbers_of_different_types: PGAS, [], ["gather-of-other-numbers"], "collective operations do not match";
    numbers_of_different_types_over_frames: PGAS, [FRAMES], ["broadcast-of-other-numbers"],
        "collective operations do not match";
    numbers_and_strings: PGAS, [], ["gather-of-numbers-and-strings"], "collective operations do not match";
    values_of_different_types_in_a_reduction: PGAS, [], ["reduction-of-others"],
        "collective operations do not match";
    values_of_different_types_in_a_reduction_over_frames: PGAS, [FRAMES], ["reduction-of-others"],
        "collective operations do not match";
    a_panic_in_a_reduction_ends_the_job: PGAS, [], ["panic-in-reduction"], "the sum gives up";
    a_panic_in_a_reduction_ends_the_job_over_frames: PGAS, [FRAMES], ["panic-in-reduction"], "the sum gives up";
    a_panic_in_a_reduction_of_long_values_ends_the_job: PGAS, [], ["panic-in-long-reduction"], "the sum gives up";
    a_reduction_may_not_wait: PGAS, [], ["call-in-long-reduction"], "a function of a reduction may not";
    references_are_for_one_rank: PGAS, [], ["gather-of-references"],
        "a reference to an object outside a remote call";
    replies_are_for_one_rank: PGAS, [], ["gather-of-replies"], "a reply outside a remote call";
    a_value_that_asks_what_it_is: PGAS, [], ["gather-of-flattened"], "a gathering of values: a ";
    a_value_that_is_too_deep: PGAS, [], ["gather-too-deep"], "send a list or a tree as a `Vec` of its nodes";
    no_such_element: PGAS, [], ["element"], "element 10 of an array of 10";
    no_such_block: PGAS, [], ["block"], "of a matrix of 10 x 10";
    who_has_a_part_may_not_wait: COLLECTIONS, [], ["wait-in-for-each"],
        "has waited, or has used the collection: it may not";
    a_panic_in_a_pool_ends_the_job: COLLECTIONS, [], ["panic-in-pool"], "as it is meant to";
}

/// A function's name is its place in the executable: of two executables, each would run something else than
/// the other has asked for.
#[test]
fn ranks_of_different_builds_are_told() {
    let folder =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("builds-{}", std::process::id()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_gasnetrun-for-tests"));
    // The rank that comes first has made the folder.
    let one_of_both = r#"if mkdir "$0" 2>/dev/null; then exec "$1"; else exec "$2"; fi"#;
    command.args(["-n", "2", "sh", "-c", one_of_both]).arg(&folder).args([PGAS.1, COLLECTIONS.1]);
    let outcome = run(command, "", HANGS).expect("the launcher starts");
    std::fs::remove_dir(folder).expect("a rank has made it");
    let names = |program: Program| outcome.stderr.contains(&format!("runs {}, build ", program.1));
    let told = outcome.stderr.contains("ranks run different builds of the program")
        && names(PGAS)
        && names(COLLECTIONS);
    assert!(outcome.status != Some(0) && told, "{}", outcome.report());
}

/// Many updates make few messages, and `GASNET_STATS` says so.
#[test]
fn batches_are_counted() {
    let outcome = job(PGAS, 3, &[FRAMES, ("GASNET_STATS", "1")], &["flood", "updates"]);
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

/// Programs that wait in executors of their own wait for calls, which a report names.
#[test]
fn a_report_says_what_executors_of_others_wait_for() {
    for setting in [CHECK, THREAD] {
        let mut command = Command::new(PGAS.1);
        command.arg("await-for-ever").env("GASNET_PSHM_NODES", "2").envs([setting]);
        let mut monitor =
            command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let stderr = BufReader::new(monitor.stderr.take().expect("piped"));
        let (say, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| say.send(line)));
        let wanted = [
            "rank 0 waits for rank 1: the results of 3 remote calls that its program awaits, for ",
            "rank 1 waits for rank 0: the results of 3 remote calls that its program awaits, for ",
            "pgas/failures.rs:",
            "who waits for whom: 0 -> 1; 1 -> 0",
            "they wait for each other: 0 -> 1 -> 0",
        ];
        let until = Instant::now() + Duration::from_secs(120);
        let mut said = String::new();
        while !wanted.iter().all(|part| said.contains(part)) && Instant::now() < until {
            match lines.recv_timeout(Duration::from_secs(1)) {
                Ok(line) => said += &(line + "\n"),
                // Not before the ranks listen.
                Err(RecvTimeoutError::Timeout) => signal(monitor.id(), "USR1"),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        signal(monitor.id(), "TERM");
        let status = monitor.wait().expect("it ends");
        assert!(wanted.iter().all(|part| said.contains(part)), "{setting:?}: {said}");
        assert_eq!(status.code(), Some(128 + 15), "{said}");
    }
}
