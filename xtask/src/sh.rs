//! Runs commands with a time limit.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The repository.
pub fn root() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(&manifest).to_path_buf()
}

/// The folder of cargo's build output (this program runs from its `debug` folder).
pub fn target() -> PathBuf {
    let own = std::env::current_exe().ok();
    match own.as_deref().and_then(Path::parent).and_then(Path::parent) {
        Some(target) => target.to_path_buf(),
        None => root().join("target"),
    }
}

/// Removes what cargo added to the loader's path for this program: plugins would be found there as cargo's
/// own builds left them, without their library.
pub fn restore_loader_path(command: &mut Command) {
    const PATH: &str = "LD_LIBRARY_PATH";
    let Some(path) = std::env::var_os(PATH) else { return };
    let others = std::env::split_paths(&path).filter(|folder| !folder.starts_with(target()));
    match std::env::join_paths(others) {
        Ok(path) if !path.is_empty() => command.env(PATH, path),
        _ => command.env_remove(PATH),
    };
}

/// A cargo command in the repository.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command.env("CARGO_TARGET_DIR", target());
    // Variables that `cargo run` set for this program are not for others, and would make cargo rebuild.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_PKG_NAME", "CARGO_PKG_VERSION"] {
        command.env_remove(name);
    }
    command
}

/// Lines of output shown in a failure report, at the start and at the end.
const SHOWN: usize = 10;

/// The result of a finished command.
#[derive(Debug)]
pub struct CommandOutcome {
    /// The exit status as a shell reports it; `None` after the time limit.
    pub status: Option<i32>,
    /// All of standard output.
    pub stdout: String,
    /// All of standard error.
    pub stderr: String,
}

impl CommandOutcome {
    /// How it ended, in words.
    pub fn end(&self) -> String {
        match self.status {
            None => "ran into the time limit".to_string(),
            Some(status) if status > 128 => format!("exit status {status} (signal {})", status - 128),
            Some(status) => format!("exit status {status}"),
        }
    }

    /// The end, and the first and last lines of output, for a failure report.
    pub fn report(&self) -> String {
        let mut text = format!("  {}\n", self.end());
        for (name, stream) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            let lines: Vec<&str> = stream.lines().collect();
            let skipped = lines.len().saturating_sub(2 * SHOWN);
            for (at, line) in lines.iter().enumerate() {
                if skipped > 0 && at == SHOWN {
                    text += &format!("  {name}| ... {skipped} lines\n");
                }
                if skipped == 0 || at < SHOWN || at >= SHOWN + skipped {
                    text += &format!("  {name}| {line}\n");
                }
            }
        }
        text
    }
}

/// Runs a command without input and collects its output.
pub fn capture(command: Command, limit: Duration) -> Result<CommandOutcome, String> {
    watch(command, limit, |_| {})
}

/// [`capture`] that calls `line` with every line of standard output as it arrives.
pub fn watch(
    mut command: Command,
    limit: Duration,
    mut line: impl FnMut(&str),
) -> Result<CommandOutcome, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("{}: {e}", show(&command)))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let waiter = thread::spawn(move || wait(&mut child, limit));
    let err = thread::spawn(move || {
        let mut bytes = Vec::new();
        // A read error ends the text; the exit status tells the rest.
        let _ = err.map(|mut pipe| pipe.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let mut stdout = String::new();
    if let Some(pipe) = out {
        let mut reader = BufReader::new(pipe);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
            let text = String::from_utf8_lossy(&bytes);
            line(text.trim_end_matches('\n'));
            stdout += &text;
            bytes.clear();
        }
    }
    let (status, worked) = waiter.join().map_err(|_| "the waiting thread failed".to_string())??;
    Meter::here().add(worked);
    let stderr = err.join().map_err(|_| "the reading thread failed".to_string())?;
    Ok(CommandOutcome { status: status.map(code), stdout, stderr })
}

/// Runs a command that communicates with the user itself. An error unless it exits with 0.
pub fn pass(mut command: Command, limit: Duration) -> Result<(), String> {
    let mut child = command.spawn().map_err(|e| format!("{}: {e}", show(&command)))?;
    let (status, worked) = wait(&mut child, limit)?;
    Meter::here().add(worked);
    match status.map(code) {
        Some(0) => Ok(()),
        Some(status) => Err(format!("{}: exit status {status}", show(&command))),
        None => Err(format!("{}: ran into the time limit of {} s", show(&command), limit.as_secs())),
    }
}

/// The exit status as a shell has it.
pub fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Waits; after the time limit the process is asked to end (a launcher then ends its ranks), and killed two
/// seconds later. The status, if it ended in time, and the processor time of the process and its children.
fn wait(child: &mut Child, limit: Duration) -> Result<(Option<ExitStatus>, Duration), String> {
    let start = Instant::now();
    let mut asked = None::<Instant>;
    let mut pause = Duration::from_micros(500);
    loop {
        // The system forgets what a process has used when it gives its status away, so that is asked for
        // first: of a process that has ended, and uses no more.
        let process = stat(&child.id().to_string());
        if process.as_ref().is_none_or(|process| process.state == "Z")
            && let Some(status) = child.try_wait().map_err(|e| e.to_string())?
        {
            let worked = process.map(|process| process.own + process.children).unwrap_or_default();
            return Ok((asked.is_none().then_some(status), worked));
        }
        match asked {
            None if start.elapsed() > limit => {
                // The shell's built-in: small systems have no such command.
                let _ = Command::new("sh").args(["-c", &format!("kill -TERM {}", child.id())]).status();
                asked = Some(Instant::now());
            }
            Some(since) if since.elapsed() > Duration::from_secs(2) => {
                child.kill().map_err(|e| e.to_string())?;
            }
            _ => {}
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// A command in the form in which it can be typed (in the repository).
pub fn show(command: &Command) -> String {
    let root = root();
    let root = root.to_string_lossy();
    let word = |text: &OsStr| {
        let text = text.to_string_lossy().replace(&format!("{root}/"), "");
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@%".contains(c);
        if !text.is_empty() && text.chars().all(plain) {
            text
        } else {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
    };
    let mut words = Vec::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value.filter(|_| name != "CARGO_TARGET_DIR") {
            words.push(format!("{}={}", name.to_string_lossy(), word(value)));
        }
    }
    let program = Path::new(command.get_program());
    words.push(match program.file_name() {
        Some(name) if name == "cargo" => "cargo".to_string(),
        _ => word(program.as_os_str()),
    });
    words.extend(command.get_args().map(word));
    words.join(" ")
}

/// Finds a program in `PATH`.
pub fn which(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Installs the tools for network namespaces that lose packets.
pub fn install_namespaces() {
    for (program, package) in [("nft", "nftables"), ("ethtool", "ethtool"), ("ip", "iproute2")] {
        if capture(Command::new(program), Duration::from_secs(10)).is_err() {
            install_debian(&[package]);
        }
    }
}

/// Installs Debian packages if that is possible without asking (as root, with apt-get); later checks show
/// whether it worked.
pub fn install_debian(packages: &[&str]) {
    // apt-get refuses to run twice at a time, and knows what there is once it has been told.
    static KNOWS: Mutex<bool> = Mutex::new(false);
    let mut knows = KNOWS.lock().unwrap_or_else(PoisonError::into_inner);
    let root = capture(
        {
            let mut id = Command::new("id");
            id.arg("-u");
            id
        },
        Duration::from_secs(5),
    );
    if which("apt-get").is_none() || !root.is_ok_and(|o| o.stdout.trim() == "0") {
        return;
    }
    say!("installing {} ...", packages.join(" "));
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        capture(apt, Duration::from_secs(300)).is_ok_and(|outcome| outcome.status == Some(0))
    };
    *knows = *knows || apt(&["update", "-qq"]);
    apt(&[&["install", "-y", "-qq", "--no-install-recommends"], packages].concat());
}

/// Adds up the processor time of commands that have ended.
#[derive(Debug, Clone, Default)]
pub struct Meter(Arc<AtomicU64>);

thread_local! {
    static METER: RefCell<Meter> = RefCell::default();
}

impl Meter {
    /// The one of this thread's commands.
    pub fn here() -> Meter {
        METER.with_borrow(Meter::clone)
    }

    /// From now on it is the one of this thread's commands.
    pub fn install(&self) {
        METER.set(self.clone());
    }

    /// Whole milliseconds.
    fn add(&self, worked: Duration) {
        // ORDER: Relaxed: a sum.
        self.0.fetch_add(worked.as_millis() as u64, Ordering::Relaxed);
    }

    /// The sum so far.
    pub fn worked(&self) -> Duration {
        // ORDER: Relaxed: a sum.
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// The processor time of all commands that have ended, as far as somebody waited for them.
pub fn worked() -> Duration {
    stat("self").map(|own| own.children).unwrap_or_default()
}

/// A part of `/proc/PID/stat`.
struct Stat {
    /// `R`, `S`, ...; `Z` after its end.
    state: String,
    /// Processor time of the process.
    own: Duration,
    /// Processor time of its children that have ended, and that somebody waited for.
    children: Duration,
}

fn stat(process: &str) -> Option<Stat> {
    // proc(5): field 3 is the state, fields 14 to 17 are times in hundredths of a second. The name, field 2,
    // may have blanks, and ends with a parenthesis.
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
    let time = |of: [usize; 2]| {
        let ticks = of.into_iter().map(|field| fields.get(field - 3)?.parse::<u64>().ok());
        Some(Duration::from_millis(10 * ticks.sum::<Option<u64>>()?))
    };
    Some(Stat { state: fields.first()?.to_string(), own: time([14, 15])?, children: time([16, 17])? })
}

/// Seconds with one decimal.
pub fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn outcomes() {
        let outcome = capture(shell("echo out; echo err >&2; exit 3"), Duration::from_secs(10)).unwrap();
        assert_eq!((outcome.status, &*outcome.stdout, &*outcome.stderr), (Some(3), "out\n", "err\n"));
        let outcome = capture(shell("kill -9 $$"), Duration::from_secs(10)).unwrap();
        assert_eq!(outcome.end(), "exit status 137 (signal 9)");
    }

    #[test]
    fn time_limits() {
        let start = Instant::now();
        let outcome = capture(shell("exec sleep 20"), Duration::from_millis(100)).unwrap();
        assert_eq!(outcome.status, None);
        assert!(start.elapsed() < Duration::from_secs(5));
        assert!(pass(shell("exec sleep 20"), Duration::from_millis(100)).unwrap_err().contains("time limit"));
    }

    #[test]
    fn work_of_commands_is_counted() {
        let (all, meter) = (worked(), Meter::default());
        meter.install();
        let busy = || shell("i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done");
        let start = Instant::now();
        let mut rounds = 0;
        while (worked() == all || meter.worked() == Duration::ZERO) && start.elapsed().as_secs() < 60 {
            rounds += 1;
            capture(busy(), Duration::from_secs(60)).unwrap();
            pass(busy(), Duration::from_secs(60)).unwrap();
        }
        assert!(worked() > all && meter.worked() > Duration::ZERO, "{rounds}");
        // Another thread's commands are its own, unless it is told otherwise.
        let before = meter.worked();
        thread::scope(|scope| scope.spawn(|| capture(busy(), Duration::from_secs(60)).unwrap()).join())
            .unwrap();
        assert_eq!(meter.worked(), before);
    }

    #[test]
    fn commands_can_be_typed_again() {
        let mut command = Command::new(root().join("bin/x"));
        command.env("A", "b c").args(["plain", "two words", "", "it's"]);
        assert_eq!(show(&command), r"A='b c' bin/x plain 'two words' '' 'it'\''s'");
    }

    #[test]
    fn reports_show_first_and_last_lines() {
        let outcome = capture(shell("seq 1 100"), Duration::from_secs(10)).unwrap();
        let report = outcome.report();
        let expected = format!("stdout| {SHOWN}\n  stdout| ... {} lines\n", 100 - 2 * SHOWN);
        assert!(report.contains(&expected) && report.ends_with("stdout| 100\n"), "{report}");
    }
}
