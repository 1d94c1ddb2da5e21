//! `gasnetrun --hosts` against a real sshd. It listens on this machine's loop-back addresses, of which each
//! stands for a host; keys, settings and port are made here, and who connects uses nothing of the user's own.

use super::{GONE, MARK, Test, below, beside, ended, find, free_port, marked, outcome, scratch, soon, write};
use gasnet_tests::run::{Outcome, run, signal};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub const TESTS: &[Test<Sshd>] = &[
    ("job", job),
    ("carried", carried),
    ("output-and-input", output_and_input),
    ("codes", codes),
    ("killed-rank", killed_rank),
    ("interrupted", interrupted),
    ("killed-monitor", killed_monitor),
    ("cut-connection", cut_connection),
    ("wrong-key", wrong_key),
    ("unknown-host", unknown_host),
    ("host-down", host_down),
    ("talkative-shell", talkative_shell),
    ("not-installed", not_installed),
    ("doctor", doctor),
];

/// The daemon and what belongs to it; ended, and its folder removed, when dropped.
pub struct Sshd {
    folder: PathBuf,
    daemon: Child,
    gasnetrun: PathBuf,
}

fn keygen(file: &Path) -> Result<String, String> {
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]).arg(file);
    ended(&outcome(command, 20)?, 0, &[])?;
    let public = file.with_extension("pub");
    std::fs::read_to_string(&public).map_err(|e| format!("{}: {e}", public.display()))
}

/// The name of who runs this.
fn user() -> Result<String, String> {
    let mut command = Command::new("id");
    command.arg("-un");
    Ok(outcome(command, 10)?.stdout.trim().to_string())
}

/// Makes keys, and writes the settings of the daemon and of its clients.
fn write_settings(folder: &Path) -> Result<(), String> {
    let at = |name: &str| folder.join(name);
    let shown = |name: &str| at(name).display().to_string();
    let (host_key, key) = (keygen(&at("host_key"))?, keygen(&at("key"))?);
    let (chatty, missing) = (keygen(&at("chatty"))?, keygen(&at("missing"))?);
    keygen(&at("stranger"))?;
    let chatter = "echo Welcome to this machine.; echo >&2 Be careful.; eval \\\"$SSH_ORIGINAL_COMMAND\\\"";
    write(
        &at("authorized_keys"),
        &format!(
            "{key}command=\"{chatter}\" {chatty}command=\"exec /nowhere/bin/gasnetrun --agent\" {missing}"
        ),
    )?;
    let port = free_port()?;
    let settings = [
        format!("Port {port}"),
        "ListenAddress 127.0.0.1".into(),
        "ListenAddress 127.0.0.2".into(),
        "ListenAddress 127.0.0.3".into(),
        format!("HostKey {}", shown("host_key")),
        format!("AuthorizedKeysFile {}", shown("authorized_keys")),
        format!("PidFile {}", shown("pid")),
        "PasswordAuthentication no".into(),
        "KbdInteractiveAuthentication no".into(),
        "PermitRootLogin yes".into(),
        "UsePAM no".into(),
        "PrintMotd no".into(),
        // The folder above may be anybody's to write to, as /tmp is.
        "StrictModes no".into(),
        "LogLevel VERBOSE".into(),
        // All ranks of a test at a time, on both hosts.
        "MaxStartups 100".into(),
    ];
    write(&at("sshd_config"), &(settings.join("\n") + "\n"))?;
    let common = [
        "Host *".to_string(),
        format!("User {}", user()?),
        format!("Port {port}"),
        "HostKeyAlias here".into(),
        "IdentitiesOnly yes".into(),
        "IdentityAgent none".into(),
        "StrictHostKeyChecking yes".into(),
        "GlobalKnownHostsFile /dev/null".into(),
        "BatchMode yes".into(),
        "ConnectTimeout 5".into(),
        "LogLevel ERROR".into(),
    ];
    let hosts = "Host one\nHostName 127.0.0.2\nHost two\nHostName 127.0.0.3\n";
    // Nobody listens at the last address.
    let down = "Host down\nHostName 127.0.0.4\n";
    write(&at("known_hosts"), &format!("here {host_key}"))?;
    write(&at("no_hosts"), "")?;
    for (name, identity, known) in [
        ("ssh_config", "key", "known_hosts"),
        ("stranger_config", "stranger", "known_hosts"),
        ("chatty_config", "chatty", "known_hosts"),
        ("missing_config", "missing", "known_hosts"),
        ("unknown_config", "key", "no_hosts"),
    ] {
        let text = format!(
            "{hosts}{down}{}\nIdentityFile {}\nUserKnownHostsFile {}\n",
            common.join("\n"),
            shown(identity),
            shown(known)
        );
        write(&at(name), &text)?;
    }
    Ok(())
}

impl Sshd {
    /// Starts it. The inner error says why that cannot be done here.
    pub fn start(prefix: &Path) -> Result<Result<Sshd, String>, String> {
        let Some(program) = find("sshd") else {
            return Ok(Err("jobs through a real sshd: there is none; Debian's: openssh-server".to_string()));
        };
        if find("ssh").is_none() || find("ssh-keygen").is_none() {
            return Ok(Err("jobs through a real sshd: no ssh; Debian's: openssh-client".to_string()));
        }
        let folder = scratch("sshd")?;
        write_settings(&folder)?;
        let at = |name: &str| folder.join(name);
        // Where the daemon shuts itself in before somebody has logged in; the system's own start makes it.
        let _ = std::fs::create_dir("/run/sshd");
        let log = std::fs::File::create(at("log")).map_err(|e| e.to_string())?;
        let mut daemon = Command::new(program);
        daemon.args(["-D", "-e", "-f"]).arg(at("sshd_config")).stdin(Stdio::null()).stdout(Stdio::null());
        let daemon = daemon.stderr(log).spawn().map_err(|e| format!("sshd: {e}"))?;
        let sshd = Sshd { folder, daemon, gasnetrun: prefix.join("bin/gasnetrun") };
        sshd.wait_until_up()?;
        Ok(Ok(sshd))
    }

    /// Returns when a connection is let in.
    fn wait_until_up(&self) -> Result<(), String> {
        let mut said = String::new();
        let reached = soon("sshd lets us in", Duration::from_secs(20), || {
            let mut hello = Command::new("ssh");
            hello.arg("-F").arg(self.folder.join("ssh_config")).args(["one", "echo reached"]);
            match outcome(hello, 10) {
                Ok(o) if o.stdout == "reached\n" => true,
                Ok(o) => {
                    said = o.report();
                    false
                }
                Err(why) => {
                    said = why;
                    false
                }
            }
        });
        reached.map_err(|why| format!("{why}\n{said}{}", self.log()))
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// The words of `GASNET_SSH` with these settings of ssh.
    fn ssh(&self, config: &str) -> String {
        format!("ssh -F {} -x -T", self.folder.join(config).display())
    }

    /// A job on both hosts, and the mark of its processes.
    fn run(&self, config: &str, words: &[&str]) -> (Command, String) {
        static JOBS: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}-{}", std::process::id(), JOBS.fetch_add(1, Ordering::Relaxed));
        let mut command = Command::new(&self.gasnetrun);
        command.args(words).env("GASNET_SSH", self.ssh(config)).env(MARK, &mark);
        // Both hosts are this machine. These settings keep the job from using its shared memory.
        command.env("GASNET_CONDUIT", "udp").env("GASNET_MAX_SEGSIZE", "64M").env("GASNET_QUIET", "1");
        (command, format!("{MARK}={mark}"))
    }

    /// Runs a job to its end, after which nothing of it may be left.
    fn done(&self, config: &str, words: &[&str]) -> Result<Outcome, String> {
        let (command, mark) = self.run(config, words);
        let outcome = outcome(command, 60)?;
        self.gone(&mark).map_err(|why| format!("{why}\n{}", outcome.report()))?;
        Ok(outcome)
    }

    /// Waits until nothing is left of a job: processes with its mark, and sessions of the daemon.
    fn gone(&self, mark: &str) -> Result<(), String> {
        let daemon = self.daemon.id();
        soon("everything of the job gone", GONE, || marked(mark).is_empty() && below(daemon).is_empty())
            .map_err(|why| format!("{why}; left: {:?} and sessions {:?}", marked(mark), below(daemon)))
    }

    /// Starts a job of ranks that say who they are, and waits for all of them: the monitor, its output from
    /// there on, the ranks, the mark.
    fn sleeping(&self) -> Result<Sleeping, String> {
        let script = "echo pid $$; exec sleep 100";
        let (mut command, mark) = self.run("ssh_config", &["-H", "one,two", "-n", "4", "sh", "-c", script]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut monitor = command.spawn().map_err(|e| e.to_string())?;
        let mut lines = BufReader::new(monitor.stdout.take().ok_or("no output")?).lines();
        let mut ranks = Vec::new();
        while ranks.len() < 4 {
            let Some(Ok(line)) = lines.next() else {
                let ended = monitor.wait_with_output().map_err(|e| e.to_string())?;
                return Err(format!("the job ended: {}", String::from_utf8_lossy(&ended.stderr)));
            };
            ranks.extend(line.strip_prefix("pid ").and_then(|pid| pid.parse::<u32>().ok()));
        }
        Ok(Sleeping { monitor, ranks, mark })
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        // The sessions go with their connections; what is left of a failed test goes here.
        let daemon = self.daemon.id();
        for pid in below(daemon) {
            signal(pid, "KILL");
        }
        signal(daemon, "TERM");
        let _ = self.daemon.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A job whose ranks sleep.
struct Sleeping {
    monitor: Child,
    ranks: Vec<u32>,
    mark: String,
}

impl Sleeping {
    /// Waits for its end, in time, and holds it against what is wanted.
    fn ends(self, sshd: &Sshd, status: Option<i32>, parts: &[&str]) -> Result<(), String> {
        let begun = std::time::Instant::now();
        let output = self.monitor.wait_with_output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() != status || parts.iter().any(|part| !text.contains(part)) {
            return Err(format!("wanted {status:?} and {parts:?}, got {}:\n{text}", output.status));
        }
        if begun.elapsed() > GONE {
            return Err(format!("it took {:.1} s to end", begun.elapsed().as_secs_f64()));
        }
        sshd.gone(&self.mark)
    }
}

/// A program of the runtime: the ranks of two hosts exchange over udp.
fn job(sshd: &Sshd) -> Result<(), String> {
    let program = beside("conformance").display().to_string();
    let job = sshd.done(
        "ssh_config",
        &["-H", "one,two", "-n", "4", &program, "--quick", "rma", "am", "barriers", "collectives"],
    )?;
    ended(&job, 0, &["conformance: passed"])
}

/// Directory and environment, with whatever characters they have.
fn carried(sshd: &Sshd) -> Result<(), String> {
    let folder = sshd.folder.join("it's a \"folder\" of $HOME");
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let script = "printf '%s|%s|%s|%s\\n' \"$(pwd)\" \"$VALUE\" \"$EXTRA\" \"$1\"";
    let (mut command, mark) = sshd.run(
        "ssh_config",
        &["-H", "one,two", "-n", "3", "-e", "EXTRA=a=b c", "sh", "-c", script, "sh", "*$(id)' \"é"],
    );
    command.current_dir(&folder).env("VALUE", " two  words; `id` \\ 'ü'");
    let job = outcome(command, 60)?;
    sshd.gone(&mark)?;
    ended(&job, 0, &[])?;
    let line = format!("{}| two  words; `id` \\ 'ü'|a=b c|*$(id)' \"é\n", folder.display());
    if job.stdout == line.repeat(3) { Ok(()) } else { Err(format!("wanted thrice {line}{}", job.report())) }
}

/// Lines stay whole and none is lost; standard input is rank 0's.
fn output_and_input(sshd: &Sshd) -> Result<(), String> {
    let script = "if [ -n \"$(cat)\" ]; then echo has input; fi; seq -f \"%06.0f of $$ end\" 20000";
    let (command, mark) = sshd.run("ssh_config", &["-H", "one,two", "-n", "4", "sh", "-c", script]);
    let job = run(command, "some input\n", Duration::from_secs(60)).map_err(|e| e.to_string())?;
    sshd.gone(&mark)?;
    let (input, lines): (Vec<&str>, Vec<&str>) = job.stdout.lines().partition(|l| *l == "has input");
    let whole =
        |l: &str| l.len() > 14 && l.as_bytes()[..6].iter().all(u8::is_ascii_digit) && l.ends_with(" end");
    if job.status == Some(0) && input.len() == 1 && lines.len() == 80_000 && lines.iter().all(|l| whole(l)) {
        return Ok(());
    }
    Err(format!("{} lines with input, {} lines\n{}", input.len(), lines.len(), job.report()))
}

fn codes(sshd: &Sshd) -> Result<(), String> {
    ended(&sshd.done("ssh_config", &["-H", "one,two", "-n", "4", "true"])?, 0, &[])?;
    let failing = sshd.done("ssh_config", &["-H", "one,two", "-n", "2", "sh", "-c", "exit 7"])?;
    ended(&failing, 7, &["exited with code 7 before joining the job"])?;
    let program = beside("misbehave").display().to_string();
    let global = sshd.done("ssh_config", &["-H", "one,two", "-n", "3", &program, "global-exit"])?;
    ended(&global, 42, &["said before the end\n"])?;
    let wrong = sshd.done("ssh_config", &["-H", "one,two", "-n", "2", &program, "put-nowhere"])?;
    ended(&wrong, 1, &["rank 0 of 2: put to rank 2: the job has 2 ranks"])?;
    ended(
        &sshd.done("ssh_config", &["-H", "one,two", "-n", "2", "/no/such/program"])?,
        127,
        &["program not found"],
    )
}

fn killed_rank(sshd: &Sshd) -> Result<(), String> {
    let job = sshd.sleeping()?;
    signal(job.ranks[3], "KILL");
    job.ends(sshd, Some(137), &["terminated with signal 9 (SIGKILL)"])
}

fn interrupted(sshd: &Sshd) -> Result<(), String> {
    for (name, status) in [("INT", 130), ("TERM", 143)] {
        let job = sshd.sleeping()?;
        signal(job.monitor.id(), name);
        job.ends(sshd, Some(status), &[])?;
    }
    Ok(())
}

fn killed_monitor(sshd: &Sshd) -> Result<(), String> {
    let job = sshd.sleeping()?;
    signal(job.monitor.id(), "KILL");
    job.ends(sshd, None, &[])
}

/// Neither end of the connection starts this: the daemon's session of a host is killed.
fn cut_connection(sshd: &Sshd) -> Result<(), String> {
    let job = sshd.sleeping()?;
    let session = below(sshd.daemon.id()).first().copied().ok_or("no session")?;
    signal(session, "KILL");
    job.ends(sshd, Some(1), &[" is lost: "])
}

fn wrong_key(sshd: &Sshd) -> Result<(), String> {
    let job = sshd.done("stranger_config", &["-H", "one,two", "-n", "2", "true"])?;
    ended(&job, 1, &["Permission denied (publickey)", "could not be started there", "--doctor"])
}

fn unknown_host(sshd: &Sshd) -> Result<(), String> {
    let job = sshd.done("unknown_config", &["-H", "one,two", "-n", "2", "true"])?;
    ended(&job, 1, &["Host key verification failed", "could not be started there"])
}

/// One host is up and starts its rank, the other is down: nothing stays.
fn host_down(sshd: &Sshd) -> Result<(), String> {
    let job = sshd.done("ssh_config", &["-H", "one,down", "-n", "2", "sleep", "100"])?;
    ended(&job, 1, &["Connection refused", "host down", "could not be started there"])
}

fn talkative_shell(sshd: &Sshd) -> Result<(), String> {
    let job = sshd.done("chatty_config", &["-H", "one,two", "-n", "2", "echo", "hello"])?;
    ended(&job, 0, &["Be careful."])?;
    if job.stdout == "hello\nhello\n" { Ok(()) } else { Err(job.report()) }
}

fn not_installed(sshd: &Sshd) -> Result<(), String> {
    let job = sshd.done("missing_config", &["-H", "one", "-n", "2", "true"])?;
    ended(&job, 1, &["/nowhere/bin/gasnetrun", "host one", "could not be started there"])
}

fn doctor(sshd: &Sshd) -> Result<(), String> {
    let well = sshd.done("ssh_config", &["--doctor", "-H", "one,two"])?;
    ended(
        &well,
        0,
        &[
            "ok       host one: reached",
            "ok       host two: reached",
            "ok       datagrams: pass between each pair of one,two",
        ],
    )?;
    let refused = sshd.done("stranger_config", &["--doctor", "-H", "one"])?;
    ended(&refused, 1, &["TROUBLE  host one: ", "Permission denied"])
}
