//! Jobs on several hosts: how the agents are started.
//!
//! The agent of a host is this program, started there by ssh (or the command in `GASNET_SSH`). It talks to
//! its monitor over ssh's standard input and output, so nothing listens on a port, and ssh decides who may
//! start it.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, Stdio};
use std::time::Instant;

use crate::Error;
use crate::channel::Channel;
use crate::command::{Command, find};
use crate::monitor::{self, AgentEnd, Monitor};
use crate::place::{Host, place};
use crate::settings::{self, LEASE_MARGIN};
use crate::wire::{Task, ToAgent};
use gasnet_sys::process::{Pid, end_with_us};
use gasnet_sys::{fd, signals};

/// Names the command that runs commands on another host: words that are followed by the host and the command.
const SSH_VARIABLE: &str = "GASNET_SSH";
/// The default command: no X11, no terminal, no questions.
const DEFAULT_SSH: [&str; 7] = ["ssh", "-x", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"];

/// Variables of one host or one session, which are not passed to other hosts.
const LOCAL_VARIABLES: [&str; 12] = [
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
    "HOSTNAME",
    "DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "XDG_SESSION_ID",
    "SSH_AUTH_SOCK",
    "SSH_CONNECTION",
    "SSH_CLIENT",
];

/// Quotes a word for any shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The command that runs this program as an agent on `host`.
pub(crate) fn spawner(host: &str) -> Result<Vec<String>, Error> {
    let own = std::env::current_exe().map_err(Error::system("the path of gasnetrun"))?;
    let mut words: Vec<String> = match std::env::var(SSH_VARIABLE) {
        Ok(words) if !words.trim().is_empty() => words.split_whitespace().map(String::from).collect(),
        _ => DEFAULT_SSH.map(String::from).to_vec(),
    };
    words.push(host.to_string());
    words.push(format!("exec {} --agent", quoted(&own.display().to_string())));
    Ok(words)
}

/// The environment of ranks on every host: names and values in turn.
fn environment(command: &Command) -> Vec<Vec<u8>> {
    let carried = std::env::vars_os().filter(|(name, _)| !LOCAL_VARIABLES.iter().any(|local| name == local));
    let bytes = |text: OsString| text.as_bytes().to_vec();
    carried.chain(command.environment.iter().cloned()).flat_map(|(n, v)| [bytes(n), bytes(v)]).collect()
}

/// The program's absolute path, by which other hosts find it.
fn whole_path(program: &Path) -> Result<Vec<u8>, Error> {
    let path = std::path::absolute(program).map_err(Error::system("the path of the program"))?;
    Ok(path.as_os_str().as_bytes().to_vec())
}

fn directory() -> Result<OsString, Error> {
    Ok(std::env::current_dir().map_err(Error::NoDirectory)?.into())
}

/// Runs a job on other hosts.
pub(crate) fn run(command: &Command, hosts: &[Host]) -> Result<i32, Error> {
    let placed = place(hosts, command.ranks)?;
    let program = find(&command.program)?;
    let lease = settings::lease()?;
    let task = Task {
        size: command.ranks,
        ranks: Vec::new(),
        job_id: gasnet_sys::random(),
        bind: command.bind,
        on_death: command.on_death,
        lease: lease.as_millis() as u32,
        program: whole_path(&program)?,
        arguments: command.arguments.iter().map(|a| a.as_bytes().to_vec()).collect(),
        directory: directory()?.as_bytes().to_vec(),
        environment: environment(command),
    };
    fd::ensure_standard_descriptors();
    let signals = monitor::signals();
    let mask = signals.block();
    let mut agents: Vec<AgentEnd> = Vec::new();
    for (host, ranks) in placed {
        let agent = connect(host, ranks, mask).map(|mut agent| {
            let task = Task { ranks: agent.ranks.to_vec(), ..task.clone() };
            agent.channel.send(&ToAgent::Start(Box::new(task)));
            if command.on_death.most().is_some() {
                agent.channel.bear_silence(lease + LEASE_MARGIN);
            }
            agent
        });
        match agent {
            Ok(agent) => agents.push(agent),
            Err(error) => {
                agents.iter().for_each(AgentEnd::kill);
                return Err(error);
            }
        }
    }
    let monitor = Monitor::of_agents(agents, command.on_death, &signals, command.limit, command.verbose);
    let mut monitor = monitor.map_err(Error::system("watching the hosts"))?;
    monitor.call_ranks(command.called);
    if command.label {
        monitor.label();
    }
    Ok(monitor.run())
}

/// Starts the agent of a host.
fn connect(host: String, ranks: Vec<u32>, mask: signals::SignalSet) -> Result<AgentEnd, Error> {
    let words = spawner(&host)?;
    let mut child = process::Command::new(&words[0]);
    // A process group of its own: keys typed at the terminal signal this process, which forwards the signals.
    child.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
    end_with_us(&mut child, mask);
    let mut child =
        child.spawn().map_err(|e| Error::Hosts(format!("host {host}: cannot run {}: {e}", words[0])))?;
    let ends = (child.stdout.take().map(OwnedFd::from), child.stdin.take().map(OwnedFd::from));
    let (Some(input), Some(output)) = ends else {
        return Err(Error::Hosts(format!("host {host}: no connection")));
    };
    let channel = Channel::new(input, output, true, Instant::now()).map_err(Error::system("a connection"))?;
    Ok(AgentEnd::new(host, ranks, child.id() as Pid, channel))
}

/// Describes what [`run`] would do.
///
/// # Errors
/// As [`run`], as far as they can be found without starting anything.
pub fn describe(command: &Command, hosts: Option<&[Host]>) -> Result<String, Error> {
    let program = find(&command.program)?;
    let mut text = String::new();
    let words: Vec<String> = std::iter::once(String::from_utf8_lossy(&whole_path(&program)?).into_owned())
        .chain(command.arguments.iter().map(|a| a.to_string_lossy().into_owned()))
        .collect();
    let plain = |w: &String| {
        !w.is_empty() && w.chars().all(|c| c.is_ascii_alphanumeric() || "/._-=+:,@%".contains(c))
    };
    let shown: Vec<String> = words.iter().map(|w| if plain(w) { w.clone() } else { quoted(w) }).collect();
    let _ = writeln!(text, "program: {}", shown.join(" "));
    let _ = writeln!(text, "directory: {}", directory()?.display());
    for (name, value) in &command.environment {
        let _ = writeln!(text, "environment: {}={}", name.display(), value.display());
    }
    if crate::mpirun::is_asked_for(command) {
        let words = crate::mpirun::plan(command)?;
        let words: Vec<String> = words.iter().map(|w| w.to_string_lossy().into_owned()).collect();
        let _ = writeln!(text, "all ranks by: {}", words.join(" "));
        return Ok(text);
    }
    match hosts {
        Some(hosts) => {
            for (host, ranks) in place(hosts, command.ranks)? {
                let spawner: Vec<String> =
                    spawner(&host)?.iter().map(|w| if plain(w) { w.clone() } else { quoted(w) }).collect();
                let (names, numbers) = (command.called.several(), command.called.numbers(&ranks));
                let _ = writeln!(text, "host {host}: {names} {numbers}");
                let _ = writeln!(text, "  by: {}", spawner.join(" "));
            }
        }
        None => {
            let placement = command.bind.placement(command.ranks);
            for rank in 0..command.ranks as usize {
                let place = placement.as_ref().map(|p| crate::bind::describe(&p[rank]));
                let place = place.map_or("not bound".to_string(), |cpus| format!("on processor {cpus}"));
                let _ = writeln!(text, "{}: this host, {place}", command.called.rank(rank));
            }
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
