//! Starts N processes of a program as the ranks of a job.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::time::Duration;

use crate::Error;
use crate::bind::Bind;
use crate::hosts::{self, Host};
use crate::monitor::Monitor;
use crate::mpirun;
use crate::plugin_folder::PluginFolder;
use crate::start::{MESSAGE_VARIABLE, Message, Start};
use gasnet_sys::process::{BeforeExec, Pid, executable, spawn_with};

/// A job to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Number of ranks.
    pub ranks: u32,
    /// The program: a path, or a name that is looked up in `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables added to the environment of the ranks.
    pub environment: Vec<(OsString, OsString)>,
    /// Placement of the ranks.
    pub bind: Bind,
    /// Print where ranks run.
    pub verbose: bool,
    /// End the job with status 124 after this time.
    pub limit: Option<Duration>,
    /// The hosts; `None` for this one.
    pub hosts: Option<Vec<Host>>,
}

/// Starts the ranks, monitors them, and returns the job's exit status.
///
/// # Errors
/// The program cannot be run, or the system refuses to start it. Then no process is left behind.
pub fn spawn(command: &Command) -> Result<i32, Error> {
    let mut command = command.clone();
    command.environment.extend(PluginFolder::for_ranks());
    let command = &command;
    if mpirun::is_asked_for(command) {
        return mpirun::run(command);
    }
    if let Some(hosts) = &command.hosts {
        return hosts::run(command, hosts);
    }
    let program = find(&command.program)?;
    let mut start = Start::prepare(command.ranks, (0..command.ranks).collect(), false, command.bind)?;
    for i in 0..command.ranks as usize {
        if let Err(error) = spawn_rank(command, &program, &mut start, i) {
            start.give_up();
            return Err(error);
        }
    }
    let placement = command.verbose.then(|| describe(&start));
    let mut monitor: Monitor = start.watch(command.limit)?;
    for line in placement.into_iter().flatten() {
        monitor.say(&line);
    }
    Ok(monitor.run())
}

/// Starts the `i`-th rank here.
pub(crate) fn spawn_rank(
    command: &Command,
    program: &Path,
    start: &mut Start,
    i: usize,
) -> Result<(), Error> {
    let (ours, mut theirs) = start.connect(i)?;
    let mut child = process::Command::new(program);
    child.args(&command.arguments).envs(command.environment.iter().map(|(name, value)| (name, value)));
    child.env(MESSAGE_VARIABLE, Message::of(start, i, &theirs.link).encode()).envs([start.keeper.variable()]);
    if let Some((out, err)) = theirs.pipes.take() {
        child.stdout(Stdio::from(out)).stderr(Stdio::from(err));
    }
    if let Some(input) = theirs.input.take() {
        child.stdin(Stdio::from(input));
    }
    let keep = [start.shm.as_fd(), start.segments.as_fd(), theirs.link.as_fd()];
    let cpus = start.cpus(i).cloned();
    let setup = BeforeExec { parent: start.monitor, mask: start.mask, files: start.files, cpus };
    let child = spawn_with(child, &keep, setup).map_err(|error| {
        // The file exists, since `find` saw it.
        let missing = error.kind() == std::io::ErrorKind::NotFound;
        let hint = if missing { "; the interpreter or loader that it names is not there" } else { "" };
        Error::NotStarted(program.into(), gasnet::limits::thread_refused(&error), hint)
    })?;
    start.started(child.id() as Pid, ours);
    Ok(())
}

fn describe(start: &Start) -> Vec<String> {
    let ranks = start.ranks.iter().enumerate();
    ranks.map(|(i, end)| format!("rank {} (pid {}) {}", end.number, end.pid, start.place(i))).collect()
}

/// Finds the executable file as a shell would, so that a mistake gives one message instead of one per rank.
pub(crate) fn find(program: &OsStr) -> Result<PathBuf, Error> {
    let path = Path::new(program);
    if path.components().count() > 1 || path.is_absolute() || program.as_encoded_bytes().contains(&b'/') {
        return match path.metadata() {
            Err(_) => Err(Error::NotFound(path.into(), String::new())),
            Ok(_) => runnable(path),
        };
    }
    let search = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let mut refused = None;
    for folder in env::split_paths(&search) {
        let candidate = folder.join(path);
        if candidate.is_file() {
            match runnable(&candidate) {
                Ok(found) => return Ok(found),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
    }
    let hint =
        if path.is_file() { format!(" in PATH; did you mean ./{}?", path.display()) } else { String::new() };
    Err(refused.unwrap_or_else(|| Error::NotFound(path.into(), hint)))
}

fn runnable(path: &Path) -> Result<PathBuf, Error> {
    if path.is_dir() {
        Err(Error::NotExecutable(path.into(), "is a directory"))
    } else if !executable(path) {
        let source = path.extension().is_some_and(|e| e == "upc");
        let why = if source { "is a source; upcrun compiles and runs it" } else { "is not executable" };
        Err(Error::NotExecutable(path.into(), why))
    } else {
        Ok(path.into())
    }
}
