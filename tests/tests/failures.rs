//! How jobs end when a rank breaks a rule, dies or is told nonsense: with a message that says what to look
//! at, with the right status, and with nothing left behind.

use gasnet_tests::run::{Outcome, run, signal};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_misbehave");

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Shared,
    Frames,
}
use Mode::{Frames, Shared};

const BOTH: &[Mode] = &[Shared, Frames];

fn job(ranks: &str, mode: Mode, role: &str, settings: &[(&str, &str)]) -> Outcome {
    job_of(PROGRAM.as_ref(), ranks, mode, role, settings)
}

fn job_of(program: &Path, ranks: &str, mode: Mode, role: &str, settings: &[(&str, &str)]) -> Outcome {
    let mut command = Command::new(program);
    // The last argument is a mark by which leftovers are found.
    static JOBS: AtomicU32 = AtomicU32::new(0);
    let mark = format!("mark-{}-{}", std::process::id(), JOBS.fetch_add(1, Ordering::Relaxed));
    command.args(role.split(' ')).arg(&mark).env("GASNET_PSHM_NODES", ranks).env("RUST_BACKTRACE", "0");
    command.env("GASNET_MAX_SEGSIZE", "1M");
    if mode == Frames {
        command.env("GASNET_NEIGHBORHOOD", "off");
    }
    command.envs(settings.iter().copied());
    let outcome = run(command, "", Duration::from_secs(300)).expect("the program starts");
    assert!(!outcome.timed_out, "{}", outcome.report());
    assert_eq!(processes(&mark), Vec::<String>::new(), "left behind by {}", outcome.report());
    for what in ["begun", "left"] {
        drop(std::fs::remove_file(std::env::temp_dir().join(format!("gasnet-misbehave-{mark}-{what}"))));
    }
    outcome
}

/// Processes with this argument.
fn processes(mark: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").expect("/proc").flatten();
    all.filter(|p| {
        let arguments = std::fs::read(p.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).split('\0').any(|a| a == mark)
    })
    .map(|p| p.path().display().to_string())
    .collect()
}

#[track_caller]
fn says(outcome: &Outcome, status: i32, parts: &[&str]) {
    assert_eq!(outcome.status, Some(status), "{}", outcome.report());
    for part in parts {
        assert!(outcome.stderr.contains(part), "no '{part}' in\n{}", outcome.report());
    }
}

/// Rank 0 of two breaks a rule, in both modes; standard error says all of `parts`.
#[track_caller]
fn ends(modes: &[Mode], role: &str, status: i32, parts: &[&str]) {
    for &mode in modes {
        says(&job("2", mode, role, &[]), status, parts);
    }
}

/// A22 of CLAN's list, the abrupt half.
#[test]
fn last_words_of_a_killed_rank() {
    let outcome = job("2", Shared, "last-words", &[]);
    assert_eq!(outcome.status, Some(137), "{}", outcome.report());
    let said = "the connection to rank 1 is closed: rank 1 is gone\n";
    assert!(outcome.stdout.contains(said), "{}", outcome.report());
}

/// CLAN-6: every byte that was written is read, then an error says who is gone.
#[test]
fn streams_of_ranks_that_are_gone() {
    let said =
        "the last bytes; ConnectionReset: rank 1 has left the job or died and did not end its stream\n";
    let killed = job("2", Shared, "stream-killed", &[]);
    assert_eq!(killed.status, Some(137), "{}", killed.report());
    assert!(killed.stdout.contains(said), "{}", killed.report());
    for mode in BOTH {
        let left = job("2", *mode, "stream-left", &[]);
        assert_eq!((left.status, &*left.stdout), (Some(0), said), "{}", left.report());
    }
    let left = job("2", Frames, "stream-left", &[("GASNET_CONDUIT", "udp")]);
    assert_eq!((left.status, &*left.stdout), (Some(0), said), "{}", left.report());
}

/// Nothing that safe code sends reaches the runtime's own handlers.
#[test]
fn safe_code_cannot_send_the_runtimes_own_messages() {
    for mode in BOTH {
        let mut command = Command::new(env!("CARGO_BIN_EXE_attack"));
        command.env("GASNET_PSHM_NODES", "2").env("GASNET_MAX_SEGSIZE", "1M");
        if *mode == Frames {
            command.env("GASNET_NEIGHBORHOOD", "off");
        }
        let outcome = run(command, "", Duration::from_secs(300)).expect("the program starts");
        says(&outcome, 0, &[]);
        assert_eq!(outcome.stdout, "all refused\n".repeat(2), "{}", outcome.report());
    }
}

/// A record that no engine of remote calls would send is dropped, or ends the job with a message that names
/// the sender.
#[test]
fn forged_remote_calls_are_dropped_or_told() {
    let (mut dropped, mut told) = (0, 0);
    for seed in 1..=40 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_forged"));
        command.arg(format!("{seed}")).env("GASNET_PSHM_NODES", "2").env("GASNET_MAX_SEGSIZE", "1M");
        if seed % 2 == 0 {
            command.env("GASNET_NEIGHBORHOOD", "off");
        }
        let outcome = run(command, "", Duration::from_secs(300)).expect("the program starts");
        assert!(!outcome.timed_out, "seed {seed}: {}", outcome.report());
        match outcome.status {
            Some(0) => {
                assert_eq!(outcome.stdout, "all dropped\n".repeat(2), "seed {seed}: {}", outcome.report());
                dropped += 1;
            }
            _ => {
                let names =
                    outcome.stderr.contains("remote calls: rank ") && outcome.stderr.contains("has sent");
                assert!(outcome.status == Some(1) && names, "seed {seed}: {}", outcome.report());
                told += 1;
            }
        }
    }
    println!("dropped {dropped}, told {told}");
    assert!(told > 0);
}

/// A record that is right but for that no engine has counted it: the counts of calls never meet.
#[test]
fn a_forged_call_does_not_leave_others_waiting() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forged"));
    command.arg("right").env("GASNET_PSHM_NODES", "2").env("GASNET_MAX_SEGSIZE", "1M");
    let outcome = run(command, "", Duration::from_secs(300)).expect("the program starts");
    let says = "1 more functions have run than were sent: a rank sends records of its own making";
    assert!(outcome.status == Some(1) && outcome.stderr.contains(says), "{}", outcome.report());
}

/// A function is called by a name that a rank has signed, and by no other; who has sent that is told.
#[test]
fn a_function_is_not_called_by_a_forged_name() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forged"));
    command.arg("name").env("GASNET_PSHM_NODES", "2").env("GASNET_MAX_SEGSIZE", "1M");
    let outcome = run(command, "", Duration::from_secs(300)).expect("the program starts");
    let says = "rank 0 has sent a function that no rank has named so";
    assert!(outcome.status == Some(1) && outcome.stderr.contains(says), "{}", outcome.report());
    assert_eq!(outcome.stdout, "function runs with 1\n", "{}", outcome.report());
}

/// A run of elements that ends outside of a part is not put there; who has sent it is told.
#[test]
fn a_run_is_not_put_outside_of_a_part() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forged"));
    // Not neighbours: those put a run themselves.
    command.arg("run").env("GASNET_PSHM_NODES", "2").env("GASNET_NEIGHBORHOOD", "off");
    command.env("GASNET_MAX_SEGSIZE", "1M");
    let outcome = run(command, "", Duration::from_secs(300)).expect("the program starts");
    let says = "a function that rank 0 has sent to rank 1 has panicked there: a message about element 1024 of an array's part that has 1024";
    assert!(outcome.status == Some(1) && outcome.stderr.contains(says), "{}", outcome.report());
}

#[test]
fn accesses_outside_a_segment_name_everything() {
    // 1 MiB segments: offset 0xffff8 is the last word.
    let size = "1048576 bytes";
    ends(
        BOTH,
        "put",
        1,
        &["rank 0 of 2: put of 16 bytes at address 0x", "offset 0xffff8", "segment of rank 1", size],
    );
    ends(BOTH, "put-wrapping", 1, &["put of 16 bytes", "offset 0xfffffffffffffffc", "segment of rank 1"]);
    ends(BOTH, "put-nbi", 1, &["put of 9 bytes", "segment of rank 1"]);
    ends(BOTH, "put-nowhere", 1, &["put to rank 2: the job has 2 ranks"]);
    ends(BOTH, "get", 1, &["get of 1 bytes", "offset 0x100000", "segment of rank 1", size]);
    ends(BOTH, "get-huge", 1, &["get of 18446744073709551615 bytes", "segment of rank 1"]);
    ends(BOTH, "memset", 1, &["memset of 2 bytes", "segment of rank 1"]);
    ends(BOTH, "atomic", 1, &["atomic operation of 8 bytes", "segment of rank 1"]);
}

#[test]
fn wrong_atomics_are_told() {
    ends(BOTH, "atomic-misaligned", 1, &["offset 0xc", "multiple of 8"]);
    ends(BOTH, "atomic-float-bits", 1, &["Xor", "F64", "integers"]);
}

/// A board has other memory of the conduit behind it, the core's events others beside them.
#[test]
fn work_for_nics_stays_within_its_limits() {
    for (role, what) in [
        ("nic-load", "8 bytes at 0x27fff9 of a board of 0x280000 bytes"),
        ("nic-load-huge", "8 bytes at 0xffffffff of a board"),
        ("nic-store", "1 bytes at 0x280000 of a board"),
        ("nic-count", "event 4294967295: there are"),
        ("nic-raise", "event"),
        ("nic-write", "8 bytes at 0x280000 of a board"),
        ("nic-write-nowhere", "rank 2: the job has 2 ranks"),
        ("nic-combine", "8 bytes at 0x4 of a board are no words of 8 bytes"),
        ("nic-atomic", "Incr works on 4 bytes, at offset 0x100000 of a segment of 0x100000 bytes, of rank 1"),
        ("nic-atomic-wrapping", "Incr works on 4 bytes, at offset 0xfffffffffffffffc of a segment"),
        ("nic-atomic-misaligned", "SemV at offset 0x10, which is no multiple of 32"),
        ("nic-atomic-nowhere", "rank 2: the job has 2 ranks"),
    ] {
        let outcome = job("2", Frames, role, &[("GASNET_CONDUIT", "netvm")]);
        says(&outcome, 1, &["rank 0 of 2: work for a NIC: ", what]);
    }
}

#[test]
fn a_message_without_a_handler_is_told_where_it_arrives() {
    ends(BOTH, "unregistered", 1, &["rank 1 of 2: rank 0 sent a message for handler 200", "register"]);
}

#[test]
fn handlers_that_do_more_than_they_may_are_told_under_check() {
    for (role, what) in [
        ("handler-requests", "rank 1 of 2: a handler may not send requests"),
        ("handler-barrier", "rank 1 of 2: a handler may not enter a barrier"),
        ("handler-waits", "rank 1 of 2: a handler may not wait"),
    ] {
        for &mode in BOTH {
            says(&job("2", mode, role, &[("GASNET_CHECK", "1")]), 1, &[what]);
        }
    }
}

#[test]
fn completion_rules() {
    ends(&[Frames], "event-twice", 1, &["rank 0 of 2", "waited for twice"]);
    ends(BOTH, "event-made-up", 1, &["no event of this rank"]);
    ends(BOTH, "region-nested", 1, &["do not nest"]);
    ends(BOTH, "region-not-open", 1, &["no access region is open"]);
    for &mode in BOTH {
        says(&job("2", mode, "wait-in-region", &[("GASNET_CHECK", "1")]), 1, &["inside an access region"]);
    }
}

#[test]
fn barrier_rules() {
    ends(BOTH, "notify-twice", 1, &["rank 0 of 2: barrier: two notifies"]);
    ends(BOTH, "wait-without-notify", 1, &["barrier: a wait without a notify"]);
}

#[test]
fn a_panic_ends_the_job_with_101() {
    ends(
        BOTH,
        "panic",
        101,
        &["rank 0 of 2 panics:\n\nthread 'main'", "this rank gives up", "rank 0 of 2 has panicked"],
    );
    // On rank 1, in the middle of its barrier; and on the sender's own stack.
    ends(BOTH, "panic-in-handler", 101, &["handler gives up with [7]"]);
    says(&job("1", Shared, "panic-in-handler", &[]), 101, &["handler gives up with [7]"]);
    says(&job("8", Shared, "panic", &[]), 101, &["this rank gives up"]);
    // Without waiting for the operation that peers will never join; and where peers write to the buffers of
    // who panics.
    ends(BOTH, "panic-beside-a-collective", 101, &["this rank gives up"]);
    ends(BOTH, "all-panic-in-reduction", 101, &["the sum gives up"]);
}

/// A function of a reduction must not wait: the event would depend on the function's own return.
#[test]
fn functions_of_reductions_that_wait_are_told() {
    let collective = "a function of a reduction may not enter a collective operation";
    for (role, what) in [
        ("all-collective-in-reduction-nb", collective),
        ("all-collective-in-reduction", collective),
        ("all-barrier-in-reduction", "a function of a reduction may not enter a barrier"),
        ("all-wait-in-reduction", "a function of a reduction may not wait"),
    ] {
        ends(BOTH, role, 1, &[what, "Return from it first"]);
    }
}

#[test]
fn blocks_are_counted_without_wrapping() {
    ends(BOTH, "blocks-that-wrap", 1, &["gather: blocks of more elements than can be counted"]);
}

#[test]
fn blocks_that_members_disagree_about_are_told() {
    let parts = &["rank 0 sends rank 1 a block of 4800 bytes where 8 are expected"];
    ends(BOTH, "all-disagree-about-a-block", 1, parts);
    let nics = [("GASNET_CONDUIT", "netvm"), ("GASNET_COLL", "nic")];
    // The block does not fit the board and travels as a message too. Either may arrive first, so two
    // messages are possible.
    let parts = &["rank 1 of 2: a collective operation: ", "the ranks of the team disagree about"];
    says(&job("2", Frames, "all-disagree-about-a-block", &nics), 1, parts);
    // As many pieces, but not as long.
    let parts = &["rank 0 sends rank 1 a block of 16 bytes where 8 are expected"];
    ends(BOTH, "all-disagree-about-a-word", 1, parts);
    says(&job("2", Frames, "all-disagree-about-a-word", &nics), 1, parts);
}

/// Kinds, sizes, roots: blocking and not, by messages, by the table, by copies from segment to segment, and
/// by NICs.
#[test]
fn collectives_that_do_not_match_are_told() {
    type Way = (&'static str, Mode, &'static [(&'static str, &'static str)]);
    let ways: [Way; 4] = [
        ("3", Shared, &[]),
        ("3", Frames, &[]),
        ("5", Shared, &[("GASNET_NEIGHBORHOOD", "2")]),
        ("3", Frames, &[("GASNET_CONDUIT", "netvm"), ("GASNET_COLL", "nic")]),
    ];
    let try_all = |(ranks, mode, settings): Way| {
        for seed in 0..40 {
            let outcome = job(ranks, mode, &format!("all-mismatch {seed}"), settings);
            let report =
                || format!("{ranks} ranks, {mode:?}, {settings:?}, seed {seed}: {}", outcome.report());
            assert_eq!(outcome.status, Some(1), "{}", report());
            let told = ["collective operations do not match: operation", "the team disagree about"];
            assert!(told.iter().any(|text| outcome.stderr.contains(text)), "{}", report());
            assert!(!outcome.stdout.contains("unnoticed"), "{}", report());
        }
    };
    std::thread::scope(|scope| ways.map(|way| scope.spawn(move || try_all(way))).map(|t| t.join()))
        .into_iter()
        .for_each(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
}

#[test]
fn a_death_ends_the_job() {
    ends(BOTH, "kill", 137, &["rank 0", "SIGKILL"]);
    ends(BOTH, "abort", 134, &["rank 0", "SIGABRT"]);
    ends(BOTH, "exit", 3, &[]);
    says(&job("8", Shared, "kill", &[]), 137, &["rank 0", "SIGKILL"]);
}

#[test]
fn leaving_without_a_word_is_an_error() {
    for &mode in BOTH {
        let outcome = job("2", mode, "exit-zero", &[]);
        assert_ne!(outcome.status, Some(0), "{}", outcome.report());
        assert!(outcome.stderr.contains("rank 0"), "{}", outcome.report());
    }
}

/// Who waits for a rank that has left in order would wait for ever; unless somebody is left who may end the
/// job.
#[test]
fn ranks_that_wait_for_one_that_left_end_the_job() {
    for &mode in BOTH {
        let outcome = job("2", mode, "leaves-a-barrier-out", &[]);
        says(
            &outcome,
            1,
            &[
                "gasnetrun: 1 of 2 ranks have left in order, and nobody else can go on: rank 1 waits in barrier 1",
            ],
        );
        assert!(outcome.stderr.contains("which rank 0 did not join"), "{}", outcome.report());
        says(&job("3", mode, "leaves-a-barrier-out", &[]), 5, &[]);
    }
    let outcome = job("2", Shared, "leaves-a-collective-out", &[]);
    // The rank itself finds out, or the monitor does, whoever is faster.
    says(&outcome, 1, &["rank 1", "waits for a collective operation"]);
}

/// The monitor believes a wait only if no other thread of the program might end it, and the runtime has
/// threads, too.
#[test]
fn threads_of_the_runtime_are_not_the_program() {
    for conduit in CONDUITS {
        for progress in ["none", "thread"] {
            let settings = [("GASNET_CONDUIT", conduit), ("GASNET_PROGRESS", progress)];
            let outcome = job("2", Frames, "leaves-a-barrier-out", &settings);
            says(
                &outcome,
                1,
                &["nobody else can go on: rank 1 waits in barrier 1", "which rank 0 did not join"],
            );
        }
    }
}

/// Who says nothing because it is stopped is alive, however long that takes.
#[test]
fn a_stopped_peer_is_waited_for() {
    let udp = [("GASNET_CONDUIT", "udp"), ("GASNET_UDP_TIMEOUT", "1s")];
    let outcome = job("2", Frames, "stopped-peer", &udp);
    assert_eq!((outcome.status, &*outcome.stderr), (Some(0), ""), "{}", outcome.report());
    assert_eq!(outcome.stdout, "went on: 9\n");
    says(&job("2", Frames, "kill", &udp), 137, &["rank 0", "SIGKILL"]);
}

/// Whoever is reached slowly because of its own loops is told which setting helps, unless it wants no
/// warnings.
#[test]
fn a_rank_that_calls_nothing_is_told_what_helps() {
    let udp = [("GASNET_CONDUIT", "udp"), ("GASNET_QUIET", "0")];
    let told = job("2", Frames, "all-unheeding", &udp);
    let said = "rank 1 of 2 has made no call of the runtime for 10 s";
    says(&told, 0, &[said, "GASNET_PROGRESS=thread"]);
    assert_eq!(told.stderr.matches("warning").count(), 1, "{}", told.report());
    for helps in [("GASNET_QUIET", "1"), ("GASNET_PROGRESS", "thread")] {
        let outcome = job("2", Frames, "all-unheeding", &[udp[0], helps]);
        assert_eq!((outcome.status, &*outcome.stderr), (Some(0), ""), "{}", outcome.report());
    }
}

/// A program that runs ranks instruction by instruction, and has no clock that reads without a call.
#[test]
fn valgrind_runs_ranks_over_udp() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("not tested: valgrind is not installed");
        return;
    }
    let mut command = Command::new("valgrind");
    command.args(["-q", env!("CARGO_BIN_EXE_conformance"), "--quick", "barriers"]);
    command.env("GASNET_PSHM_NODES", "2").env("GASNET_MAX_SEGSIZE", "64M").env("GASNET_NEIGHBORHOOD", "off");
    command.env("GASNET_CONDUIT", "udp");
    let outcome = run(command, "", Duration::from_secs(300)).expect("valgrind starts");
    says(&outcome, 0, &[]);
    assert!(outcome.stdout.contains("conformance: passed"), "{}", outcome.report());
}

/// Conduits that need nothing installed.
const CONDUITS: [&str; 3] = ["smp", "udp", "netvm"];

/// Nothing is done by a rank that has left, and nothing is said to be.
#[test]
fn what_is_started_towards_a_rank_that_left_ends_the_job() {
    let roles = [
        ("gone-put", "a put"),
        ("gone-put-large", "a put"),
        ("gone-get", "a get"),
        ("gone-implicit", "a get"),
        ("gone-atomic", "an atomic operation"),
        ("gone-message", "a message for handler 132"),
    ];
    for conduit in CONDUITS {
        for (role, what) in roles {
            let outcome = job("2", Frames, role, &[("GASNET_CONDUIT", conduit)]);
            says(&outcome, 1, &[&format!("rank 0 of 2: {what} needs rank 1, which has left the job")]);
            assert_eq!(outcome.stdout, "", "data that never came: {}", outcome.report());
        }
    }
    says(&job("2", Shared, "gone-message", &[]), 1, &["rank 0 of 2: a message for handler 132 needs rank 1"]);
    // Its memory stays.
    assert_eq!(job("2", Shared, "gone-get", &[]).stdout, "7\n");
}

/// Operations that the target served before it left are complete; any other one ends the job.
#[test]
fn what_is_outstanding_with_a_rank_that_leaves_ends_the_job() {
    for role in ["leaving-get", "leaving-implicit"] {
        for conduit in CONDUITS {
            let outcome = job("2", Frames, role, &[("GASNET_CONDUIT", conduit)]);
            assert_eq!(outcome.status, Some(1), "{}", outcome.report());
            // The conduit may have served it, and then the barrier at the end lacks the other rank.
            let served = outcome.stdout == "[7]\n" && outcome.stderr.contains("did not join");
            let told = outcome.stdout.is_empty() && outcome.stderr.contains("rank 0 of 2: waits for ");
            assert!(served || told, "{}", outcome.report());
            assert!(conduit != "smp" || told && outcome.stderr.contains("rank 1"), "{}", outcome.report());
        }
    }
    let parts = ["rank 0 of 2: a message for handler 132 needs rank 1, which has left the job"];
    says(&job("2", Shared, "leaving-message", &[]), 1, &parts);
    for conduit in CONDUITS {
        says(&job("2", Frames, "leaving-message", &[("GASNET_CONDUIT", conduit)]), 1, &parts);
    }
}

#[test]
fn nobody_misses_a_reply_to_a_rank_that_left() {
    for conduit in CONDUITS {
        for mode in [Shared, Frames] {
            let outcome = job("2", mode, "leaving-unasked", &[("GASNET_CONDUIT", conduit)]);
            assert_eq!((outcome.status, &*outcome.stderr), (Some(0), ""), "{}", outcome.report());
        }
    }
}

#[test]
fn global_exit_ends_all_and_loses_no_line() {
    for &mode in BOTH {
        let outcome = job("3", mode, "global-exit", &[]);
        assert_eq!(
            (outcome.status, &*outcome.stdout),
            (Some(42), "said before the end\n"),
            "{}",
            outcome.report()
        );
    }
}

#[test]
fn children_of_ranks_are_no_ranks() {
    for &mode in BOTH {
        let outcome = job("2", mode, "children", &[]);
        assert_eq!(outcome.stdout, "from a child\nfrom a child\n", "{}", outcome.report());
        assert_eq!((outcome.status, &*outcome.stderr), (Some(0), ""), "{}", outcome.report());
    }
}

/// A wrong value of every setting, and what the message says that it takes: refused in any job, whether or
/// not it has a use for the setting.
const WRONG: &[(&str, &str, &str)] = &[
    ("GASNET_PSHM_NODES", "0", "1 to 65536"),
    ("GASNET_PSHM_NODES", "many", "1 to 65536"),
    ("GASNET_PSHM_NODES", "1000000", "1 to 65536"),
    ("GASNET_BIND", "socket", "'none' or 'core'"),
    ("GASNET_CONDUIT", "carrier-pigeon", "known are: smp"),
    ("GASNET_NEIGHBORHOOD", "maybe", "on (default), off"),
    ("GASNET_SUPERNODE_MAXSIZE", "few", "0 (default), 1.."),
    ("GASNET_COLL", "fast", "auto (default), nic"),
    ("GASNET_SMP_DELAY", "a fortnight", "time"),
    ("GASNET_FAULTY", "rain", "a list such as drop=1%"),
    ("GASNET_UDP_FAULTY", "drop=200%", "a list such as drop=1%"),
    ("GASNET_UDP_PORTS", "60000", "range: 50000-50100"),
    ("GASNET_UDP_AUTH", "none", "messages, full; default full between hosts"),
    ("GASNET_UDP_WINDOW", "wide", "size: 1M"),
    ("GASNET_UDP_TIMEOUT", "-1", "time: 20s"),
    ("GASNET_NETVM_MEMORY", "0", "size: 64M"),
    ("GASNET_NETVM_DONATE", "1K", "size of 256K or more"),
    ("GASNET_NETVM_REGISTRATION", "prayer", "shadow-lock (default), firehose,"),
    ("GASNET_NETVM_WIRE", "barbed", "rings (default), network"),
    ("GASNET_OFI_NATIVE", "some", "puts (default), all, none"),
    ("GASNET_OFI_REGISTRATION", "civil", "auto (default), firehose, provider, bounce"),
    ("GASNET_MAX_SEGSIZE", "12Q", "size: 64M"),
    ("GASNET_MAX_SEGSIZE", "0", "size: 64M"),
    ("GASNET_MAX_SEGSIZE", "1000T", "a smaller GASNET_MAX_SEGSIZE"),
    ("GASNET_CHECK", "2", "0 (default), 1"),
    ("GASNET_SPIN", "-1", "0.."),
    ("GASNET_PROGRESS", "threads", "none (default), thread"),
    ("GASNET_STATS", "x", "0 (default), 1"),
    ("GASNET_CORE", "all", "none (default), used"),
    ("GASNET_QUIET", "x", "0 (default), 1"),
    ("GASNET_BACKTRACE", "x", "0 (default), 1"),
    ("GASNET_FREEZE", "x", "0 (default), 1"),
    ("GASNET_FREEZE_ON_ERROR", "x", "0 (default), 1"),
    ("GASNET_CATCH_EXIT", "x", "1 (default), 0"),
    ("GASNET_VERBOSEENV", "x", "0 (default), 1"),
    ("GASNET_WAIT_REPORT", "soon", "seconds"),
];

/// Settings without an entry there, and why.
const ELSEWHERE: &[(&str, &[&str])] = &[
    (
        "gasnetrun's own",
        &[
            "GASNET_HOSTS",
            "GASNET_HOSTFILE",
            "GASNET_SSH",
            "GASNET_LEASE",
            "GASNET_MPIRUN",
            "GASNET_SPAWNFN",
            "GASNET_SSH_SERVERS",
            "GASNET_MASTERIP",
        ],
    ),
    (
        "names of things that only a job with a use for them can look for",
        &[
            "GASNET_PLUGIN_PATH",
            "GASNET_RECORD",
            "GASNET_RECORD_ORDER",
            "GASNET_TRACED",
            "GASNET_TRACEFILE",
            "GASNET_UDP_INTERFACE",
            "GASNET_NETVM_BACKING",
            "GASNET_OFI_PROVIDER",
            "GASNET_OFI_DOMAIN",
        ],
    ),
    ("for tests of programs, which no job reads (gasnet-simulate)", &["GASNET_SIM_SEED", "GASNET_SIM_RUNS"]),
    (
        "lists for C programs (c-suite)",
        &["GASNET_BACKTRACE_TYPE", "GASNET_BACKTRACE_SIGNAL", "GASNET_NO_CATCH_SIGNAL"],
    ),
];

#[test]
fn settings_that_are_not_understood() {
    for (name, value, takes) in WRONG {
        let outcome = job("2", Shared, "fine", &[(name, value)]);
        let given = if *value == "1000T" { "1099511627776000" } else { value };
        says(&outcome, 1, &[name, given, takes]);
        assert_eq!(outcome.stderr.lines().count(), 1, "once, not once a rank: {}", outcome.report());
    }
    // The settings of UPC programs: upc-rt/src/settings.rs.
    for s in gasnet_conduits::settings().filter(|s| s.name.starts_with("GASNET_")) {
        let wrong = WRONG.iter().any(|(name, ..)| *name == s.name);
        let elsewhere = ELSEWHERE.iter().any(|(_, names)| names.contains(&s.name));
        assert!(wrong != elsewhere, "{}: a wrong value of it, or a reason why there is none", s.name);
    }
}

/// With `GASNET_STATS`, a conduit's counters are printed when a rank ends.
#[test]
fn statistics_are_printed() {
    for (conduit, counted) in [
        ("udp", ["datagrams sent ", "datagrams received "].as_slice()),
        ("netvm", &["packets sent ", "packets received "]),
    ] {
        let settings = [("GASNET_CONDUIT", conduit), ("GASNET_STATS", "1")];
        let outcome = job("2", Frames, "fine", &settings);
        says(&outcome, 0, &[]);
        for rank in 0..2 {
            let start = format!("gasnet: rank {rank} of 2: {conduit}: ");
            let line = outcome.stderr.lines().find_map(|line| line.strip_prefix(&start));
            let line = line.unwrap_or_else(|| panic!("no '{start}' in\n{}", outcome.report()));
            assert!(counted.iter().all(|name| line.contains(name)), "{line}");
        }
    }
}

#[test]
fn settings_about_frames_warn_where_there_are_none() {
    for setting in
        [("GASNET_SMP_DELAY", "1us"), ("GASNET_FAULTY", "delay=1%"), ("GASNET_TRACED", "/nowhere/x")]
    {
        let outcome = job("2", Shared, "fine", &[setting]);
        says(&outcome, 0, &[setting.0, "has no effect", "GASNET_NEIGHBORHOOD=off"]);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.report());
    }
}

/// An error that all ranks meet when their conduit opens is printed by one of them only.
#[test]
fn a_conduit_that_does_not_open_says_why_once() {
    // Without what the test's own runner put there, plugins are not found.
    let nowhere = [("LD_LIBRARY_PATH", ""), ("GASNET_PLUGIN_PATH", "/nowhere")];
    for (settings, part) in [
        (
            &[("GASNET_CONDUIT", "netvm"), ("GASNET_NETVM_REGISTRATION", "prayer")][..],
            "GASNET_NETVM_REGISTRATION=prayer: not understood; it takes: shadow-lock (default), ",
        ),
        (&[("GASNET_CONDUIT", "ofi")], "conduit ofi cannot be loaded"),
        (&[("GASNET_CONDUIT", "mpi")], "conduit mpi cannot be loaded"),
        (&[("GASNET_FAULTY", "rain")], "GASNET_FAULTY=rain"),
    ] {
        let all: Vec<_> = nowhere.iter().chain(settings).copied().collect();
        let outcome = job("4", Frames, "fine", &all);
        says(&outcome, 1, &[part]);
        assert_eq!(outcome.stderr.lines().count(), 1, "once, not once a rank: {}", outcome.report());
    }
}

/// A library that anybody can have put beside a program is not loaded; one that only its owner can have put
/// there is.
#[test]
fn planted_libraries_are_not_loaded() {
    let root = std::env::temp_dir().join(format!("gasnet-planted-{}", std::process::id()));
    let at = |path: &str| root.join(path);
    let mode = |path: &str, mode: u32| {
        std::fs::set_permissions(at(path), std::fs::Permissions::from_mode(mode)).expect("a mode");
    };
    let _ = std::fs::remove_dir_all(&root);
    for folder in ["bin", "lib", "tools"] {
        std::fs::create_dir_all(at(folder)).expect("a folder");
        mode(folder, 0o755);
    }
    std::fs::write(
        at("planted.c"),
        "#include <unistd.h>\n\
         __attribute__((constructor)) static void loaded(void) { if (write(2, \"loaded!\\n\", 8)) {} }\n",
    )
    .expect("a source");
    let library = "lib/libgasnet_ofi.so";
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(at(library)).arg(at("planted.c"));
    assert!(cc.status().expect("a C compiler").success());
    mode(library, 0o755);
    for folder in ["bin", "tools"] {
        std::fs::copy(PROGRAM, at(folder).join("program")).expect("a copy");
    }
    let settings = [("LD_LIBRARY_PATH", ""), ("GASNET_PLUGIN_PATH", "/nowhere"), ("GASNET_CONDUIT", "ofi")];
    let ends = |program: &str, is_loaded: bool, part: &str| {
        let outcome = job_of(&at(program), "2", Frames, "fine", &settings);
        says(&outcome, 1, &["conduit ofi cannot be loaded", part]);
        assert_eq!(outcome.stderr.contains("loaded!"), is_loaded, "{}", outcome.report());
    };
    ends("tools/program", false, "is in no folder with the name bin");
    for (path, shut, open, who) in [
        ("", 0o755, 0o1777, "everybody can write"),
        ("lib", 0o755, 0o1777, "everybody can write"),
        ("lib", 0o755, 0o775, "its group can write"),
        (library, 0o755, 0o775, "its group can write"),
    ] {
        mode("", 0o755);
        mode(path, open);
        ends("bin/program", false, who);
        mode(path, shut);
    }
    mode("", 0o755);
    for path in ["lib", library] {
        // Only root can give files away.
        if std::os::unix::fs::chown(at(path), Some(4321), None).is_ok() {
            ends("bin/program", false, "belongs to user 4321");
            std::os::unix::fs::chown(at(path), Some(0), None).expect("root again");
        }
    }
    ends("bin/program", true, "libgasnet_ofi.so: not a conduit of this version");
    let _ = std::fs::remove_dir_all(&root);
}

#[test]
fn unknown_settings_warn_unless_quiet() {
    let outcome = job("2", Shared, "fine", &[("GASNET_NEIGHBOURHOOD", "off")]);
    says(&outcome, 0, &["GASNET_NEIGHBOURHOOD", "did you mean GASNET_NEIGHBORHOOD"]);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.report());
    let outcome = job("2", Shared, "fine", &[("GASNET_NEIGHBOURHOOD", "off"), ("GASNET_QUIET", "1")]);
    assert_eq!((outcome.status, &*outcome.stderr), (Some(0), ""), "{}", outcome.report());
}

#[test]
fn segments_of_any_size() {
    for &mode in BOTH {
        for ranks in ["1", "3", "7"] {
            says(&job(ranks, mode, "sizes", &[]), 0, &[]);
        }
        says(&job("2", mode, "before-attach", &[]), 0, &[]);
        for bytes in [usize::MAX, usize::MAX - 4095, 1 << 63, 1 << 46] {
            says(&job("2", mode, &format!("too-large {bytes}"), &[]), 1, &["too large"]);
        }
        says(&job("2", mode, "fine", &[("GASNET_MAX_SEGSIZE", "1")]), 0, &[]);
        // More than there is: only what is touched costs.
        says(&job("2", mode, "fine", &[("GASNET_MAX_SEGSIZE", "4T")]), 0, &[]);
    }
}

fn limited(limit: &str, conduit: &str, redirection: &str) -> Outcome {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit {limit}; exec {PROGRAM} fine {redirection}")]);
    command.env("GASNET_PSHM_NODES", "2").env("GASNET_MAX_SEGSIZE", "4G").env("GASNET_CONDUIT", conduit);
    run(command, "", Duration::from_secs(300)).expect("the shell starts")
}

#[test]
fn limits_of_the_system_are_named() {
    for conduit in ["smp", "netvm"] {
        for (limit, part) in
            [("-f 0", "(ulimit -f)"), ("-f 300", "(ulimit -f)"), ("-v 600000", "(ulimit -v)")]
        {
            let outcome = limited(limit, conduit, "");
            says(&outcome, 1, &[part, "GASNET_MAX_SEGSIZE"]);
            assert_eq!(outcome.stderr.lines().count(), 1, "once: {}", outcome.report());
        }
    }
}

/// A file at its limit is an error of a write to the launcher, which ends the job; the signal would end the
/// launcher alone.
#[test]
fn output_beyond_the_limit_of_files_ends_the_job() {
    let file = std::env::temp_dir().join(format!("gasnet-output-{}", std::process::id()));
    let outcome = limited("-f 0", "smp", &format!("2> {}", file.display()));
    let written = std::fs::read(&file).expect("the shell makes the file");
    std::fs::remove_file(&file).expect("the file");
    assert_eq!((outcome.status, written.len()), (Some(1), 0), "{}", outcome.report());
}

#[test]
fn a_process_with_threads_does_not_fork() {
    says(&job("2", Shared, "threads-first", &[]), 1, &["thread"]);
}

/// Ranks that wait for too long say so unasked. Not all of a loaded machine's may have got far enough then,
/// so more is asked for until they have; only then is the job told to end.
#[test]
fn blocked_ranks_say_why() {
    let parts = [
        "rank 0 waits for rank 1: an answer, for ",
        " s, in misbehave::stuck",
        "rank 1 waits for rank 0: an answer, for ",
        "rank 2 waits in barrier 0, for ",
        "; not in it: 0-1,3",
        "rank 3 is not blocked in the runtime",
        "who waits for whom: 0 -> 1; 1 -> 0; 2 -> 0-1,3",
        "they wait for each other: ",
    ];
    for &mode in BOTH {
        let told =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("told-{mode:?}-{}", std::process::id()));
        drop(std::fs::remove_file(&told));
        let mut command = Command::new(PROGRAM);
        command.arg("stuck").arg(&told).env("GASNET_PSHM_NODES", "4").env("GASNET_WAIT_REPORT", "1");
        command.env("GASNET_NEIGHBORHOOD", if mode == Frames { "off" } else { "on" });
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut monitor = command.spawn().expect("the program starts");
        let stderr = BufReader::new(monitor.stderr.take().expect("piped"));
        let (send, lines) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            stderr.lines().map_while(Result::ok).all(|line| send.send(line).is_ok())
        });
        let (mut said, begin) = (String::new(), Instant::now());
        let heading = "gasnetrun: what the ranks are blocked in:";
        let whole =
            |said: &String| said.split(heading).any(|report| parts.iter().all(|p| report.contains(p)));
        while !whole(&said) && begin.elapsed() < Duration::from_secs(60) {
            match lines.recv_timeout(Duration::from_secs(1)) {
                Ok(line) => said += &format!("{line}\n"),
                Err(RecvTimeoutError::Timeout) if said.contains(heading) => {
                    signal(monitor.id(), "USR1");
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        std::fs::write(&told, "").expect("a file");
        let status = monitor.wait().expect("it ends");
        drop((reader.join(), std::fs::remove_file(&told)));
        assert!(whole(&said), "{mode:?}: {said}");
        assert_eq!(status.code(), Some(9), "{said}");
    }
}

/// Two ranks that wait for all ranks at different places hang no longer than it takes to compare them.
#[test]
fn ranks_that_can_never_meet_are_told() {
    for &mode in BOTH {
        let outcome = job("3", mode, "collective-beside-a-barrier", &[]);
        let parts = [
            "different collective calls",
            "waits in barrier 1",
            "waits for a collective operation",
            "same order",
        ];
        says(&outcome, 1, &parts);
        let parts = [
            "different collective calls",
            "waits in barrier 0",
            "waits for all ranks to attach their segments",
        ];
        says(&job("2", mode, "attach-beside-a-barrier", &[]), 1, &parts);
    }
}

/// A job that hangs without a proof says so once, and goes on.
#[test]
fn a_job_in_which_all_ranks_wait_says_so() {
    let mut command = Command::new(PROGRAM);
    command.arg("all-wait").env("GASNET_PSHM_NODES", "2").stdin(Stdio::null()).stderr(Stdio::piped());
    let mut monitor = command.spawn().expect("the program starts");
    let stderr = BufReader::new(monitor.stderr.take().expect("piped"));
    let (said, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| said.send(line)));
    let wanted = ["every rank has waited for 10 s", "rank 0 waits for what never comes", "rank 1 waits for"];
    let until = Instant::now() + Duration::from_secs(120);
    let mut said = String::new();
    while !wanted.iter().all(|part| said.contains(part)) {
        match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => said += &(line + "\n"),
            Err(_) => break,
        }
    }
    signal(monitor.id(), "TERM");
    assert_eq!(monitor.wait().expect("it ends").code(), Some(128 + 15), "{said}");
    assert!(wanted.iter().all(|part| said.contains(part)), "{said}");
}

/// Numbers of other types, though of as many bytes.
#[test]
fn collectives_of_other_types_are_told() {
    for &mode in BOTH {
        for kind in 0..11 {
            let outcome = job("3", mode, &format!("all-other-types {kind}"), &[]);
            // A message of an operation does not name the type; the table of a host does.
            let types: &[&str] =
                if mode == Shared && kind == 7 { &["(u64) on rank 0", "(f64) on rank"] } else { &[] };
            let parts = ["do not match", "the roots differ, or the types of the elements"];
            says(&outcome, 1, &[&parts, types].concat());
            assert!(!outcome.stdout.contains("unnoticed"), "{}", outcome.report());
        }
    }
}

#[test]
fn sizes_are_checked_before_memory_is_asked_for() {
    ends(BOTH, "read-huge", 1, &["outside the segment of rank 1"]);
    ends(BOTH, "rows-outside", 1, &["put of", "outside the segment of rank 1"]);
    ends(BOTH, "rows-huge-step", 1, &["outside the segment of rank 1"]);
    ends(BOTH, "rows-not-whole", 1, &["a put of rows: 7 elements are not whole rows of 3"]);
    ends(BOTH, "set-word-misaligned", 1, &["at offset 0x4: must be a multiple of 8"]);
}

#[test]
fn locks_are_taken_and_given_back_in_turn() {
    ends(BOTH, "all-lock-twice", 1, &["has the lock already"]);
    ends(BOTH, "all-lock-not-held", 1, &["does not have the lock"]);
}
