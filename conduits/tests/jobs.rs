//! Whole jobs, started both ways, of the hand-made ranks in `rank/rank.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use gasnet_sys::process::kill;
use gasnet_sys::processors;

const RANK: &str = env!("CARGO_BIN_EXE_gasnet-launch-test-rank");
const RUN: &str = env!("CARGO_BIN_EXE_gasnetrun");

#[derive(Debug, Clone, Copy, PartialEq)]
enum How {
    Spawn,
    Fork,
    /// On two hosts, which both are this one: `ssh.sh` says it has been there.
    Hosts,
}

const LOCAL: [How; 2] = [How::Spawn, How::Fork];
const ALL: [How; 3] = [How::Spawn, How::Fork, How::Hosts];
const SSH: &str = concat!("sh ", env!("CARGO_MANIFEST_DIR"), "/tests/ssh.sh");

/// Ranks that wait go on for a minute if nothing ends them: what took less than half of that, on a machine
/// however loaded, ended them.
const BY_ITSELF: Duration = Duration::from_secs(30);

/// A job of `ranks` ranks in this role.
fn job(how: How, ranks: u32, role: &[&str]) -> Command {
    let mut command = match how {
        How::Spawn => {
            let mut command = Command::new("timeout");
            command.args(["-k1", "40", RUN, "-n", &ranks.to_string(), RANK]);
            command
        }
        How::Fork => {
            let mut command = Command::new("timeout");
            command.args(["-k1", "40", RANK]).env("GASNET_PSHM_NODES", ranks.to_string());
            command
        }
        How::Hosts => {
            let mut command = Command::new("timeout");
            command.args(["-k1", "40", RUN, "-H", "one,two", "-n", &ranks.to_string(), RANK]);
            command.env("GASNET_SSH", SSH);
            command
        }
    };
    command.args(role).stdin(Stdio::null());
    command
}

/// The same without `timeout` around it, to be signalled.
fn bare(how: How, ranks: u32, role: &[&str]) -> Command {
    let mut command = match how {
        How::Spawn => {
            let mut command = Command::new(RUN);
            command.args(["-n", &ranks.to_string(), RANK]);
            command
        }
        How::Fork => {
            let mut command = Command::new(RANK);
            command.env("GASNET_PSHM_NODES", ranks.to_string());
            command
        }
        How::Hosts => {
            let mut command = Command::new(RUN);
            command.args(["--hosts", "one,two", "-n", &ranks.to_string(), RANK]).env("GASNET_SSH", SSH);
            command
        }
    };
    command.args(role).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

fn run(how: How, ranks: u32, role: &[&str]) -> Output {
    job(how, ranks, role).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[track_caller]
fn assert_status(output: &Output, status: i32) {
    assert_eq!(output.status.code(), Some(status), "{output:?}");
}

fn exists(pid: &str) -> bool {
    // A zombie that someone else has to reap is as good as gone.
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z')))
}

fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

#[test]
fn every_rank_starts_in_the_same_job() {
    for how in ALL {
        let output = run(how, 4, &["hello"]);
        assert_status(&output, 0);
        let lines: BTreeSet<&str> = text(&output.stdout).lines().collect();
        assert_eq!(lines.len(), 4);
        let jobs: BTreeSet<&str> = lines.iter().map(|l| l.split_once("job").unwrap().1).collect();
        assert_eq!(jobs.len(), 1);
        assert_eq!(text(&output.stderr), "");
        if how != How::Hosts {
            assert_status(&run(how, 3, &["memory"]), 0);
        }
    }
}

#[test]
fn one_rank_needs_no_launcher() {
    let output = Command::new(RANK).arg("hello").output().unwrap();
    assert!(text(&output.stdout).starts_with("hello 0 of 1 job"));
    for how in ALL {
        let output = run(how, 1, &["exit", "3"]);
        assert_status(&output, 3);
    }
}

#[test]
fn lines_stay_whole_and_streams_apart() {
    for how in ALL {
        let output = run(how, 5, &["lines", "400"]);
        assert_status(&output, 0);
        for (stream, bytes) in [("out", &output.stdout), ("err", &output.stderr)] {
            let mut next: BTreeMap<&str, usize> = BTreeMap::new();
            for line in text(bytes).lines() {
                let words: Vec<&str> = line.split(' ').collect();
                let [kind, rank, number, filler, "end"] = words[..] else { panic!("broken line: {line}") };
                assert_eq!(kind, stream);
                assert_eq!(filler.len() % 10, 0);
                let expected = next.entry(rank).or_default();
                assert_eq!(number.parse::<usize>().unwrap(), *expected);
                *expected += 1;
            }
            assert_eq!(next.len(), 5);
            assert!(next.values().all(|&count| count == 400));
        }
    }
}

#[test]
fn both_streams_in_one_file_keep_whole_lines() {
    let dir = scratch("one-file");
    let path = dir.join("all");
    let file = File::create(&path).unwrap();
    let mut command = job(How::Spawn, 4, &["lines", "300"]);
    let status = command.stdout(file.try_clone().unwrap()).stderr(file).status().unwrap();
    assert_eq!(status.code(), Some(0));
    let all = std::fs::read_to_string(&path).unwrap();
    assert_eq!(all.lines().count(), 2 * 4 * 300);
    for line in all.lines() {
        assert!(line.starts_with("out ") || line.starts_with("err "), "broken line: {line}");
        assert!(line.ends_with(" end") && line.matches("end").count() == 1, "broken line: {line}");
    }
}

#[test]
fn lines_of_any_length_stay_whole() {
    let length = 3_000_000;
    let output = run(How::Spawn, 4, &["long", &length.to_string()]);
    assert_status(&output, 0);
    let mut seen = BTreeSet::new();
    for line in text(&output.stdout).lines() {
        assert_eq!(line.len(), length);
        assert!(line.bytes().all(|b| b == line.as_bytes()[0]));
        seen.insert(line.as_bytes()[0]);
    }
    assert_eq!(seen.len(), 4);
}

/// A rank that stops in a long line keeps the others from writing for a while only, and their output does not
/// heap up in the monitor.
#[test]
fn output_does_not_heap_up_behind_a_long_line() {
    const LINES: usize = 100 << 10;
    for how in ALL {
        let stopped = scratch("torrent").join(format!("{how:?}"));
        let mut command = job(how, 2, &["torrent", &(LINES / 64).to_string(), stopped.to_str().unwrap()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (mut seen, mut long) = (0, 0);
        while seen < LINES {
            let Some(line) = lines.next() else { panic!("{how:?}: {seen} lines of rank 1") };
            match line.unwrap() {
                line if line.starts_with('x') => long += line.len(),
                line => {
                    assert_eq!(line, "y".repeat(1023));
                    seen += 1;
                }
            }
        }
        assert_eq!(long, 3 << 20);
        // The child is `timeout`.
        let of_child = format!("/proc/{0}/task/{0}/children", child.id());
        let monitor = std::fs::read_to_string(of_child).unwrap();
        let status = std::fs::read_to_string(format!("/proc/{}/status", monitor.trim())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak: usize = peak.trim().trim_end_matches(" kB").parse().unwrap();
        // A long line and a little for each stream; rank 1 has written 100 MiB.
        assert!(peak < 32 << 10, "{how:?}: the monitor had {peak} KiB");
        println!("{how:?}: the monitor had {peak} KiB");
        child.stdin.take().unwrap().write_all(b"go on\n").unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), "end");
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn unfinished_lines_come_out() {
    for how in ALL {
        let output = run(how, 2, &["rest"]);
        let lines: BTreeSet<&str> = text(&output.stdout).lines().collect();
        assert_eq!(lines, BTreeSet::from(["rest of 0", "rest of 1"]));
    }
}

#[test]
fn a_slow_reader_gets_everything() {
    for how in ALL {
        let mut child =
            job(how, 3, &["lines", "2000"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut pipe = child.stdout.take().unwrap();
        let mut all = String::new();
        std::thread::sleep(Duration::from_millis(300));
        pipe.read_to_string(&mut all).unwrap();
        assert_eq!(all.lines().count(), 6000);
        assert!(all.lines().all(|l| l.ends_with(" end")));
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_reader_that_leaves_ends_the_job() {
    for how in ALL {
        let mut child =
            job(how, 3, &["forever"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.len(), 101);
        let output = child.wait_with_output().unwrap();
        assert_status(&output, 141);
        assert_eq!(text(&output.stderr), "");
    }
}

#[test]
fn memory_is_bounded_when_nobody_reads() {
    let mut child = bare(How::Spawn, 4, &["forever"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let resident = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap();
    let kib: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
    kill(child.id() as i32, libc::SIGTERM);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(kib < 20_000, "{kib} KiB");
}

#[test]
fn exit_status_is_the_first_that_is_not_zero() {
    for how in ALL {
        for (codes, status) in [(["0", "0", "0"], 0), (["0", "5", "0"], 5), (["256", "0", "300"], 44)] {
            let mut role = vec!["exit"];
            role.extend(codes);
            let output = run(how, 3, &role);
            assert_status(&output, status);
            assert_eq!(text(&output.stderr), "");
        }
    }
}

#[test]
fn exit_without_a_word_is_reported() {
    for how in ALL {
        let output = run(how, 3, &["silent", "0", "0", "6"]);
        assert!([1, 6].contains(&output.status.code().unwrap()));
        assert!(text(&output.stderr).contains("without leaving the job in order"), "{output:?}");
        assert_eq!(text(&output.stderr).lines().count(), 1);
    }
    let output = run(How::Spawn, 3, &["before", "9"]);
    assert_status(&output, 9);
    assert!(text(&output.stderr).contains("exited with code 9 before joining the job"), "{output:?}");
}

#[test]
fn plain_programs_run_too() {
    let output = Command::new(RUN).args(["-n", "3", "echo", "hi"]).output().unwrap();
    assert_status(&output, 0);
    assert_eq!(text(&output.stdout), "hi\nhi\nhi\n");
}

#[test]
fn death_by_a_signal_ends_the_job() {
    for how in ALL {
        for (signal, name) in
            [(libc::SIGSEGV, "SIGSEGV"), (libc::SIGKILL, "SIGKILL"), (libc::SIGABRT, "SIGABRT")]
        {
            let start = Instant::now();
            let output = run(how, 4, &["kill", "2", &signal.to_string()]);
            assert!(start.elapsed() < BY_ITSELF, "{:?}", start.elapsed());
            assert_status(&output, 128 + signal);
            let error = text(&output.stderr);
            assert!(error.starts_with("gasnetrun: rank 2 (pid "), "{error}");
            assert!(error.contains(&format!(") terminated with signal {signal} ({name})")), "{error}");
            assert_eq!(error.lines().count(), 1);
        }
    }
}

#[test]
fn global_exit_ends_all_and_loses_no_line() {
    let dir = scratch("global");
    for (n, how) in ALL.into_iter().enumerate() {
        for code in [0, 3] {
            let marks = dir.join(format!("{n}-{code}"));
            let output = run(how, 4, &["global", "1", &code.to_string(), marks.to_str().unwrap()]);
            assert_status(&output, code);
            let lines: BTreeSet<&str> = text(&output.stdout).lines().collect();
            assert_eq!(lines, BTreeSet::from(["line of 0", "line of 2", "line of 3"]));
            assert_eq!(text(&output.stderr), "");
        }
    }
}

#[test]
fn abort_is_said_once() {
    for how in ALL {
        let output = run(how, 3, &["abort", "1"]);
        assert_status(&output, 7);
        assert_eq!(text(&output.stderr), "fatal: no more\n");
    }
}

#[test]
fn a_rank_that_becomes_another_program_is_reported() {
    let output = run(How::Spawn, 2, &["exec", "1"]);
    assert_status(&output, 1);
    assert!(text(&output.stderr).contains("rank 1 (pid "), "{output:?}");
    assert!(text(&output.stderr).contains("closed its connection"), "{output:?}");
}

/// Starts sleeping ranks; returns the monitor and the ranks' process ids.
fn sleeping(how: How, ranks: u32) -> (std::process::Child, Vec<String>) {
    let mut child = bare(how, ranks, &["sleep"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut pids = Vec::new();
    for _ in 0..ranks {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        pids.push(line.split(' ').nth(1).unwrap().to_string());
    }
    (child, pids)
}

fn wait_until_gone(pids: &[String]) {
    let until = Instant::now() + BY_ITSELF;
    while pids.iter().any(|pid| exists(pid)) {
        assert!(Instant::now() < until, "left behind: {pids:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn signals_end_the_whole_job() {
    for how in ALL {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            let (mut child, pids) = sleeping(how, 3);
            let start = Instant::now();
            kill(child.id() as i32, signal);
            assert_eq!(child.wait().unwrap().code(), Some(128 + signal));
            assert!(start.elapsed() < BY_ITSELF);
            assert!(!pids.iter().any(|pid| exists(pid)), "left behind: {pids:?}");
        }
    }
}

#[test]
fn a_killed_monitor_leaves_no_rank() {
    for how in ALL {
        let (mut child, pids) = sleeping(how, 3);
        kill(child.id() as i32, libc::SIGKILL);
        child.wait().unwrap();
        wait_until_gone(&pids);
    }
}

/// Programs that ranks have started end with the monitor, too, and with an agent.
#[test]
fn a_killed_monitor_leaves_nothing_that_ranks_started() {
    for how in ALL {
        let mut child = bare(how, 2, &["family"]).stderr(Stdio::null()).spawn().unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        let (mut pids, mut agents) = (Vec::new(), BTreeSet::new());
        for _ in 0..4 {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let words: Vec<String> = line.split_whitespace().map(str::to_string).collect();
            pids.push(words[1].clone());
            match words[2].as_str() {
                "of" => pids.push(words[3].clone()),
                _ => _ = agents.insert(words[3].clone()),
            }
        }
        assert_eq!(pids.len(), 6);
        let killed: Vec<i32> = match how {
            How::Hosts => agents.iter().map(|pid| pid.parse().unwrap()).collect(),
            _ => vec![child.id() as i32],
        };
        killed.iter().for_each(|pid| kill(*pid, libc::SIGKILL));
        child.wait().unwrap();
        wait_until_gone(&pids);
    }
}

/// Keepers go when jobs are over.
#[test]
fn no_keeper_stays() {
    for how in ALL {
        let mark = format!("{how:?}-{}", std::process::id());
        let status = bare(how, 2, &["hello"]).env("KEEPER_TEST", &mark).status().unwrap();
        assert!(status.success());
        let line = format!("KEEPER_TEST={mark}");
        let has = |pid: &str| {
            let all = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            all.split(|b| *b == 0).any(|l| l == line.as_bytes())
        };
        let processes = || std::fs::read_dir("/proc").unwrap().flatten().map(|e| e.file_name());
        let until = Instant::now() + BY_ITSELF;
        while processes().any(|pid| pid.to_str().is_some_and(has)) {
            assert!(Instant::now() < until, "{how:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_killed_rank_ends_the_job() {
    for how in ALL {
        let (mut child, pids) = sleeping(how, 3);
        kill(pids[1].parse().unwrap(), libc::SIGKILL);
        assert_eq!(child.wait().unwrap().code(), Some(137));
        let mut error = String::new();
        child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        assert!(error.contains("terminated with signal 9 (SIGKILL)"), "{error}");
        wait_until_gone(&pids);
    }
}

#[test]
fn children_of_ranks_do_not_disturb_and_do_not_stay() {
    for how in ALL {
        let start = Instant::now();
        let output = run(how, 3, &["children"]);
        assert_status(&output, 0);
        assert!(start.elapsed() < BY_ITSELF, "{:?}", start.elapsed());
        assert_eq!(text(&output.stderr), "");
        let orphans: Vec<String> = text(&output.stdout)
            .lines()
            .filter_map(|l| l.strip_prefix("orphan ").map(str::to_string))
            .collect();
        assert_eq!(orphans.len(), 3);
        assert!(!orphans.iter().any(|pid| exists(pid)), "left behind: {orphans:?}");
        for rank in 0..3 {
            assert!(text(&output.stdout).contains(&format!("through cat {rank}\n")));
        }
        assert_eq!(text(&run(how, 2, &["late"]).stdout), "late\nlate\n");
    }
}

#[test]
fn standard_input_goes_to_rank_0() {
    for how in ALL {
        let mut child = job(how, 3, &["stdin"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&[b'x'; 100_000]).unwrap();
        let output = child.wait_with_output().unwrap();
        let lines: BTreeSet<&str> = text(&output.stdout).lines().collect();
        let expected = ["rank 0 read 100000 bytes", "rank 1 read 0 bytes", "rank 2 read 0 bytes"];
        assert_eq!(lines, BTreeSet::from(expected));
    }
}

#[test]
fn arguments_and_environment_reach_every_rank() {
    for how in ALL {
        let output =
            job(how, 2, &["environment", "a b", "", "*"]).env("LAUNCH_TEST_X", "1\n2").output().unwrap();
        let lines: BTreeSet<&str> = text(&output.stdout).lines().collect();
        let expected = [
            r#"rank 0 args ["a b", "", "*"] X Some("1\n2")"#,
            r#"rank 1 args ["a b", "", "*"] X Some("1\n2")"#,
        ];
        assert_eq!(lines, BTreeSet::from(expected));
    }
}

#[test]
fn descriptors_stay_with_their_rank() {
    for how in ALL {
        let output = run(how, 8, &["descriptors"]);
        assert_status(&output, 0);
        let count = |prefix: &str| text(&output.stdout).lines().filter(|l| l.starts_with(prefix)).count();
        // Descriptors that this test process passes on by itself; and for a rank two memory files and the
        // link.
        let plain = Command::new("ls").args(["-m", "/proc/self/fd"]).output().unwrap();
        let plain = text(&plain.stdout).trim();
        // On other hosts nothing is passed on.
        let plain = if how == How::Hosts { "0, 1, 2, 3" } else { plain };
        let inherited = plain.split(' ').count() - 1;
        assert_eq!(count(&format!("own {}", inherited + 3)), 8, "{how:?} {output:?}");
        assert_eq!(count(&format!("child {plain}")), 8, "{how:?} {output:?}");
    }
}

#[test]
fn a_program_started_by_a_rank_is_no_rank() {
    for how in ALL {
        let output = run(how, 2, &["nested"]);
        assert_status(&output, 0);
        assert_eq!(text(&output.stdout).lines().filter(|l| l.starts_with("hello 0 of 1 job")).count(), 2);
    }
}

#[test]
fn wrappers_around_the_program_are_fine() {
    let script = format!("{RANK} exit 0 4; exit $?");
    let output = Command::new(RUN).args(["-n", "2", "sh", "-c", &script]).output().unwrap();
    assert_status(&output, 4);
    assert_eq!(text(&output.stderr), "");
}

/// Wrappers that people put around a program (`T`), and the status of each. All four ranks print their
/// lines, the wrapper prints its own, and no rank is killed.
const WRAPPERS: &[(&str, &[&str], i32)] = &[
    ("sh", &["-c", "T; echo after"], 0),
    ("sh", &["-c", "T; sleep 0.3; echo after"], 0),
    ("sh", &["-c", "echo after; exec T"], 0),
    ("sh", &["-c", "T && T2; echo after"], 0),
    ("sh", &["-c", "T; echo after; exit 3"], 3),
    ("sh", &["-c", "trap 'echo ended early' TERM QUIT; T; echo after"], 0),
    ("bash", &["-c", "T | sort; echo after"], 0),
    ("bash", &["-c", "set -o pipefail; T | tee /dev/null | cat; s=$?; echo after; exit $s"], 0),
    ("bash", &["-c", "sh -c 'T; sleep 0.1'; echo after"], 0),
    ("env", &["X=1", "T"], 0),
    ("nice", &["T"], 0),
    ("nohup", &["T"], 0),
    ("timeout", &["30", "T"], 0),
    ("stdbuf", &["-oL", "T"], 0),
    ("setsid", &["--wait", "T"], 0),
    ("xargs", &["-a", "/dev/null", "T"], 0),
    ("strace", &["-f", "-o", "/dev/null", "T"], 0),
    ("taskset", &["-c", "0", "T"], 0),
    ("script", &["-qefc", "T", "/dev/null"], 0),
    ("time", &["T"], 0),
    ("prlimit", &["--nofile=200", "T"], 0),
    ("unshare", &["-Urpf", "--mount-proc", "T"], 0),
    ("unshare", &["-Urpf", "--mount-proc", "sh", "-c", "T; echo after; exit 5"], 5),
    ("perf", &["stat", "-o", "/dev/null", "T"], 0),
    ("perf", &["record", "-q", "-e", "task-clock", "-o", "/dev/null", "T"], 0),
    ("gdb", &["-batch", "-ex", "run", "--args", "T"], 0),
    ("valgrind", &["-q", "--tool=none", "T"], 0),
];

/// Whether a wrapper does its work on this machine.
fn works(wrapper: &str, arguments: &[&str]) -> bool {
    let arguments = arguments.iter().map(|a| a.replace("T2", "true").replace('T', "true"));
    let silent = || Stdio::null();
    let mut command = Command::new(wrapper);
    command.args(arguments).stdin(silent()).stdout(silent()).stderr(silent());
    command.status().is_ok_and(|status| status.code().is_some())
        && (wrapper != "unshare"
            || command.status().is_ok_and(|status| [0, 5].contains(&status.code().unwrap_or(1))))
}

#[test]
fn wrappers_keep_their_output_and_their_status() {
    for (wrapper, arguments, status) in WRAPPERS {
        if !works(wrapper, arguments) {
            eprintln!("not tested: {wrapper} {arguments:?}, which does not work here");
            continue;
        }
        let hosts: &[&str] = if *wrapper == "sh" { &["", "one,two"] } else { &[""] };
        for (role, hosts) in
            ["hello", "together"].into_iter().flat_map(|r| hosts.iter().map(move |h| (r, *h)))
        {
            let program = format!("{RANK} {role}");
            let mut command = Command::new("timeout");
            command.args(["-k1", "60", RUN, "-n", "4"]);
            if !hosts.is_empty() {
                command.args(["-H", hosts]).env("GASNET_SSH", SSH);
            }
            command.arg(wrapper);
            for argument in *arguments {
                match *argument {
                    "T" if *wrapper != "script" => command.args([RANK, role]),
                    other => command.arg(other.replace("T2", "true").replace('T', &program)),
                };
            }
            let output = command.stdin(Stdio::null()).output().unwrap();
            let said = text(&output.stdout);
            let what = format!("{wrapper} {arguments:?} around {role} {hosts}: {output:?}");
            assert_eq!(output.status.code(), Some(*status), "{what}");
            assert!(!said.contains("ended early"), "{what}");
            let count = |word: &str| said.lines().filter(|line| line.starts_with(word)).count();
            assert_eq!(count("hello"), 4, "{what}");
            let after = arguments.iter().any(|a| a.contains("echo after"));
            assert_eq!(count("after"), if after { 4 } else { 0 }, "{what}");
        }
    }
}

/// The number of ranks that end so, for whom the others do not wait.
#[test]
fn ranks_that_leave_together() {
    for how in ALL {
        let output = run(how, 4, &["together"]);
        assert_status(&output, 0);
        assert_eq!(text(&output.stdout).lines().filter(|l| l.starts_with("hello")).count(), 4, "{how:?}");
        assert_status(&run(how, 4, &["together", "0", "0", "0", "7"]), 7);
        let output = run(how, 3, &["together-crash", "1"]);
        assert_status(&output, 128 + 9);
        assert!(text(&output.stderr).contains("rank 1 (pid"), "{output:?}");
        let start = Instant::now();
        let output = run(how, 3, &["alone", "1"]);
        assert!(start.elapsed() < BY_ITSELF, "{:?}", start.elapsed());
        assert_status(&output, 0);
        assert_eq!(text(&output.stderr), "");
    }
    // Those who do not come are ended, and their wrappers go on.
    let script = format!("{RANK} alone 1; echo after");
    let output = Command::new(RUN).args(["-n", "3", "sh", "-c", &script]).output().unwrap();
    assert_status(&output, 0);
    assert_eq!(text(&output.stdout).matches("after").count(), 3, "{output:?}");
    // A rank that fails ends the wrappers of the others as well.
    let script = format!("{RANK} together 3 0; sleep 50; echo after");
    let output = Command::new(RUN).args(["-n", "2", "sh", "-c", &script]).output().unwrap();
    assert_status(&output, 3);
    assert_eq!(text(&output.stdout).matches("after").count(), 0, "{output:?}");
}

/// A rank is one program: the next one below the same wrapper is told so.
#[test]
fn a_second_program_in_a_rank_is_refused_by_name() {
    for role in ["hello", "together"] {
        for script in ["T && T", "T & T & wait"] {
            let script = script.replace('T', &format!("{RANK} {role}"));
            for hosts in [false, true] {
                let mut command = Command::new(RUN);
                if hosts {
                    command.args(["-H", "one,two"]).env("GASNET_SSH", SSH);
                }
                let output = command.args(["-n", "2", "sh", "-c", &script]).output().unwrap();
                assert_status(&output, 1);
                let error = text(&output.stderr);
                let said =
                    "it has started a second program that wants to join the job, and a rank is one program";
                assert_eq!(error.matches(said).count(), 1, "{script}: {error}");
                assert!(
                    error.lines().all(|l| l.starts_with("gasnetrun: ") || l.starts_with("Terminated")),
                    "{error}"
                );
            }
        }
    }
    // A program that does not join is none of them.
    let script = format!("{RANK} before 0 && {RANK} hello && {RANK} before 0");
    let output = Command::new(RUN).args(["-n", "2", "sh", "-c", &script]).output().unwrap();
    assert_status(&output, 0);
}

#[test]
fn wrong_numbers_of_ranks() {
    for value in ["0", "x", "-1", "65537"] {
        let output = Command::new(RANK).arg("hello").env("GASNET_PSHM_NODES", value).output().unwrap();
        assert_status(&output, 1);
        assert!(text(&output.stderr).contains("use 1 to 65536"), "{output:?}");
    }
    for how in ALL {
        assert_status(&run(how, 3, &["static", "3"]), 0);
        let output = run(how, 2, &["static", "3"]);
        assert_status(&output, 1);
        assert_eq!(
            text(&output.stderr),
            "test rank: the program was compiled for 3 ranks and cannot run on 2: start it with -n 3, or compile it for that number (upcc -T 2)\n"
        );
    }
    let output = Command::new(RANK).args(["static", "3"]).output().unwrap();
    assert_eq!(text(&output.stdout).lines().count(), 3);
}

/// It cannot fork; the program is started anew where the launcher is found, with the same arguments.
#[test]
fn a_process_with_threads_becomes_a_launcher() {
    let with_path = |path: &Path| {
        let mut command = Command::new(RANK);
        command.args(["threads", "two words", ""]).env("GASNET_PSHM_NODES", "3").env("PATH", path);
        command.stdin(Stdio::null()).output().unwrap()
    };
    let output = with_path(Path::new("/nowhere"));
    assert_status(&output, 1);
    assert!(text(&output.stderr).contains("gasnetrun -n 3"), "{output:?}");
    let output = with_path(Path::new(RUN).parent().unwrap());
    assert_status(&output, 0);
    let lines: BTreeSet<&str> =
        text(&output.stdout).lines().map(|l| l.split(" job").next().unwrap()).collect();
    let said = |r| format!("hello {r} of 3 [\"two words\", \"\"]");
    assert_eq!(
        lines,
        BTreeSet::from([said(0), said(1), said(2)].each_ref().map(String::as_str)),
        "{output:?}"
    );
}

#[test]
fn what_all_ranks_refuse_is_said_once() {
    let output = run(How::Spawn, 4, &["refuse"]);
    assert_status(&output, 1);
    assert_eq!(text(&output.stderr), "test rank: no such thing\n");
    for how in ALL {
        let output = run(how, 4, &["cannot"]);
        assert_status(&output, 1);
        let said = text(&output.stderr);
        assert!(said.lines().count() == 1 && said.ends_with(": no such network\n"), "{output:?}");
    }
    // Without a launcher the call returns at once.
    let output = Command::new(RANK).arg("refuse").output().unwrap();
    assert_eq!(text(&output.stderr), "test rank: no such thing\n");
}

#[test]
fn labels_name_the_rank_of_each_line() {
    for (hosts, ranks) in [(false, 3), (true, 3), (false, 1)] {
        let mut command = Command::new(RUN);
        if hosts {
            command.args(["-H", "one,two"]).env("GASNET_SSH", SSH);
        }
        command.args(["--label", "-n", &ranks.to_string(), RANK, "lines", "20"]);
        let output = command.output().unwrap();
        assert_status(&output, 0);
        for (all, word) in [(&output.stdout, "out"), (&output.stderr, "err")] {
            let lines: Vec<&str> = text(all).lines().filter(|line| !line.contains("ssh.sh")).collect();
            assert_eq!(lines.len(), 20 * ranks, "{output:?}");
            for line in lines {
                let rank = line.strip_prefix('[').and_then(|rest| rest.split_once("] ")).expect(line);
                assert!(rank.1.starts_with(&format!("{word} {} ", rank.0)), "{line}");
            }
        }
    }
    // In colour on a terminal, unless people want none.
    for (variable, expected) in [("", "\x1b[36m[0]\x1b[0m hello 0"), ("1", "[0] hello 0")] {
        let job = format!("{RUN} -l -n 2 {RANK} hello");
        let mut command = Command::new("script");
        command.args(["-qefc", &job, "/dev/null"]).stdin(Stdio::null()).env("NO_COLOR", variable);
        let output = command.output().unwrap();
        assert_status(&output, 0);
        assert!(text(&output.stdout).lines().any(|line| line.starts_with(expected)), "{output:?}");
    }
}

/// In a batch job neither ranks nor hosts have to be named.
#[test]
fn a_batch_job_says_ranks_and_hosts() {
    let batch = |arguments: &[&str], list: &str, tasks: &str| {
        let mut command = Command::new(RUN);
        command.args(arguments).args([RANK, "hello"]).env("GASNET_SSH", SSH);
        command.env("SLURM_JOB_NODELIST", list).env("SLURM_TASKS_PER_NODE", tasks);
        command.output().unwrap()
    };
    let output = batch(&["-v"], "n[1-2]", "2,1");
    assert_status(&output, 0);
    assert_eq!(text(&output.stdout).lines().filter(|l| l.contains(" of 3 job ")).count(), 3, "{output:?}");
    for (rank, host) in [(0, "n1"), (1, "n1"), (2, "n2")] {
        let on = |line: &str| {
            line.contains(&format!("rank {rank} (pid ")) && line.contains(&format!(" on {host})"))
        };
        assert!(text(&output.stderr).lines().any(on), "{output:?}");
    }
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let output = batch(&["--dry-run"], own.trim(), "2");
    assert_status(&output, 0);
    assert!(text(&output.stdout).contains("rank 1: this host"), "{output:?}");
    let output = batch(&[], "n[1-", "2");
    assert_status(&output, 2);
    assert!(text(&output.stderr).contains("give -n N --hosts A,B"), "{output:?}");
}

/// `gasnetrun sum` hardly means coreutils' program.
#[test]
fn a_program_of_the_current_directory_comes_first() {
    let dir = scratch("here");
    let program = dir.join("sum");
    std::fs::write(&program, "#!/bin/sh\necho from here\n").unwrap();
    let run = |name: &str| Command::new(RUN).args(["-n", "2", name]).current_dir(&dir).output().unwrap();
    let output = run("sum");
    assert!(!text(&output.stdout).contains("from here"), "it is not executable: {output:?}");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(text(&run("sum").stdout), "from here\nfrom here\n");
    std::fs::rename(&program, dir.join("my-sum")).unwrap();
    std::fs::set_permissions(dir.join("my-sum"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = run("my-sum");
    assert_status(&output, 126);
    assert!(text(&output.stderr).contains("./my-sum: is not executable"), "{output:?}");
    let output = run("his-sum");
    assert_status(&output, 127);
    assert!(text(&output.stderr).contains("there is no ./his-sum, and PATH ("), "{output:?}");
    if std::os::unix::fs::chown(dir.join("my-sum"), Some(1), None).is_ok() {
        std::fs::set_permissions(dir.join("my-sum"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let output = run("my-sum");
        assert_status(&output, 127);
        assert!(
            text(&output.stderr).contains("did you mean ./my-sum, which belongs to another user?"),
            "{output:?}"
        );
    }
}

#[test]
fn programs_that_cannot_run() {
    let dir = scratch("cannot");
    let plain = dir.join("plain");
    std::fs::write(&plain, "text").unwrap();
    let script = dir.join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    for (program, status, part) in [
        ("/nonexistent/program", 127, "program not found"),
        ("no-such-program-anywhere", 127, "program not found"),
        (plain.to_str().unwrap(), 126, "is not executable"),
        ("/tmp", 126, "is a directory"),
        (script.to_str().unwrap(), 126, "the interpreter or loader that it names is not there"),
    ] {
        let output = Command::new(RUN).args(["-n", "4", program]).output().unwrap();
        assert_status(&output, status);
        assert!(text(&output.stderr).contains(part), "{output:?}");
        assert_eq!(text(&output.stderr).lines().count(), 1);
    }
}

/// An installed launcher says where it is, so that ranks find what is installed beside it; one that is not
/// installed says nothing.
#[test]
fn ranks_are_told_where_their_launcher_is() {
    let root = std::env::temp_dir().join(format!("gasnetrun-told-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    for folder in ["bin", "elsewhere"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
        let launcher = root.join(folder).join("gasnetrun");
        std::fs::copy(RUN, &launcher).unwrap();
        for hosts in [&[][..], &["-H", "one"]] {
            let mut command = Command::new(&launcher);
            command.args(hosts).args(["-n", "1", "env"]).env("GASNET_SSH", SSH).env_remove("GASNETI_PLUGINS");
            let output = command.stdin(Stdio::null()).output().unwrap();
            let told = text(&output.stdout).lines().find(|line| line.starts_with("GASNETI_PLUGINS="));
            let owner = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(&launcher).unwrap());
            let expected = format!("GASNETI_PLUGINS={owner}:{}", root.join("bin").display());
            assert_eq!(told, (folder == "bin").then_some(&*expected), "{output:?}");
        }
    }
    let _ = std::fs::remove_dir_all(&root);
}

#[test]
fn a_gasnetrun_of_another_version() {
    let output = Command::new(RANK).arg("hello").env("GASNETI_BOOT", "1:0:1:3:4:5:6").output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    assert!(text(&output.stderr).contains("another version of gasnet than the gasnetrun"), "{output:?}");
}

#[test]
fn many_ranks_start_quickly_even_with_few_descriptors() {
    for how in LOCAL {
        let start = Instant::now();
        let (what, variable) = match how {
            How::Spawn => (format!("{RUN} -n 256 {RANK} descriptors"), "0"),
            _ => (format!("{RANK} descriptors"), "256"),
        };
        let script = format!("ulimit -Sn 64; exec timeout -k1 40 {what}");
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        if how == How::Fork {
            command.env("GASNET_PSHM_NODES", variable);
        }
        let output = command.output().unwrap();
        assert_status(&output, 0);
        let counts: BTreeSet<&str> = text(&output.stdout).lines().filter(|l| l.starts_with("own")).collect();
        assert_eq!(counts.len(), 1, "descriptors differ between ranks: {counts:?}");
        assert_eq!(text(&output.stdout).lines().filter(|l| l.starts_with("own")).count(), 256);
        assert!(start.elapsed() < BY_ITSELF, "{:?}", start.elapsed());
    }
}

#[test]
fn too_few_descriptors_are_explained() {
    let script = format!("ulimit -n 100; exec {RUN} -n 256 {RANK} hello");
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_status(&output, 1);
    let expected = "gasnetrun: 256 ranks need 800 descriptors, and the limit is 100; raise it (ulimit -Hn)\n";
    assert_eq!(text(&output.stderr), expected);
}

#[test]
fn ranks_get_a_core_each_or_none() {
    let all = processors::numbers(&processors::allowed()).collect::<Vec<_>>();
    let places = |ranks: u32, bind: &str| -> BTreeSet<String> {
        let ranks = ranks.to_string();
        let output =
            Command::new(RUN).args(["-n", &ranks, "--bind", bind, RANK, "affinity"]).output().unwrap();
        text(&output.stdout).lines().map(|l| l.split_once(" on ").unwrap().1.to_string()).collect()
    };
    assert_eq!(places(2, "none"), BTreeSet::from([format!("{all:?}")]));
    assert_eq!(places(all.len() as u32 + 1, "core"), BTreeSet::from([format!("{all:?}")]));
    let output = Command::new(RUN).args(["-n", "2", "-v", RANK, "affinity"]).output().unwrap();
    let bound = places(2, "core");
    if text(&output.stderr).contains("on processor") {
        assert_eq!(bound.len(), 2);
    } else {
        assert_eq!(bound, BTreeSet::from([format!("{all:?}")]));
        assert_eq!(text(&output.stderr).matches("not bound").count(), 2);
    }
}

#[test]
fn time_limit() {
    let start = Instant::now();
    let output = Command::new(RUN).args(["-n", "2", "-t", "0.2", RANK, "sleep"]).output().unwrap();
    assert_status(&output, 124);
    assert!(start.elapsed() < BY_ITSELF);
    assert!(text(&output.stderr).contains("time limit of 0.2 s reached"));
}

#[test]
fn hosts_are_shown_and_described() {
    let output = bare(How::Hosts, 3, &["hello"]).stderr(Stdio::piped()).output().unwrap();
    assert_status(&output, 0);
    let mut command = Command::new(RUN);
    command.args(["-v", "-H", "one:1,two:2", "-n", "3", RANK, "hello"]).env("GASNET_SSH", SSH);
    let output = command.output().unwrap();
    assert_status(&output, 0);
    for (rank, host) in [(0, "one"), (1, "two"), (2, "two")] {
        let line =
            text(&output.stderr).lines().find(|l| l.starts_with(&format!("gasnetrun: rank {rank} (pid ")));
        assert!(line.is_some_and(|l| l.contains(&format!(" on {host}) "))), "{output:?}");
    }
    let mut command = Command::new(RUN);
    command.args(["--dry-run", "-n", "3", "-e", "A=b", RANK, "two words"]).env("GASNET_HOSTS", "one,two");
    let output = command.env("GASNET_SSH", SSH).output().unwrap();
    assert_status(&output, 0);
    for part in
        ["'two words'", "environment: A=b", "host one: ranks 0-1", "host two: ranks 2\n", "ssh.sh two"]
    {
        assert!(text(&output.stdout).contains(part), "{part}: {output:?}");
    }
}

#[test]
fn exchanges_reach_all_ranks_of_all_hosts() {
    let output = run(How::Hosts, 5, &["exchange", "100000"]);
    assert_status(&output, 0);
    assert_eq!(text(&output.stdout).lines().filter(|l| l.ends_with("has all of 5")).count(), 5, "{output:?}");
}

/// Ranks on other hosts cannot start in a directory that is gone; those of this host need none.
#[test]
fn a_removed_directory_is_told() {
    let dir = scratch("gone");
    for (hosts, status) in [("-H one,two", 1), ("", 0)] {
        let gone = dir.join("gone");
        std::fs::create_dir_all(&gone).unwrap();
        let script = format!("cd {0} && rmdir {0} && exec {RUN} {hosts} -n 2 {RANK} hello", gone.display());
        let output = Command::new("sh").args(["-c", &script]).env("GASNET_SSH", SSH).output().unwrap();
        assert_status(&output, status);
        let said = text(&output.stderr).contains("the current directory cannot be found");
        assert_eq!(said, status == 1, "{output:?}");
    }
}

#[test]
fn hosts_that_cannot_run_the_program_say_why() {
    let dir = scratch("hosts");
    // A host where the program is not.
    let elsewhere = dir.join("elsewhere.sh");
    std::fs::write(&elsewhere, "host=$1; shift\nif [ $host = two ]; then exec unshare -m sh -c \"mount -t tmpfs none $MOVED; $*\"; fi\nexec sh -c \"$*\"\n")
        .unwrap();
    let moved = dir.join("programs");
    std::fs::create_dir(&moved).unwrap();
    std::fs::copy(RANK, moved.join("rank")).unwrap();
    let program = moved.join("rank");
    let root = Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|s| s.success());
    let start = Instant::now();
    if root {
        let mut command = Command::new(RUN);
        command.args(["-H", "one,two", "-n", "4"]).arg(&program).arg("sleep");
        command.env("GASNET_SSH", format!("sh {}", elsewhere.display())).env("MOVED", &moved);
        let output = command.output().unwrap();
        assert_status(&output, 127);
        assert!(text(&output.stderr).contains("gasnetrun: host two: "), "{output:?}");
        assert!(text(&output.stderr).contains("program not found"), "{output:?}");
    }
    // A host that cannot be reached, and one where something else answers.
    let broken = dir.join("broken.sh");
    std::fs::write(
        &broken,
        "host=$1; shift\nif [ $host = two ]; then echo no route >&2; exit 255; fi\nexec sh -c \"$*\"\n",
    )
    .unwrap();
    let mut command = Command::new(RUN);
    command.args(["-H", "one,two", "-n", "4", RANK, "sleep"]);
    let output = command.env("GASNET_SSH", format!("sh {}", broken.display())).output().unwrap();
    assert_status(&output, 1);
    assert!(text(&output.stderr).contains("no route\n"), "{output:?}");
    assert!(text(&output.stderr).contains("host two is lost: gasnetrun could not be started"), "{output:?}");
    assert!(start.elapsed() < BY_ITSELF, "{:?}", start.elapsed());
}

/// Ranks of the hosts of a job that sleeps: (process of the rank, of its agent) by line of its output.
fn ranks_and_agents(monitor: &mut std::process::Child, ranks: u32) -> Vec<(String, String)> {
    let mut reader = BufReader::new(monitor.stdout.take().unwrap());
    let mut all = Vec::new();
    for _ in 0..ranks {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        all.push((words[1].to_string(), words[3].to_string()));
    }
    all
}

#[test]
fn an_agent_that_dies_or_falls_silent_ends_the_job_everywhere() {
    for signal in [libc::SIGKILL, libc::SIGSTOP] {
        let mut monitor = bare(How::Hosts, 4, &["sleep"]).stderr(Stdio::piped()).spawn().unwrap();
        let ranks = ranks_and_agents(&mut monitor, 4);
        let agents: BTreeSet<&String> = ranks.iter().map(|(_, agent)| agent).collect();
        assert_eq!(agents.len(), 2);
        let agent: i32 = ranks[3].1.parse().unwrap();
        let start = Instant::now();
        kill(agent, signal);
        let output = monitor.wait_with_output().unwrap();
        assert_status(&output, 1);
        assert!(text(&output.stderr).contains(" is lost: "), "{output:?}");
        if signal == libc::SIGSTOP {
            // Its connection is closed, so it ends its ranks as soon as it can.
            kill(agent, libc::SIGCONT);
        }
        wait_until_gone(&ranks.iter().map(|(rank, _)| rank.clone()).collect::<Vec<_>>());
        assert!(start.elapsed() < BY_ITSELF, "{:?}", start.elapsed());
    }
}

#[test]
fn a_monitor_that_falls_silent_leaves_no_rank() {
    let mut monitor = bare(How::Hosts, 4, &["sleep"]).stderr(Stdio::piped()).spawn().unwrap();
    let ranks = ranks_and_agents(&mut monitor, 4);
    kill(monitor.id() as i32, libc::SIGSTOP);
    let until = Instant::now() + BY_ITSELF;
    while ranks.iter().any(|(rank, _)| exists(rank)) {
        assert!(Instant::now() < until, "left behind: {ranks:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(monitor.id() as i32, libc::SIGKILL);
    monitor.wait().unwrap();
}

#[test]
fn the_doctor_looks_and_says_what_to_do() {
    let output = Command::new(RUN).args(["--doctor", "-H", "one"]).env("GASNET_SSH", SSH).output().unwrap();
    assert_status(&output, 0);
    for part in
        ["ok       descriptors", "ok       shared memory", "ok       datagrams", "ok       host one: reached"]
    {
        assert!(text(&output.stdout).contains(part), "{part}: {output:?}");
    }
    assert!(text(&output.stdout).contains("ok       settings"), "{output:?}");
    // A name of every kind of crate is known: of the core, of a conduit, of one that is a plugin, of C
    // programs.
    let known = ["GASNET_CHECK", "GASNET_UDP_WINDOW", "GASNET_OFI_NATIVE", "GASNET_BACKTRACE"];
    let mut doctor = Command::new(RUN);
    doctor.arg("--doctor").envs(known.map(|name| (name, "1"))).env("GASNET_UDP_WINDOWS", "1");
    let output = doctor.output().unwrap();
    let said = "note     unknown setting GASNET_UDP_WINDOWS: did you mean GASNET_UDP_WINDOW?";
    assert!(text(&output.stdout).contains(said), "{output:?}");
    assert_eq!(text(&output.stdout).matches("unknown setting").count(), 1, "{output:?}");
    let output =
        Command::new(RUN).args(["--doctor", "-H", "one"]).env("GASNET_SSH", "false").output().unwrap();
    assert_status(&output, 1);
    assert!(
        text(&output.stdout).contains("TROUBLE  host one: gasnetrun does not answer there"),
        "{output:?}"
    );
}
