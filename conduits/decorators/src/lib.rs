//! Conduits around conduits.
//!
//! [`Faulty`] does to frames what networks do to datagrams; [`Traced`] records all operations. Both can wrap
//! any conduit, and each other; [`wrap`] applies those that the settings ask for.
//!
//! A conduit promises that frames arrive exactly once and whole, in any order. So programs have to tolerate
//! only two of the faults, late and out of order. The other three break the promise, and show how the runtime
//! reacts. The udp conduit repairs such faults: it applies [`Faults`] to its datagrams, below its protocol
//! (`GASNET_UDP_FAULTY`).

/// Forwards methods to the `inner` conduit. A decorator lists every method, its own or forwarded: a lint
/// denies methods with the trait's default, so a new method of the trait cannot be forgotten.
macro_rules! forward {
    () => {
        fn name(&self) -> &'static str {
            self.inner.name()
        }

        fn limits(&self, to: Peer, nargs: usize) -> gasnet::conduit::Limits {
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

        fn attach(&self, segment: &gasnet::conduit::SegmentDesc) -> Result<(), Error> {
            self.inner.attach(segment)
        }

        fn segment_memory(&self, len: usize) -> Result<Option<core::ptr::NonNull<u8>>, Error> {
            self.inner.segment_memory(len)
        }

        fn nic(&self) -> Option<&dyn gasnet::sync::port::NicPort> {
            self.inner.nic()
        }

        fn left_for(&self, rank: RankId) -> Option<Duration> {
            self.inner.left_for(rank)
        }

        fn counters(&self) -> Vec<(&'static str, u64)> {
            self.inner.counters()
        }

        fn idle(&self, what: &'static str) -> bool {
            self.inner.idle(what)
        }

        fn clock(&self) -> Option<Duration> {
            self.inner.clock()
        }
    };
}

mod faults;
mod faulty;
mod settings;
mod traced;

pub use faults::{Fate, Faults, Late, Plan};
pub use faulty::Faulty;
pub use settings::{SETTINGS, plan};
pub use traced::Traced;

use gasnet::Error;
use gasnet::conduit::{Conduit, OpenContext};
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
