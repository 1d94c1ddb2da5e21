//! `gasnetrun --simulate`: every command of `docs/simulate.md` does what the page says.

use gasnet_tests::run::{Outcome, run};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A folder of its own, in which `queue` lies.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, program) in
        [("queue", env!("CARGO_BIN_EXE_queue")), ("statics", env!("CARGO_BIN_EXE_statics"))]
    {
        std::os::unix::fs::symlink(program, folder.join(name)).expect("a link");
    }
    folder
}

fn simulate(folder: &Path, words: &[&str]) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gasnetrun-for-tests"));
    command.args(words).current_dir(folder).env("RUST_BACKTRACE", "0");
    run(command, "", Duration::from_secs(300)).expect("gasnetrun starts")
}

#[track_caller]
fn says(outcome: &Outcome, status: i32, parts: &[&str]) {
    assert_eq!(outcome.status, Some(status), "{}", outcome.report());
    for part in parts {
        assert!(
            outcome.stderr.contains(part) || outcome.stdout.contains(part),
            "no '{part}' in\n{}",
            outcome.report()
        );
    }
}

/// The commands of the page with the status and the words that follow each.
#[test]
fn commands_of_the_page() {
    let page = include_str!("../../docs/simulate.md");
    let folder = folder("commands_of_the_page");
    let mut commands = 0;
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("$ gasnetrun ") else { continue };
        let words: Vec<&str> = command.split('#').next().expect("a word").split_whitespace().collect();
        let outcome = simulate(&folder, &words);
        commands += 1;
        let mut said = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ") && !line.starts_with("```")) {
            said.push(line);
        }
        let ends = said
            .last()
            .and_then(|line| line.strip_prefix("[status "))
            .map_or("0", |rest| rest.trim_end_matches(']'));
        let parts: Vec<&str> = said.iter().copied().filter(|line| !line.starts_with('[')).collect();
        says(&outcome, ends.parse().expect("a status"), &parts);
    }
    assert!(commands >= 5, "{commands} commands");
}

/// The page's test is one that runs.
#[test]
fn the_test_of_the_page() {
    let page = include_str!("../../docs/simulate.md");
    let code = page.split_once("\n#[test]\n").and_then(|(_, rest)| rest.split_once("```")).expect("code").0;
    assert!(include_str!("../../sim/simulate/tests/seeds.rs").contains(code), "{code}");
}

#[test]
fn a_seed_prints_the_same_every_time() {
    let folder = folder("a_seed_prints_the_same_every_time");
    for seed in ["1", "7"] {
        let line = ["--simulate", "-n", "5", "--seed", seed, "--explore", "random", "./queue"];
        let first = simulate(&folder, &line);
        for _ in 0..10 {
            let again = simulate(&folder, &line);
            assert_eq!((&again.stdout, &again.stderr), (&first.stdout, &first.stderr));
        }
    }
}

/// Ranks that are processes have variables of their own; clock and random numbers come from the seed.
#[test]
fn processes_do_the_same_every_time() {
    let folder = folder("processes_do_the_same_every_time");
    for options in [&["--seed", "7"][..], &["--explore", "random"], &["--faults", "loss=1%,delay=5%,tight"]] {
        let line = [&["--simulate", "-n", "6"], options, &["./statics"]].concat();
        let first = simulate(&folder, &line);
        says(&first, 0, &["after 1.5", "seed"]);
        for _ in 0..3 {
            let again = simulate(&folder, &line);
            assert_eq!((&again.stdout, &again.stderr), (&first.stdout, &first.stderr));
        }
    }
    for options in [&["-n", "2"][..], &["-n", "3", "--runs", "10", "--explore", "pct:2"]] {
        let line = [&["--simulate"][..], options, &["./statics", "yield"]].concat();
        says(&simulate(&folder, &line), 0, &["gasnetrun: "]);
    }
    // Also one that calls it while all ranks wait for what nobody does.
    for how in ["thread", "late"] {
        let line = ["--simulate", "-n", "2", "./statics", how];
        let outcome = simulate(&folder, &line);
        says(&outcome, 2, &["a second thread of this rank calls the runtime", "statics.rs:"]);
    }
    assert!(!is_left_behind(&folder), "a process of a rank is left behind");
}

/// Whether a process runs in this folder.
fn is_left_behind(folder: &Path) -> bool {
    let of = |process: &Path| std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == folder);
    let all = std::fs::read_dir("/proc").expect("processes").flatten();
    all.into_iter().any(|process| of(&process.path()))
}

/// Its choices are more than an environment takes.
#[test]
fn a_long_run_is_repeated() {
    let folder = folder("a_long_run_is_repeated");
    let line = "--simulate -n 4 --runs 2000 --vessel closure ./queue".split(' ').collect::<Vec<_>>();
    let found = simulate(&folder, &line);
    let file = found.stderr.split_whitespace().find(|word| word.ends_with(".sim")).expect("a file");
    let short = std::fs::read_to_string(folder.join(file)).expect("the file");
    // The run ends before it comes to them.
    let more: String =
        (0..9000).map(|i| format!("pick {} 1 3 rank 1 is held\n", 1_000_000_000 + i)).collect();
    std::fs::write(folder.join(file), short + &more).expect("the file");
    let again = simulate(&folder, &["--simulate", "--again", file, "./queue"]);
    says(&again, 101, &["panicked", "values are lost", "queue.rs:"]);
    assert!(!again.stderr.contains("not the one to repeat"), "{}", again.report());
}

/// The same failure is found in both vessels, made small, and repeated from its file.
#[test]
fn a_failure_of_processes_is_found_and_repeated() {
    let folder = folder("a_failure_of_processes_is_found_and_repeated");
    let line = "--simulate -n 4 --runs 2000 --vessel process ./queue".split(' ').collect::<Vec<_>>();
    let found = simulate(&folder, &line);
    says(&found, 101, &["rank 0 panicked", "values are lost", "queue.rs:", "matter", ".sim ./queue"]);
    let file = found.stderr.split_whitespace().find(|word| word.ends_with(".sim")).expect("a file");
    says(
        &simulate(&folder, &["--simulate", "--again", file, "./statics"]),
        2,
        &["another program", "--rebuilt"],
    );
    let line = ["--simulate", "--again", file, "--vessel", "closure", "./queue"];
    says(&simulate(&folder, &line), 2, &["was one of --vessel process"]);
    let line = ["--simulate", "--again", file, "./queue"];
    for _ in 0..3 {
        let again = simulate(&folder, &line);
        says(&again, 101, &["rank 0 panicked", "values are lost", "queue.rs:"]);
        assert!(!again.stderr.contains("not the one to repeat"), "{}", again.report());
    }
}

/// Hash tables of ranks that are processes have orders that follow from the seed. So a program that depends
/// on them is found, and fails in the same way again; one that does not is right with all seeds.
#[test]
fn orders_of_hash_tables_are_repeated() {
    let folder = folder("orders_of_hash_tables_are_repeated");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tasks"), folder.join("tasks")).expect("a link");
    let line = |text: &str| text.split(' ').map(String::from).collect::<Vec<String>>();
    let job = |text: &str| simulate(&folder, &line(text).iter().map(String::as_str).collect::<Vec<_>>());
    let found = job("--simulate -n 3 --runs 20 --vessel process ./tasks");
    says(&found, 101, &["rank 0 panicked", "tasks are done twice, or by nobody", "tasks.rs:"]);
    let file = found.stderr.split_whitespace().find(|word| word.ends_with(".sim")).expect("a file");
    let again = format!("--simulate --again {file} ./tasks");
    // The value that it found, and the trace; what is before has the number of the process.
    let said = |outcome: &Outcome| outcome.stderr.split("gasnetrun: ").last().map(String::from);
    let first = job(&again);
    says(&first, 101, &["rank 0 panicked", "left: ", "trace "]);
    for _ in 0..3 {
        assert_eq!(said(&job(&again)), said(&first));
    }
    says(
        &job("--simulate -n 3 --runs 20 --vessel process ./tasks sorted"),
        0,
        &["20 seeds of 3 ranks end well"],
    );
}

/// Nothing more comes to these ranks, and yet their waits end: one takes what has come piece by piece,
/// another one has a time-out.
#[test]
fn waits_end_that_need_no_news() {
    let folder = folder("waits_end_that_need_no_news");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_conformance"), folder.join("conformance"))
        .expect("a link");
    for section in ["nic", "via-connect"] {
        let line = ["--simulate", "-n", "2", "./conformance", "--quick", section];
        says(&simulate(&folder, &line), 0, &["conformance: passed"]);
    }
}

/// A program that ends as its argument says, in one run and among many.
#[test]
fn every_end_has_its_status_and_names_rank_and_place() {
    let folder = folder("every_end_has_its_status_and_names_rank_and_place");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ends"), folder.join("ends")).expect("a link");
    for (how, status, parts) in [
        ("crash", 139, &["rank 1 crashed: Segmentation fault (signal 11)", "ends.rs:"][..]),
        ("panic", 101, &["rank 1 panicked: as asked", "ends.rs:"]),
        ("loop", 124, &["rank 1 has run for 1 s without calling the runtime (", "ends"]),
        ("deadlock", 125, &["rank 1 waits for what nobody does", "ends.rs:"]),
        ("well", 0, &["seed"]),
        ("far", 0, &["seed"]),
    ] {
        for (runs, vessel) in [("1", "closure"), ("2", "closure"), ("1", "process")] {
            let line = ["-n", "3", "--turn", "1s", "--runs", runs, "--vessel", vessel, "./ends", how];
            let outcome = simulate(&folder, &[&["--simulate"], &line[..]].concat());
            says(&outcome, status, parts);
        }
    }
    for vessel in ["closure", "process"] {
        let line = ["-n", "4", "--runs", "5", "--explore", "pct:2", "--vessel", vessel, "./ends", "far"];
        says(&simulate(&folder, &[&["--simulate"], &line[..]].concat()), 0, &["5 seeds"]);
    }
    let line = ["--simulate", "--again", "ends-1.sim", "./ends", "deadlock"];
    says(&simulate(&folder, &line), 125, &["rank 1 waits for", "seed 1 fails"]);
}

/// A search without time is none, but what its first run finds counts.
#[test]
fn a_search_that_tries_no_seed_does_not_end_well() {
    let folder = folder("no-time");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ends"), folder.join("ends")).expect("a link");
    let line = ["--simulate", "-n", "3", "--runs", "5", "--for", "0s", "./ends"];
    let search = |how: &str| simulate(&folder, &[&line[..], &[how]].concat());
    says(&search("well"), 124, &["no seed was tried", "--for was over. Give more time"]);
    says(&search("panic"), 101, &["as asked"]);
}

#[test]
fn what_cannot_be_simulated_is_said() {
    let folder = folder("what_cannot_be_simulated_is_said");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_paging"), folder.join("captures")).expect("a link");
    for (line, parts) in [
        ("--simulate ./queue", &["how many ranks"][..]),
        ("--simulate -n 4 --machine modern-ib/x ./queue", &["from 1 to 64 ranks"]),
        ("--simulate -n 4 --faults kill=1@2 ./queue", &["'kill=1@2' is no fault"]),
        ("--simulate -n 4 ./nothing", &["./nothing"]),
        (
            "--simulate -n 4 --vessel closure ./captures",
            &["the closure that is given to `run` captures something"],
        ),
    ] {
        says(&simulate(&folder, &line.split(' ').collect::<Vec<_>>()), 2, parts);
    }
}
