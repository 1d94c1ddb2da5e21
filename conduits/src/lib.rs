//! Starting a job: which network it uses, how its ranks come into being, and the one call of a Rust SPMD program.
//!
//! ```no_run
//! gasnet_conduits::run(|rank| {
//!     println!("rank {} of {}", rank.id(), rank.size());
//! });
//! ```
//! Start it with `gasnetrun -n 4 ./program`, or directly with `GASNET_PSHM_NODES=4`.

/// The Rust part of the tour in `README.md` must compile.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

mod embed;
mod plugins;
mod registry;

pub use gasnet_launch::{BootOptions, refuse};
pub use registry::names;

use gasnet::{Config, Error, Rank, Threading};

/// Boots this process as a rank of its job: forks the ranks when the program was started directly, and opens the conduit.
/// Nothing is attached yet.
///
/// # Collective
/// Over all ranks.
///
/// # Errors
/// A setting that is not understood, or resources that cannot be had.
pub fn init(options: &BootOptions, threading: Threading) -> Result<&'static Rank, Error> {
    if let Some(started) = embed::start(threading) {
        return started;
    }
    let config = Config::from_env().and_then(registry::settle);
    // All ranks find the same settings wrong: only one of them comes back to say so.
    let config = config.inspect_err(|e| gasnet_launch::refuse(&e.to_string()))?;
    let boot = gasnet_launch::boot(*options).map_err(|e| Error::job(e.to_string()))?;
    #[expect(unsafe_code, reason = "vouches for the launcher")]
    // SAFETY: the launcher makes the memory files of a job and tells each of its processes once which rank it is; asked again, it
    // makes a job of its own.
    unsafe {
        Rank::start(boot, config, threading, &registry::open)
    }
}

/// Runs an SPMD program: `body` on every rank, with a segment of the default size attached.
///
/// # Collective
/// Ends with a barrier, after which the process exits: with 0, or with 1 when the job could not start. A panic on any rank ends
/// the job with 101.
pub fn run(body: impl FnOnce(&'static Rank)) -> ! {
    run_as(Threading::Parallel, body)
}

/// [`run`] for a program that says how many of its threads call the runtime: one costs less.
pub fn run_as(threading: Threading, body: impl FnOnce(&'static Rank)) -> ! {
    std::process::exit(run_with(threading, body))
}

fn run_with(threading: Threading, body: impl FnOnce(&'static Rank)) -> i32 {
    let rank = match init(&BootOptions::default(), threading) {
        Ok(rank) => rank,
        Err(e) => {
            eprintln!("gasnet: {e}");
            return 1;
        }
    };
    if let Err(e) = rank.attach(rank.max_local_segment(), None) {
        rank.fatal(&e.to_string());
    }
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(rank)));
    use std::io::Write;
    let _ = std::io::stdout().flush();
    if outcome.is_err() {
        let _ = writeln!(
            std::io::stderr(),
            "gasnet: rank {} of {} has panicked and ends the job",
            rank.id(),
            rank.size()
        );
        rank.global_exit(101);
    }
    rank.barrier();
    rank.done(0);
    0
}
