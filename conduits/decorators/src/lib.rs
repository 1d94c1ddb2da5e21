//! Conduits around conduits.
//!
//! [`Faulty`] does to frames what networks do to datagrams; [`Traced`] writes down what passes. Both go around any conduit,
//! and around each other; [`wrap`] puts on what the settings ask for.
//!
//! A conduit promises that frames arrive exactly once and whole, in any order. So only two of the faults, late and out of order,
//! are ones that a program has to stand; the other three break the promise and show what the runtime makes of it. A conduit
//! that repairs such faults, udp, applies [`Faults`] to its datagrams, below its protocol (`GASNET_UDP_FAULTY`).

/// What both conduits here leave to their `inner` one.
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
mod traced;

pub use faults::{Fate, Faults, Late, Plan};
pub use faulty::Faulty;
pub use traced::Traced;

use gasnet::conduit::{Conduit, OpenContext};
use gasnet::{Config, Error};

/// Looks at the settings of this crate, whether or not this job has a use for them.
///
/// # Errors
/// A setting that is not understood.
pub fn check(config: &Config) -> Result<(), Error> {
    plan("GASNET_FAULTY", config.faulty.as_deref())?;
    plan("GASNET_UDP_FAULTY", config.udp_faulty.as_deref()).map(drop)
}

/// The faults that a setting asks for.
fn plan(name: &str, text: Option<&str>) -> Result<Option<Plan>, Error> {
    let read = |text: &str| Plan::parse(text).map_err(|what| Error::job(format!("{name}={text}: {what}")));
    text.map(read).transpose()
}

/// Puts the decorators around a conduit that the settings ask for: faults inside, so that a trace shows what they leave.
///
/// # Errors
/// A setting that is not understood, or a trace that cannot be written.
pub fn wrap(cx: &OpenContext<'_>, conduit: Box<dyn Conduit>) -> Result<Box<dyn Conduit>, Error> {
    let mut conduit = conduit;
    if let Some(plan) = plan("GASNET_FAULTY", cx.config.faulty.as_deref())? {
        conduit = Box::new(Faulty::new(conduit, plan.of_rank(cx.rank.0)));
    }
    if let Some(path) = &cx.config.traced {
        conduit = Box::new(Traced::to_file(conduit, path, cx.rank)?);
    }
    Ok(conduit)
}
