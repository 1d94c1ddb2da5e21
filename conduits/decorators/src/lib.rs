//! Conduits around conduits.
//!
//! [`Faulty`] does to frames what networks do to datagrams; [`Traced`] writes a line for each operation. Both
//! can wrap any conduit, and each other; [`wrap`] applies those that the settings ask for. [`record`] keeps
//! what a rank gets from the others, and [`replay`] runs that rank again without them.
//!
//! A conduit promises that frames arrive exactly once and whole, in any order. So programs have to tolerate
//! only two of the faults, late and out of order. The other three break the promise, and show how the runtime
//! reacts. The udp conduit repairs such faults: it applies [`Faults`] to its datagrams, below its protocol
//! (`GASNET_UDP_FAULTY`).
//!
//! # Words
//!
//! - *inner*: the conduit that a decorator wraps.
//! - *plan*: the rate of each fault, and the seed ([`FaultRates`]).
//! - *fate*: what happens to one frame ([`Fate`]); the sequence of fates follows from the plan ([`Faults`]).
//! - *tape*: the file with what a rank got ([`tape`]); an *event* is an entry of it.
//! - *idle poll*: a poll that found nothing.
//! - *look*: the program reads a clock.
//! - *held*: a frame that has arrived, and is delivered later.
//!
//! # Layers
//!
//! ```text
//! lib        wraps a conduit as the settings ask; forwards methods
//! faulty     a conduit whose frames vanish, double, change or come late       settings   reads them
//! faults     plans and fates, which udp uses too       traced     writes a line for each operation
//! replay     a rank runs again, alone                  record     what it gets is kept
//! follow     all run again, in the recorded order      view       what a debugger sees of a replay
//! tape       the file of a recording                   inputs     clocks that the program reads
//! ```
//!
//! # A late frame, traced
//!
//! With `GASNET_FAULTY=reorder=5%`, [`wrap`] puts a [`Faulty`] around the conduit of each rank, with a
//! sequence of fates of its own ([`FaultRates::of_rank`]). Sending is the inner conduit's: faults happen
//! where frames arrive. `Faulty::poll` (`faulty.rs`) first delivers held frames that are due. Then it polls
//! the inner conduit, and draws a fate for each frame (`faults.rs`). A frame that others are to pass is
//! copied and held. Every further frame of its channel counts it down, and the poll that finds the count at
//! zero delivers it. If no others come, it is delivered after a number of empty polls.
//!
//! # Invariants
//!
//! 1. A decorator writes out every method of the traits, its own or forwarded.
//! 2. No lock is held while a frame is delivered: the core may send and poll in it.
//! 3. While a frame is held, the rank neither dozes in the inner conduit nor sleeps on its descriptor, which
//!    would not report that the frame is due.
//! 4. What a recorded rank learns is on its tape before it learns it.
//! 5. The same plan gives the same fates, in the order in which frames arrive.

/// Forwards methods to the `inner` conduit. A decorator lists every method, its own or forwarded: a lint
/// denies methods with the trait's default, so a new method of the trait cannot be forgotten.
macro_rules! forward {
    () => {
        fn name(&self) -> &'static str {
            self.inner.name()
        }

        fn limits(&self, to: RankId, nargs: usize) -> gasnet_wire::conduit::Limits {
            self.inner.limits(to, nargs)
        }

        unsafe fn commit(&self, slot: RawSlot) {
            // SAFETY: owed by the caller.
            unsafe { self.inner.commit(slot) };
        }

        unsafe fn cancel(&self, slot: RawSlot) {
            // SAFETY: owed by the caller.
            unsafe { self.inner.cancel(slot) };
        }

        fn sends_before_attach(&self) -> bool {
            self.inner.sends_before_attach()
        }

        fn attach(&self, segment: &gasnet_wire::conduit::SegmentDesc) -> Result<(), Error> {
            self.inner.attach(segment)
        }

        fn segment_memory(&self, len: usize) -> Result<Option<core::ptr::NonNull<u8>>, Error> {
            self.inner.segment_memory(len)
        }

        fn advise(&self, offset: u64, len: u64, advice: gasnet_wire::conduit::Advice) {
            self.inner.advise(offset, len, advice);
        }

        fn nic(&self) -> Option<&dyn gasnet_wire::port::NicPort> {
            self.inner.nic()
        }

        fn left_for(&self, rank: RankId) -> Option<Duration> {
            self.inner.left_for(rank)
        }

        fn counters(&self) -> Vec<(&'static str, u64)> {
            self.inner.counters()
        }

        fn survival(&self) -> Option<&dyn gasnet_wire::conduit::Survival> {
            // What it makes would not be decorated.
            None
        }

        fn idle(&self, what: &'static str, meanwhile: gasnet_wire::conduit::Meanwhile) -> bool {
            self.inner.idle(what, meanwhile)
        }

        fn clock(&self) -> Option<Duration> {
            self.inner.clock()
        }
    };
}

/// Methods of a conduit that is recorded, or takes the place of one: all that the rank learns of others is to
/// come by messages and exchanges, at its polls.
macro_rules! messages_only {
    () => {
        /// A rank that attaches its segment would otherwise serve messages until a meeting is over, which is
        /// no matter of polls.
        fn sends_before_attach(&self) -> bool {
            false
        }

        fn segment_memory(&self, _: usize) -> Result<Option<core::ptr::NonNull<u8>>, Error> {
            Ok(None)
        }

        /// What others do with one-sided operations would not be seen.
        fn rma(&self) -> Option<&dyn gasnet_wire::conduit::Rma> {
            None
        }

        fn regions(&self) -> Option<&dyn gasnet_wire::conduit::regions::RegionRma> {
            None
        }

        fn nic(&self) -> Option<&dyn gasnet_wire::port::NicPort> {
            None
        }

        /// Jobs that survive deaths are neither recorded nor replayed.
        fn survival(&self) -> Option<&dyn gasnet_wire::conduit::Survival> {
            None
        }

        fn clock(&self) -> Option<core::time::Duration> {
            None
        }
    };
}

mod faults;
mod faulty;
mod fingerprint;
pub mod follow;
mod inputs;
pub mod record;
pub mod replay;
mod settings;
pub mod tape;
mod traced;
mod view;

pub use faults::{Fate, FaultRates, Faults, Late, UnknownFault};
pub use faulty::Faulty;
pub use settings::{SETTINGS, plan};
pub use traced::Traced;

use gasnet_wire::Error;
use gasnet_wire::conduit::{Conduit, OpenContext};
use settings::Settings;

/// Checks the settings of this crate, whether or not this job uses them.
///
/// # Errors
/// An invalid setting.
pub fn check_settings() -> Result<(), Error> {
    Settings::read().map(drop)
}

/// The settings about frames that were made. Where no frames are sent they have no effect.
///
/// # Errors
/// An invalid setting.
pub fn asked() -> Result<Vec<&'static str>, Error> {
    let settings = Settings::read()?;
    let all = [("GASNET_FAULTY", settings.faulty.is_some()), ("GASNET_TRACED", settings.traced.is_some())];
    Ok(all.into_iter().filter(|(_, set)| *set).map(|(name, _)| name).collect())
}

/// Wraps a conduit with the decorators that the settings ask for. Faults are inside, so that a trace shows
/// their effects.
///
/// # Errors
/// An invalid setting, or a trace file that cannot be written.
pub fn wrap(cx: &OpenContext<'_>, conduit: Box<dyn Conduit>) -> Result<Box<dyn Conduit>, Error> {
    let mut conduit = conduit;
    let settings = Settings::read()?;
    if let Some(plan) = settings.faulty {
        conduit = Box::new(Faulty::new(conduit, plan.of_rank(cx.rank.0)));
    }
    if let Some(path) = &settings.traced {
        conduit = Box::new(Traced::to_file(conduit, path, cx.rank)?);
    }
    Ok(conduit)
}
