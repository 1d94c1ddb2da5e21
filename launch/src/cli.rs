//! The command line of `gasnetrun`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use gasnet_options::{Argument, Arguments, CommandTable, FoundOption, Opt, Style, nearest, opt};

use crate::allocation::{self, Allocation};
use crate::bind::Bind;
use crate::boot::parse_ranks;
use crate::command::Command;
use crate::hosts;
use crate::job::OnDeath;
use crate::place::{self, Host};
use crate::rank_name::RankName;
use crate::replay::{Replay, summary};
use crate::settings;
use crate::spawn::recording;
use crate::{Error, MAX_RANKS};

/// Deaths that end a job whose dead are replaced, if nothing else is said: a program that crashes at the same
/// place each time would go on for ever.
const MOST_REPLACEMENTS: u32 = 1000;

/// An option of `gasnetrun`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "described in the table below")]
pub enum LaunchOption {
    Ranks,
    Hosts,
    Nodes,
    HostFile,
    Bind,
    Conduit,
    Environment,
    Label,
    Timeout,
    OnDeath,
    MaxDeaths,
    Verbose,
    DryRun,
    Doctor,
    Simulate,
    Record,
    Order,
    Replay,
    Rank,
    Gdb,
    Quiet,
    Help,
    Manual,
    Version,
}

/// The options of `gasnetrun`.
pub const OPTIONS: &[Opt<LaunchOption>] = &[
    opt(
        LaunchOption::Ranks,
        "-n, --ranks N",
        "number of ranks (-np works too); default in a batch job: the number of its tasks",
    )
    .or(&["-np"]),
    opt(
        LaunchOption::Hosts,
        "-H, --hosts A,B:2",
        "hosts on which to start ranks, by ssh; HOST:N gives the host N slots for ranks, and without slots all \
         hosts get the same share (variable GASNET_HOSTS); default in a batch job: its hosts, if there are several",
    ),
    opt(LaunchOption::Nodes, "--nodes N", "use only the first N of these hosts"),
    opt(
        LaunchOption::HostFile,
        "--hostfile FILE",
        "file with the hosts, one per line, each with an optional 'slots=N' (variable GASNET_HOSTFILE)",
    ),
    opt(
        LaunchOption::Bind,
        "--bind[=core|none]",
        "placement: 'core' (default) binds each rank to a core of its own if there are enough cores; 'none' leaves \
         the placement to the system",
    ),
    opt(
        LaunchOption::Conduit,
        "--conduit NAME",
        "network: smp (default on one host), udp (default on several), mpi, ofi or netvm (sets GASNET_CONDUIT)",
    ),
    opt(LaunchOption::Environment, "-e, --env NAME=VALUE", "set a variable for the ranks; may be repeated"),
    opt(
        LaunchOption::Label,
        "-l, --label",
        "write the number of the rank before each line, on a terminal in colour (unless NO_COLOR is set)",
    ),
    opt(
        LaunchOption::Timeout,
        "-t, --timeout SECS",
        "end the job after this time in seconds, with status 124 (default: no limit)",
    ),
    opt(
        LaunchOption::OnDeath,
        "--on-death end|shrink|heal",
        "what the death of a rank does: 'end' (default) ends the job; with 'shrink' the other ranks go on without it, with \
         'heal' they go on with another process in its place, if the program is made for that (World::survive, of pgas); over \
         shared memory and udp",
    ),
    opt(
        LaunchOption::MaxDeaths,
        "--max-deaths N",
        "with --on-death shrink or heal: end the job when more than N ranks have died (default: no limit; with heal 1000)",
    ),
    opt(LaunchOption::Verbose, "-v, --verbose", "print the host, process and processor of each rank"),
    opt(LaunchOption::DryRun, "--dry-run", "print what would be run where, and run nothing"),
    opt(
        LaunchOption::Doctor,
        "--doctor",
        "look for problems that prevent jobs from running here, and print what to do",
    ),
    opt(
        LaunchOption::Simulate,
        "--simulate",
        "as the first word: run simulated ranks, one at a time and in virtual time; see gasnetrun --simulate --help",
    ),
    opt(
        LaunchOption::Record,
        "--record DIR",
        "record in this folder what every rank gets from the others (sets GASNET_RECORD); ranks share no memory then",
    ),
    opt(
        LaunchOption::Order,
        "--order",
        "with --record: record only who came when (sets GASNET_RECORD_ORDER): --replay runs all ranks again, in that order",
    ),
    opt(
        LaunchOption::Replay,
        "--replay DIR",
        "run one rank of such a recording again, alone (see --rank), or all ranks if it has their order",
    ),
    opt(LaunchOption::Rank, "--rank N", "with --replay: the rank"),
    opt(LaunchOption::Gdb, "--gdb", "with --replay: under gdb"),
    opt(LaunchOption::Quiet, "-q, --quiet", "print no warnings of the runtime (sets GASNET_QUIET)"),
    opt(LaunchOption::Help, "-h, --help", "print this text"),
    opt(LaunchOption::Manual, "--manual", "print the manual page, in the language of man"),
    opt(LaunchOption::Version, "-V, --version", "print the version"),
];

/// The command `gasnetrun`.
pub const COMMAND: CommandTable<LaunchOption> = CommandTable {
    name: "gasnetrun",
    brief: "start the ranks of a PGAS program",
    about: "Runs a program on N ranks, on this host or on several.",
    usage: &["gasnetrun -n N [options] PROGRAM [arguments]", "gasnetrun --simulate -n N [options] PROGRAM [arguments]", "gasnetrun --replay DIR [--rank N [--gdb]] [PROGRAM [arguments]]", "gasnetrun --doctor [--hosts A,B]"],
    options: OPTIONS,
    notes: "\
A PROGRAM without a slash is looked for in the current directory and in PATH. The output of the ranks is printed in
whole lines. Rank 0 reads standard input; for the other ranks it is empty. The exit status is that of the first rank
that ends with a status other than 0, or 128 + S if a signal S ended a rank or the job.

On other hosts the program runs in the same directory, with the same path and environment. gasnetrun must be installed
there under the same path as here. The variable GASNET_SSH names the command to use in place of ssh; its last two
arguments are the host and the command to run there.

The batch systems whose jobs are known are Slurm, PBS, LSF, Grid Engine and Flux.",
    style: Style::Gnu,
};

/// The request on the command line.
#[derive(Debug, PartialEq, Eq)]
pub enum CommandLine {
    /// Run this command.
    Run(Command),
    /// Print this text.
    Print(String),
    /// Describe what this command would do.
    Describe(Command),
    /// Run a recorded rank again.
    Replay(Replay),
    /// Check this host, and these, for problems.
    Doctor(Option<Vec<Host>>),
}

/// Reads the arguments (without the program's own name).
///
/// # Errors
/// A message for the user.
pub fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    surroundings: &Surroundings<'_>,
) -> Result<CommandLine, String> {
    let mut words = Arguments::new(&COMMAND, arguments);
    let mut command = Command {
        ranks: 0,
        called: RankName::of(called()),
        program: OsString::new(),
        arguments: Vec::new(),
        environment: Vec::new(),
        bind: Bind::default(),
        verbose: false,
        label: false,
        limit: None,
        on_death: OnDeath::End,
        hosts: None,
    };
    let (mut dry_run, mut doctor, mut nodes, mut most_deaths) = (false, false, None, None);
    let (mut replay, mut rank, mut gdb) = (None, None, false);
    let (mut record, mut order): (Option<PathBuf>, bool) = (None, false);
    while let Some(word) = words.next_argument()? {
        let found = match word {
            Argument::Option(found) => found,
            Argument::Operand(program) => {
                command.program = program;
                command.arguments = words.rest();
                break;
            }
            Argument::Unknown(word) => return Err(COMMAND.unknown(&word.to_string_lossy())),
        };
        match found.key {
            LaunchOption::Ranks => {
                command.ranks = parse_ranks("-n", &found.text()).map_err(|e| e.to_string())?
            }
            LaunchOption::Bind => command.bind = binding(found.value, &mut words)?,
            LaunchOption::Conduit => command.environment.push(("GASNET_CONDUIT".into(), found.value())),
            LaunchOption::Environment => command.environment.push(variable(&found)?),
            LaunchOption::Timeout => command.limit = Some(time_limit(&found)?),
            LaunchOption::OnDeath => command.on_death = on_death(&found)?,
            LaunchOption::MaxDeaths => most_deaths = Some(number_of_deaths(&found)?),
            LaunchOption::Hosts => {
                let hosts = place::parse_list(&found.text());
                command.hosts = Some(hosts.map_err(|e| format!("--hosts: {e}"))?);
            }
            LaunchOption::HostFile => {
                let hosts = hosts_of(Path::new(&found.value()));
                command.hosts = Some(hosts.map_err(|e| format!("--hostfile: {e}"))?);
            }
            LaunchOption::Nodes => nodes = Some(number_of_hosts(&found)?),
            LaunchOption::Label => command.label = true,
            LaunchOption::DryRun => dry_run = true,
            LaunchOption::Doctor => doctor = true,
            LaunchOption::Simulate => {
                return Err("--simulate is the first word: gasnetrun --simulate -n 4 PROGRAM".into());
            }
            LaunchOption::Record => {
                record = Some(std::path::absolute(found.value()).map_err(|e| format!("--record: {e}"))?);
            }
            LaunchOption::Order => order = true,
            LaunchOption::Replay => replay = Some(found.value().into()),
            LaunchOption::Rank => rank = Some(number_of_rank(&found)?),
            LaunchOption::Gdb => gdb = true,
            LaunchOption::Verbose => command.verbose = true,
            LaunchOption::Quiet => command.environment.push(("GASNET_QUIET".into(), "1".into())),
            LaunchOption::Help => return Ok(CommandLine::Print(COMMAND.help())),
            LaunchOption::Manual => return Ok(CommandLine::Print(COMMAND.manual(env!("CARGO_PKG_VERSION")))),
            LaunchOption::Version => {
                return Ok(CommandLine::Print(format!("gasnetrun {}\n", env!("CARGO_PKG_VERSION"))));
            }
        }
    }
    if doctor {
        return Ok(CommandLine::Doctor(
            command.hosts.map_or_else(hosts_from_settings, |hosts| Ok(Some(hosts)))?,
        ));
    }
    if let Some(folder) = replay {
        if gdb && rank.is_none() {
            return Err("--gdb: for which rank? Give --rank N".into());
        }
        let mut options = Vec::new();
        options.extend(command.label.then(|| "-l".into()));
        if let Some(limit) = command.limit {
            options.extend(["-t".into(), limit.as_secs().to_string().into()]);
        }
        let program = (!command.program.is_empty()).then_some((command.program, command.arguments));
        return Ok(CommandLine::Replay(Replay { folder, rank, options, gdb, program }));
    }
    match record {
        Some(folder) => {
            let (name, _) = crate::RECORD_VARIABLES[usize::from(order)];
            command.environment.push((name.into(), folder.into()));
        }
        None if order => return Err("--order is for --record DIR".into()),
        None => {}
    }
    if rank.is_some() || gdb {
        return Err("--rank and --gdb are for --replay DIR".into());
    }
    if command.program.is_empty() {
        return Err("which program? usage: gasnetrun -n N [options] PROGRAM [arguments]".to_string());
    }
    if command.hosts.is_none() {
        command.hosts = hosts_from_settings()?;
    }
    check_conduit(&command, surroundings)?;
    fill_in(&mut command, surroundings)?;
    if let Some(nodes) = nodes {
        keep_hosts(&mut command.hosts, nodes)?;
    }
    check_survival(&mut command, most_deaths)?;
    Ok(if dry_run { CommandLine::Describe(command) } else { CommandLine::Run(command) })
}

/// Facts by which the command line is understood.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The names of all conduits.
    pub conduits: &'a [&'a str],
    /// The batch job that this process is in.
    pub allocation: &'a dyn Fn() -> Result<Option<Allocation>, String>,
    /// The name of this host.
    pub host: &'a str,
}

/// Ranks and hosts that were not given, from the batch job.
fn fill_in(command: &mut Command, surroundings: &Surroundings<'_>) -> Result<(), String> {
    let found = match (surroundings.allocation)() {
        Err(why) if command.ranks == 0 => return Err(why),
        found => found.unwrap_or_default(),
    };
    if let Some(job) = found {
        if command.ranks == 0 {
            command.ranks = job.tasks;
        }
        let short = |name: &str| name.split('.').next().unwrap_or_default().to_string();
        let here = |hosts: &[Host]| hosts.len() == 1 && short(&hosts[0].name) == short(surroundings.host);
        if command.hosts.is_none() && !job.hosts.is_empty() && !here(&job.hosts) {
            let mut hosts = job.hosts;
            // More ranks than the job has tasks are dealt out evenly.
            if command.ranks > job.tasks {
                hosts.iter_mut().for_each(|host| host.slots = None);
            }
            command.hosts = Some(hosts);
        }
    }
    if command.ranks == 0 {
        return Err(format!("how many ranks? Give -n N, with N from 1 to {MAX_RANKS}"));
    }
    Ok(())
}

/// The network that is asked for, if one is, and by what.
fn conduit(command: &Command) -> (&'static str, String) {
    let given = command.environment.iter().rev().find(|(name, _)| name == "GASNET_CONDUIT");
    let origin = if given.is_some() { "--conduit " } else { "GASNET_CONDUIT=" };
    let value = given.map(|(_, value)| value.clone()).or_else(|| std::env::var_os("GASNET_CONDUIT"));
    let name = value.map(|value| value.to_string_lossy().trim().to_ascii_lowercase()).unwrap_or_default();
    (origin, name)
}

/// Refuses jobs that cannot go on after a death.
fn check_survival(command: &mut Command, most_deaths: Option<u32>) -> Result<(), String> {
    let name = match &mut command.on_death {
        OnDeath::End if most_deaths.is_some() => {
            return Err("--max-deaths: the first death ends the job, unless it is started with --on-death shrink or heal".into());
        }
        OnDeath::End => return Ok(()),
        OnDeath::Shrink(most) => {
            *most = most_deaths.unwrap_or(*most);
            "shrink"
        }
        OnDeath::Heal(most) => {
            *most = most_deaths.unwrap_or(*most);
            "heal"
        }
    };
    // Also where no host can be lost: a wrong value is told before it counts.
    settings::lease().map_err(|why| why.to_string())?;
    let so_far = "so far ranks survive the death of others with --conduit smp or udp";
    if recording(command).is_some() {
        return Err(format!(
            "--on-death {name}: not with --record (GASNET_RECORD, GASNET_RECORD_ORDER): what is recorded is a job whose first death ends it"
        ));
    }
    match conduit(command).1.as_str() {
        "mpi" => {
            return Err(format!("--on-death {name}: MPI ends the whole job when one of its processes ends"));
        }
        "" | "smp" | "udp" => {}
        other => return Err(format!("--on-death {name}: not with the network {other}: {so_far}")),
    }
    Ok(())
}

/// Refuses a network that no rank would find.
fn check_conduit(command: &Command, surroundings: &Surroundings<'_>) -> Result<(), String> {
    let (origin, name) = conduit(command);
    let conduits = surroundings.conduits;
    if name.is_empty() || conduits.contains(&name.as_str()) {
        return Ok(());
    }
    let meant = nearest(&name, conduits).map_or(String::new(), |meant| format!("; did you mean {meant}?"));
    Err(format!("{origin}{name}: no such conduit; known are: {}{meant}", conduits.join(", ")))
}

/// The value of `--bind`, which is optional: the next word counts only if it is a placement.
fn binding(value: Option<OsString>, words: &mut Arguments<'_, LaunchOption>) -> Result<Bind, String> {
    let is_placement = |word: &std::ffi::OsStr| word.to_str().is_some_and(|word| Bind::parse(word).is_some());
    let Some(name) = value.or_else(|| words.next_if(is_placement)) else { return Ok(Bind::Core) };
    let name = name.to_string_lossy();
    Bind::parse(&name).ok_or_else(|| format!("--bind: '{name}' is not a placement; use 'none' or 'core'"))
}

/// `NAME=VALUE`
fn variable(found: &FoundOption<LaunchOption>) -> Result<(OsString, OsString), String> {
    let value = found.text();
    match value.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err(format!("--env: '{value}' is not of the form NAME=VALUE")),
    }
}

/// Seconds.
fn time_limit(found: &FoundOption<LaunchOption>) -> Result<Duration, String> {
    let value = found.text();
    let limit = value.parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
    limit
        .filter(|limit| !limit.is_zero())
        .ok_or_else(|| format!("--timeout: '{value}' is not a number of seconds above 0"))
}

fn on_death(found: &FoundOption<LaunchOption>) -> Result<OnDeath, String> {
    match found.text().as_str() {
        "end" => Ok(OnDeath::End),
        "shrink" => Ok(OnDeath::Shrink(u32::MAX)),
        "heal" => Ok(OnDeath::Heal(MOST_REPLACEMENTS)),
        other => {
            Err(format!("--on-death: '{other}' is nothing that a death does; use 'end', 'shrink' or 'heal'"))
        }
    }
}

fn number_of_deaths(found: &FoundOption<LaunchOption>) -> Result<u32, String> {
    let value = found.text();
    value.parse().map_err(|_| format!("--max-deaths: '{value}' is not a number of ranks"))
}

fn number_of_rank(found: &FoundOption<LaunchOption>) -> Result<u32, String> {
    let value = found.text();
    value.parse().map_err(|_| format!("--rank: '{value}' is not the number of a rank"))
}

fn number_of_hosts(found: &FoundOption<LaunchOption>) -> Result<usize, String> {
    let value = found.text();
    let number = value.parse::<usize>().ok().filter(|n| *n > 0);
    number.ok_or_else(|| format!("--nodes: '{value}' is not a number of hosts"))
}

/// The first `nodes` of the hosts.
fn keep_hosts(hosts: &mut Option<Vec<Host>>, nodes: usize) -> Result<(), String> {
    let named = hosts.as_ref().map_or(1, Vec::len);
    if nodes > named {
        return Err(format!(
            "--nodes {nodes}: {named} host{} named; name more with --hosts",
            if named == 1 { " is" } else { "s are" }
        ));
    }
    if let Some(hosts) = hosts {
        hosts.truncate(nodes);
    }
    Ok(())
}

/// The hosts in a file.
fn hosts_of(file: &Path) -> Result<Vec<Host>, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    place::parse_file(&text).map_err(|e| format!("{}: {e}", file.display()))
}

/// The hosts that the environment names.
fn hosts_from_settings() -> Result<Option<Vec<Host>>, String> {
    let setting = |name| std::env::var(name).ok().filter(|v: &String| !v.trim().is_empty());
    if let Some(list) = setting("GASNET_HOSTS") {
        return place::parse_list(&list).map(Some).map_err(|e| format!("GASNET_HOSTS: {e}"));
    }
    let file = setting("GASNET_HOSTFILE").map(|file| hosts_of(Path::new(&file)));
    file.transpose().map_err(|e| format!("GASNET_HOSTFILE: {e}"))
}

/// The main function of `gasnetrun`: returns its exit status.
pub fn main(unknown_settings: fn() -> Vec<String>, conduits: &[&str]) -> i32 {
    if std::env::args_os().nth(1).is_some_and(|word| word == "--agent") {
        return crate::agent::main();
    }
    let variable = |name: &str| std::env::var(name).ok();
    let allocation = || allocation::find(variable, |path| std::fs::read_to_string(path));
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let surroundings = Surroundings { conduits, allocation: &allocation, host: host.trim() };
    let began = SystemTime::now();
    let outcome = match parse(std::env::args_os().skip(1), &surroundings) {
        Ok(CommandLine::Print(text)) => {
            use std::io::Write;
            let _ = std::io::stdout().write_all(text.as_bytes());
            return 0;
        }
        Ok(CommandLine::Run(command)) => crate::spawn(&command).inspect(|_| {
            let recorded = recording(&command)
                .and_then(|(folder, kept)| summary(folder.as_ref(), kept, command.ranks, began));
            let quiet = |(name, value): &(OsString, OsString)| name == "GASNET_QUIET" && value == "1";
            if let Some(text) = recorded.filter(|_| !command.environment.iter().any(quiet)) {
                eprintln!("gasnetrun: {text}");
            }
        }),
        Ok(CommandLine::Describe(command)) => {
            hosts::describe(&command, command.hosts.as_deref()).map(|text| {
                print!("{text}");
                0
            })
        }
        Ok(CommandLine::Replay(replay)) => {
            eprintln!("gasnetrun: {}", replay.start());
            return 1;
        }
        Ok(CommandLine::Doctor(hosts)) => return crate::doctor::main(hosts.as_deref(), &unknown_settings()),
        Err(message) => {
            eprintln!("{}: {message}", called());
            return 2;
        }
    };
    outcome.unwrap_or_else(|error: Error| {
        eprintln!("{}: {error}", called());
        error.status()
    })
}

/// The command that the user has typed: `upcrun` and `cafrun` become this program.
fn called() -> &'static str {
    command_of(&std::env::args_os().next().unwrap_or_default())
}

/// The command whose first word this is.
fn command_of(first: &OsStr) -> &'static str {
    let name = Path::new(first).file_name().unwrap_or_default();
    ["upcrun", "cafrun"].into_iter().find(|known| name == *known).unwrap_or("gasnetrun")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONDUITS: [&str; 5] = ["smp", "udp", "mpi", "ofi", "netvm"];

    fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<CommandLine, String> {
        let nowhere = Surroundings { conduits: &CONDUITS, allocation: &|| Ok(None), host: "here" };
        super::parse(arguments, &nowhere)
    }

    fn words(line: &str) -> Result<CommandLine, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn a_batch_job_gives_what_the_command_line_does_not() {
        let host = |name: &str, slots| Host { name: name.into(), slots };
        let two = vec![host("a.cluster", Some(3)), host("b.cluster", Some(1))];
        let case = |line: &str, hosts: &[Host]| {
            let (tasks, hosts) = (4, hosts.to_vec());
            let allocation = move || Ok(Some(Allocation { tasks, hosts: hosts.clone() }));
            let batch = Surroundings { conduits: &CONDUITS, allocation: &allocation, host: "a" };
            match super::parse(line.split_whitespace().map(OsString::from), &batch) {
                Ok(CommandLine::Run(command)) => (command.ranks, command.hosts),
                other => panic!("{line}: {other:?}"),
            }
        };
        assert_eq!(case("p", &two), (4, Some(two.clone())));
        assert_eq!(case("-n 2 p", &two), (2, Some(two.clone())));
        let even = vec![host("a.cluster", None), host("b.cluster", None)];
        assert_eq!(case("-n 9 p", &two), (9, Some(even)));
        assert_eq!(case("--nodes 1 -n 3 p", &two), (3, Some(two[..1].to_vec())));
        assert_eq!(case("-H x p", &two), (4, Some(vec![host("x", None)])));
        assert_eq!(case("p", &two[..1]), (4, None), "the only host is this one");
        assert_eq!(case("p", &two[1..]), (4, Some(two[1..].to_vec())));
        assert_eq!(case("p", &[]), (4, None));

        let broken = || Err("nodes cannot be read".to_string());
        let batch = Surroundings { conduits: &CONDUITS, allocation: &broken, host: "a" };
        let parse = |line: &str| super::parse(line.split_whitespace().map(OsString::from), &batch);
        assert_eq!(parse("p"), Err("nodes cannot be read".to_string()));
        assert!(matches!(parse("-n 2 p"), Ok(CommandLine::Run(_))));
    }

    #[test]
    fn the_table_has_no_mistakes() {
        assert_eq!(COMMAND.mistakes(), [""; 0]);
    }

    fn run(line: &str) -> Command {
        match words(line) {
            Ok(CommandLine::Run(command)) => command,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn options_end_at_the_program() {
        let command = run("-n 4 --bind=none -v prog -n 7 --bind -np -- x");
        assert_eq!((command.ranks, command.bind, command.verbose), (4, Bind::None, true));
        assert_eq!(command.program, "prog");
        assert_eq!(command.arguments, ["-n", "7", "--bind", "-np", "--", "x"]);
    }

    /// Any mixture of words is accepted or refused with a message, and the words after the program are left
    /// alone.
    #[test]
    fn any_words_are_handled() {
        let words = [
            "-n",
            "-np",
            "-n=",
            "-n4",
            "--ranks",
            "--ranks=2",
            "4",
            "0",
            "-1",
            "99999999999",
            "--bind",
            "--bind=",
            "--bind=none",
            "-v",
            "--help",
            "--version",
            "--",
            "-",
            "",
            "prog",
            "--timeout",
            "--timeout=1s",
            "-E",
            "A=b",
            "--é",
            "-é",
        ];
        let mut random = fastrand::Rng::with_seed(1);
        let mut next = |n: usize| random.usize(..n);
        for _ in 0..50_000 {
            let line: Vec<OsString> = (0..next(6)).map(|_| words[next(words.len())].into()).collect();
            match parse(line.clone()) {
                Ok(CommandLine::Run(c)) => {
                    assert!(c.ranks >= 1, "{line:?}");
                    assert_eq!(line[line.len() - c.arguments.len()..], c.arguments[..], "{line:?}");
                }
                Ok(_) => {}
                Err(text) => assert!(!text.is_empty()),
            }
        }
    }

    #[test]
    fn spellings_of_the_number_of_ranks() {
        for line in
            ["-n 3 p", "-n3 p", "-n=3 p", "-np 3 p", "-v --timeout 5 -np 3 p", "--ranks 3 p", "--ranks=3 p"]
        {
            assert_eq!(run(line).ranks, 3, "{line}");
        }
    }

    #[test]
    fn the_placement_may_be_left_out() {
        for (line, bind) in [
            ("--bind -n 2 p", Bind::Core),
            ("-n 2 --bind p", Bind::Core),
            ("-n 2 --bind none p", Bind::None),
            ("-n 2 --bind=none p", Bind::None),
        ] {
            let command = run(line);
            assert_eq!((command.bind, command.program.to_str()), (bind, Some("p")), "{line}");
        }
    }

    #[test]
    fn the_first_hosts_only() {
        let hosts = run("-n 4 -H a,b:2,c --nodes 2 p").hosts.unwrap();
        assert_eq!(hosts.len(), 2);
        assert_eq!(run("-n 4 --nodes 1 p").hosts, None);
    }

    #[test]
    fn environment_and_limit() {
        let command = run("-n 1 --conduit smp -e A=b=c -t 1.5 p");
        let expected: [(OsString, OsString); 2] =
            [("GASNET_CONDUIT".into(), "smp".into()), ("A".into(), "b=c".into())];
        assert_eq!(command.environment, expected);
        assert_eq!(command.limit, Some(Duration::from_millis(1500)));
    }

    #[test]
    fn what_a_death_does() {
        let of = |line| run(line).on_death;
        assert_eq!((of("-n 2 p"), of("-n 2 --on-death=end p")), (OnDeath::End, OnDeath::End));
        assert_eq!(of("-n 2 --on-death shrink p"), OnDeath::Shrink(u32::MAX));
        assert_eq!(of("-n 2 --on-death heal p"), OnDeath::Heal(1000));
        assert_eq!(of("-n 2 --max-deaths 1 --on-death shrink --conduit smp p"), OnDeath::Shrink(1));
    }

    #[test]
    fn mistakes_are_those_of_the_command_that_was_typed() {
        let of = |word: &str| command_of(word.as_ref());
        assert_eq!((of("upcrun"), of("/usr/bin/cafrun")), ("upcrun", "cafrun"));
        assert_eq!((of("gasnetrun_mpi"), of("")), ("gasnetrun", "gasnetrun"));
    }

    #[test]
    fn mistakes_say_what_to_do() {
        for (line, part) in [
            ("", "which program?"),
            ("-n 4", "which program?"),
            ("p", "how many ranks?"),
            ("-n 0 p", "use 1 to 65536"),
            ("-n 65537 p", "use 1 to 65536"),
            ("-n four p", "'four' is not a number of ranks"),
            ("-n", "needs an argument"),
            ("--bnd none -n 2 p", "did you mean '--bind'?"),
            ("--verb -n 2 p", "did you mean '--verbose'?"),
            ("--frobnicate -n 2 p", "see gasnetrun --help"),
            ("-x", "unknown option '-x'"),
            ("--bind=socket p", "use 'none' or 'core'"),
            ("-t 0 -n 1 p", "above 0"),
            ("-e A -n 1 p", "NAME=VALUE"),
            ("--hostfile /no/such -n 1 p", "--hostfile: /no/such: "),
            ("--on-death stop -n 1 p", "use 'end', 'shrink' or 'heal'"),
            ("--max-deaths 2 -n 4 p", "unless it is started with --on-death shrink"),
            ("--on-death shrink --max-deaths few -n 4 p", "'few' is not a number of ranks"),
            ("--on-death shrink --conduit mpi -n 4 p", "MPI ends the whole job"),
            ("--on-death shrink --conduit ofi -n 4 p", "not with the network ofi: so far"),
            ("--on-death heal --record d -n 4 p", "--on-death heal: not with --record"),
            ("--nodes 0 -n 1 p", "not a number of hosts"),
            ("--nodes 2 -n 2 p", "1 host is named"),
            ("--nodes 3 -H a,b -n 2 p", "2 hosts are named"),
            (
                "--conduit upd -n 2 p",
                "--conduit upd: no such conduit; known are: smp, udp, mpi, ofi, netvm; did you mean udp?",
            ),
            ("-e GASNET_CONDUIT=pigeon -n 2 p", "known are: smp, udp, mpi, ofi, netvm"),
        ] {
            let message = words(line).expect_err(line);
            assert!(message.contains(part), "{line}: {message}");
        }
    }
}
