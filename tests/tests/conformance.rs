//! The conformance program at several numbers of ranks, over shared memory and over frames. Each test is one
//! job.
//!
//! Not every job has all sections: processor time goes into what differs.
//! - Each network has all of them once with many rounds, and otherwise with few (`--quick`).
//! - With eight ranks and more, the sections in which more than neighbours meet ([`MANY`]) run over every
//!   network; all sections do over shared memory.
//! - A mode of registration has those that put and get ([`MEMORY`]); one of them has all.

use gasnet_tests::run::run;
use std::process::Command;
use std::time::Duration;

/// A job that takes so long is stuck: eight ranks with a tenth of a processor take more than a minute.
const HANGS: Duration = Duration::from_secs(600);

const PROGRAM: &str = env!("CARGO_BIN_EXE_conformance");

fn job(ranks: u32, settings: &[(&str, &str)], args: &[&str]) {
    let mut command = Command::new(PROGRAM);
    command.args(args).env("GASNET_PSHM_NODES", ranks.to_string()).env("GASNET_MAX_SEGSIZE", "64M");
    command.envs(settings.iter().copied());
    let outcome = run(command, "", HANGS).expect("the program starts");
    let passed = outcome.status == Some(0) && outcome.stdout.ends_with("conformance: passed\n");
    assert!(passed, "{}", outcome.report());
    assert_eq!(outcome.stderr, "", "{}", outcome.report());
}

const FRAMES: (&str, &str) = ("GASNET_NEIGHBORHOOD", "off");

/// Pretends that every two ranks have a host of their own: both ways of reaching a rank in one job.
const PAIRS: (&str, &str) = ("GASNET_NEIGHBORHOOD", "2");

/// Every rank alone, over sockets.
const UDP: (&str, &str) = ("GASNET_CONDUIT", "udp");
/// A NIC in software for every rank, which owns the memory of its segment.
const NETVM: (&str, &str) = ("GASNET_CONDUIT", "netvm");
/// Which carry out collective operations.
const NICS: (&str, &str) = ("GASNET_COLL", "nic");
/// Whose packets go as between hosts.
const WIRE: (&str, &str) = ("GASNET_NETVM_WIRE", "network");
/// The faults of a bad network. Where bulk data are compared, they have to be authenticated.
const BAD_NETWORK: (&str, &str) =
    ("GASNET_UDP_FAULTY", "drop=2%,duplicate=2%,reorder=5%,delay=2%,by=300us,corrupt=2%,seed=5");
const FULL: (&str, &str) = ("GASNET_UDP_AUTH", "full");
const MESSAGES: (&str, &str) = ("GASNET_UDP_AUTH", "messages");
/// Delays and reordering that a program has to tolerate on any conduit.
const LATE: (&str, &str) = ("GASNET_FAULTY", "reorder=10%,delay=5%,by=100us,seed=3");

/// Sections in which a rank has to do with all others.
const MANY: [&str; 17] = [
    "--quick",
    "am",
    "indices",
    "flood",
    "flood-mixed",
    "flood-threads",
    "barriers",
    "split-phase",
    "contention",
    "oracle",
    "collectives",
    "collectives-teams",
    "collectives-typed",
    "teams-created",
    "team-barriers",
    "nic",
    "nic-hunt",
];

/// Sections whose data a NIC reads and writes in a program's memory.
const MEMORY: [&str; 23] = [
    "--quick",
    "rma",
    "huge",
    "advice",
    "events",
    "vis",
    "vis-regions",
    "rows",
    "regions",
    "exported",
    "exported-served",
    "exported-unmapped",
    "exported-watched",
    "pending",
    "atomics",
    "long",
    "flood-mixed",
    "nic-placed",
    "apertures",
    "rdma",
    "posted",
    "oracle",
    "threads",
];

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
    two: 2, [], ["--quick"];
    two_over_frames: 2, [FRAMES], ["--quick"];
    three: 3, [], [];
    three_over_frames: 3, [FRAMES], [];
    three_on_two_hosts: 3, [PAIRS], [];
    six_on_three_hosts: 6, [PAIRS], ["--quick"];
    checked_on_two_hosts: 4, [PAIRS, ("GASNET_CHECK", "1")], ["--quick", "regions", "indices", "flood-mixed", "threads", "rules"];
    three_with_progress_threads: 3, [PAIRS, ("GASNET_PROGRESS", "thread")], ["--quick"];
    eight: 8, [], ["--quick"];
    eight_over_frames: 8, [FRAMES], MANY;
    // Above 16 ranks polls go by pending words instead of looking at every link.
    twenty: 20, [], ["--quick", "indices", "flood", "flood-mixed", "flood-threads", "barriers", "split-phase", "contention", "oracle", "collectives"];
    twenty_over_frames: 20, [FRAMES], ["--quick", "indices", "flood", "flood-mixed", "barriers", "oracle", "collectives"];
    // Two-level trees: neighbourhoods of three among eight ranks, of two among five.
    threes: 8, [("GASNET_NEIGHBORHOOD", "3")], ["--quick", "vis", "collectives", "collectives-teams", "collectives-typed", "team-barriers"];
    twos: 5, [("GASNET_NEIGHBORHOOD", "2")], ["--seed", "4", "vis", "collectives", "collectives-teams", "collectives-typed", "team-barriers"];
    delayed: 3, [FRAMES, ("GASNET_SMP_DELAY", "50us")], ["--quick", "regions", "pending", "events", "flood", "flood-mixed",
        "barriers", "split-phase", "litmus", "oracle", "threads", "rules", "collectives"];
    checked: 2, [FRAMES, ("GASNET_CHECK", "1")], ["--quick", "regions", "indices", "flood-mixed", "threads", "rules", "collectives", "collectives-teams", "collectives-typed"];
    // Waits that sleep at once, and waits that never do.
    impatient: 3, [("GASNET_SPIN", "0")], ["--quick", "flood-mixed", "barriers", "split-phase", "litmus"];
    spinning: 2, [("GASNET_SPIN", "1000000")], ["--quick", "flood-mixed", "barriers", "split-phase", "litmus"];
    other_seed: 3, [], ["--seed", "2", "--quick", "oracle", "flood-mixed", "barriers", "atomics"];
    other_seed_over_frames: 4, [FRAMES], ["--seed", "3", "--quick", "oracle", "flood-mixed", "barriers", "atomics"];
    alone_over_udp: 1, [UDP, FRAMES], ["--quick"];
    two_over_udp: 2, [UDP, FRAMES], [];
    three_over_udp: 3, [UDP, FRAMES], ["--quick"];
    eight_over_udp: 8, [UDP, FRAMES], MANY;
    two_hosts_over_udp: 4, [UDP, PAIRS], ["--quick"];
    udp_on_ipv6: 3, [UDP, FRAMES, ("GASNET_UDP_INTERFACE", "::1")], ["--quick"];
    udp_all_authenticated: 3, [UDP, FRAMES, FULL], ["--quick"];
    // Messages are authenticated whatever the settings.
    udp_messages_over_a_bad_network: 3, [UDP, FRAMES, MESSAGES, BAD_NETWORK], ["--quick", "flood", "flood-mixed", "barriers", "rules"];
    udp_over_a_bad_network: 3, [UDP, FRAMES, FULL, BAD_NETWORK], ["--quick"];
    udp_over_a_bad_network_with_little_room: 4, [UDP, FRAMES, FULL, BAD_NETWORK, ("GASNET_UDP_WINDOW", "0")],
        ["--quick", "indices", "flood", "flood-mixed", "barriers", "oracle", "collectives"];
    checked_over_udp: 2, [UDP, FRAMES, ("GASNET_CHECK", "1")], ["--quick", "regions", "indices", "flood-mixed", "threads", "rules"];
    // Every pair of sixteen ranks, with the least room there can be.
    sixteen_flood_over_udp: 16, [UDP, FRAMES, ("GASNET_UDP_WINDOW", "0")], ["--quick", "flood", "flood-mixed"];
    alone_over_netvm: 1, [NETVM], ["--quick"];
    two_over_netvm: 2, [NETVM], [];
    three_over_netvm: 3, [NETVM], ["--quick"];
    eight_over_netvm: 8, [NETVM], MANY;
    netvm_with_progress_threads: 3, [NETVM, ("GASNET_PROGRESS", "thread")], ["--quick"];
    checked_over_netvm: 2, [NETVM, ("GASNET_CHECK", "1")], ["--quick", "regions", "indices", "flood-mixed", "threads", "rules"];
    late_frames_over_netvm: 3, [NETVM, LATE], ["--quick"];
    netvm_collectives_by_nics: 4, [NETVM, NICS], ["--quick", "collectives", "collectives-teams", "collectives-typed", "team-barriers", "collectives-nic"];
    // Of the first teams of the job.
    netvm_collectives_by_nics_of_teams: 5, [NETVM, NICS], ["collectives-teams"];
    netvm_collectives_by_nics_with_little_memory: 3, [NETVM, NICS, ("GASNET_NETVM_MEMORY", "1M")],
        ["--quick", "collectives", "collectives-teams", "collectives-nic"];
    netvm_collectives_by_nics_over_a_bad_network: 3, [NETVM, NICS, WIRE, FULL, BAD_NETWORK], ["--quick", "--seed", "6", "collectives", "collectives-teams", "collectives-nic"];
    // Where NICs do not work by themselves the same goes as usual.
    collectives_by_nics_of_others: 4, [NICS, PAIRS, ("GASNET_QUIET", "1")], ["--quick", "--seed", "7", "collectives", "collectives-teams"];
    collectives_by_nics_of_others_over_udp: 4, [UDP, NICS, FRAMES, ("GASNET_QUIET", "1")], ["--quick", "--seed", "8", "collectives", "collectives-teams"];
    netvm_firehose: 2, [NETVM, ("GASNET_NETVM_REGISTRATION", "firehose")], ["--quick"];
    netvm_firehose_over_locks: 3, [NETVM, ("GASNET_NETVM_REGISTRATION", "firehose-over-locks")], MEMORY;
    netvm_pin_everything: 2, [NETVM, ("GASNET_NETVM_REGISTRATION", "pin-everything")], MEMORY;
    netvm_rendezvous: 2, [NETVM, ("GASNET_NETVM_REGISTRATION", "rendezvous")], MEMORY;
    netvm_rendezvous_nounpin: 2, [NETVM, ("GASNET_NETVM_REGISTRATION", "rendezvous-nounpin")], MEMORY;
    netvm_bounce: 3, [NETVM, ("GASNET_NETVM_REGISTRATION", "bounce")], MEMORY;
    netvm_over_udp: 3, [NETVM, WIRE], ["--quick"];
    netvm_over_udp_in_two_modes: 2, [NETVM, NICS, WIRE, ("GASNET_NETVM_REGISTRATION", "firehose")], ["--quick"];
    netvm_over_a_bad_network: 3, [NETVM, WIRE, FULL, BAD_NETWORK], ["--quick", "indices", "flood", "flood-mixed", "barriers", "oracle", "collectives", "nic"];
    netvm_over_peers: 3, [NETVM, ("GASNET_NETVM_MEMORY", "1M"), ("GASNET_NETVM_BACKING", "peers:64M"), ("GASNET_NETVM_DONATE", "8M")], ["--quick"];
    netvm_pindown_cache: 2, [NETVM, ("GASNET_NETVM_REGISTRATION", "pindown-cache")], MEMORY;
    sixteen_flood_on_over_udp: 16, [UDP, FRAMES, ("GASNET_UDP_WINDOW", "0")], ["--quick", "--repeat", "3", "flood"];
    late_frames: 3, [FRAMES, LATE], ["--quick"];
    late_frames_over_udp: 3, [UDP, FRAMES, LATE], ["--quick"];
}
