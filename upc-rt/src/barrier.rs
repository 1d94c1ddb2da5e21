//! `upc_notify`, `upc_wait`, `upc_barrier`, and the meetings of collective functions.
//!
//! The core's split-phase barrier does the work, and merges the names given by all threads into a consensus.
//! This module adds UPC's rules: strict alternation of notify and wait, what a mismatch is, and that a thread
//! that has ended never arrives. The implicit barriers at start and end cannot match a barrier of the user:
//! the start uses the core before user code runs, and the end counts threads (see [`crate::exit`]).

use crate::control::field;
use crate::state::Upc;
use gasnet::atomics::Function;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*, fence};

/// Arguments of a collective function that must be the same on all threads, with their names.
pub type Arguments<'a> = &'a [(&'static str, u64)];

/// This thread's side of the barrier.
#[derive(Default)]
pub struct BarrierState {
    /// Barriers joined so far.
    joined: AtomicU64,
    /// Whether the thread is between notify and wait.
    inside: AtomicBool,
    /// Collective results read so far.
    results: AtomicU64,
    /// A mismatch was reported as a warning: do not repeat it.
    warned: AtomicBool,
}

impl Upc {
    /// `upc_notify`; `name` is its expression, if it has one.
    pub fn notify(&self, name: Option<i32>) {
        if self.barrier.inside.load(Relaxed) {
            self.fatal("upc_notify: notified twice without upc_wait in between");
        }
        self.join(name);
    }

    /// `upc_wait`.
    pub fn wait(&self, name: Option<i32>) {
        if !self.barrier.inside.load(Relaxed) {
            self.fatal("upc_wait: there was no upc_notify before it");
        }
        self.leave(name);
    }

    /// `upc_wait` if it would not block; whether it was done.
    pub fn try_wait(&self, name: Option<i32>) -> bool {
        if !self.barrier.inside.load(Relaxed) {
            self.fatal("upcr_try_wait: there was no upc_notify before it");
        }
        self.core.poll();
        let Some(agreed) = self.core.barrier_test(name) else {
            // Programs probably try in a loop: let the threads run that have not arrived.
            std::thread::yield_now();
            return false;
        };
        self.left();
        if !agreed {
            self.mismatch(name);
        }
        true
    }

    /// `upc_barrier`.
    pub fn full_barrier(&self, name: Option<i32>) {
        if self.barrier.inside.load(Relaxed) {
            self.fatal("upc_barrier: between upc_notify and upc_wait");
        }
        self.join(name);
        self.leave(name);
    }

    /// All threads meet inside a collective function.
    pub fn meet(&self, function: &str) {
        self.check_outside(function);
        self.join(None);
        self.leave(None);
    }

    fn check_outside(&self, function: &str) {
        if self.barrier.inside.load(Relaxed) {
            self.fatal(&format!(
                "{function}: a collective function was called between upc_notify and upc_wait"
            ));
        }
    }

    /// [`Upc::meet`] for all threads that call the same function with the same arguments; others end the job.
    pub fn meet_agreeing(&self, function: &str, arguments: Arguments<'_>) {
        self.check_outside(function);
        // FNV-1a; the name of a barrier has 32 bits.
        let bytes = arguments.iter().flat_map(|a| a.1.to_le_bytes());
        let hash = function
            .bytes()
            .chain(bytes)
            .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        let name = Some((hash ^ hash >> 32) as i32);
        self.join(name);
        if !self.finish(name) {
            let list: Vec<String> = arguments.iter().map(|(n, v)| format!("{n} {v:#x}")).collect();
            self.fatal(&format!(
                "{function}: the threads call different collective functions, or with different arguments; thread {} calls \
                 this one with {}",
                self.me,
                list.join(", ")
            ));
        }
    }

    /// Collective: `f` runs on thread 0, and all threads get its value.
    pub fn collective(&self, function: &str, arguments: Arguments<'_>, f: impl FnOnce() -> u64) -> u64 {
        let count = self.barrier.results.load(Relaxed);
        self.barrier.results.store(count + 1, Relaxed);
        // Two slots are enough: a fast thread 0 may be one call ahead of a thread that still reads, never
        // two.
        let slot = field!(results) + count % 2 * 8;
        let mut value = 0;
        if self.me == 0 {
            value = f();
            self.store_word(0, slot, value);
        }
        self.meet_agreeing(function, arguments);
        if self.me == 0 { value } else { self.amo(0, slot, Function::Get, 0, 0) }
    }

    fn join(&self, name: Option<i32>) {
        // ORDER: SeqCst; the strict write that notify implies, before the phase is joined.
        fence(SeqCst);
        self.barrier.inside.store(true, Relaxed);
        self.barrier.joined.store(self.barrier.joined.load(Relaxed) + 1, Relaxed);
        self.core.barrier_notify(name);
    }

    fn leave(&self, name: Option<i32>) {
        if !self.finish(name) {
            self.mismatch(name);
        }
    }

    /// Waits for the end of the phase; returns whether all names agree.
    fn finish(&self, name: Option<i32>) -> bool {
        let joined = self.barrier.joined.load(Relaxed);
        let mut agreed = None;
        self.core.meet_until("upc_wait", || {
            agreed = self.core.barrier_test(name);
            agreed.is_some() || self.somebody_missing(joined)
        });
        // A thread may have completed the phase between the two looks, and then ended.
        match agreed.or_else(|| self.core.barrier_test(name)) {
            Some(agreed) => {
                self.left();
                agreed
            }
            None => self.fatal(&format!(
                "barrier mismatch detected: thread {} waits in a barrier that another thread never reached before it ended",
                self.me
            )),
        }
    }

    /// The phase is over.
    fn left(&self) {
        self.barrier.inside.store(false, Relaxed);
        // ORDER: Acquire; the strict read that wait implies, after the core saw the phase complete.
        fence(Acquire);
    }

    /// Whether some thread has ended after fewer barriers than this one has joined.
    fn somebody_missing(&self, joined: u64) -> bool {
        let early = self.control.ended_early.load(Relaxed);
        early != 0 && u64::MAX - early < joined
    }

    /// Barriers this thread has joined.
    pub fn barriers_joined(&self) -> u64 {
        self.barrier.joined.load(Relaxed)
    }

    #[cold]
    fn mismatch(&self, name: Option<i32>) {
        let mine = match name {
            Some(n) => format!("thread {} gave {n}", self.me),
            None => format!("thread {} gave no value", self.me),
        };
        let others = match self.core.barrier_name() {
            Some(n) => format!("upc_notify was given {n}"),
            None => "the values given to upc_notify differ".to_string(),
        };
        let text = format!("barrier mismatch detected: {mine}, {others}");
        if !self.settings.mismatch_warns {
            self.fatal(&text);
        }
        if !self.barrier.warned.swap(true, Relaxed) {
            // UPC_BARRIER_MISMATCH_WARNS asks for it explicitly, so UPC_QUIET does not suppress it.
            crate::error::warn(&text);
        }
    }
}
