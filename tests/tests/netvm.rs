//! Programs on segments larger than the memory they are allowed, in every registration mode of the netvm
//! conduit.

use std::collections::HashMap;
use std::process::Command;
use std::time::Duration;

use gasnet_tests::run::{Outcome, run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_paging");
/// Modes that keep to the memory that they are allowed.
const BOUNDED: [&str; 6] =
    ["shadow-lock", "firehose", "firehose-over-locks", "rendezvous", "bounce", "pindown-cache"];
/// Modes that pin with the operating system.
const PINNING: [&str; 5] =
    ["firehose", "pin-everything", "rendezvous", "rendezvous-nounpin", "pindown-cache"];

fn job(ranks: u32, mode: &str, settings: &[(&str, &str)]) -> Outcome {
    let mut command = Command::new(PROGRAM);
    command.env("GASNET_CONDUIT", "netvm").env("GASNET_PSHM_NODES", ranks.to_string());
    command.env("GASNET_NETVM_REGISTRATION", mode).envs(settings.iter().copied());
    run(command, "", Duration::from_secs(600)).expect("the program starts")
}

/// The numbers that each rank printed, by name.
fn said(outcome: &Outcome, ranks: u32) -> Vec<HashMap<String, u64>> {
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{}", outcome.report());
    let ranks_said: Vec<_> = outcome
        .stdout
        .lines()
        .filter(|line| line.starts_with("rank "))
        .map(|line| {
            let line = line.split_once(": ").expect("a rank's line").1;
            // Names have blanks in them: a value ends at the next blank.
            let mut pairs = HashMap::new();
            let mut name = String::new();
            for word in line.split(' ') {
                name += if name.is_empty() { "" } else { " " };
                match word.split_once('=') {
                    Some((last, value)) => {
                        pairs.insert(core::mem::take(&mut name) + last, value.parse().expect("a number"));
                    }
                    None => name += word,
                }
            }
            pairs
        })
        .collect();
    assert_eq!(ranks_said.len(), ranks as usize, "{}", outcome.report());
    ranks_said
}

/// All bytes are what was written, the memory is kept to, and everything went through the NICs.
fn works(ranks: u32, mode: &str, segment: u64, memory: u64) {
    let (segment_text, memory_text) = (segment.to_string(), memory.to_string());
    let mut settings =
        vec![("GASNET_MAX_SEGSIZE", segment_text.as_str()), ("GASNET_NETVM_MEMORY", memory_text.as_str())];
    if BOUNDED.contains(&mode) {
        settings.push(("GASNET_TEST_RESIDENT", memory_text.as_str()));
    }
    let outcome = job(ranks, mode, &settings);
    for counts in said(&outcome, ranks) {
        let of = |name: &str| counts.get(name).copied().unwrap_or_else(|| panic!("no {name}: {counts:?}"));
        assert!(of("compared") >= 2 << 20, "{}", outcome.report());
        assert!(of("commands") > 0 && of("packets sent") > 0 && of("packets received") > 0, "{counts:?}");
        if memory < segment && BOUNDED.contains(&mode) {
            assert!(of("page-outs") > 0 && of("page-ins") > 0, "{counts:?}");
            assert!(of("bytes resident at most") <= memory, "{counts:?}");
            assert_eq!(of("bytes resident beyond the budget"), 0);
        }
        let pinned = of("pinned bytes at most by the kernel's count");
        assert_eq!(pinned > 0, PINNING.contains(&mode), "{mode}: {counts:?}");
        if BOUNDED.contains(&mode) {
            assert!(pinned <= memory, "{mode}: {counts:?}");
        }
        match mode {
            "shadow-lock" => assert!(of("locks") > 0 && of("pins") == 0, "{counts:?}"),
            "firehose" => assert!(of("hits") > 0 && of("moves") > 0 && of("pins") > 0, "{counts:?}"),
            "firehose-over-locks" => assert!(of("leased") > 0 && of("pins") > 0, "{counts:?}"),
            "rendezvous" => assert!(of("unpins") > 0 && of("moves") > 0, "{counts:?}"),
            _ => {}
        }
    }
}

macro_rules! modes {
    ($($name:ident: $mode:expr;)*) => {$(
        #[test]
        fn $name() {
            // A sixteenth, and more than all.
            works(2, $mode, 8 << 20, 512 << 10);
            works(3, $mode, 3 << 20, 6 << 20);
        }
    )*};
}

modes! {
    shadow_lock: "shadow-lock";
    firehose: "firehose";
    firehose_over_locks: "firehose-over-locks";
    rendezvous: "rendezvous";
    bounce: "bounce";
    pindown_cache: "pindown-cache";
}

#[test]
fn more_ranks_than_processors_and_hardly_any_memory() {
    works(5, "shadow-lock", 5 << 20, 256 << 10);
}

#[test]
fn pin_everything_wants_all_of_the_memory() {
    works(2, "pin-everything", 4 << 20, 4 << 20);
    let settings = [("GASNET_MAX_SEGSIZE", "16M"), ("GASNET_NETVM_MEMORY", "1M")];
    let outcome = job(2, "pin-everything", &settings);
    assert_eq!(outcome.status, Some(1), "{}", outcome.report());
    for part in ["pin-everything", "16777216 bytes", "GASNET_NETVM_MEMORY"] {
        assert!(outcome.stderr.contains(part), "no {part}: {}", outcome.report());
    }
}

#[test]
fn rendezvous_without_unpinning_says_how_much_too_much_it_took() {
    let settings = [("GASNET_MAX_SEGSIZE", "4M"), ("GASNET_NETVM_MEMORY", "512K")];
    let outcome = job(2, "rendezvous-nounpin", &settings);
    for counts in said(&outcome, 2) {
        assert!(counts["bytes resident beyond the budget"] > 1 << 20, "{counts:?}");
        assert!(counts["pinned bytes at most by the kernel's count"] > 1 << 20, "{counts:?}");
    }
}

/// Leases keep pages in memory only as long as nobody needs their frames; whose firehoses were for them asks
/// again.
#[test]
fn leases_are_taken_back_and_asked_for_again() {
    let settings = [("GASNET_MAX_SEGSIZE", "8M"), ("GASNET_NETVM_MEMORY", "1M"), ("GASNET_TEST_RECALL", "1")];
    let outcome = job(2, "firehose-over-locks", &settings);
    let said = said(&outcome, 2);
    assert!(said.iter().any(|counts| counts["recalled"] > 0), "{}", outcome.report());
    assert!(said.iter().any(|counts| counts["asked"] > 0), "nobody was told: {}", outcome.report());
}

#[test]
fn a_rank_that_is_killed_ends_the_job() {
    let settings = [("GASNET_MAX_SEGSIZE", "4M"), ("GASNET_NETVM_MEMORY", "512K"), ("GASNET_TEST_DIES", "1")];
    for mode in ["shadow-lock", "firehose"] {
        let outcome = job(3, mode, &settings);
        assert!(!outcome.timed_out && outcome.status != Some(0), "{}", outcome.report());
        assert!(outcome.stderr.contains("SIGKILL"), "{}", outcome.report());
    }
}

/// Files may not grow as far as the segment: an error that says what is full.
#[test]
fn a_full_backing_store_is_said() {
    let settings =
        [("GASNET_MAX_SEGSIZE", "16M"), ("GASNET_NETVM_MEMORY", "512K"), ("GASNET_TEST_FILE", "1M")];
    let outcome = job(2, "shadow-lock", &settings);
    assert!(!outcome.timed_out && outcome.status != Some(0), "{}", outcome.report());
    for part in ["full", "nothing was lost", "GASNET_NETVM_BACKING"] {
        assert!(outcome.stderr.contains(part), "no {part}: {}", outcome.report());
    }
}

#[test]
fn a_mode_that_is_none_is_refused() {
    let outcome = job(2, "nonsense", &[("GASNET_MAX_SEGSIZE", "1M")]);
    assert_eq!(outcome.status, Some(1), "{}", outcome.report());
    assert!(outcome.stderr.contains("takes: shadow-lock (default), firehose,"), "{}", outcome.report());
}

/// A segment of 16 times the memory, and every byte is what was written, with pages in files and at peers.
#[test]
fn gms_01_pages_at_peers_are_what_was_written() {
    // (ranks, backing, lent by each, further setting): room for all, for some, with copies, between hosts.
    for (ranks, backing, donate, wire) in [
        (2, "peers:64M", "16M", "rings"),
        (3, "peers:2M", "1M", "rings"),
        (4, "peers:64M:safe", "16M", "rings"),
        (2, "peers:64M:safe+file:/tmp", "2M", "network"),
    ] {
        let settings = [
            ("GASNET_MAX_SEGSIZE", "8M"),
            ("GASNET_NETVM_MEMORY", "512K"),
            ("GASNET_NETVM_BACKING", backing),
            ("GASNET_NETVM_DONATE", donate),
            ("GASNET_NETVM_WIRE", wire),
        ];
        let outcome = job(ranks, "shadow-lock", &settings);
        let said = said(&outcome, ranks);
        let sum = |name: &str| said.iter().map(|counts| counts[name]).sum::<u64>();
        assert!(sum("pages to peers") > 200 && sum("pages from peers") > 200, "{}", outcome.report());
        for counts in &said {
            assert!(
                counts["compared"] >= 2 << 20 && counts["bytes resident at most"] <= 512 << 10,
                "{counts:?}"
            );
            assert_eq!(counts["refused"], 0, "{counts:?}");
        }
    }
}

fn peers(mode: &str) -> Outcome {
    let settings = [
        ("GASNET_MAX_SEGSIZE", "8M"),
        ("GASNET_NETVM_MEMORY", "512K"),
        ("GASNET_NETVM_BACKING", "peers:8M"),
        ("GASNET_NETVM_DONATE", "8M"),
        (mode, "1"),
    ];
    job(2, "shadow-lock", &settings)
}

/// A donor that leaves gets its memory back first: the borrower's pages move to its file.
#[test]
fn gms_06_a_donor_that_leaves_takes_no_page_with_it() {
    let outcome = peers("GASNET_TEST_LEAVES");
    assert!(said(&outcome, 1)[0]["recalled"] > 100, "{}", outcome.report());
}

#[test]
fn gms_03_a_page_from_a_peer_runs_nothing_there_but_its_nic() {
    let outcome = peers("GASNET_TEST_FETCH");
    let donor = &said(&outcome, 1)[0];
    let of_nic = ["locks", "bounces"];
    let work: u64 = donor.iter().filter(|(name, _)| !of_nic.contains(&name.as_str())).map(|(_, n)| *n).sum();
    assert!(donor["locks"] >= 1000 && donor.len() == 7 && work == 0, "{}", outcome.report());
    // A row of the shadow table may be full (hazard H14): the host then copies for the NIC.
    assert!(donor["bounces"] <= donor["locks"] / 50, "{}", outcome.report());
}

#[test]
fn wrong_settings_of_peers_are_refused() {
    for (name, value) in [
        ("GASNET_NETVM_BACKING", "peers:"),
        ("GASNET_NETVM_BACKING", "peers:100K"),
        ("GASNET_NETVM_BACKING", "peers:1G:save"),
        ("GASNET_NETVM_BACKING", "peers:1G+/tmp"),
        ("GASNET_NETVM_BACKING", "peers:1G+file:"),
        ("GASNET_NETVM_BACKING", "file:"),
        ("GASNET_NETVM_DONATE", "much"),
        ("GASNET_NETVM_DONATE", "4K"),
    ] {
        let outcome = job(2, "shadow-lock", &[("GASNET_MAX_SEGSIZE", "1M"), (name, value)]);
        assert_eq!(outcome.status, Some(1), "{}", outcome.report());
        assert!(outcome.stderr.contains(name) && outcome.stderr.contains("256K"), "{}", outcome.report());
    }
    let missing = [("GASNET_MAX_SEGSIZE", "1M"), ("GASNET_NETVM_BACKING", "peers:1M+file:/none/such")];
    let outcome = job(2, "shadow-lock", &missing);
    assert!(outcome.status != Some(0) && outcome.stderr.contains("/none/such"), "{}", outcome.report());
}
