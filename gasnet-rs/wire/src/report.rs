//! Why a rank is blocked: what it waits for, for which rank, since when, and where in the program.
//!
//! The monitor asks with a signal. Each thread that has been waiting for a while answers at the next step of
//! its wait, so that nothing is recorded while all goes well. The wait knows its purpose; the stack shows its
//! place in the program. A wait also tells the monitor every second that it continues and that nothing has
//! happened. The monitor ends the job if all remaining ranks wait for ranks that have ended, or if two ranks
//! wait at places where they can never meet. If all ranks have waited for ten seconds, it asks them all once.
//! A program may wait outside of the runtime, in an executor of its own. A library above knows that
//! ([`Awaited`]): a thread that waits in the runtime answers for it, too, or one that serves beside the
//! program.
//!
//! With `GASNET_WAIT_REPORT=seconds`, a wait that takes longer reports without being asked, and the
//! monitor then asks all ranks.

use crate::boot::{Blocked, MeetingPlace, ToMonitor};
use crate::question::asked;
use crate::shm::map;
use crate::wait::{Told, Waiter};
use crate::{RankId, Wire, threads};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::OnceLock;

pub use crate::question::question;

/// Seconds between two notes to the monitor that a wait for other ranks continues.
const SECONDS_BETWEEN_NOTES: u32 = 1;
/// Number of waits that have sent such notes.
static TOLD: AtomicU32 = AtomicU32::new(0);

/// Something that the program waits for, though no thread of it waits in the runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Awaited {
    /// The rank that it comes from.
    pub peer: RankId,
    /// The purpose of the wait.
    pub what: String,
    /// How long it has been so.
    pub seconds: u64,
    /// Where in the program it was asked for; empty if unknown.
    pub place: String,
}

/// A rank's additions to its answers.
#[derive(Default)]
pub(crate) struct Beside {
    awaited: OnceLock<Box<dyn Fn() -> Vec<Awaited> + Send + Sync>>,
    /// The question that was answered last.
    answered: AtomicU32,
}

/// Beginnings of the names of the runtime's functions. The first function with another name is the place
/// where the program waits.
const RUNTIME: [&str; 21] = [
    "gasnet",
    "<gasnet",
    "_<gasnet",
    "core::",
    "<core",
    "std::",
    "<std",
    "alloc::",
    "<alloc",
    "upc_rt",
    "<upc_rt",
    "upc::",
    "<upc::",
    "__upc",
    "upcr",
    "upc_",
    "caf_gasnet",
    "<caf_gasnet",
    "_gfortran_caf_",
    "__rust",
    "<unknown",
];

/// The name that `main` of a UPC program has in its executable.
const UPC_MAIN: &str = "__upc_user_main";

/// The place in the program in a backtrace as text: function, and file and line if known.
fn place(backtrace: &str) -> Option<String> {
    let mut lines = backtrace.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let Some((number, name)) = line.split_once(": ") else { continue };
        let is_upc_main = name == UPC_MAIN;
        let is_runtime = !is_upc_main && RUNTIME.iter().any(|own| name.starts_with(own));
        if number.parse::<u32>().is_err() || is_runtime {
            continue;
        }
        let name = if is_upc_main { "main" } else { name };
        let at = lines.peek().and_then(|next| next.strip_prefix("at "));
        return Some(match at {
            Some(at) => format!("{name} ({at})"),
            None => name.to_string(),
        });
    }
    None
}

/// The place in the program where the calling thread is: function, and file and line if known. It allocates,
/// and reads the executable's debugging information.
pub fn place_in_program() -> Option<String> {
    place(&std::backtrace::Backtrace::force_capture().to_string())
}

/// The program's additions to reports of waits. They come from `Rank::reports`.
#[derive(Debug, Clone, Copy)]
pub struct ReportCalls<'a> {
    pub(crate) wire: &'a Wire,
}

impl Wire {
    /// The program's additions to reports of waits.
    #[inline]
    pub fn reports(&self) -> ReportCalls<'_> {
        ReportCalls { wire: self }
    }

    /// Called at steps of a wait that sleeps: reports if the monitor asks, or if the wait takes too long.
    #[cold]
    pub(crate) fn explain_wait(&self, waiter: &mut Waiter, what: &'static str, peer: Option<RankId>) {
        self.tell_wait(waiter, what, peer);
        self.reports().answer();
        if waiter.asked == asked() && (waiter.reported || self.config.wait_report.is_none()) {
            return;
        }
        let Some(slept) = waiter.asleep_for() else { return };
        let overdue =
            !waiter.reported && self.config.wait_report.is_some_and(|limit| slept.as_secs() >= limit);
        if !overdue && waiter.asked == asked() {
            return;
        }
        waiter.asked = asked();
        waiter.reported |= overdue;
        let blocked =
            Blocked { place: place_in_program().unwrap_or_default(), ..self.blocked(waiter, what, peer) };
        if overdue && !self.has_monitor() {
            crate::last_words::say(&format!("gasnet: rank {} {}", self.id(), blocked.in_words()));
        }
        self.tell(&ToMonitor::Blocked(overdue, blocked));
    }

    #[cold]
    fn tell_awaited(&self, question: u32) {
        // Relaxed: one thread sees that the question is new.
        if self.beside.answered.swap(question, Relaxed) == question {
            return;
        }
        for Awaited { peer, what, seconds, place } in self.beside.awaited.get().map_or(vec![], |all| all()) {
            let blocked = Blocked { peer: Some(peer.0), what, seconds, place, ..Blocked::default() };
            self.tell(&ToMonitor::Blocked(false, blocked));
        }
    }

    fn blocked(&self, waiter: &Waiter, what: &'static str, peer: Option<RankId>) -> Blocked {
        let meetings = self.above().map_or(0, |above| above.meetings());
        let phases = self.phases.take();
        let reached = [phases.joined(), meetings, u32::from(self.is_attaching())];
        let barrier = (phases.notified && !phases.by_nics && peer.is_none()).then_some(phases.phase);
        let number = |place| match place {
            // NICs do not tell how far they are.
            MeetingPlace::Barrier => (phases.notified && !phases.by_nics).then_some(phases.phase),
            // A call that waits has started the last one.
            MeetingPlace::Collective => reached[place as usize].checked_sub(1),
            MeetingPlace::Attach => Some(0),
        };
        Blocked {
            peer: peer.map(|p| p.0),
            barrier,
            seconds: waiter.asleep_for().unwrap_or_default().as_secs(),
            place: String::new(),
            what: what.to_string(),
            for_others: waiter.for_others,
            served_beside: self.config.progress_thread,
            meeting: waiter.meeting.and_then(|place| Some((place, number(place)?))),
            reached,
        }
    }

    /// Tells the monitor from time to time that a wait continues, unless this rank may do something else
    /// meanwhile.
    pub fn tell_wait(&self, waiter: &mut Waiter, what: &'static str, peer: Option<RankId>) {
        let now = map::last_tick().as_secs() as u32;
        let told = waiter.told.get_or_insert(Told { due: now + SECONDS_BETWEEN_NOTES + 1, number: 0 });
        if now < told.due {
            return;
        }
        let others = self.parallel && threads::of_program(self.own_threads.get().map_or(&[], |own| own)) > 1;
        if others || !self.has_monitor() {
            told.due = u32::MAX;
            return;
        }
        told.due = now + SECONDS_BETWEEN_NOTES;
        if told.number == 0 {
            told.number = TOLD.fetch_add(1, Relaxed).wrapping_add(1);
        }
        let number = told.number;
        self.tell(&ToMonitor::Waits(number, self.blocked(waiter, what, peer)));
    }
}

impl ReportCalls<'_> {
    /// Has reports say what `awaited` returns, beside what threads wait for in the runtime. Once; it must
    /// not call the runtime.
    pub fn awaited(self, awaited: impl Fn() -> Vec<Awaited> + Send + Sync + 'static) {
        let _ = self.wire.beside.awaited.set(Box::new(awaited));
    }

    /// Tells the monitor what the program waits for outside of the runtime, if the monitor has asked and
    /// no other thread of the rank has told. For threads that neither are the program's nor wait; those
    /// that wait do it.
    #[inline]
    pub fn answer(self) {
        let question = asked();
        if self.wire.beside.answered.load(Relaxed) != question {
            self.wire.tell_awaited(question);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_the_first_frame_of_the_program() {
        let trace = "   0: <std::backtrace::Backtrace>::create\n             at /rust/x.rs:331:13\n   1: gasnet::report::f\n\
                     \n             at ./a.rs:1:2\n   2: __upc_wait\n   3: solve\n             at /home/me/heat.upc:57\n   4: main\n";
        assert_eq!(place(trace).as_deref(), Some("solve (/home/me/heat.upc:57)"));
        let upc = "   0: upc::faults::say\n   1: <unknown>\n   2: __upc_user_main\n             at ./null.upc:7:5\n   3: __upc_call_main\n\
                   \n             at ./<upcc>:8:10\n   4: upc::run::run\n   5: __upc_run\n   6: main\n             at ./<upcc>:15:10\n";
        assert_eq!(place(upc).as_deref(), Some("main (./null.upc:7:5)"));
        let fortran = "   0: caf_gasnet::sync::<impl caf_gasnet::image::Image>::sync_all\n             at ./caf/src/sync.rs:74:23\n   \
                       1: _gfortran_caf_sync_all\n   2: MAIN__\n             at /home/me/heat.f90:31\n";
        assert_eq!(place(fortran).as_deref(), Some("MAIN__ (/home/me/heat.f90:31)"));
        assert_eq!(place("   0: core::x\n   1: user_main\n").as_deref(), Some("user_main"));
        assert_eq!(place("disabled backtrace"), None);
    }
}
