//! How a program finds out which rank it is.

use std::env;
use std::ffi::OsStr;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process;
use std::time::Duration;

use gasnet::Boot;
use gasnet::boot::ToMonitor;

use crate::bind::Bind;
use crate::crew::RankEnd;
use crate::exchange::LinkExchange;
use crate::spawn;
use crate::start::{MESSAGE, Message, Start, VERSION};
use crate::sys::{self, Fork};
use crate::{Error, MAX_RANKS};

/// Environment variable that asks a program to fork this many ranks.
const FORK: &str = "GASNET_PSHM_NODES";

/// How long ranks other than 0 wait to be ended when the job cannot start.
const REFUSED: Duration = Duration::from_secs(3);

/// What the program itself has to say about its number of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootOptions {
    /// Ranks when nothing else is said.
    pub default_ranks: u32,
    /// The only number of ranks this program can run on.
    pub static_ranks: Option<u32>,
}

impl Default for BootOptions {
    fn default() -> Self {
        BootOptions { default_ranks: 1, static_ranks: None }
    }
}

/// Finds out which rank this process is, or makes the ranks.
///
/// To be called once, while the process starts up and has one thread. Four cases:
/// 1. The process was started as a rank by `gasnetrun`: its place is taken from the environment, which is cleared of
///    it, so that programs it starts are not taken for ranks.
/// 2. It was started by `mpirun`, `mpiexec` or `srun`, as PMIx or PMI shows.
/// 3. `GASNET_PSHM_NODES=N`, or else a static or default number of ranks above 1: the process forks N ranks. The call
///    returns in each of them, and never in the original process, which becomes the monitor and exits with the job's
///    status. A process that has several threads by now cannot fork; the program is then started anew by `gasnetrun`, if that is in `PATH`.
/// 4. Otherwise the process is the only rank.
///
/// In a job of several ranks C's standard output becomes line buffered, so that lines printed before another rank
/// ends the job are not lost.
///
/// # Errors
/// A number of ranks that does not fit, a process with several threads, or a refusal of the system. A rank that was
/// started by `gasnetrun` has then already told it to end the job; other ranks than 0 return only if that fails, so
/// that the message appears once.
pub fn boot(options: BootOptions) -> Result<Boot, Error> {
    if let Some(message) = sys::take_env(MESSAGE) {
        return join(&message.to_string_lossy(), options);
    }
    if setting(FORK).is_none()
        && let Some(boot) = crate::pmi::boot()?
    {
        check_static(options, boot.size)?;
        sys::line_buffer_stdout();
        return Ok(boot);
    }
    let size = asked()?.unwrap_or(options.static_ranks.unwrap_or(options.default_ranks));
    check_static(options, size)?;
    if size > 1 {
        return fork_ranks(size);
    }
    if setting(FORK).is_none() {
        warn_of_srun();
    }
    Ok(Boot {
        rank: 0,
        size: 1,
        neighbours: vec![0],
        exchange: None,
        shm: sys::memfd("gasnet-shm").map_err(Error::system("memfd_create"))?,
        segments: sys::memfd("gasnet-segments").map_err(Error::system("memfd_create"))?,
        link: None,
        overseer: None,
        job_id: sys::random(),
    })
}

/// Says so where Slurm started several processes and does not introduce them to each other: each is a job of its own then.
fn warn_of_srun() {
    let number = |name| setting(name).and_then(|text| text.parse::<u32>().ok());
    let together = number("SLURM_STEP_NUM_TASKS").unwrap_or(1);
    if together > 1 && number("SLURM_PROCID") == Some(0) && setting("GASNET_QUIET").is_none_or(|q| q == "0") {
        eprintln!(
            "gasnet: warning: srun started {together} processes, and each of them is a job of one rank: let srun introduce them to each \
             other by --mpi=pmix or --mpi=pmi2 (srun --mpi=list says what there is)"
        );
    }
}

/// Looks at the settings that [`boot`] reads in a program started by itself: what is wrong there is wrong under a launcher, too.
///
/// # Errors
/// A value that cannot be understood.
pub fn check_settings() -> Result<(), Error> {
    asked().and(placement()).map(drop)
}

/// The number of ranks asked for by `GASNET_PSHM_NODES`.
fn asked() -> Result<Option<u32>, Error> {
    setting(FORK).map(|value| parse_ranks(FORK, &value)).transpose()
}

/// `GASNET_BIND`.
fn placement() -> Result<Bind, Error> {
    setting("GASNET_BIND").map_or(Ok(Bind::default()), |name| Bind::parse(&name).ok_or(Error::Bind(name)))
}

/// An environment variable; empty is as good as unset.
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
fn join(text: &str, options: BootOptions) -> Result<Boot, Error> {
    if let Some(version) = Message::other_version(text) {
        return Err(Error::Version(version.into(), VERSION));
    }
    let wrong = |why: String| Error::Message { variable: MESSAGE, why };
    let message = Message::decode(text).ok_or_else(|| wrong(format!("cannot be read: '{text}'")))?;
    let [shm, segments, link] = message.fds;
    let adopt = |fd| sys::adopt(fd).map_err(|e| wrong(format!("descriptor {fd}: {e}")));
    let (shm, segments, link) = (adopt(shm)?, adopt(segments)?, adopt(link)?);
    if let Err(error) = check_static(options, message.size) {
        give_up(message.rank, &link, &error.to_string());
        return Err(error);
    }
    // Below a wrapper such as `timeout` the parent is not the monitor; what ends with the monitor is then the wrapper.
    sys::die_with_parent(sys::parent_pid());
    tell(link.as_raw_fd(), &ToMonitor::Joined);
    let exchange: Option<Box<dyn gasnet::boot::Exchange>> =
        if message.neighbours.len() < message.size as usize {
            let link = link.try_clone().map_err(Error::system("dup"))?;
            Some(Box::new(LinkExchange::new(link, message.size)))
        } else {
            None
        };
    if message.size > 1 {
        sys::line_buffer_stdout();
    }
    Ok(Boot {
        rank: message.rank,
        size: message.size,
        neighbours: message.neighbours,
        exchange,
        shm,
        segments,
        link: Some(link),
        overseer: None,
        job_id: message.job_id,
    })
}

/// Tells the launcher, if there is one, that the job cannot start, for a reason that all ranks find alike before [`boot`].
///
/// Returns in the rank that is to print the reason: the others wait for their end here.
pub fn refuse(why: &str) {
    let message = sys::take_env(MESSAGE).and_then(|text| Message::decode(&text.to_string_lossy()));
    let Some(message) = message else {
        // Some launchers of others end all as soon as one ends badly: rank 0 is to have said why by then.
        if crate::pmi::number().is_some_and(|rank| rank > 0) {
            std::thread::sleep(REFUSED);
            sys::exit_now(1);
        }
        return;
    };
    if let Ok(link) = sys::adopt(message.fds[2]) {
        give_up(message.rank, &link, why);
    }
}

fn give_up(rank: u32, link: &OwnedFd, why: &str) {
    if rank > 0 {
        std::thread::sleep(REFUSED);
    }
    tell(link.as_raw_fd(), &ToMonitor::Abort(1, why.to_string()));
}

fn tell(link: i32, packet: &ToMonitor) {
    // Failing means that the monitor is gone, and this process about to be killed.
    let _ = sys::send(link, &packet.encode());
}

/// Starts the program anew on every rank, by `gasnetrun`, which takes the place of this process and its threads. Returns only if that cannot
/// be done.
fn start_anew(size: u32, bind: Bind) {
    let words = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let words = words.strip_suffix(&[0]).unwrap_or(&words);
    let arguments = words.split(|b| *b == 0).skip(1).map(OsStr::from_bytes);
    let bind = if bind == Bind::None { "--bind=none" } else { "--bind=core" };
    if let (Ok(launcher), Ok(program)) = (spawn::find("gasnetrun".as_ref()), env::current_exe()) {
        let mut command = process::Command::new(launcher);
        command.args(["-n", &size.to_string(), bind]).arg(program).args(arguments);
        // A failure is followed by the message that says what to do.
        let _ = command.env_remove(FORK).exec();
    }
}

/// Case 3.
fn fork_ranks(size: u32) -> Result<Boot, Error> {
    let bind = placement()?;
    // What is printed so far must not be printed by every rank.
    sys::flush_stdio();
    let _ = std::io::stdout().flush();
    let threads = sys::thread_count();
    if threads > 1 {
        start_anew(size, bind);
        return Err(Error::Threads { ranks: size, threads });
    }
    let mut start = Start::prepare(size, (0..size).collect(), false, bind)?;
    for rank in 0..size {
        let forked = start
            .connect(rank as usize)
            .and_then(|sides| Ok((sides, sys::fork().map_err(Error::system("fork"))?)));
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
    sys::exit_now(status)
}

/// A forked child becomes a rank.
fn become_rank(mut start: Start, rank: u32, side: crate::start::RankSide) -> Result<Boot, Error> {
    sys::die_with_parent(start.monitor);
    // The connections of the ranks that were forked before this one.
    sys::close_all(start.ranks.drain(..).flat_map(RankEnd::descriptors));
    let link = side.install()?;
    sys::set_file_limit(start.files);
    if let Some(cpus) = start.cpus(rank as usize) {
        let _ = sys::bind_to(cpus);
    }
    let (name, mark) = start.keeper.variable();
    sys::set_env(name, &mark);
    start.child_action.restore();
    start.mask.set();
    tell(link.as_raw_fd(), &ToMonitor::Joined);
    sys::line_buffer_stdout();
    Ok(Boot {
        rank,
        size: start.size,
        neighbours: (0..start.size).collect(),
        exchange: None,
        shm: start.shm,
        segments: start.segments,
        link: Some(link),
        overseer: None,
        job_id: start.job_id,
    })
}
