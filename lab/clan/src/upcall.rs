//! Upcalls: handlers that run for notifications while the program computes.
//!
//! # Words
//! A number of a [`Notification`] is *armed* with a handler. Each signal of the number, also those that came
//! before it was armed, makes one *upcall*: one call of the handler, on a thread that [`Upcalls`] has for
//! that. Signals that come while a call is due wait in the count. Unlike handlers of messages, upcalls may
//! call the runtime: they put, notify, wait.
//!
//! ```text
//!   unarmed --arm--> armed --signal--> due --turn--> running --more signals--> due
//!      ^               | ^              |               '------none----> armed
//!      '----disarm-----' '--------------' hold: stays due until the last hold ends
//! ```
//!
//! # Rules
//! - Handlers of one `Upcalls` never run at the same time, and do not nest.
//! - While the program [holds](Upcalls::hold) upcalls none runs. Calls that became due meanwhile are made
//!   by the thread that ends the last hold, before it goes on. To hold and to release costs a change of a
//!   word each.
//! - A number is taken once: by an upcall, or by [`Notification::take`]. Notifications that are not taken
//!   when a number is disarmed stay pending.
//!
//! # Waking
//! The thread sleeps at a word in the segment, which ranks that share memory look at when they have raised a
//! count (`bed.rs` of this crate): a signal of a neighbour takes a wake-up. It also polls, because signals of
//! other hosts are messages: every 50 us if there are such ranks, else now and then.
mod gate;

use crate::Notification;
use crate::bed;
use crate::notification::RaisedCounts;
use core::time::Duration;
use gasnet::{Error, GlobalPtr, Rank};
use gasnet_sys::mutex::lock;
use gate::Gate;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, ThreadId};

/// Longest sleep if whoever signals wakes the thread.
const LONGEST_SLEEP_UNTIL_WOKEN: Duration = Duration::from_millis(1);
/// Length of a sleep if signals are messages, for which nobody wakes the thread.
const SLEEP_BETWEEN_POLLS: Duration = Duration::from_micros(50);

type UpcallHandler = Box<dyn FnMut(u32) + Send>;

/// A number with its handler. It is replaced when the number is armed anew.
struct Armed {
    number: u32,
    /// Cleared under the handler's lock, or before somebody waits for that.
    valid: AtomicBool,
    handler: Mutex<UpcallHandler>,
}

/// The state that the thread and the program share.
struct UpcallState {
    rank: &'static Rank,
    counts: Arc<RaisedCounts>,
    /// The own word for sleeps, and what takes its place where the segment is not mapped.
    bell: GlobalPtr<u64>,
    local: AtomicU32,
    gate: Gate,
    /// The thread that runs handlers.
    runner: Mutex<Option<ThreadId>>,
    /// By number.
    armed: Mutex<Vec<Option<Arc<Armed>>>>,
    over: AtomicBool,
}

impl UpcallState {
    fn on_bed<T>(&self, f: impl Fn(&AtomicU32) -> T) -> T {
        bed::with_word(self.rank, self.bell, &f).unwrap_or_else(|| f(&self.local))
    }

    fn armed(&self) -> Vec<Arc<Armed>> {
        lock(&self.armed).iter().flatten().cloned().collect()
    }

    fn is_runner(&self) -> bool {
        *lock(&self.runner) == Some(std::thread::current().id())
    }

    /// Calls handlers for all signals, in turns, unless upcalls are held or another thread does.
    fn run(&self) {
        while self.gate.begin() {
            let turn = HandlerTurn(self);
            *lock(&self.runner) = Some(std::thread::current().id());
            self.call_all();
            if !turn.end() {
                return;
            }
        }
    }

    /// Calls each armed handler for the signals there are.
    fn call_all(&self) {
        for armed in self.armed() {
            // As many as there are now: later ones do not keep other numbers waiting.
            for _ in 0..self.counts.pending(self.rank, armed.number) {
                let mut handler = lock(&armed.handler);
                // Relaxed: who disarms it waits for the lock, or does so in a handler.
                if self.gate.note_if_held()
                    || !armed.valid.load(Ordering::Relaxed)
                    || !self.counts.take(self.rank, armed.number)
                {
                    break;
                }
                handler(armed.number);
            }
        }
    }

    /// Whether there is a signal that a turn of the caller would be for.
    fn is_due(&self) -> bool {
        let pending = |armed: Arc<Armed>| self.counts.pending(self.rank, armed.number) > 0;
        self.armed().into_iter().any(pending) && !self.gate.note_if_held()
    }

    /// The thread.
    fn work(&self) {
        gasnet_sys::thread::sleep_exactly();
        let rung = self.rank.ranks().all(|rank| self.rank.address(self.bell.on(rank), 1).is_some());
        let longest = if rung { LONGEST_SLEEP_UNTIL_WOKEN } else { SLEEP_BETWEEN_POLLS };
        // Relaxed: whoever ends the thread waits for it.
        let over = || self.over.load(Ordering::Relaxed) || self.rank.has_departed(self.rank.id());
        while !over() {
            let polled = self.rank.poll();
            self.run();
            if polled == 0 {
                self.on_bed(|word| bed::sleep(word, longest, || self.is_due() || over()));
            }
        }
    }
}

/// A turn of handlers, which ends even if one of them panics.
struct HandlerTurn<'a>(&'a UpcallState);

impl HandlerTurn<'_> {
    /// True: there is to be another.
    fn end(self) -> bool {
        let calls = self.0;
        core::mem::forget(self);
        *lock(&calls.runner) = None;
        calls.gate.end()
    }
}

impl Drop for HandlerTurn<'_> {
    fn drop(&mut self) {
        *lock(&self.0.runner) = None;
        self.0.gate.end();
    }
}

/// The upcalls of a [`Notification`]; see the [module](self). Dropping it ends them; what is pending then
/// stays with the notification.
pub struct Upcalls {
    calls: Arc<UpcallState>,
    thread: Option<JoinHandle<()>>,
}

impl core::fmt::Debug for Upcalls {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Upcalls").field("armed", &self.calls.armed().len()).finish_non_exhaustive()
    }
}

impl Upcalls {
    /// Starts the thread that makes upcalls for a notification; there is one at a time.
    ///
    /// # Errors
    /// The rank is for one thread ([`gasnet::Threading::Serial`]); the notification has upcalls already; the
    /// system has no more threads.
    pub fn start(notification: &Notification<'static>) -> Result<Upcalls, Error> {
        let (rank, counts, bell) = notification.parts();
        if !rank.is_parallel() {
            return Err(Error::op(
                "upcalls come on a thread of their own: the rank was started for one thread",
            ));
        }
        let armed = (0..counts.len()).map(|_| None).collect();
        if !counts.serve(true) {
            return Err(Error::op("the notification has upcalls already"));
        }
        let calls = Arc::new(UpcallState {
            rank,
            counts,
            bell,
            local: AtomicU32::new(0),
            gate: Gate::new(),
            runner: Mutex::new(None),
            armed: Mutex::new(armed),
            over: AtomicBool::new(false),
        });
        let work = calls.clone();
        let builder = std::thread::Builder::new().name("gasnet-upcalls".into());
        match gasnet_sys::thread::spawn_without_signals(builder, move || work.work()) {
            Ok(thread) => Ok(Upcalls { calls, thread: Some(thread) }),
            Err(e) => {
                calls.counts.serve(false);
                Err(Error::op(format!("a thread for upcalls: {e}")))
            }
        }
    }

    /// Has `handler` called for every signal of a count, also for those that are pending. It replaces an
    /// earlier handler, as [`disarm`](Self::disarm) ends it.
    ///
    /// # Errors
    /// The number is not a count's.
    pub fn arm(&self, number: u32, handler: impl FnMut(u32) + Send + 'static) -> Result<(), Error> {
        let handler = Mutex::new(Box::new(handler) as UpcallHandler);
        let armed = Arc::new(Armed { number, valid: AtomicBool::new(true), handler });
        self.replace(number, Some(armed))?;
        // It may be asleep, with signals pending that nobody will raise again.
        self.calls.on_bed(bed::wake);
        Ok(())
    }

    /// Ends the calls of a number's handler: on return none runs, unless it is that handler, or another one,
    /// that disarms. Later signals are pending.
    ///
    /// # Errors
    /// The number is not a count's.
    pub fn disarm(&self, number: u32) -> Result<(), Error> {
        self.replace(number, None)
    }

    fn replace(&self, number: u32, by: Option<Arc<Armed>>) -> Result<(), Error> {
        let before = match lock(&self.calls.armed).get_mut(number as usize) {
            Some(place) => core::mem::replace(place, by),
            None => return Err(Error::op(format!("there is no count {number} here"))),
        };
        if let Some(before) = before {
            // Relaxed: see `call_all`.
            before.valid.store(false, Ordering::Relaxed);
            if !self.calls.is_runner() {
                drop(lock(&before.handler));
            }
        }
        Ok(())
    }

    /// Holds upcalls until the guard is dropped: none runs on return, unless a handler itself holds. Holds
    /// may overlap. A handler must not wait for a thread that holds.
    pub fn hold(&self) -> HeldUpcalls<'_> {
        self.calls.gate.hold();
        if !self.calls.is_runner() {
            self.calls.gate.wait_until_quiet();
        }
        HeldUpcalls(&self.calls)
    }
}

impl Drop for Upcalls {
    fn drop(&mut self) {
        // Relaxed: the wake has a fence; the thread is waited for.
        self.calls.over.store(true, Ordering::Relaxed);
        lock(&self.calls.armed).iter_mut().for_each(|armed| *armed = None);
        self.calls.on_bed(bed::wake);
        if let Some(thread) = self.thread.take().filter(|t| t.thread().id() != std::thread::current().id()) {
            // A panic of a handler has been reported.
            let _ = thread.join();
        }
        self.calls.counts.serve(false);
    }
}

/// While it exists no upcall runs. Dropping the last one makes those that are due.
#[must_use = "dropping it ends the hold"]
pub struct HeldUpcalls<'a>(&'a UpcallState);

impl core::fmt::Debug for HeldUpcalls<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("HeldUpcalls").finish()
    }
}

impl Drop for HeldUpcalls<'_> {
    fn drop(&mut self) {
        if self.0.gate.release() {
            self.0.run();
        }
    }
}
