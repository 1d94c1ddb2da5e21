//! `gasnetrun --record` and `--replay`: every rank of a recording does alone what it did in its job, whatever
//! the end; and the commands of `docs/replay.md` do what the page says.

use gasnet_tests::run::{Outcome, run};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const RANKS: u32 = 4;

/// A folder of its own, in which `relay` lies.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("replay-{name}"));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_relay"), folder.join("relay")).expect("a link");
    folder
}

fn gasnetrun(folder: &Path, words: &[&str], input: &str) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gasnetrun-for-tests"));
    command.args(words).current_dir(folder).env("RUST_BACKTRACE", "0");
    let outcome = run(command, input, Duration::from_secs(300)).expect("gasnetrun starts");
    // A replay that is killed has no status of its own.
    Outcome { status: outcome.status.or(Some(137)), ..outcome }
}

#[track_caller]
fn says(outcome: &Outcome, status: i32, parts: &[&str]) {
    assert_eq!(outcome.status, Some(status), "{}", outcome.report());
    for part in parts {
        let said = outcome.stderr.contains(part) || outcome.stdout.contains(part);
        assert!(said, "no '{part}' in\n{}", outcome.report());
    }
}

/// Records a job whose rank 1 ends it so; with the job's outcome.
fn record(name: &str, options: &[&str], end: &str) -> (PathBuf, Outcome) {
    let folder = folder(name);
    let (ranks, words) = (RANKS.to_string(), ["--record", "run", "-l", "-n"]);
    let words = [&words[..], &[&ranks], options, &["./relay", "20", end]].concat();
    let outcome = gasnetrun(&folder, &words, "");
    (folder, outcome)
}

fn replay(folder: &Path, rank: u32, end: &str) -> Outcome {
    gasnetrun(folder, &["--replay", "run", "--rank", &rank.to_string(), "./relay", "20", end], "")
}

/// What a rank printed in its job.
fn printed(job: &Outcome, rank: u32) -> String {
    let mark = format!("[{rank}] ");
    job.stdout.lines().filter_map(|line| line.strip_prefix(&mark)).map(|line| format!("{line}\n")).collect()
}

/// Order of arrival, times to the nanosecond, and iteration of hash tables.
#[test]
fn every_rank_prints_the_same() {
    for (name, options) in [("smp", &[][..]), ("udp", &["--conduit", "udp"])] {
        let (folder, job) = record(name, options, "well");
        says(&job, 0, &[]);
        for rank in 0..RANKS {
            assert!(printed(&job, rank).contains("came as number"), "{}", job.report());
            for _ in 0..2 {
                let again = replay(&folder, rank, "well");
                says(&again, 0, &[]);
                assert_eq!(again.stdout, printed(&job, rank), "{}", again.report());
            }
        }
    }
}

/// All ranks of a recording of the order do together what they did, over another network, too.
#[test]
fn the_recorded_order_comes_again() {
    let (folder, job) = record("order", &["--order"], "well");
    says(&job, 0, &["again:  gasnetrun --replay run PROGRAM"]);
    for options in [&[][..], &["./relay", "20", "well"]] {
        let again = gasnetrun(&folder, &[&["--replay", "run", "-l"][..], options].concat(), "");
        says(&again, 0, &[]);
        (0..RANKS).for_each(|rank| assert_eq!(printed(&again, rank), printed(&job, rank), "rank {rank}"));
    }
    // As if another host had it.
    std::fs::rename(folder.join("run/order.2"), folder.join("order.2")).expect("it is there");
    says(&gasnetrun(&folder, &["--replay", "run"], ""), 1, &["1 of the 4 ranks, the first run/order.2; if"]);
    let (folder, job) = record("order-udp", &["--order", "--conduit", "udp"], "status");
    says(&job, 7, &[]);
    says(&gasnetrun(&folder, &["--replay", "run"], ""), 7, &[]);
    says(
        &gasnetrun(&folder, &["--replay", "run", "--rank", "1"], ""),
        1,
        &["all ranks run again: leave --rank out"],
    );
}

/// Random numbers and times are recorded; standard input and files are read again.
#[test]
fn inputs_are_the_same() {
    let folder = folder("inputs");
    let words = ["--record", "run", "-l", "-n", "2", "./relay", "3", "inputs"];
    let job = gasnetrun(&folder, &words, "some input\n");
    says(&job, 0, &["[0] rank 0 read [", "\"some input\\n\""]);
    for rank in 0..2 {
        let words = ["--replay", "run", "--rank", &rank.to_string(), "./relay", "3", "inputs"];
        let again = gasnetrun(&folder, &words, "some input\n");
        says(&again, 0, &[]);
        assert_eq!(again.stdout, printed(&job, rank), "{}", again.report());
    }
}

/// What starts the ranks is no part of a recording: it may start them again, or stay away. Only a rank with
/// other arguments is another one.
#[test]
fn ranks_may_be_started_by_others() {
    let folder = folder("wrapped");
    let words = ["--record", "run", "-l", "-n", "2"];
    let job = gasnetrun(&folder, &[&words[..], &["sh", "-c", "A=1 exec ./relay 3"]].concat(), "");
    says(&job, 0, &[]);
    for words in
        [&["sh", "-c", "A=1 exec ./relay 3"][..], &["env", "A=1", "./relay", "3"], &["./relay", "3"], &[]]
    {
        let again = gasnetrun(&folder, &[&["--replay", "run", "--rank", "1"], words].concat(), "");
        says(&again, 0, &[]);
        assert_eq!((&*again.stdout, &*again.stderr), (&*printed(&job, 1), ""), "{}", again.report());
    }
    let other = gasnetrun(&folder, &["--replay", "run", "--rank", "1", "./relay", "2"], "");
    says(&other, 124, &["rank 1 of 2: warning: these are not the arguments that were recorded: ./relay 3"]);
}

/// A recorded job ends where others do.
#[test]
fn a_rank_that_leaves_early_ends_the_job() {
    let (folder, job) = record("leaves", &[], "leaves");
    says(&job, 1, &["rank 1", "exited with code 0 without leaving the job in order"]);
    says(&replay(&folder, 1, "leaves"), 0, &[]);
}

/// A rank that ends the job replays to its own end; the others, which are killed, to where they were.
#[test]
fn every_end_is_replayed() {
    let (folder, job) = record("status", &[], "status");
    says(&job, 7, &[]);
    says(&replay(&folder, 1, "status"), 7, &[]);
    says(&replay(&folder, 2, "status"), 125, &["rank 2 of 4: the recording ends here", "in a wait for"]);
    // Nothing is lost of what a killed rank got.
    let (folder, job) = record("killed", &[], "killed");
    says(&job, 137, &[]);
    says(&replay(&folder, 1, "killed"), 137, &[]);
    let (folder, job) = record("waits", &["-t", "2"], "waits");
    says(&job, 124, &[]);
    let parts = ["rank 1 of 4: the recording ends here", "in a wait for something that nobody sends"];
    says(&replay(&folder, 1, "waits"), 125, &parts);
}

#[test]
fn another_program_leaves_the_recording() {
    let (folder, job) = record("other", &[], "well");
    says(&job, 0, &[]);
    let parts = [
        "the replay of rank 1 of 4 leaves the recording at event ",
        "it sends a request to rank 2, handler 200, whose bytes 0 to 63 are others than then: 01c80100",
        "last input: frame from rank 0, handler 200",
    ];
    says(&replay(&folder, 1, "other"), 124, &parts);
    // The others do nothing else.
    says(&replay(&folder, 2, "other"), 0, &[]);
}

fn has_gdb() -> bool {
    let gdb = run(Command::new("sh"), "command -v gdb", Duration::from_secs(10));
    let has = gdb.is_ok_and(|outcome| outcome.status == Some(0));
    if !has {
        eprintln!("not tested: there is no gdb");
    }
    has
}

#[test]
fn a_debugger_stops_in_the_replayed_rank() {
    if !has_gdb() {
        return;
    }
    let (folder, job) = record("gdb", &[], "well");
    says(&job, 0, &[]);
    let commands = "break relay::value_of\nrun\nbacktrace 1\ndelete\ncontinue\n";
    let words = ["--replay", "run", "--rank", "2", "--gdb", "./relay", "20", "well"];
    let outcome = gasnetrun(&folder, &words, commands);
    says(&outcome, 0, &["Breakpoint 1, relay::value_of", "exited normally"]);
    printed(&job, 2).lines().for_each(|line| says(&outcome, 0, &[line]));
}

/// Under gdb a replay goes to any event, and back.
#[test]
fn a_debugger_goes_back() {
    if !has_gdb() {
        return;
    }
    let (folder, job) = record("back", &[], "well");
    says(&job, 0, &[]);
    let commands = "see goto 90\nsee goto 100\nsee back 10\nsee goto 40\nsee back\nsee goto 100\ncontinue\n";
    let words = ["--replay", "run", "--rank", "2", "--gdb", "./relay", "20", "well"];
    let outcome = gasnetrun(&folder, &words, commands);
    let stops: Vec<&str> = outcome
        .stdout
        .lines()
        .filter_map(|line| line.split_once("event ")?.1.split_once("; last message: from rank"))
        .map(|(event, _)| event)
        .collect();
    assert_eq!(stops, ["90", "100", "90", "40", "39", "100"], "{}", outcome.report());
    says(&outcome, 0, &["exited normally"]);
    printed(&job, 2).lines().for_each(|line| says(&outcome, 0, &[line]));
}

/// The commands of the page with the status and the words that follow each.
#[test]
fn commands_of_the_page() {
    let page = include_str!("../../docs/replay.md");
    let folder = folder("page");
    let mut commands = 0;
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("$ gasnetrun ") else { continue };
        let words: Vec<&str> = command.split('#').next().expect("a word").split_whitespace().collect();
        let outcome = gasnetrun(&folder, &words, "");
        commands += 1;
        let mut said = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ") && !line.starts_with("```")) {
            said.push(line);
        }
        let status = said.last().and_then(|line| line.strip_prefix("[status ")?.strip_suffix(']'));
        let parts: Vec<&str> = said.iter().copied().filter(|line| !line.starts_with('[')).collect();
        says(&outcome, status.map_or(0, |status| status.parse().expect("a status")), &parts);
    }
    assert!(commands >= 4, "{commands} commands");
}

#[test]
fn mistakes_say_what_to_do() {
    let folder = folder("mistakes");
    for (words, status, part) in [
        (&["--replay", "run", "./relay"][..], 1, "there is no recording: no "),
        (&["--replay", "run", "--gdb"], 2, "for which rank? Give --rank N"),
        (&["--order", "-n", "2", "./relay"], 2, "--order is for --record DIR"),
        (
            &["--replay", "run", "--rank", "0"],
            1,
            "there is no recording of rank 0: no run/frames.0; the folder is the one",
        ),
        (&["--rank", "1", "-n", "2", "./relay"], 2, "are for --replay DIR"),
        (&["--record", "run", "-n", "2", "--conduit", "netvm", "./relay"], 1, "not with the network netvm"),
    ] {
        says(&gasnetrun(&folder, words, ""), status, &[part]);
    }
    std::fs::create_dir(folder.join("run"))
        .or_else(|_| std::fs::metadata(folder.join("run")).map(drop))
        .expect("a folder");
    std::fs::write(folder.join("run/frames.3"), [0; 5000]).expect("a file");
    std::fs::write(folder.join("run/frames.0"), [0; 5000]).expect("a file");
    says(&gasnetrun(&folder, &["--replay", "run"], ""), 1, &["which rank? Give --rank N"]);
    let outcome = gasnetrun(&folder, &["--replay", "run", "--rank", "3"], "");
    says(&outcome, 1, &["run/frames.3: it is no recording of a rank"]);
}
