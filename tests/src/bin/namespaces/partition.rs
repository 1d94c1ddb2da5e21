//! A network that breaks in two, and is whole again later. `gasnetrun` runs on a host, and what takes ssh's
//! place goes over the same network as the ranks' messages, so that the part without `gasnetrun` hears
//! nothing.
//!
//! The tasks `serve` and `connect` of this program take ssh's place: nobody asks who connects, since nobody
//! else is there.

use super::{Net, beside};
use gasnet_tests::run::run;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Where hosts take commands.
const PORT: u16 = 7022;

/// How long a part of the test may take before it is stuck.
const LIMIT: Duration = Duration::from_secs(60);

/// How long ago a host that is not lost was heard.
const LEASE: &str = "4s";

/// The task `serve ADDRESS`: runs on this host what connections ask for, one line each, with the connection
/// as its standard input and output.
pub fn serve(address: &str) -> ExitCode {
    let listener = TcpListener::bind((address, PORT)).expect("a port");
    println!("ready");
    for connection in listener.incoming() {
        std::thread::spawn(move || -> std::io::Result<()> {
            let mut connection = connection?;
            let (mut command, mut byte) = (Vec::new(), [0]);
            while connection.read(&mut byte)? == 1 && byte[0] != b'\n' {
                command.push(byte[0]);
            }
            let input = OwnedFd::from(connection.try_clone()?);
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(String::from_utf8_lossy(&command).into_owned());
            let mut child = shell.stdin(input).stdout(OwnedFd::from(connection)).spawn()?;
            child.wait().map(drop)
        });
    }
    ExitCode::SUCCESS
}

/// The task `connect HOST COMMAND`: runs a command on another host.
pub fn connect(host: &str, command: &str) -> ExitCode {
    let work = || -> std::io::Result<()> {
        let mut connection = TcpStream::connect((host, PORT))?;
        connection.write_all(format!("{command}\n").as_bytes())?;
        let mut there = connection.try_clone()?;
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin(), &mut there);
            let _ = there.shutdown(Shutdown::Write);
        });
        let (mut bytes, mut output) = ([0; 4096], std::io::stdout());
        loop {
            let n = connection.read(&mut bytes)?;
            if n == 0 {
                return Ok(());
            }
            output.write_all(&bytes[..n])?;
            output.flush()?;
        }
    };
    if work().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Ends with this value.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn on(net: &Net, host: usize, program: &Path) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &net.hosts.names()[host]]).arg(program);
    command
}

fn server(net: &Net, host: usize) -> Result<Server, String> {
    let mut command = on(net, host, &beside("namespaces"));
    command.arg("serve").arg(&net.hosts.addresses()[host]).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    let mut said = String::new();
    let output = child.stdout.take();
    let server = Server(child);
    output.map(|output| BufReader::new(output).read_line(&mut said));
    if said == "ready\n" { Ok(server) } else { Err(format!("a host takes no commands: {said}")) }
}

fn until(what: &str, mut done: impl FnMut() -> bool) -> Result<(), String> {
    let begun = Instant::now();
    while !done() {
        if begun.elapsed() > LIMIT {
            return Err(format!("waits for {what}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// What ranks have written, by the words of their files' names.
fn written(folder: &Path, word: &str) -> BTreeMap<u32, String> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let rank = |path: &Path| path.file_name()?.to_str()?.strip_prefix(word)?.parse().ok();
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    files.filter_map(|file| Some((rank(&file.path())?, read(&file.path())))).collect()
}

/// Six ranks on three hosts, one of which is cut off until all ranks of the part without `gasnetrun` have
/// ended by themselves. They have finished nothing, and the job is right without them.
fn breaks(net: &Net, on_death: &str, cut: usize) -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("gasnet-partition-{}-{cut}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).map_err(|e| e.to_string())?;
    let servers = (0..3).map(|host| server(net, host)).collect::<Result<Vec<_>, _>>()?;
    let mut job = on(net, 0, &net.prefix.join("bin/gasnetrun"));
    job.args(["--hosts", &net.hosts.addresses()[..3].join(","), "-n", "6", "--on-death", on_death]);
    job.arg(beside("mortal"))
        .arg("cut")
        .arg(&folder)
        .env("GASNET_LEASE", LEASE)
        .env("GASNET_MAX_SEGSIZE", "16M");
    job.env("GASNET_SSH", format!("{} connect", beside("namespaces").display()));
    let lost: Vec<usize> = if cut == 0 { vec![1, 2] } else { vec![cut] };
    let (outcome, disturbed) = std::thread::scope(|scope| {
        let job = scope.spawn(|| run(job, "", 2 * LIMIT));
        let disturbed = until("all ranks to work", || written(&folder, "works-").len() == 6)
            .and_then(|()| net.hosts.link(cut, false))
            .and_then(|()| {
                let left = |host: &usize| net.hosts.runs(*host, "mortal");
                until("the ranks that are cut off to end", || !lost.iter().any(left))
            });
        let joined = net.hosts.link(cut, true);
        (job.join().expect("it does not panic"), disturbed.and(joined))
    });
    drop(servers);
    let outcome = outcome.map_err(|e| e.to_string())?;
    let finished = written(&folder, "finished-");
    let _ = std::fs::remove_dir_all(&folder);
    disturbed.map_err(|why| format!("{why}\n{}", outcome.report()))?;
    let of_the_lost = |rank: &u32| lost.contains(&(*rank as usize / 2));
    let by_the_lost = finished.iter().any(|(rank, process)| of_the_lost(rank) && process == "0");
    let some = finished.keys().any(|rank| !of_the_lost(rank));
    let all = on_death == "shrink" || finished.len() == 6;
    match outcome.status {
        Some(0) if some && all && !by_the_lost => Ok(()),
        _ => Err(format!("finished by {finished:?}\n{}", outcome.report())),
    }
}

/// The part with `gasnetrun` is the larger one, and then the smaller one.
pub fn partition(net: &Net) -> Result<String, String> {
    breaks(net, "shrink", 2)?;
    breaks(net, "heal", 0)?;
    Ok(String::new())
}
