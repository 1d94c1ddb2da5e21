//! Jobs that are started through other people's programs, as they are on real machines: an sshd, Slurm's
//! `srun`.
//!
//! Each is started here with settings, keys and ports of its own in a scratch folder, beside what the system
//! may run, and ended with all that it started. Prints a line `ok NAME` or `FAILED NAME` for each test, as
//! the suites do, and says what is missing where a program is not installed.

mod slurm;
mod sshd;

use gasnet_tests::run::{Outcome, run};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// Variable that marks the processes of a test.
const MARK: &str = "GASNET_TESTS_MARK";
/// Time in which a job that was disturbed has to be gone everywhere.
const GONE: Duration = Duration::from_secs(40);

/// A test: its name and what it does with what was started for it.
type Test<T> = (&'static str, fn(&T) -> Result<(), String>);

/// The options on the command line.
struct Options {
    /// The installed tools.
    prefix: PathBuf,
    filters: Vec<String>,
}

impl Options {
    fn wants(&self, name: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|f| name.contains(f.as_str()))
    }

    /// Runs tests, unless `started` says why they cannot be. Whether one failed.
    fn run<T>(
        &self,
        group: &str,
        tests: &[Test<T>],
        start: impl FnOnce() -> Result<Result<T, String>, String>,
    ) -> bool {
        let wanted = |test: &&Test<T>| self.wants(&format!("{group}/{}", test.0));
        let wanted: Vec<&Test<T>> = tests.iter().filter(wanted).collect();
        if wanted.is_empty() {
            return false;
        }
        let started = match start() {
            Ok(Ok(started)) => started,
            Ok(Err(why)) => {
                println!("not tested: {why}");
                return false;
            }
            Err(why) => {
                println!("FAILED {group}/start\n---- {group}/start\n{why}");
                return true;
            }
        };
        let mut failed = false;
        for (name, test) in wanted {
            let begun = Instant::now();
            match test(&started) {
                Ok(()) => println!("ok {group}/{name} {:.1} s", begun.elapsed().as_secs_f64()),
                Err(why) => {
                    failed = true;
                    println!("FAILED {group}/{name}\n---- {group}/{name}\n{why}");
                }
            }
        }
        failed
    }
}

/// A program of this package.
fn beside(name: &str) -> PathBuf {
    std::env::current_exe().map(|own| own.with_file_name(name)).unwrap_or_else(|_| name.into())
}

/// A program in `PATH` or where the system's own programs are.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// A new scratch folder that nobody else may look into.
fn scratch(name: &str) -> Result<PathBuf, String> {
    use std::os::unix::fs::DirBuilderExt;
    let folder = std::env::temp_dir().join(format!("gasnet-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()))
}

/// A port that nobody listened on just now.
fn free_port() -> Result<u16, String> {
    let listener = std::net::TcpListener::bind(("0.0.0.0", 0)).map_err(|e| e.to_string())?;
    listener.local_addr().map(|a| a.port()).map_err(|e| e.to_string())
}

/// Runs a command to its end.
fn outcome(command: Command, limit: u64) -> Result<Outcome, String> {
    let outcome = run(command, "", Duration::from_secs(limit)).map_err(|e| e.to_string())?;
    if outcome.timed_out { Err(outcome.report()) } else { Ok(outcome) }
}

/// Holds how a command ended against what is wanted: its status, and parts of what it says.
fn ended(outcome: &Outcome, status: i32, parts: &[&str]) -> Result<(), String> {
    let said = format!("{}{}", outcome.stdout, outcome.stderr);
    match parts.iter().find(|part| !said.contains(**part)) {
        _ if outcome.status != Some(status) => Err(format!("wanted status {status}\n{}", outcome.report())),
        Some(part) => Err(format!("no '{part}' in\n{}", outcome.report())),
        None => Ok(()),
    }
}

/// Waits until something holds.
fn soon(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) -> Result<(), String> {
    let begun = Instant::now();
    while !holds() {
        if begun.elapsed() > limit {
            return Err(format!("not within {} s: {what}", limit.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Processes whose environment has this text; zombies have none.
fn marked(mark: &str) -> Vec<u32> {
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(number);
    let has = |pid: &u32| {
        let text = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        text.split(|b| *b == 0).any(|line| line == mark.as_bytes())
    };
    all.filter(has).collect()
}

/// Living processes below this one, by their parents.
fn below(root: u32) -> Vec<u32> {
    let children = |pid: u32| -> Vec<u32> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    };
    let mut all = children(root);
    let mut at = 0;
    while at < all.len() {
        all.extend(children(all[at]));
        at += 1;
    }
    all
}

fn main() -> ExitCode {
    let mut options = Options {
        prefix: PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/stage"),
        filters: Vec::new(),
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--prefix" => options.prefix = args.next().unwrap_or_default().into(),
            "--ranks" => drop(args.next()),
            _ => options.filters.push(arg),
        }
    }
    let failed = [
        options.run("sshd", sshd::TESTS, || sshd::Sshd::start(&options.prefix)),
        options.run("slurm", slurm::TESTS, || slurm::Slurm::start(&options.prefix)),
    ];
    if failed.contains(&true) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
