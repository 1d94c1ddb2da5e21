//! How a rank leaves: the only fail-stop of the crate, and the packets that tell the monitor.
#![expect(
    unsafe_code,
    reason = "_exit, and a send on the monitor's socket that must work in any state of the process"
)]

use crate::boot::ToMonitor;
use crate::last_words::{leave, say};
use crate::prim::Ordering::{self, Relaxed};
use crate::shm::{HostHeader, map};
use crate::{Boot, Error, Wire, context};
use std::os::fd::AsRawFd;

/// Time after which a rank does not believe any more that another one is printing.
const PRINTING: std::time::Duration = std::time::Duration::from_secs(5);

/// Other ways to end a rank or the job than `Rank::done`, `Rank::global_exit` and `Rank::fatal`. It comes
/// from `Rank::ending`.
#[derive(Debug, Clone, Copy)]
pub struct EndCalls<'a> {
    pub(crate) wire: &'a Wire,
}

impl Wire {
    /// Other ways to end a rank or the job than `Rank::done`, `Rank::global_exit` and `Rank::fatal`.
    #[inline]
    pub fn ending(&self) -> EndCalls<'_> {
        EndCalls { wire: self }
    }

    pub(crate) fn tell(&self, packet: &ToMonitor) {
        // A child of this rank that inherited the object by fork is not the rank.
        if std::process::id() == self.pid {
            tell(&self.boot, packet);
        }
    }

    pub(crate) fn tell_attached(&self) {
        self.tell(&ToMonitor::Attached);
    }

    /// Ends the whole job at once with this code; the first such call of the job decides. Flush standard
    /// output first: nothing else of this process runs after it.
    pub fn global_exit(&self, code: i32) -> ! {
        self.ending().say_counted_early();
        self.end_job(code, &ToMonitor::GlobalExit(code))
    }

    fn end_job(&self, code: i32, packet: &ToMonitor) -> ! {
        if self.is_own_process() && self.boot.overseer.as_ref().is_some_and(|overseer| overseer.all_leave()) {
            self.done(code);
        } else {
            self.tell(packet);
        }
        self.leave(code)
    }

    fn say_counted(&self) {
        let Some(conduit) = self.conduit.as_ref().filter(|_| self.config.stats && self.is_own_process())
        else {
            return;
        };
        let counters = conduit.counters();
        let counted: Vec<String> =
            counters.iter().filter(|c| c.1 != 0).map(|(name, n)| format!("{name} {n}")).collect();
        let (me, name) = (self.id(), conduit.name());
        say(&format!("gasnet: rank {me} of {}: {name}: {}", self.size(), counted.join(", ")));
    }

    /// Tells the monitor that this rank ends in order with this code; the caller then returns from `main` or
    /// exits. The job goes on until all ranks are done, and its code is the first one that is not 0.
    pub fn done(&self, code: i32) {
        if self.is_own_process() {
            self.say_goodbye();
        }
        if let Some(progress) = &self.progress {
            progress.stop();
        }
        // A child that was forked is not the rank.
        if let (Some(conduit), true) = (&self.conduit, self.is_own_process()) {
            conduit.close();
            self.say_counted();
        }
        self.tell(&ToMonitor::Barriers(self.phases.take().joined()));
        self.tell(&ToMonitor::Done(code));
    }

    /// Tells the other ranks of the host that this rank has left.
    fn say_goodbye(&self) {
        let Ok(own) = self.boot.host_ranks.binary_search(&self.id().0) else { return };
        let now = map::last_tick().as_millis() as u64;
        // ORDER: Release, both; pair with Acquire in left_for: what this rank sent to others through shared
        // memory is there.
        self.blocks[own].left_at.store(now.max(1), Ordering::Release);
        self.header.left.count.fetch_add(1, Ordering::Release);
    }

    /// Ends the whole job because of an error: prints `text` with the rank and leaves with code 1.
    pub fn fatal(&self, text: &str) -> ! {
        self.ending().fatal_with("gasnet: ", text)
    }

    /// Ends the job when a function that the runtime has called does what only the program may.
    #[inline]
    pub fn check_context(&self, what: &str) {
        if !context::in_program() {
            self.refuse(what);
        }
    }

    #[cold]
    fn refuse(&self, what: &str) {
        if let Some(why) = context::objection(what) {
            self.fatal(&why);
        }
    }

    fn leave(&self, code: i32) -> ! {
        match &self.boot.overseer {
            Some(overseer) if self.is_own_process() => overseer.leave(code),
            _ => leave(code),
        }
    }
}

impl EndCalls<'_> {
    /// Ends the job with this code where all ranks are expected to end it, each by itself: with 0, the
    /// others are given time to come to their own end. From anywhere, as from a signal handler that has
    /// interrupted anything: it waits for no lock.
    pub fn exit_together(self, code: i32) -> ! {
        self.wire.end_job(code, &ToMonitor::Leaves(code))
    }

    /// Before [`EndCalls::exit_together`]: prints what the conduit has counted, if `GASNET_STATS` asks for
    /// it. Waits for a call of the conduit that is under way.
    pub fn say_counted_early(self) {
        // Else it is said when all leave together.
        if self.wire.boot.overseer.is_none() {
            self.wire.say_counted();
        }
    }

    /// `Rank::fatal` with another prefix than `gasnet: `.
    #[cold]
    pub fn fatal_with(self, prefix: &str, text: &str) -> ! {
        self.fatal_about(prefix, text, text)
    }

    /// [`EndCalls::fatal_with`] for an error that ranks meet together and see differently: one of those with
    /// the same `subject` prints its text.
    #[cold]
    pub fn fatal_about(self, prefix: &str, subject: &str, text: &str) -> ! {
        let line = format!("{prefix}rank {} of {}: {text}", self.wire.boot.rank, self.wire.boot.size);
        self.fatal_line(subject, &line)
    }

    /// [`EndCalls::fatal_about`] in the words of a language: prints this line, as it is.
    #[cold]
    pub fn fatal_line(self, subject: &str, line: &str) -> ! {
        say_once(self.wire.header, subject, line);
        self.wire.tell(&ToMonitor::Abort(1, line.to_string()));
        self.wire.leave(1)
    }
}

fn tell(boot: &Boot, packet: &ToMonitor) {
    if let Some(overseer) = &boot.overseer {
        overseer.hear(packet);
    }
    if let Some(link) = &boot.link {
        let bytes = packet.encode();
        // SAFETY: plain system call on an open socket; a monitor that is gone is no reason to stop leaving.
        unsafe {
            libc::send(link.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL);
        }
    }
}

/// Prints an error unless another rank of the host prints one about the subject: what all find wrong is said
/// once. Returns when it has been printed, since the monitor may end whoever prints as soon as one of them
/// has told it.
fn say_once(header: &HostHeader, subject: &str, line: &str) {
    let mut hasher = std::hash::DefaultHasher::new();
    std::hash::Hash::hash(subject, &mut hasher);
    let mark = std::hash::Hasher::finish(&hasher) | 1;
    // Relaxed: the words decide who prints, and hand over nothing.
    if header.saying.swap(mark, Relaxed) == mark {
        let since = std::time::Instant::now();
        while since.elapsed() < PRINTING {
            if header.said.load(Relaxed) == mark {
                return;
            }
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
    }
    say(line);
    header.said.store(mark, Relaxed);
}

/// Ends the whole job because it cannot start: as [`Wire::fatal`] before there is a rank. The program's
/// output so far is printed.
pub(crate) fn refuse(boot: &Boot, header: &HostHeader, why: &Error) -> ! {
    let text = why.to_string();
    // SAFETY: a null pointer means all of C's output streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    if boot.link.is_some() {
        tell(boot, &ToMonitor::Refused(text));
    } else {
        say_once(header, &text, &format!("gasnet: rank {} of {}: {text}", boot.rank, boot.size));
        tell(boot, &ToMonitor::Abort(1, text));
    }
    match &boot.overseer {
        Some(overseer) => overseer.leave(1),
        None => leave(1),
    }
}

/// [`refuse`] while there is no memory yet in which ranks agree who speaks; returns where nobody watches over
/// this rank who would.
pub(crate) fn refuse_early(boot: &Boot, why: Error) -> Error {
    if boot.link.is_none() {
        return why;
    }
    // SAFETY: a null pointer means all of C's output streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    tell(boot, &ToMonitor::Refused(why.to_string()));
    leave(1)
}
