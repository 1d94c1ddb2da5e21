//! Jobs on several hosts: which ranks run where, and how the agents are started.
//!
//! Hosts come from `--hosts`, `--hostfile`, or the settings `GASNET_HOSTS` and `GASNET_HOSTFILE`. Ranks go to
//! hosts in blocks: as many as a host has *slots* if any host has a number of slots, else as equal as
//! possible. The agent of a host is this program, started there by ssh (or the command in `GASNET_SSH`). It
//! talks to its monitor over ssh's standard input and output, so nothing listens on a port, and ssh decides
//! who may start it.

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
use crate::monitor::{self, AgentEnd, Monitor};
use crate::spawn::{self, Command};
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

/// A host to run ranks on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The name for ssh.
    pub name: String,
    /// Number of ranks it should have, if given.
    pub slots: Option<u32>,
}

/// Reads a list of hosts: `a,b:2,[::1]:4`. A host named twice has two slots.
///
/// # Errors
/// A message for the user.
pub fn parse_list(text: &str) -> Result<Vec<Host>, String> {
    let words = text.split([',', ' ', '\t']).filter(|w| !w.is_empty());
    gather(words.map(parse_host).collect::<Result<_, _>>()?)
}

/// Reads a file of hosts: one a line, followed by `:N` or `slots=N` if given; `#` starts a comment.
///
/// # Errors
/// A message for the user.
pub fn parse_file(text: &str) -> Result<Vec<Host>, String> {
    let mut hosts = Vec::new();
    for line in text.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(first) = words.next() else { continue };
        let mut host = parse_host(first)?;
        for word in words {
            // Other launchers' files have more words (`max_slots`), which are ignored.
            if let Some(n) = word.strip_prefix("slots=") {
                host.slots = Some(parse_slots(first, n)?);
            }
        }
        hosts.push(host);
    }
    gather(hosts)
}

fn parse_slots(host: &str, text: &str) -> Result<u32, String> {
    let slots = text.parse().ok().filter(|n| (1..=crate::MAX_RANKS).contains(n));
    slots.ok_or_else(|| {
        format!("host {host}: '{text}' is not a number of ranks; use 1 to {}", crate::MAX_RANKS)
    })
}

fn parse_host(word: &str) -> Result<Host, String> {
    // An IPv6 address has colons of its own.
    let (name, slots) = match word.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, rest)) => (name, rest.strip_prefix(':')),
        None if word.matches(':').count() > 1 => (word, None),
        None => word.split_once(':').map_or((word, None), |(name, n)| (name, Some(n))),
    };
    // ssh would take such a name for an option.
    let sound = !name.is_empty() && !name.starts_with('-') && name.chars().all(|c| c.is_ascii_graphic());
    if !sound {
        return Err(format!("'{word}' is not a host; give names or addresses, as in a,b:2"));
    }
    let slots = slots.map(|n| parse_slots(name, n)).transpose()?;
    Ok(Host { name: name.to_string(), slots })
}

/// Merges the entries of each host.
fn gather(named: Vec<Host>) -> Result<Vec<Host>, String> {
    let mut hosts: Vec<Host> = Vec::new();
    for host in named {
        match hosts.iter_mut().find(|h| h.name == host.name) {
            Some(known) => known.slots = Some(known.slots.unwrap_or(1) + host.slots.unwrap_or(1)),
            None => hosts.push(host),
        }
    }
    if hosts.is_empty() { Err("the list of hosts is empty".to_string()) } else { Ok(hosts) }
}

/// The ranks of each host; hosts without ranks are left out.
///
/// # Errors
/// There are not as many slots as ranks.
pub fn place(hosts: &[Host], ranks: u32) -> Result<Vec<(String, Vec<u32>)>, Error> {
    let shares: Vec<u32> = if hosts.iter().any(|h| h.slots.is_some()) {
        hosts.iter().map(|h| h.slots.unwrap_or(1)).collect()
    } else {
        let n = hosts.len() as u32;
        (0..n).map(|i| ranks / n + u32::from(i < ranks % n)).collect()
    };
    let slots: u32 = shares.iter().sum();
    if slots < ranks {
        return Err(Error::Hosts(format!(
            "{ranks} ranks, and the hosts have {slots} slots: name more hosts, or more slots as in HOST:N"
        )));
    }
    let mut first = 0;
    let mut placed = Vec::new();
    for (host, share) in hosts.iter().zip(shares) {
        let end = (first + share).min(ranks);
        if end > first {
            placed.push((host.name.clone(), (first..end).collect()));
        }
        first = end;
    }
    Ok(placed)
}

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
    Ok(std::env::current_dir().map_err(Error::system("the current directory"))?.into())
}

/// Runs a job on other hosts.
pub(crate) fn run(command: &Command, hosts: &[Host]) -> Result<i32, Error> {
    let placed = place(hosts, command.ranks)?;
    let program = spawn::find(&command.program)?;
    let task = Task {
        size: command.ranks,
        ranks: Vec::new(),
        job_id: gasnet_sys::random(),
        bind: command.bind,
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
    let monitor = Monitor::of_agents(agents, &signals, command.limit, command.verbose);
    Ok(monitor.map_err(Error::system("watching the hosts"))?.run())
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
    let program = spawn::find(&command.program)?;
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
                let _ = writeln!(text, "host {host}: ranks {}", crate::ranges::ranges(&ranks));
                let _ = writeln!(text, "  by: {}", spawner.join(" "));
            }
        }
        None => {
            let placement = command.bind.placement(command.ranks);
            for rank in 0..command.ranks as usize {
                let place = placement.as_ref().map(|p| crate::bind::describe(&p[rank]));
                let place = place.map_or("not bound".to_string(), |cpus| format!("on processor {cpus}"));
                let _ = writeln!(text, "rank {rank}: this host, {place}");
            }
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(list: &str, ranks: u32) -> Vec<(String, Vec<u32>)> {
        place(&parse_list(list).unwrap(), ranks).unwrap()
    }

    #[test]
    fn ranks_go_to_hosts_in_blocks() {
        let is = |list, ranks, expected: &[(&str, &[u32])]| {
            let expected: Vec<_> = expected.iter().map(|(h, r)| (h.to_string(), r.to_vec())).collect();
            assert_eq!(placed(list, ranks), expected, "{list}");
        };
        is("a,b", 5, &[("a", &[0, 1, 2]), ("b", &[3, 4])]);
        is("a,b,c", 2, &[("a", &[0]), ("b", &[1])]);
        is("a:1,b:3", 3, &[("a", &[0]), ("b", &[1, 2])]);
        is("a,a,b", 3, &[("a", &[0, 1]), ("b", &[2])]);
        is("[::1]:2,fe80::1", 3, &[("::1", &[0, 1]), ("fe80::1", &[2])]);
        assert!(place(&parse_list("a:1,b").unwrap(), 3).unwrap_err().to_string().contains("2 slots"));
    }

    #[test]
    fn files_of_hosts() {
        let hosts = parse_file("# nodes\nnode1 slots=2 max_slots=4\n\nnode2:3 # big\nnode1\n").unwrap();
        let all: Vec<_> = hosts.iter().map(|h| (h.name.as_str(), h.slots)).collect();
        assert_eq!(all, [("node1", Some(3)), ("node2", Some(3))]);
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for list in ["", ",", "a,-oProxyCommand=x", "a:0", "a:x", ":3", "a:99999", "[::1"] {
            let refused = parse_list(list);
            assert!(refused.is_err() || list == "[::1", "{list}: {refused:?}");
        }
        assert!(parse_file("# nothing\n").is_err());
        assert!(parse_file("a slots=many").is_err());
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
