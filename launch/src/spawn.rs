//! Starts N processes of a program as the ranks of a job.

use std::os::fd::AsFd;
use std::path::Path;
use std::process::{self, Stdio};

use crate::Error;
use crate::command::{Command, find};
use crate::hosts;
use crate::monitor::Monitor;
use crate::mpirun;
use crate::plugin_folder::PluginFolder;
use crate::start::{MESSAGE_VARIABLE, Message, Start};
use gasnet_sys::process::{BeforeExec, Pid, spawn_with};

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
    start.merge |= command.label;
    start.on_death(command.on_death)?;
    for i in 0..command.ranks as usize {
        if let Err(error) = spawn_rank(command, &program, &mut start, i) {
            start.give_up();
            return Err(error);
        }
    }
    let placement = command.verbose.then(|| describe(&start));
    let mut monitor: Monitor = start.watch(command.limit)?;
    if command.label {
        monitor.label();
    }
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
    ours.offer_place()?;
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
        Error::NotStarted(program.into(), gasnet_wire::limits::thread_refused(&error), hint)
    })?;
    start.started(child.id() as Pid, ours);
    Ok(())
}

fn describe(start: &Start) -> Vec<String> {
    let ranks = start.ranks.iter().enumerate();
    ranks.map(|(i, end)| format!("rank {} (pid {}) {}", end.number, end.pid, start.place(i))).collect()
}
