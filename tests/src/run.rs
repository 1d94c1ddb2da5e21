//! Start a command, bounded in time, and collect what it says.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The result of a finished command.
#[derive(Debug)]
pub struct Outcome {
    /// The exit status; `None` after death by a signal or by the time limit.
    pub status: Option<i32>,
    /// The time limit struck.
    pub timed_out: bool,
    /// All of standard output, invalid UTF-8 replaced.
    pub stdout: String,
    /// All of standard error, invalid UTF-8 replaced.
    pub stderr: String,
    /// The command as one can type it.
    pub command: String,
}

impl Outcome {
    /// The command, its end and its output, for a failure report.
    pub fn report(&self) -> String {
        let end = match (self.timed_out, self.status) {
            (true, _) => "ran into the time limit".to_string(),
            (false, Some(code)) => format!("exit status {code}"),
            (false, None) => "died by a signal".to_string(),
        };
        let mut text = format!("$ {}\n{end}\n", self.command);
        for (name, stream) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            let mut lines = stream.lines();
            for line in lines.by_ref().take(40) {
                text += &format!("{name}| {line}\n");
            }
            let rest = lines.count();
            if rest > 0 {
                text += &format!("{name}| ... {rest} more lines\n");
            }
        }
        text
    }
}

/// Run `command` with `input` as standard input, at most for `limit`; then it gets SIGTERM, and
/// SIGKILL two seconds later.
pub fn run(mut command: Command, input: &str, limit: Duration) -> std::io::Result<Outcome> {
    let shown = show(&command);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| std::io::Error::new(error.kind(), format!("{shown}: {error}")))?;
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_owned();
    // The program may well end without reading its input.
    let feeder = thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let stdout = collect(child.stdout.take().expect("piped"));
    let stderr = collect(child.stderr.take().expect("piped"));
    let (status, timed_out) = wait(&mut child, limit)?;
    drop(feeder.join());
    let text = |reader: thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
    };
    Ok(Outcome { status, timed_out, stdout: text(stdout), stderr: text(stderr), command: shown })
}

/// Sends a signal to a process, by the shell's own `kill`: the command is a package that small systems lack.
pub fn signal(pid: u32, name: &str) {
    drop(Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).stderr(Stdio::null()).status());
}

fn wait(child: &mut Child, limit: Duration) -> std::io::Result<(Option<i32>, bool)> {
    let start = Instant::now();
    let mut asked = None::<Instant>;
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status.code(), asked.is_some()));
        }
        match asked {
            None if start.elapsed() > limit => {
                // A launcher ends its job on SIGTERM; SIGKILL would leave that to the ranks.
                signal(child.id(), "TERM");
                asked = Some(Instant::now());
            }
            Some(since) if since.elapsed() > Duration::from_secs(2) => child.kill()?,
            _ => {}
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

fn collect(mut from: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        drop(from.read_to_end(&mut bytes));
        bytes
    })
}

fn show(command: &Command) -> String {
    let mut text = String::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            text += &format!("{}={} ", name.to_string_lossy(), value.to_string_lossy());
        }
    }
    text += &command.get_program().to_string_lossy();
    for arg in command.get_args() {
        let arg = arg.to_string_lossy();
        if arg.is_empty() || arg.contains([' ', '*', '$', '"', '\'']) {
            text += &format!(" '{arg}'");
        } else {
            text += &format!(" {arg}");
        }
    }
    text
}
