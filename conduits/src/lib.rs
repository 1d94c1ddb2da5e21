//! Starts a job: chooses its network, creates its ranks, and runs a Rust SPMD program in one call.
//!
//! ```no_run
//! gasnet_conduits::run(|rank| {
//!     println!("rank {} of {}", rank.id(), rank.size());
//! });
//! ```
//! Start it with `gasnetrun -n 4 ./program`, or directly with `GASNET_PSHM_NODES=4`.

mod embed;
#[cfg(any(feature = "mpi", feature = "ofi"))]
mod plugins;
mod registry;
mod settings;

pub use gasnet_launch::job::OnDeath;
pub use gasnet_launch::{BootOptions, refuse};
pub use registry::names;
pub use settings::{settings, unknown_settings, wanted};

use gasnet::{Config, Error, Rank, Threading};
use gasnet_decorators::follow::Follower;
use gasnet_decorators::record::{Kept, Recorder};
use gasnet_decorators::replay::Replayer;
use gasnet_launch::Booted;
use gasnet_sys::limits;
use gasnet_sys::mutex::lock;
use gasnet_sys::process::{self, BeforeExec};
use gasnet_sys::signals::SignalSet;
use gasnet_vessel::{PLAN, SEAT, Seat};
use gasnet_wire::Boot;
use gasnet_wire::boot::{HostFile, NextBoot};
use gasnet_wire::conduit::{Conduit, OpenContext};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Whether this process, whose runtime has not started yet, is a rank that lives in virtual time: it must ask
/// the system for the time, and not the processor.
pub fn will_be_simulated() -> bool {
    std::env::var_os(SEAT).is_some()
}

/// Boots this process as a rank of its job: forks the ranks if the program was started directly, and opens
/// the conduit. No segment is attached yet.
///
/// # Collective
/// Over all ranks.
///
/// # Errors
/// An invalid setting, or a resource that the system refuses.
pub fn init(options: &BootOptions, threading: Threading) -> Result<&'static Rank, Error> {
    init_with(options, threading, |config| config)
}

/// [`init`] of a program that changes the settings before they count.
///
/// # Collective
/// Over all ranks.
///
/// # Errors
/// As [`init`].
pub fn init_with(
    options: &BootOptions,
    threading: Threading,
    change: impl FnOnce(Config) -> Config,
) -> Result<&'static Rank, Error> {
    refuse_simulator()?;
    let config = read_settings(change)?;
    if let Some(rank) = start_apart(&config, threading)? {
        return Ok(rank);
    }
    let (place, config) = find_place(options, config)?;
    match place {
        Booted::Rank(boot) => {
            let rank = start(*boot, config, threading, registry::open)?;
            if rank.survival().is_possible() {
                rank.ending().fatal_line(CANNOT_GO_ON, &format!("gasnet: {CANNOT_GO_ON}"));
            }
            Ok(rank)
        }
        Booted::Replacement(link, _) => {
            gasnet_launch::refuse_place(&link, CANNOT_GO_ON);
            Err(Error::job(CANNOT_GO_ON))
        }
    }
}

/// Why a job cannot start whose ranks are to survive each other.
const CANNOT_GO_ON: &str = "--on-death: this program cannot go on when a rank has died: programs over the crate pgas can, and C programs \
     that include gasnet_survive.h. Start it without --on-death";

/// [`init`] of a program that goes on when ranks die (`gasnetrun --on-death shrink` or `heal`), by
/// [`begin_next_world`]. `begin` makes of the rank what this returns; it is called again in another world if
/// a rank dies meanwhile. A process that replaces a dead rank begins in the first world that it is in.
/// `None`: there is none, since all ranks have done their work; such a process is to end with 0.
///
/// # Collective
/// Over all ranks.
///
/// # Errors
/// As [`init`].
pub fn init_mortal<T>(
    options: &BootOptions,
    threading: Threading,
    begin: impl Fn(&'static Rank, Member<'_>) -> T,
) -> Result<Option<T>, Error> {
    refuse_simulator()?;
    begin_mortal(options, threading, &begin)
}

fn refuse_simulator() -> Result<(), Error> {
    let text = "--vessel closure runs programs whose `main` calls `run` (of pgas or gasnet_conduits) first; this one starts its rank by \
                itself: use --vessel process";
    if is_simulator() { Err(Error::job(text)) } else { Ok(()) }
}

/// The settings. Every rank finds the same error in them; only one of them returns here to report it.
fn read_settings(change: impl FnOnce(Config) -> Config) -> Result<Config, Error> {
    let config = Config::from_env().map(change);
    config.inspect_err(|e| gasnet_launch::refuse(&e.to_string()))
}

/// Starts the rank of a process that no launcher has started as part of a live job: it is simulated, or
/// replays what was recorded.
fn start_apart(config: &Config, threading: Threading) -> Result<Option<&'static Rank>, Error> {
    let rank = if let Some(seat) = Seat::given()? {
        start_simulated(&seat, config.clone(), threading)
    } else if let Some(table) = embed::given() {
        embed::start(table, config.clone(), threading)
    } else if let Some(recording) = gasnet_launch::replayed() {
        replay(recording, registry::settle(config.clone())?, threading)
    } else {
        return Ok(None);
    };
    rank.map(Some)
}

/// What this process is in its job, and its settings.
fn find_place(options: &BootOptions, config: Config) -> Result<(Booted, Config), Error> {
    // As for the settings: every rank finds the same.
    let config = registry::settle(config).inspect_err(|e| gasnet_launch::refuse(&e.to_string()))?;
    let place = gasnet_launch::boot(*options).map_err(|e| Error::job(e.to_string()))?;
    if let Booted::Rank(boot) = &place
        && boot.rank == 0
        && !config.quiet
    {
        unknown_settings().iter().for_each(|warning| eprintln!("gasnet: warning: {warning}"));
    }
    Ok((place, config))
}

/// Starts a rank with the conduit that `open` gives. It is recorded if a setting asks for it.
fn start(
    boot: Boot,
    config: Config,
    threading: Threading,
    open: impl Fn(&OpenContext<'_>) -> Result<Option<Box<dyn Conduit>>, Error>,
) -> Result<&'static Rank, Error> {
    let (mut recorder, mut follower) = (None, None);
    let (boot, config) = match settings::recording() {
        None => (boot, config),
        Some((folder, kept)) => {
            let exchange = gasnet_launch::exchange(&boot);
            if kept == Kept::Order && gasnet_launch::is_again() {
                let (boot, config, again) = Follower::begin(folder.as_ref(), boot, exchange, config)?;
                follower = Some(again);
                (boot, config)
            } else {
                let (boot, config, new) = Recorder::begin(folder.as_ref(), kept, boot, exchange, config)?;
                recorder = Some(new);
                (boot, config)
            }
        }
    };
    let open = |cx: &OpenContext<'_>| match (&recorder, &follower) {
        (Some(recorder), _) => recorder.open(cx, &open),
        (_, Some(follower)) => follower.open(cx, &open),
        _ => open(cx),
    };
    #[expect(unsafe_code, reason = "vouches for the launcher")]
    // SAFETY: the launcher makes the memory files of each world of a job and tells each of its processes its
    // rank once; a second call makes a job of its own. A recorder gives new files.
    let rank = unsafe { Rank::start(boot, config, threading, &open)? };
    if rank.size() > 1 {
        name_rank_in_panics(rank);
    }
    Ok(rank)
}

/// Starts the rank of a recording.
fn replay(recording: std::fs::File, config: Config, threading: Threading) -> Result<&'static Rank, Error> {
    let (boot, config, replayer) = Replayer::begin(recording, config)?;
    #[expect(unsafe_code, reason = "vouches for the files")]
    // SAFETY: the replayer has made the memory files, which nobody else has.
    let rank = unsafe { Rank::start(boot, config, threading, &|cx| replayer.open(cx))? };
    if rank.size() > 1 {
        name_rank_in_panics(rank);
    }
    Ok(rank)
}

/// Starts a rank of a job that is simulated, in a process of its own.
fn start_simulated(seat: &Seat, config: Config, threading: Threading) -> Result<&'static Rank, Error> {
    if config.progress_thread {
        return Err(Error::job(
            "GASNET_PROGRESS: --simulate gives turns to ranks of one thread only, so none can serve messages beside the program",
        ));
    }
    let conduit = Mutex::new(Some(seat.conduit()));
    #[expect(unsafe_code, reason = "vouches for the seat")]
    // SAFETY: the files are fresh and this rank's alone; a process has one seat.
    unsafe {
        Rank::start(seat.boot()?, config, threading, &|_| Ok(lock(&conduit).take()))
    }
}

/// Lets the message of every panic in this process begin with the rank, whatever thread it is in.
fn name_rank_in_panics(rank: &'static Rank) {
    use std::io::Write;
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |what| {
            // Its number in the newest world, after deaths.
            let rank = rank.survival().newest();
            let _ = writeln!(std::io::stderr(), "gasnet: rank {} of {} panics:", rank.id(), rank.size());
            before(what);
        }));
    });
}

/// Runs an SPMD program: `body` on every rank, with a segment of the default size attached.
///
/// # Collective
/// Ends with a barrier, after which the process exits: with 0, or with 1 if the job could not start. A panic
/// on any rank ends the job with 101.
pub fn run(body: impl FnOnce(&'static Rank)) -> ! {
    run_as(Threading::Parallel, body)
}

/// [`run`] for a program that declares how many of its threads call the runtime: one thread costs less.
pub fn run_as(threading: Threading, body: impl FnOnce(&'static Rank)) -> ! {
    check_no_test();
    if is_simulator() {
        std::process::exit(simulate(body));
    }
    let begin = || {
        let rank = init(&BootOptions::default(), threading)?;
        rank.attach(rank.segments().max_global(), None).unwrap_or_else(|e| rank.fatal(&e.to_string()));
        Ok(Some((rank, rank)))
    };
    std::process::exit(run_once(begin, body))
}

/// [`run`] with [kept memory](gasnet::SegmentCalls::attach_and_keep) behind the segment, where arrays of the
/// crate `pgas` lie. `begin` makes of the rank what the body gets, and may meet the other ranks; it is called
/// again in another world if one of them dies meanwhile. A process that replaces a dead rank begins in the
/// first world that it is in.
pub fn run_and_keep<T>(begin: impl Fn(&'static Rank, Member<'_>) -> T, body: impl FnOnce(T)) -> ! {
    check_no_test();
    if is_simulator() {
        // By value: what captures nothing but such closures has no bytes, and can be run for each rank.
        std::process::exit(simulate(move |rank| body(begin(rank, Member::default()))));
    }
    std::process::exit(run_kept(begin, body))
}

/// [`run_and_keep`] of a rank; returns the exit status.
fn run_kept<T>(begin: impl Fn(&'static Rank, Member<'_>) -> T, body: impl FnOnce(T)) -> i32 {
    let begin = keeping(begin);
    run_once(|| begin_mortal(&BootOptions::default(), Threading::Parallel, &begin), body)
}

/// What a rank is told of the world that it is in.
#[derive(Debug, Clone, Copy, Default)]
pub struct Member<'a> {
    /// The ranks of the world, by the numbers that they had in the job's first one; `None` in that.
    pub members: Option<&'a [u32]>,
    /// The number of processes that were this rank before this one.
    pub incarnation: u32,
    /// The file of the segments that ranks of this host had in the first world, if it outlives that: what
    /// ranks write behind the segments is there after their deaths.
    pub first_segments: Option<BorrowedFd<'a>>,
}

/// Begins with a segment of the default size and kept memory behind it.
fn keeping<T>(
    begin: impl Fn(&'static Rank, Member<'_>) -> T,
) -> impl Fn(&'static Rank, Member<'_>) -> (&'static Rank, T) {
    move |rank, member| {
        let attached = rank.segments().attach_at_start();
        attached.unwrap_or_else(|e| rank.fatal(&e.to_string()));
        (rank, begin(rank, member))
    }
}

/// Starts this process as a rank that may survive the deaths of others.
fn begin_mortal<T>(
    options: &BootOptions,
    threading: Threading,
    begin: &impl Fn(&'static Rank, Member<'_>) -> T,
) -> Result<Option<T>, Error> {
    let config = read_settings(|config| config)?;
    if let Some(rank) = start_apart(&config, threading)? {
        return Ok(Some(begin(rank, Member::default())));
    }
    let (place, config) = find_place(options, config)?;
    let (link, boot, epoch) = match place {
        Booted::Rank(boot) => (boot.link.clone(), Some(*boot), 0),
        Booted::Replacement(link, epoch) => (Some(Arc::new(link)), None, epoch),
    };
    let guide = (link.as_ref(), None);
    let started = enter(boot, guide, (epoch, false), (&config, threading), begin)?;
    if started.is_none() {
        // All is done without this process.
        link.iter().for_each(|link| gasnet_launch::leave_place(link));
    }
    Ok(started)
}

/// Who tells a process of its next world: the launcher, over this connection, or else the simulator, through
/// the rank that it was before.
type Guide<'a> = (Option<&'a Arc<OwnedFd>>, Option<&'static Rank>);

/// Starts this process as a rank of the world that it was told of, or else of the one that follows that of
/// this epoch, whose segments it may still use; and if a rank dies meanwhile, of the one after that. `None`:
/// there is no other world, since all ranks have done their work.
fn enter<T>(
    mut boot: Option<Boot>,
    guide: Guide<'_>,
    (mut epoch, mut holds): (u32, bool),
    (config, threading): (&Config, Threading),
    begin: &impl Fn(&'static Rank, Member<'_>) -> T,
) -> Result<Option<T>, Error> {
    loop {
        let (boot, members, incarnation, first) = match boot.take() {
            Some(boot) => (boot, None, 0, None),
            None => {
                let Some(next) = next_boot(guide, epoch, holds)? else { return Ok(None) };
                // In a world that does not start nobody has anything.
                (epoch, holds) = (next.epoch, false);
                (next.boot, Some(next.members), next.incarnation, next.first_segments)
            }
        };
        let open = |context: &OpenContext<'_>| {
            let former = guide.1.zip(members.as_deref());
            let made = former.and_then(|(rank, members)| rank.survival().next_conduit(members));
            made.map_or_else(|| registry::open(context), |conduit| Ok(Some(conduit)))
        };
        let files = [&boot.shm, &boot.segments].map(HostFile::clone);
        let started = gasnet::attempt(|| {
            let rank = start(boot, config.clone(), threading, open)?;
            let outlives = if first.is_none() { rank.survival().first_segments() } else { None };
            let first = first.as_ref().or(outlives.as_deref()).map(AsFd::as_fd);
            let member = Member { members: members.as_deref(), incarnation, first_segments: first };
            Ok(begin(rank, member))
        });
        // Who dies while the world starts has died in it: its members ask for another one.
        let Ok(started): Result<Result<_, Error>, _> = started else {
            files.iter().for_each(HostFile::close);
            continue;
        };
        return started.map(Some);
    }
}

/// Waits for the world after the one of this epoch.
fn next_boot((launcher, former): Guide<'_>, epoch: u32, holds: bool) -> Result<Option<NextBoot>, Error> {
    if let Some(link) = launcher {
        return gasnet_launch::next_world(link, epoch, holds).map_err(|e| Error::job(e.to_string()));
    }
    let next = former.and_then(|rank| rank.survival().next_boot(epoch));
    next.map(Some).ok_or_else(|| Error::job("a rank has died, and there is no launcher"))
}

/// Says to the ranks of a test's job that they are these. Like the boot's variable it is no setting.
const TESTED: &str = "GASNETI_TESTED";

/// Starts a process in which a test calls [`run_tested`]. The monitor reads signals from a descriptor, so no
/// thread of the harness there may take them.
///
/// # Errors
/// The system's.
#[doc(hidden)]
pub fn start_tested(command: std::process::Command) -> std::io::Result<std::process::Child> {
    let setup = BeforeExec {
        parent: process::pid(),
        mask: gasnet_launch::monitor::signals(),
        files: limits::raise_file_limit(0),
        cpus: None,
    };
    process::spawn_with(command, &[], setup)
}

/// [`run`] in the process that a test has started for it: it becomes the monitor of `ranks` ranks, which are
/// processes of the same executable with the same arguments, and come here in their turn.
#[doc(hidden)]
pub fn run_tested<T>(
    ranks: u32,
    on_death: OnDeath,
    begin: impl Fn(&'static Rank, Member<'_>) -> T,
    body: impl FnOnce(T),
) -> ! {
    if std::env::var_os(TESTED).is_some() {
        SignalSet::of(&[]).set();
        std::process::exit(run_kept(begin, body));
    }
    // Not by forking: the harness has threads.
    let job = std::env::current_exe().map_err(|e| e.to_string()).and_then(|program| {
        let job = gasnet_launch::Command {
            ranks,
            program: program.into(),
            arguments: std::env::args_os().skip(1).collect(),
            environment: vec![(TESTED.into(), "1".into())],
            // Tests run beside each other.
            bind: gasnet_launch::bind::Bind::None,
            label: false,
            called: gasnet_launch::rank_name::RankName::default(),
            verbose: false,
            limit: None,
            on_death,
            hosts: None,
        };
        gasnet_launch::spawn(&job).map_err(|e| e.to_string())
    });
    std::process::exit(job.unwrap_or_else(|e| {
        eprintln!("gasnet: {e}");
        1
    }))
}

/// Whether the harness of Rust's tests has called the caller. Cargo puts its executables in a folder of that
/// name; but there are tests without the harness, whose `main` may be such a program.
fn in_test() -> bool {
    let program = std::env::current_exe().unwrap_or_default();
    program.parent().is_some_and(|folder| folder.ends_with("deps"))
        && std::backtrace::Backtrace::force_capture().to_string().contains("test::run_test")
}

fn check_no_test() {
    assert!(
        !in_test(),
        "`run` in a test: it ends the process with its own status, and the harness with it, so that a test which fails looks \
         like one that has passed. Use `pgas::testing::run`, which starts ranks in processes of their own"
    );
}

/// Whether `gasnetrun --simulate` has started this process to run all ranks in it.
fn is_simulator() -> bool {
    std::env::var_os(PLAN).is_some()
}

#[cfg(feature = "simulate")]
fn simulate(body: impl FnOnce(&'static Rank)) -> i32 {
    gasnet_simulate::serve(body)
}

#[cfg(not(feature = "simulate"))]
fn simulate(_: impl FnOnce(&'static Rank)) -> i32 {
    eprintln!(
        "gasnet: --simulate: this program was built without the feature `simulate` of pgas (gasnet-conduits)"
    );
    2
}

fn run_once<T>(
    begin: impl FnOnce() -> Result<Option<(&'static Rank, T)>, Error>,
    body: impl FnOnce(T),
) -> i32 {
    static RUNS: AtomicBool = AtomicBool::new(false);
    // Relaxed: who comes second needs nothing of the first.
    assert!(
        !RUNS.swap(true, Ordering::Relaxed),
        "`run` was called twice in one process: a process is one rank of its job. Call it once, from `main`, and pass on what it \
         gives to the body"
    );
    let (rank, begun) = match begin() {
        Ok(Some(begun)) => begun,
        Ok(None) => return 0,
        Err(e) => {
            eprintln!("gasnet: {e}");
            return 1;
        }
    };
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(begun)));
    use std::io::Write;
    let _ = std::io::stdout().flush();
    // After deaths it is the last of several.
    let rank = rank.survival().newest();
    if outcome.is_err() {
        let _ = writeln!(
            std::io::stderr(),
            "gasnet: rank {} of {} has panicked and ends the job",
            rank.id(),
            rank.size()
        );
        rank.global_exit(101);
    }
    // The program is over everywhere, or somebody dies now: then it is over for those who are left.
    if !rank.survival().is_over() {
        let _ = gasnet::attempt(|| rank.barrier());
    }
    rank.done(0);
    0
}

/// Starts the world that follows this rank's, in which a rank has died, on this rank: makes its rank, with a
/// segment and kept memory, and runs `begin` with it, which may meet the others. Returns what that has made.
/// If a rank dies meanwhile, it begins again in the world after that. `None`: there is no other world, since
/// all ranks of the old one have done their work. `holds`: this process may still use the segments of the
/// old world, so the new one cannot take over their memory.
///
/// # Collective
/// Over the ranks of the world that neither die nor leave in order; a rank that does not call it, and does
/// neither, is waited for. Waits of others in the old world end, so they come to call it, too.
///
/// # Errors
/// Ranks of this job may not die, none has, or the launcher or the system refuses the new world.
pub fn next_world<T>(
    rank: &'static Rank,
    holds: bool,
    begin: impl Fn(&'static Rank, Member<'_>) -> T,
) -> Result<Option<T>, Error> {
    begin_next_world(rank, Threading::Parallel, holds, keeping(begin))
        .map(|next| next.map(|(_, begun)| begun))
}

/// [`next_world`] of a program that was started by [`init_mortal`], and attaches segments by itself.
///
/// # Collective
/// As [`next_world`].
///
/// # Errors
/// As [`next_world`].
pub fn begin_next_world<T>(
    rank: &'static Rank,
    threading: Threading,
    holds: bool,
    begin: impl Fn(&'static Rank, Member<'_>) -> T,
) -> Result<Option<T>, Error> {
    let survival = rank.survival();
    if !survival.is_possible() {
        return Err(Error::job(
            "the ranks of this job do not survive deaths: start it with gasnetrun --on-death shrink or heal",
        ));
    }
    if survival.dead().ranks.is_empty() {
        return Err(Error::op("nobody in this world has died, so it goes on"));
    }
    survival.give_up();
    let begin = |rank, member: Member<'_>| (rank, begin(rank, member));
    let guide = (survival.launcher(), Some(rank));
    let next = enter(None, guide, (survival.epoch(), holds), (rank.config(), threading), &begin)?;
    Ok(next.map(|(new, begun)| {
        survival.continue_as(new);
        begun
    }))
}
