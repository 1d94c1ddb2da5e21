//! Conformance of the Rust API over real ranks: every rank runs every section, with a barrier between
//! sections.
//!
//! `GASNET_PSHM_NODES=4 conformance [--seed N] [--quick] [--repeat N] [SECTION...]`; without names all
//! sections run. `--list` names them. A failed check panics, which ends the job with 101; the seed of the
//! random sections is printed at the start. The integration test `tests/conformance.rs` runs this program
//! with several numbers of ranks, over shared memory and over frames.

mod am;
mod atomics;
mod barriers;
mod clan;
mod collectives;
mod exported;
mod flood;
mod giant;
mod history;
mod immediate;
mod lapi;
mod litmus;
mod nic;
mod oracle;
mod pending;
mod rdma;
mod rma;
mod rules;
mod streams;
mod support;
mod threads;
mod upcalls;
mod via;
mod vis;

use gasnet::Rank;
use std::io::Write;
use support::Cx;

type Section = (&'static str, fn(&Cx));

/// All sections, in the order they run in.
const SECTIONS: &[Section] = &[
    ("rma", rma::families),
    ("huge", rma::huge),
    ("advice", rma::advice),
    ("events", rma::many_events),
    ("vis", vis::shapes),
    ("vis-regions", vis::region_shapes),
    ("rows", vis::rows),
    ("regions", rma::regions),
    ("exported", exported::exported),
    ("exported-served", exported::reg_07_the_owners_program_has_no_part),
    ("exported-unmapped", exported::reg_08_memory_is_unmapped_under_traffic),
    ("exported-watched", exported::clan_21_a_plain_put_trips),
    ("pending", pending::pending),
    ("atomics", atomics::by_definition),
    ("contention", atomics::contention),
    ("domains", atomics::domains),
    ("am", am::all_shapes),
    ("indices", am::all_indices),
    ("own-requests", am::own_requests_serve_others),
    ("long", am::long),
    ("immediate", immediate::immediate),
    ("flood", flood::max_mediums),
    ("flood-mixed", flood::mixed),
    ("flood-threads", flood::mixed_by_threads),
    ("barriers", barriers::consensus),
    ("split-phase", barriers::split_phase),
    ("collectives", collectives::random),
    ("collectives-teams", collectives::several_teams),
    ("collectives-typed", collectives::typed),
    ("teams-created", collectives::created),
    ("team-barriers", collectives::team_barriers),
    ("collectives-nic", collectives::by_nics),
    ("litmus", litmus::litmus),
    ("nic", nic::objects),
    ("nic-placed", nic::placed),
    ("nic-hunt", nic::hunt),
    ("nic-histories", history::histories),
    ("a08", clan::a08_writes_of_a_pair_are_seen_in_order),
    ("a13", clan::a13_tripwires_are_on_addresses),
    ("a14", clan::a14_look_arm_look_again_loses_no_wake_up),
    ("a15", clan::a15_once_is_once),
    ("a16", clan::a16_early_wake_up),
    ("a17", clan::a17_event_queues_cannot_overflow),
    ("a18", clan::a18_idle_sources_cost_nothing),
    ("a19", clan::a19_a_queue_is_a_descriptor),
    ("a20", clan::clan_11_whoever_has_nothing_to_do_distributes),
    ("a21", clan::a21_a_close_is_sticky),
    ("a22", clan::a22_orderly_ends_say_it_once),
    ("a23", clan::clan_13_reopened_ends_refuse_what_is_old),
    ("streams", streams::clan_03_streams_are_queues_of_bytes),
    ("streams-published", streams::clan_03_unpublished_bytes_are_not_seen),
    ("streams-pieces", streams::clan_05_bytes_come_in_one_piece),
    ("streams-files", streams::clan_06_streams_are_files),
    ("streams-end", streams::streams_end),
    ("streams-forged", streams::streams_refuse_positions_beyond_the_ring),
    ("upcalls", upcalls::net_01_each_signal_makes_one_call),
    ("upcalls-held", upcalls::net_02_none_while_held_and_all_after),
    ("upcalls-answer", upcalls::net_03_a_handler_puts_and_notifies_back),
    ("apertures", rdma::clan_07_stores_are_seen_in_order),
    ("rdma", rdma::clan_07_immediates_follow_and_stores_overtake),
    ("rdma-ids", rdma::clan_08_ids_wrap_and_anybody_may_test),
    ("rdma-turns", rdma::clan_10_groups_stay_together_and_queues_have_turns),
    ("posted", streams::clan_14_messages_land_in_posted_buffers),
    ("posted-overrun", streams::clan_15_overrun_is_found_by_the_sender),
    ("posted-levels", streams::clan_15_levels_say_what_becomes_of_a_message_without_a_place),
    ("posted-credit", streams::clan_17_four_buffers_hold_three),
    ("via", via::via_02_messages_come_in_order),
    ("via-rdma", via::via_05_rdma_needs_no_call_of_the_target),
    ("via-faults", via::via_09_unreliable_messages_come_at_most_once),
    ("via-credits", via::via_12_credits_neither_overrun_nor_stop),
    ("via-connect", via::via_14_answers_are_told_apart),
    ("lapi", lapi::via_18_counters_rise_in_order),
    ("lapi-messages", lapi::via_18_headers_lose_nothing),
    ("lapi-fences", lapi::via_18_what_comes_after_a_fence_stays),
    ("lapi-interrupts", lapi::via_18_a_rank_that_computes_completes_by_interrupts),
    ("oracle", oracle::random_programs),
    ("threads", threads::threads),
    ("rules", rules::rules),
    // Only if it is named.
    (GIANT, giant::giant),
];

/// See [`giant`].
const GIANT: &str = "giant";

struct Options {
    seed: u64,
    quick: bool,
    names: Vec<String>,
    /// How often all of them are done; from three times on memory may not grow any more.
    repeat: u32,
}

fn options() -> Result<Options, lexopt::Error> {
    use lexopt::prelude::*;
    let mut o = Options { seed: 0x5eed, quick: false, names: Vec::new(), repeat: 1 };
    let mut args = lexopt::Parser::from_env();
    while let Some(arg) = args.next()? {
        match arg {
            Long("seed") => o.seed = args.value()?.parse()?,
            Long("quick") => o.quick = true,
            Long("repeat") => o.repeat = args.value()?.parse()?,
            Long("list") => {
                SECTIONS.iter().for_each(|(name, _)| println!("{name}"));
                std::process::exit(0);
            }
            Value(name) => o.names.push(name.string()?),
            _ => return Err(arg.unexpected()),
        }
    }
    match o.names.iter().find(|n| !SECTIONS.iter().any(|(known, _)| known == n)) {
        Some(unknown) => Err(format!("no section '{unknown}': see --list").into()),
        None => Ok(o),
    }
}

/// The most memory that this process has had, in KiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).expect("the system says how much")
}

fn options_or_exit() -> Options {
    options().unwrap_or_else(|e| {
        eprintln!("conformance: {e}");
        std::process::exit(2);
    })
}

fn main() {
    // Before the job starts. Its ranks read them again: they can be simulated with neighbours only if the
    // closure captures nothing.
    options_or_exit();
    gasnet_conduits::run(|rank: &'static Rank| {
        let options = options_or_exit();
        if rank.id().0 == 0 {
            println!("conformance: {} ranks, seed {}", rank.size(), options.seed);
        }
        let cx = Cx::new(rank, options.seed, options.quick);
        am::register(&cx);
        rank.barrier();
        let chosen = |name: &&str| match options.names.is_empty() {
            true => *name != GIANT,
            false => options.names.iter().any(|n| n == name),
        };
        let rounds =
            (0..options.repeat).flat_map(|round| SECTIONS.iter().map(move |section| (round, section)));
        // The memory that a rank needs after every section has run twice is taken as its normal use.
        let (mut round_before, mut settled) = (0, 0);
        for (round, (name, section)) in rounds.filter(|(_, (name, _))| chosen(name)) {
            if round != round_before {
                round_before = round;
                if round == 2 {
                    settled = peak_memory();
                }
            }
            let start = std::time::Instant::now();
            section(&cx);
            rank.barrier();
            cx.reset();
            if rank.id().0 == 0 {
                println!("{name}: ok, {} ms", start.elapsed().as_millis());
                let _ = std::io::stdout().flush();
            }
        }
        if options.repeat > 2 {
            let peak = peak_memory();
            // Windows let some memory vary with the progress of ranks: a few messages for each peer. A leak
            // would cost gigabytes.
            assert!(peak <= settled + (16 << 10), "memory grew from {settled} to {peak} KiB");
        }
        // Where NICs carry the job, nothing went around them.
        let counters = rank.counters();
        // Simulated NICs are none of these.
        let simulated = ["GASNETI_SIMULATE", "GASNETI_SIMULATED_RANK"]
            .iter()
            .any(|name| std::env::var_os(name).is_some());
        if rank.conduit_name() == "netvm" && rank.size() > 1 && !simulated {
            let count = |name| counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n);
            for name in ["commands", "packets sent", "packets received"] {
                assert!(count(name) > 0, "no {name}: {counters:?}");
            }
            let far = std::env::var_os("GASNET_NETVM_WIRE").is_some_and(|wire| wire == "network");
            assert!(!far || count("packets from other hosts") > 0, "no packets by the network: {counters:?}");
        }
        rank.barrier();
        if rank.id().0 == 0 {
            println!("conformance: passed");
        }
    });
}
