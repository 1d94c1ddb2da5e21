//! Jobs that go on when ranks of theirs die: the program `mortal` under `gasnetrun --on-death shrink`.

use gasnet_tests::run::{Outcome, run};
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A job that takes so long is stuck.
const HANGS: Duration = Duration::from_secs(600);

const SHRINK: &[&str] = &["--on-death", "shrink"];
const HEAL: &[&str] = &["--on-death", "heal"];

/// All that ranks say to each other goes through sockets.
const OVER_UDP: [(&str, &str); 2] = [("GASNET_CONDUIT", "udp"), ("GASNET_NEIGHBORHOOD", "off")];

/// A job of so many ranks, with these options of the launcher.
fn job(ranks: u32, options: &[&str], settings: &[(&str, &str)], role: &str) -> Outcome {
    static JOBS: AtomicU32 = AtomicU32::new(0);
    let mark = format!("mortal-{}-{}", std::process::id(), JOBS.fetch_add(1, Ordering::Relaxed));
    let mut command = Command::new(env!("CARGO_BIN_EXE_gasnetrun-for-tests"));
    command.args(["-n", &ranks.to_string()]).args(options).arg(env!("CARGO_BIN_EXE_mortal"));
    command.args(role.split(' ')).arg(&mark).env("GASNET_MAX_SEGSIZE", "16M").env("RUST_BACKTRACE", "0");
    command.envs(settings.iter().copied());
    let outcome = run(command, "", HANGS).expect("gasnetrun starts");
    assert!(!outcome.timed_out, "{}", outcome.report());
    assert_eq!(processes(&mark), Vec::<String>::new(), "left behind by {}", outcome.report());
    outcome
}

/// Processes with this argument.
fn processes(mark: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").expect("/proc").flatten();
    let has = |path: &std::path::Path| {
        let arguments = std::fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).split('\0').any(|a| a == mark)
    };
    all.map(|p| p.path()).filter(|path| has(path)).map(|path| path.display().to_string()).collect()
}

#[track_caller]
fn says(outcome: &Outcome, status: i32, parts: &[&str]) {
    assert_eq!(outcome.status, Some(status), "{}", outcome.report());
    for part in parts {
        assert!(outcome.stderr.contains(part), "no '{part}' in\n{}", outcome.report());
    }
}

/// One job whose ranks are killed in the middle of whatever they do. The survivors have checked their sums.
fn random(ranks: u32, seed: u64, settings: &[(&str, &str)]) {
    random_with(ranks, seed, &[], settings);
}

fn random_with(ranks: u32, seed: u64, options: &[&str], settings: &[(&str, &str)]) {
    let outcome = job(ranks, &[SHRINK, options].concat(), settings, &format!("random {seed}"));
    let why = || format!("seed {seed} on {ranks} ranks: {}", outcome.report());
    assert_eq!(outcome.status, Some(0), "{}", why());
    let mut worlds: BTreeMap<&str, &str> = BTreeMap::new();
    let mut survivors = 0;
    for line in outcome.stdout.lines() {
        let (_, rest) = line.split_once(" survives in world ").unwrap_or_else(|| panic!("{}", why()));
        let (epoch, members) = rest.split_once(" with ").unwrap_or_else(|| panic!("{}", why()));
        assert_eq!(*worlds.entry(epoch).or_insert(members), members, "{}", why());
        survivors += 1;
    }
    let deaths =
        outcome.stderr.lines().filter(|line| line.contains("terminated with signal 9")).count() as u32;
    assert!(survivors > 0 && deaths > 0 && survivors + deaths == ranks, "{}", why());
}

macro_rules! random {
    ($($name:ident: $ranks:expr, $seeds:expr, $settings:expr;)*) => {$(
        #[test]
        fn $name() {
            $seeds.for_each(|seed| random($ranks, seed, &$settings));
        }
    )*};
}

/// [`random`] on two hosts.
#[test]
fn of_four_on_two_hosts() {
    (140..144).for_each(|seed| random_with(4, seed, HOSTS, &ON_HOSTS));
}

random! {
    one_of_two_dies: 2, 1..7, [];
    of_three: 3, 10..16, [];
    of_four: 4, 20..26, [];
    of_five: 5, 30..34, [];
    of_eight: 8, 40..44, [];
    of_three_with_progress_threads: 3, 50..53, [("GASNET_PROGRESS", "thread")];
    of_four_that_are_checked: 4, 60..63, [("GASNET_CHECK", "1")];
    of_three_by_frames: 3, 90..93, [("GASNET_NEIGHBORHOOD", "off")];
    of_three_over_udp: 3, 100..104, OVER_UDP;
    of_five_over_udp: 5, 110..113, OVER_UDP;
    of_four_in_two_neighbourhoods: 4, 120..123, [OVER_UDP[0], ("GASNET_NEIGHBORHOOD", "2")];
    of_three_over_udp_with_progress_threads: 3, 130..132, [OVER_UDP[0], OVER_UDP[1], ("GASNET_PROGRESS", "thread")];
}

/// A job whose processes are killed while all work is in [`World::survive`](pgas::World::survive).
fn survives(ranks: u32, seed: u64, on_death: &[&str], settings: &[(&str, &str)]) {
    let outcome = job(ranks, on_death, settings, &format!("survives {seed}"));
    let why = || format!("seed {seed} on {ranks} ranks, {on_death:?}: {}", outcome.report());
    assert_eq!(outcome.status, Some(0), "{}", why());
    let ended = |rank: u32| outcome.stdout.contains(&format!("rank {rank} survives in world "));
    let died = |rank: u32| outcome.stderr.contains(&format!("rank {rank} (pid "));
    assert!((0..ranks).any(ended), "{}", why());
    // Who has died has been replaced, but for one that dies when all work is done.
    let replaced = (0..ranks).filter(|rank| ended(*rank) && died(*rank)).count();
    assert!((0..ranks).all(|rank| ended(rank) || died(rank)), "{}", why());
    assert!(on_death == HEAL || replaced == 0, "{}", why());
}

#[test]
fn work_goes_on_with_replacements() {
    (2..6).for_each(|ranks| (0..3).for_each(|seed| survives(ranks, 70 + seed, HEAL, &[])));
}

#[test]
fn work_goes_on_over_udp() {
    (2..5).for_each(|ranks| survives(ranks, 90, HEAL, &OVER_UDP));
    survives(3, 92, SHRINK, &OVER_UDP);
}

#[test]
fn work_goes_on_with_those_that_are_left() {
    (2..6).for_each(|ranks| (0..2).for_each(|seed| survives(ranks, 80 + seed, SHRINK, &[])));
}

/// Settings with which "other hosts" are this one: processes of an agent each, which reach each other by udp.
/// The shell takes the host for its own name.
const ON_HOSTS: [(&str, &str); 3] = [
    ("GASNET_SSH", "sh -c eval${IFS}\"$1\""),
    ("GASNET_UDP_INTERFACE", "127.0.0.1"),
    // A busy machine may leave an agent without a processor for long.
    ("GASNET_LEASE", "20s"),
];

const HOSTS: &[&str] = &["--hosts", "one,two"];

/// A job on two hosts.
fn job_on_hosts(ranks: u32, on_death: &[&str], role: &str) -> Outcome {
    job(ranks, &[on_death, HOSTS].concat(), &ON_HOSTS, role)
}

#[test]
fn work_goes_on_between_hosts() {
    let outcome = job_on_hosts(4, SHRINK, "keeps");
    says(&outcome, 0, &["rank 1 (pid ", " on one) terminated with signal 9 (SIGKILL)"]);
    assert_eq!(outcome.stdout, "kept\n".repeat(3), "{}", outcome.report());
    let outcome = job_on_hosts(3, HEAL, "heals");
    says(&outcome, 0, &["rank 1 (pid "]);
    assert_eq!(outcome.stdout, "healed\n".repeat(3), "{}", outcome.report());
}

#[test]
fn ranks_of_a_lost_host_have_died() {
    for (on_death, left) in [(SHRINK, 2), (HEAL, 4)] {
        let [ssh, interface, _] = ON_HOSTS;
        let settings = [ssh, interface, ("GASNET_LEASE", "5s")];
        let outcome = job(4, &[on_death, HOSTS].concat(), &settings, "host-dies");
        says(&outcome, 0, &["host two is lost: its connection is closed"]);
        assert_eq!(outcome.stdout, format!("{left} are left\n").repeat(left), "{}", outcome.report());
    }
}

#[test]
fn a_replacement_that_dies_is_replaced() {
    let outcome = job(3, HEAL, &[], "heals");
    says(&outcome, 0, &["rank 1 (pid "]);
    assert_eq!(outcome.stdout, "healed\n".repeat(3), "{}", outcome.report());
    let deaths = outcome.stderr.lines().filter(|line| line.contains("terminated with signal 9")).count();
    assert_eq!(deaths, 2, "{}", outcome.report());
}

#[test]
fn a_rank_that_has_ended_cannot_be_in_another_world() {
    let said = "and rank 0 has ended its program already, so there is no world of all ranks any more";
    says(&job(3, HEAL, &[], "ends-early"), 1, &[said]);
}

/// What is saved outlives its process, and also the partner's.
#[test]
fn deaths_at_once_lose_nothing() {
    for (options, role, left) in [
        (HEAL, "loses", 4),
        (HEAL, "others-die", 4),
        (HEAL, "all-die-at-once", 4),
        (SHRINK, "loses", 2),
        (SHRINK, "others-die", 1),
    ] {
        let outcome = job(4, options, &[], role);
        says(&outcome, 0, &["terminated with signal 9"]);
        assert_eq!(outcome.stdout, "all is there\n".repeat(left), "{role} {options:?} {}", outcome.report());
    }
}

/// With a limit on the size of files states lie in the processes, and copies of them with partners.
#[test]
fn what_is_lost_is_told() {
    let limited = |ranks: u32, role| {
        let mut command = Command::new("sh");
        let limited = "ulimit -f 4194304 && exec \"$@\"";
        command.args(["-c", limited, "sh", env!("CARGO_BIN_EXE_gasnetrun-for-tests"), "-n"]);
        command.arg(ranks.to_string()).args(HEAL).args([env!("CARGO_BIN_EXE_mortal"), role]);
        command.env("GASNET_MAX_SEGSIZE", "16M").env("RUST_BACKTRACE", "0");
        run(command, "", HANGS).expect("gasnetrun starts")
    };
    says(&limited(4, "loses"), 1, &["what rank 1 has saved is lost: its partner has died, too"]);
    says(&limited(2, "all-die-at-once"), 1, &["nobody is left"]);
    let outcome = limited(2, "others-die");
    says(&outcome, 0, &["terminated with signal 9"]);
    assert_eq!(outcome.stdout, "all is there\n".repeat(2), "{}", outcome.report());
}

#[test]
fn a_program_that_dies_each_time_ends() {
    let outcome = job(2, &["--on-death", "heal", "--max-deaths", "3"], &[], "crashes");
    says(&outcome, 137, &["more than 3 ranks have died (--max-deaths 3)"]);
}

#[test]
fn descriptors_of_old_worlds_are_closed() {
    let outcome = job(3, HEAL, &[], "closes");
    assert_eq!(outcome.status, Some(0), "{}", outcome.report());
    assert_eq!(outcome.stdout, "flat\n", "{}", outcome.report());
}

#[test]
fn memory_that_is_taken_over_is_zero() {
    for (on_death, role, lines) in [(SHRINK, "forgets", 2), (HEAL, "forgets 1", 6)] {
        let outcome = job(6, on_death, &[], role);
        assert_eq!(outcome.status, Some(0), "{}", outcome.report());
        assert_eq!(outcome.stdout, "zero\n".repeat(lines), "{}", outcome.report());
    }
}

#[test]
fn what_is_a_ranks_own_survives() {
    for settings in [&[], &OVER_UDP[..]] {
        let outcome = job(4, SHRINK, settings, "keeps");
        says(&outcome, 0, &["rank 1 (pid ", "terminated with signal 9 (SIGKILL)"]);
        assert_eq!(outcome.stdout, "kept\n".repeat(3), "{}", outcome.report());
    }
}

#[test]
fn ranks_that_live_serve_each_other_until_one_gives_up() {
    for settings in [&[], &OVER_UDP[..]] {
        let outcome = job(3, SHRINK, settings, "some-go-on");
        says(&outcome, 0, &["terminated with signal 9"]);
        assert!(outcome.stdout.contains("went on"), "{}", outcome.report());
    }
}

#[test]
fn what_is_dropped_after_a_death_does_not_wait() {
    for settings in [&[], &OVER_UDP[..]] {
        let outcome = job(3, SHRINK, settings, "drops");
        says(&outcome, 0, &[]);
        assert_eq!(outcome.stdout, "dropped in 1\n".repeat(2), "{}", outcome.report());
    }
}

#[test]
fn an_exit_without_a_farewell_is_a_death() {
    let outcome = job(2, SHRINK, &[], "exits");
    says(&outcome, 0, &["exited with code 7 without leaving the job in order"]);
    assert_eq!(outcome.stdout, "rank 1 has died (exit code 7)\n", "{}", outcome.report());
}

#[test]
fn the_first_death_ends_a_job_by_default() {
    let ended = "terminated with signal 9 (SIGKILL); the system does that when memory runs out";
    for options in [&[][..], &["--on-death", "end"]] {
        let outcome = job(3, options, &[], "keeps");
        says(&outcome, 137, &[ended]);
        assert_eq!((outcome.stderr.lines().count(), &*outcome.stdout), (1, ""), "{}", outcome.report());
    }
}

#[test]
fn the_last_death_ends_the_job() {
    let outcome = job(3, SHRINK, &[], "all-die");
    says(&outcome, 137, &["rank 0 (pid ", "rank 1 (pid ", "rank 2 (pid "]);
}

#[test]
fn more_deaths_than_are_allowed_end_the_job() {
    let outcome = job(3, &["--on-death", "shrink", "--max-deaths", "0"], &[], "keeps");
    says(&outcome, 137, &["terminated with signal 9", "more than 0 ranks have died (--max-deaths 0)"]);
}

#[test]
fn mistakes_are_named() {
    let inside = "outside of an attempt (World::attempt of pgas, gasnetx_attempt of C) a death ends the job";
    for (role, status, part) in [
        ("outside", 1, inside),
        ("outside", 1, "waits for a barrier, and rank 1 has died (signal 9, SIGKILL)"),
        ("nested", 1, "an attempt in an attempt"),
        ("shrink-inside", 1, "`shrink` in an attempt"),
        ("shrink-for-nothing", 1, "shrink: nobody in this world has died, so it goes on"),
        ("shrink-twice", 1, "`shrink` was called twice for a world"),
        ("attempt-in-call", 101, "a function that another rank has called may not make an attempt"),
        ("salvage-early", 101, "this array's world goes on"),
        ("survive-twice", 1, "`survive` was called twice"),
        ("survive-inside", 1, "an attempt in an attempt"),
        ("heal-inside", 1, "`heal` in an attempt"),
        ("heal-for-shrink", 1, "`heal` in a job that was started with --on-death shrink: call World::shrink"),
        ("saves-apart", 1, "ranks save different versions, 1 and 3: all ranks save together"),
        ("saves-again", 101, "version 3 is saved after version 3"),
        ("restores-another", 101, "the next piece that was saved has another type"),
        ("restores-less", 101, "24 bytes of what was saved have not been restored"),
    ] {
        says(&job(3, SHRINK, &[], role), status, &[part]);
    }
    let outcome = job(2, &[], &[], "shrink-for-nothing");
    says(
        &outcome,
        1,
        &["the ranks of this job do not survive deaths: start it with gasnetrun --on-death shrink or heal"],
    );
}

#[test]
fn jobs_that_could_not_survive_are_refused() {
    let faulty = [("GASNET_NEIGHBORHOOD", "off"), ("GASNET_FAULTY", "delay=1%")];
    let outcome = job(2, SHRINK, &faulty, "keeps");
    says(&outcome, 1, &["--on-death: not with the network that connects ranks here (smp)"]);
    let outcome = job(2, SHRINK, &[("GASNET_CONDUIT", "ofi")], "keeps");
    says(&outcome, 2, &["--on-death shrink: not with the network ofi"]);
}

/// A program that does not know what to do after a death is refused before it does anything.
#[test]
fn programs_that_cannot_go_on_are_refused() {
    let why = "--on-death: this program cannot go on when a rank has died: programs over the crate pgas can, and C programs that include \
               gasnet_survive.h. Start it without --on-death";
    for on_death in [SHRINK, HEAL] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gasnetrun-for-tests"));
        command.args(["-n", "3"]).args(on_death).args([env!("CARGO_BIN_EXE_misbehave"), "fine"]);
        let outcome = run(command, "", HANGS).expect("gasnetrun starts");
        says(&outcome, 1, &[why]);
        assert_eq!((outcome.stderr.lines().count(), &*outcome.stdout), (1, ""), "{}", outcome.report());
    }
}
