//! How a simulation ends before its programs do.

use crate::choice::Chooser;
use crate::time::Time;
use std::fmt;

/// Why a simulation ended before its programs did. Its message contains the seed.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The seed that repeats it.
    pub seed: u64,
    /// The virtual time of the failure.
    pub time: Time,
    /// The cause.
    pub what: Cause,
    /// Number of events until then.
    pub events: u64,
    /// The trace until then.
    pub trace: u64,
    /// The chooser, if there was one.
    pub chooser: Option<Box<Chooser>>,
}

/// See [`Failure`].
#[derive(Debug, Clone)]
pub enum Cause {
    /// All ranks wait, and no event is left. Lists what each rank waits for.
    Deadlock(Vec<Waiting>),
    /// A rank's program panicked.
    Panic {
        /// The rank.
        rank: u32,
        /// The message of the panic.
        text: String,
        /// Where in the program, if the rank has said so: a file and a line.
        place: String,
    },
    /// A rank ended the job.
    Ended {
        /// The rank.
        rank: u32,
        /// The exit code.
        code: i32,
        /// The message.
        text: String,
    },
    /// A rank's program did what ends a process by a signal.
    Crash {
        /// The rank.
        rank: u32,
        /// The signal.
        signal: i32,
        /// Its meaning.
        text: String,
        /// Where in the program: a file and a line, or a function.
        place: String,
    },
    /// A rank has used the processor for longer than the limit allows without calling the runtime.
    Endless {
        /// The rank.
        rank: u32,
        /// Where in the program: a file and a line, or a function.
        place: String,
    },
    /// More events happened than the limit allows.
    TooLong(u64),
    /// The simulation could not start.
    Start(String),
}

/// A rank that waits.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// The rank.
    pub rank: u32,
    /// The time since which it waits.
    pub since: Time,
    /// The reason of its wait.
    pub why: &'static str,
    /// Number of its one-sided operations under way.
    pub ops: u32,
    /// Number of messages that it has not taken.
    pub unread: usize,
    /// Where in its program it waits, if that is known: a file and a line, or a function.
    pub place: String,
}

impl Cause {
    /// A rank gave its NIC an address where it has no memory.
    pub(crate) fn no_memory(rank: u32) -> Cause {
        let text = "nothing is at an address that it gave to a put or a get".into();
        Cause::Crash { rank, signal: libc::SIGSEGV, text, place: String::new() }
    }
}

impl Failure {
    pub(crate) fn before_start(seed: u64, what: Cause) -> Failure {
        Failure { seed, time: Time::ZERO, what, events: 0, trace: 0, chooser: None }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "simulation with seed {} failed at {}: ", self.seed, self.time)?;
        match &self.what {
            Cause::Deadlock(all) => {
                write!(f, "deadlock: {} ranks wait and nothing is under way", all.len())?;
                for w in all.iter().take(16) {
                    write!(f, "\n  rank {} waits for {} since {}", w.rank, w.why, w.since)?;
                    f.write_str(&at(&w.place))?;
                    write!(f, " ({} operations open, {} messages unread)", w.ops, w.unread)?;
                }
                if all.len() > 16 {
                    write!(f, "\n  and {} more", all.len() - 16)?;
                }
                Ok(())
            }
            Cause::Panic { rank, text, place } => write!(f, "rank {rank} panicked: {text}{}", at(place)),
            Cause::Ended { rank, code, text } => write!(f, "rank {rank} ended the job with {code}: {text}"),
            Cause::Crash { rank, signal, text, place } => {
                write!(f, "rank {rank} crashed: {text} (signal {signal}){}", at(place))
            }
            Cause::Endless { rank, place } => {
                write!(f, "rank {rank} does not call the runtime any more{}", at(place))
            }
            Cause::TooLong(events) => write!(f, "not over after {events} events"),
            Cause::Start(text) => f.write_str(text),
        }
    }
}

/// A place, if it is known.
fn at(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(" at {place}") }
}

impl std::error::Error for Failure {}
