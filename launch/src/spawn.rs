//! Starts N processes of a program as the ranks of a job.

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};

use crate::command::{Command, find};
use crate::crew::RankEnd;
use crate::hosts;
use crate::monitor::Monitor;
use crate::mpirun;
use crate::plugin_folder::PluginFolder;
use crate::rank_name::RankName;
use crate::replay;
use crate::start::{BootMemory, MESSAGE_VARIABLE, Message, MonitorSide, RankSide, Start};
use crate::{Error, RECORD_VARIABLES};
use gasnet_decorators::record::Kept;
use gasnet_sys::limits::FileLimit;
use gasnet_sys::process::{BeforeExec, Pid, keep_addresses, spawn_with};
use gasnet_sys::signals::SignalSet;

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
    if let Some(job_id) = replay::followed_job() {
        start.job_id = job_id;
    }
    start.on_death(command.on_death)?;
    for i in 0..command.ranks as usize {
        if let Err(error) = spawn_rank(command, &program, &mut start, i) {
            start.give_up();
            return Err(error);
        }
    }
    let placement = command.verbose.then(|| describe(&start, command.called));
    let recruiter = Recruiter::of(command, &program, &start);
    let mut monitor: Monitor = start.watch(command.limit)?;
    monitor.recruit_by(Box::new(move |rank, epoch| recruiter.start(rank, epoch)));
    monitor.call_ranks(command.called);
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
    let (ours, theirs) = start.connect(i)?;
    let message = Message::of(start, i, &theirs.link).encode();
    let memory = [start.shm.as_fd(), start.segments.as_fd()];
    let cpus = start.cpus(i).cloned();
    let setup = BeforeExec { parent: start.monitor, mask: start.mask, files: start.files, cpus };
    let (mark, number) = start.keeper.variable();
    let mut variables = vec![(mark.into(), number)];
    let mut program = program.to_path_buf();
    if let Some((folder, _)) = recording(command) {
        // Debuggers start a program by its whole path, which lies at the end of its stack.
        program = std::path::absolute(program).map_err(Error::system("the path of the program"))?;
        // Where a container refuses it, programs that send addresses cannot be replayed.
        let _ = keep_addresses();
        let recorded = replay::variables(folder.as_ref(), start.job_id, start.numbers[i]);
        variables.extend(recorded.map_err(|e| Error::Recording(folder.into(), e))?);
    }
    let pid = spawn_process(command, &program, (&ours, theirs), &message, variables, &memory, setup)?;
    start.started(pid, ours);
    Ok(())
}

/// Starts the process of a rank, with these descriptors and its link.
fn spawn_process(
    command: &Command,
    program: &Path,
    (ours, mut theirs): (&MonitorSide, RankSide),
    message: &str,
    variables: Vec<(OsString, OsString)>,
    memory: &[BorrowedFd<'_>],
    setup: BeforeExec,
) -> Result<Pid, Error> {
    ours.offer_place()?;
    let mut child = process::Command::new(program);
    child.args(&command.arguments).envs(command.environment.iter().map(|(name, value)| (name, value)));
    child.env(MESSAGE_VARIABLE, message).envs(variables);
    if let Some((out, err)) = theirs.pipes.take() {
        child.stdout(Stdio::from(out)).stderr(Stdio::from(err));
    }
    if let Some(input) = theirs.input.take() {
        child.stdin(Stdio::from(input));
    }
    let keep = [memory, &[theirs.link.as_fd()]].concat();
    let child = spawn_with(child, &keep, setup).map_err(|error| {
        // The file exists, since `find` saw it.
        let missing = error.kind() == std::io::ErrorKind::NotFound;
        let hint = if missing { "; the interpreter or loader that it names is not there" } else { "" };
        Error::NotStarted(program.into(), gasnet_wire::limits::thread_refused(&error), hint)
    })?;
    Ok(child.id() as Pid)
}

/// Starts processes that take the places of ranks that have died, as these were started.
#[derive(Debug)]
pub(crate) struct Recruiter {
    command: Command,
    program: PathBuf,
    size: u32,
    /// The ranks that were started here, and whether the monitor is elsewhere.
    numbers: Vec<u32>,
    remote: bool,
    merge: bool,
    job_id: u64,
    monitor: Pid,
    placement: Option<Vec<Vec<usize>>>,
    mask: SignalSet,
    files: FileLimit,
    mark: (OsString, OsString),
}

impl Recruiter {
    /// For the ranks of this start.
    pub(crate) fn of(command: &Command, program: &Path, start: &Start) -> Recruiter {
        let (mark, number) = start.keeper.variable();
        Recruiter {
            command: command.clone(),
            program: program.into(),
            size: start.size,
            numbers: start.numbers.clone(),
            remote: start.remote,
            merge: start.merge,
            job_id: start.job_id,
            monitor: start.monitor,
            placement: start.placement.clone(),
            mask: start.mask,
            files: start.files,
            mark: (mark.into(), number),
        }
    }

    /// Starts a process that asks for the place of this rank in the world after the one of this epoch.
    pub(crate) fn start(&self, rank: u32, epoch: u32) -> Result<RankEnd, Error> {
        let (ours, theirs) = MonitorSide::connect(rank, self.merge, self.remote)?;
        let message = Message {
            rank,
            size: self.size,
            memory: BootMemory::WorldAfter(epoch),
            link: theirs.link.as_raw_fd(),
            monitor: self.monitor,
            job_id: self.job_id,
            host_ranks: (0..self.size).collect(),
        };
        // One whose host is lost goes where there is room.
        let at = self.numbers.binary_search(&rank).ok();
        let cpus = self.placement.as_ref().and_then(|all| all.get(at?)).cloned();
        let setup = BeforeExec { parent: self.monitor, mask: self.mask, files: self.files, cpus };
        let (command, variables) = (&self.command, vec![self.mark.clone()]);
        let pid =
            spawn_process(command, &self.program, (&ours, theirs), &message.encode(), variables, &[], setup)?;
        Ok(ours.of(rank, pid))
    }
}

/// The folder in which the ranks of a job are recorded, and what is.
pub(crate) fn recording(command: &Command) -> Option<(OsString, Kept)> {
    RECORD_VARIABLES.into_iter().find_map(|(variable, kept)| {
        let given = command.environment.iter().rev().find(|(name, _)| name == variable);
        let folder = given.map(|(_, folder)| folder.clone()).or_else(|| std::env::var_os(variable))?;
        (!folder.is_empty()).then_some((folder, kept))
    })
}

fn describe(start: &Start, called: RankName) -> Vec<String> {
    let ranks = start.ranks.iter().enumerate();
    let line = |(i, end): (usize, &RankEnd)| {
        format!("{} (pid {}) {}", called.rank(end.number), end.pid, start.place(i))
    };
    ranks.map(line).collect()
}
