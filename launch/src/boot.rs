//! Finds out which rank a program is.

use std::env;
use std::ffi::OsStr;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use gasnet_wire::Boot;
use gasnet_wire::boot::{Exchange, ToMonitor};

use crate::bind::Bind;
use crate::command;
use crate::crew::RankEnd;
use crate::exchange::LinkExchange;
use crate::handed;
use crate::replay;
use crate::start::{BootMemory, MESSAGE_VARIABLE, Message, PROTOCOL_VERSION, Start, take_place};
use crate::{Error, MAX_RANKS};
use gasnet_sys::process::{Fork, die_with_parent, exit_now, fork, parent_pid, thread_count};
use gasnet_sys::{fd, limits, processors, stdio};

/// Environment variable that tells a program to fork this many ranks.
const FORK_VARIABLE: &str = "GASNET_PSHM_NODES";

/// Why a program is not the rank that its environment says it is.
const SECOND_PROGRAM: &str = "it has started a second program that wants to join the job, and a rank is one program: \
     start a job for each (gasnetrun -n N A && gasnetrun -n N B)";

/// How long ranks other than 0 wait to be ended when the job cannot start.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(3);

/// The program's own requirements on its number of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootOptions {
    /// Number of ranks if nothing else says one.
    pub default_ranks: u32,
    /// The only number of ranks this program can run on.
    pub static_ranks: Option<u32>,
}

impl Default for BootOptions {
    fn default() -> Self {
        BootOptions { default_ranks: 1, static_ranks: None }
    }
}

/// What a process is in its job.
#[derive(Debug)]
pub enum Booted {
    /// A rank of the first world.
    Rank(Box<Boot>),
    /// It replaces a rank that has died, and has no world yet: it asks for the one after the one of this
    /// epoch ([`next_world`](crate::next_world)), over this link.
    Replacement(OwnedFd, u32),
}

impl From<Boot> for Booted {
    fn from(boot: Boot) -> Booted {
        Booted::Rank(Box::new(boot))
    }
}

/// Finds out which rank this process is, or creates the ranks.
///
/// To be called once, while the process starts up and has one thread. There are four cases:
/// 1. The process was started as a rank by `gasnetrun`. It takes its rank from the environment, and removes
///    the variable, so that programs it starts are not taken for ranks.
/// 2. It was started by `mpirun`, `mpiexec` or `srun`, as PMIx or PMI shows.
/// 3. `GASNET_PSHM_NODES=N`, or else a static or default number of ranks, is above 1: the process forks N
///    ranks. The call returns in each of them, and never in the original process, which becomes the monitor
///    and exits with the job's status. A process that already has several threads cannot fork; then
///    `gasnetrun`, if it is in `PATH`, starts the program anew.
/// 4. Otherwise the process is the only rank.
///
/// In a job of several ranks, C's standard output becomes line buffered, so that lines are not lost that are
/// printed before another rank ends the job.
///
/// # Errors
/// A number of ranks that does not fit, a process with several threads, or a refusal of the system. A rank
/// that `gasnetrun` started has then already told it to end the job. Ranks other than 0 return only if that
/// fails, so that the message appears once.
pub fn boot(options: BootOptions) -> Result<Booted, Error> {
    if let Some(message) = handed::take_env(MESSAGE_VARIABLE) {
        return join(&message.to_string_lossy(), options);
    }
    if setting(FORK_VARIABLE).is_none()
        && let Some(boot) = crate::pmi::boot()?
    {
        check_static(options, boot.size)?;
        stdio::line_buffer_stdout();
        return Ok(boot.into());
    }
    let size = asked()?.unwrap_or(options.static_ranks.unwrap_or(options.default_ranks));
    check_static(options, size)?;
    if size > 1 {
        return fork_ranks(size).map(Booted::from);
    }
    if setting(FORK_VARIABLE).is_none() {
        warn_of_srun();
    }
    Ok(Boot {
        rank: 0,
        size: 1,
        host_ranks: vec![0],
        exchange: None,
        shm: fd::memory_file("gasnet-shm").map_err(Error::MemoryFile)?.into(),
        segments: fd::memory_file("gasnet-segments").map_err(Error::MemoryFile)?.into(),
        link: None,
        overseer: None,
        job_id: gasnet_sys::random(),
    }
    .into())
}

/// The recording that this process is to replay in place of starting as a rank of a job, if `gasnetrun
/// --replay` has started it.
pub fn replayed() -> Option<std::fs::File> {
    let said = env::var_os(MESSAGE_VARIABLE)?;
    let fd = said.to_str()?.strip_prefix(replay::MESSAGE)?.trim_end_matches(replay::PADDING).parse().ok()?;
    handed::take_env(MESSAGE_VARIABLE)?;
    stdio::line_buffer_stdout();
    handed::adopt(fd).ok().map(std::fs::File::from)
}

/// An exchange between all ranks of a job, over their links to the monitor: for jobs that have one and whose
/// [`Boot`] has none, since all ranks share memory.
pub fn exchange(boot: &Boot) -> Option<Box<dyn Exchange>> {
    let link = boot.link.as_ref()?.clone();
    Some(Box::new(LinkExchange::new(link, boot.size)))
}

/// Warns if Slurm started several processes without connecting them: each is then a job of its own.
fn warn_of_srun() {
    let number = |name| setting(name).and_then(|text| text.parse::<u32>().ok());
    let together = number("SLURM_STEP_NUM_TASKS").unwrap_or(1);
    if together > 1 && number("SLURM_PROCID") == Some(0) && setting("GASNET_QUIET").is_none_or(|q| q == "0") {
        eprintln!(
            "gasnet: warning: srun started {together} processes, and each of them is a job of one rank: to make them one job, start them \
             with srun --mpi=pmix or --mpi=pmi2 (srun --mpi=list lists the available types)"
        );
    }
}

/// Checks the settings that [`boot`] reads in a program started by itself, under any launcher.
///
/// # Errors
/// A value that cannot be understood.
pub fn check_settings() -> Result<(), Error> {
    asked().and(placement()).map(drop)
}

/// The number of ranks that `GASNET_PSHM_NODES` asks for.
fn asked() -> Result<Option<u32>, Error> {
    setting(FORK_VARIABLE).map(|value| parse_ranks(FORK_VARIABLE, &value)).transpose()
}

/// `GASNET_BIND`.
fn placement() -> Result<Bind, Error> {
    setting("GASNET_BIND").map_or(Ok(Bind::default()), |name| Bind::parse(&name).ok_or(Error::Bind(name)))
}

/// The value of an environment variable; empty counts as unset.
fn setting(name: &str) -> Option<String> {
    let value = env::var_os(name)?.to_string_lossy().trim().to_string();
    (!value.is_empty()).then_some(value)
}

/// Reads a number of ranks.
pub(crate) fn parse_ranks(origin: &'static str, value: &str) -> Result<u32, Error> {
    match value.trim().parse() {
        Ok(ranks) if (1..=MAX_RANKS).contains(&ranks) => Ok(ranks),
        _ => Err(Error::Ranks { origin, value: value.to_string() }),
    }
}

fn check_static(options: BootOptions, started: u32) -> Result<(), Error> {
    match options.static_ranks {
        Some(compiled) if compiled != started => Err(Error::StaticRanks { compiled, started }),
        _ => Ok(()),
    }
}

/// Case 1.
fn join(text: &str, options: BootOptions) -> Result<Booted, Error> {
    if let Some(version) = Message::other_version(text) {
        return Err(Error::Version(version.into(), PROTOCOL_VERSION));
    }
    let wrong = |why: String| Error::Message { variable: MESSAGE_VARIABLE, why };
    let message = Message::decode(text).ok_or_else(|| wrong(format!("cannot be read: '{text}'")))?;
    let adopt = |fd| handed::adopt(fd).map_err(|e| wrong(format!("descriptor {fd}: {e}")));
    let link = adopt(message.link)?;
    if let Err(error) = check_static(options, message.size) {
        give_up(message.rank, &link, &error.to_string());
        return Err(error);
    }
    if !take_place(link.as_fd()) {
        flush();
        // The monitor says it, once for all ranks.
        tell(link.as_fd(), &ToMonitor::Refused(SECOND_PROGRAM.into()));
        exit_now(1);
    }
    // Below a wrapper such as `timeout` the parent is the wrapper, which ends with the monitor.
    die_with_parent(parent_pid());
    tell(link.as_fd(), &ToMonitor::Joined);
    if message.size > 1 {
        stdio::line_buffer_stdout();
    }
    let (shm, segments) = match message.memory {
        BootMemory::Files([shm, segments]) => (adopt(shm)?, adopt(segments)?),
        BootMemory::WorldAfter(epoch) => return Ok(Booted::Replacement(link, epoch)),
    };
    let link = Arc::new(link);
    let exchange: Option<Box<dyn Exchange>> = if message.host_ranks.len() < message.size as usize {
        Some(Box::new(LinkExchange::new(link.clone(), message.size)))
    } else {
        None
    };
    Ok(Boot {
        rank: message.rank,
        size: message.size,
        host_ranks: message.host_ranks,
        exchange,
        shm: shm.into(),
        segments: segments.into(),
        link: Some(link),
        overseer: None,
        job_id: message.job_id,
    }
    .into())
}

/// Tells the launcher, if there is one, that the job cannot start, for a reason that every rank finds before
/// [`boot`].
///
/// Returns in the rank that should print the reason; the other ranks wait here to be ended.
pub fn refuse(why: &str) {
    let message =
        handed::take_env(MESSAGE_VARIABLE).and_then(|text| Message::decode(&text.to_string_lossy()));
    let Some(message) = message else {
        // Some other launchers end all ranks as soon as one fails: by then rank 0 should have printed the
        // reason.
        if crate::pmi::number().is_some_and(|rank| rank > 0) {
            std::thread::sleep(REFUSAL_TIMEOUT);
            exit_now(1);
        }
        return;
    };
    if let Ok(link) = handed::adopt(message.link) {
        give_up(message.rank, &link, why);
    }
}

/// Tells the launcher that this process cannot take the place of a rank that has died.
pub fn refuse_place(link: &OwnedFd, why: &str) {
    tell(link.as_fd(), &ToMonitor::Refused(why.into()));
}

/// Tells the launcher that this process, which was to take the place of a rank that has died, ends in order.
pub fn leave_place(link: &OwnedFd) {
    tell(link.as_fd(), &ToMonitor::Done(0));
}

fn give_up(rank: u32, link: &OwnedFd, why: &str) {
    if rank > 0 {
        std::thread::sleep(REFUSAL_TIMEOUT);
    }
    tell(link.as_fd(), &ToMonitor::Abort(1, why.to_string()));
}

fn tell(link: BorrowedFd<'_>, packet: &ToMonitor) {
    // A failure means that the monitor is gone, and that this process is about to be killed.
    let _ = fd::send(link, &packet.encode());
}

/// Starts the program anew on every rank, by replacing this process and its threads with `gasnetrun`. Returns
/// only if that is not possible.
fn start_anew(size: u32, bind: Bind) {
    let words = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let words = words.strip_suffix(&[0]).unwrap_or(&words);
    let arguments = words.split(|b| *b == 0).skip(1).map(OsStr::from_bytes);
    let bind = if bind == Bind::None { "--bind=none" } else { "--bind=core" };
    if let (Ok(launcher), Ok(program)) = (command::find("gasnetrun".as_ref()), env::current_exe()) {
        let mut command = process::Command::new(launcher);
        command.args(["-n", &size.to_string(), bind]).arg(program).args(arguments);
        // After a failure the caller prints what to do.
        let _ = command.env_remove(FORK_VARIABLE).exec();
    }
}

/// Writes out what this process has printed so far.
fn flush() {
    stdio::flush();
    let _ = std::io::stdout().flush();
}

/// Case 3.
fn fork_ranks(size: u32) -> Result<Boot, Error> {
    let bind = placement()?;
    // So that buffered output is not printed by every rank.
    flush();
    let threads = thread_count();
    if threads > 1 {
        start_anew(size, bind);
        return Err(Error::Threads { ranks: size, threads });
    }
    let mut start = Start::prepare(size, (0..size).collect(), false, bind)?;
    for rank in 0..size {
        let forked = start
            .connect(rank as usize)
            .and_then(|sides| Ok((sides, fork().map_err(Error::system("fork"))?)));
        match forked {
            Ok(((ours, theirs), Fork::Parent(pid))) => {
                drop(theirs);
                start.started(pid, ours);
            }
            Ok(((ours, theirs), Fork::Child)) => {
                drop(ours);
                return become_rank(start, rank, theirs);
            }
            Err(error) => {
                start.give_up();
                return Err(error);
            }
        }
    }
    let status = match start.watch(None) {
        Ok(monitor) => monitor.run(),
        Err(error) => {
            eprintln!("gasnetrun: {error}");
            1
        }
    };
    exit_now(status)
}

/// A forked child becomes a rank.
fn become_rank(mut start: Start, rank: u32, side: crate::start::RankSide) -> Result<Boot, Error> {
    die_with_parent(start.monitor);
    // Close the connections of the ranks that were forked before this one.
    fd::close_all(start.ranks.drain(..).flat_map(RankEnd::descriptors));
    let link = side.install()?;
    limits::set_file_limit(start.files);
    if let Some(cpus) = start.cpus(rank as usize) {
        processors::run_on(&processors::set_of(cpus.iter().copied()));
    }
    let (name, mark) = start.keeper.variable();
    handed::set_env(name, &mark);
    start.child_action.restore();
    start.mask.set();
    tell(link.as_fd(), &ToMonitor::Joined);
    stdio::line_buffer_stdout();
    Ok(Boot {
        rank,
        size: start.size,
        host_ranks: (0..start.size).collect(),
        exchange: None,
        shm: start.shm.into(),
        segments: start.segments.into(),
        link: Some(Arc::new(link)),
        overseer: None,
        job_id: start.job_id,
    })
}
