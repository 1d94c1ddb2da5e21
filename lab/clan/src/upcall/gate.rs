//! Who may call handlers, and when: one word, without memory and without I/O.
//!
//! The word counts the *holds* of the program, and says whether a thread *runs* handlers and whether a call
//! is *due* that could not be made: because of a hold, or because a thread ran handlers already. Whoever is
//! in the way makes the call that is due afterwards: so no call is lost, and nobody waits to make one.
//!
//! ```text
//!   begin   held or running: due, and no turn    else running
//!   end     not running                          a call is due and nothing is held: another turn
//!   hold    one hold more                        waits until no other thread runs handlers
//!   release one hold less                        a call is due and nothing is held: a turn
//! ```

#[cfg(not(loom))]
use core::sync::atomic::{AtomicU32, Ordering};
#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering};

const RUNNING: u32 = 1;
const DUE: u32 = 2;
const HOLD: u32 = 4;

/// The word.
#[derive(Debug)]
pub(super) struct Gate(AtomicU32);

impl Gate {
    pub(super) fn new() -> Gate {
        Gate(AtomicU32::new(0))
    }

    /// Begins a turn, which [`end`](Self::end) ends. False: there is no turn now, and somebody else will have
    /// one.
    pub(super) fn begin(&self) -> bool {
        let next = |word: u32| Some(if word & RUNNING != 0 || word >= HOLD { word | DUE } else { RUNNING });
        // ORDER: Acquire; pairs with Release in `end` and `release`: what handlers and the program did
        // before. Release; pairs with Acquire in `end` and `release`: the signal that a due call is for.
        let was = self.0.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next).unwrap_or_else(|word| word);
        was & RUNNING == 0 && was < HOLD
    }

    /// Ends a turn. True: the caller is to begin another.
    pub(super) fn end(&self) -> bool {
        // ORDER: Release; pairs with Acquire in `begin` and `wait_until_quiet`. Acquire; pairs with Release
        // in `begin` and `note_if_held`.
        let was = self.0.fetch_and(!RUNNING, Ordering::AcqRel);
        if was >= HOLD {
            wake(&self.0);
        }
        was & DUE != 0 && was < HOLD
    }

    /// From now on no turn begins, and none goes on for longer than a call.
    pub(super) fn hold(&self) {
        // Relaxed: `wait_until_quiet` acquires.
        self.0.fetch_add(HOLD, Ordering::Relaxed);
    }

    /// Waits, while something is held, until no handler runs.
    pub(super) fn wait_until_quiet(&self) {
        loop {
            // ORDER: Acquire; pairs with Release in `end`: what the handlers did.
            let word = self.0.load(Ordering::Acquire);
            if word & RUNNING == 0 {
                return;
            }
            sleep_while(&self.0, word);
        }
    }

    /// Ends a hold. True: the caller is to begin a turn.
    pub(super) fn release(&self) -> bool {
        // ORDER: Release; pairs with Acquire in `begin`: what the program did while it held. Acquire; as in
        // `end`.
        let was = self.0.fetch_sub(HOLD, Ordering::AcqRel);
        was & DUE != 0 && was - HOLD < HOLD
    }

    /// Whether something is held; then a call is due.
    pub(super) fn note_if_held(&self) -> bool {
        let next = |word: u32| (word >= HOLD).then_some(word | DUE);
        // ORDER: Release; as in `begin`.
        self.0.fetch_update(Ordering::Release, Ordering::Relaxed, next).is_ok()
    }
}

#[cfg(not(loom))]
fn wake(word: &AtomicU32) {
    gasnet_sys::futex::wake_all(word);
}

#[cfg(not(loom))]
fn sleep_while(word: &AtomicU32, value: u32) {
    gasnet_sys::futex::sleep_while(word, value, super::LONGEST_SLEEP_UNTIL_WOKEN);
}

#[cfg(loom)]
fn wake(_: &AtomicU32) {}

#[cfg(loom)]
fn sleep_while(_: &AtomicU32, _: u32) {
    loom::thread::yield_now();
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32 as Word;

    struct Model {
        gate: Gate,
        signals: Word,
        calls: Word,
        inside: Word,
        held: Word,
    }

    impl Model {
        /// As `UpcallState::run`: all signals there are, one call each.
        fn run(&self) {
            while self.gate.begin() {
                while self.calls.load(Ordering::Relaxed) < self.signals.load(Ordering::Acquire) {
                    if self.gate.note_if_held() {
                        break;
                    }
                    assert_eq!(self.inside.fetch_add(1, Ordering::Relaxed), 0, "handlers nest");
                    self.calls.fetch_add(1, Ordering::Relaxed);
                    self.inside.fetch_sub(1, Ordering::Relaxed);
                }
                if !self.gate.end() {
                    return;
                }
            }
        }
    }

    /// A hold of the program against a thread that finds a signal: no call in the hold, and one in the end.
    #[test]
    fn loom_net_02_no_call_while_held_and_all_after() {
        loom::model(|| {
            let new = || Word::new(0);
            let (gate, signals, calls, inside, held) = (Gate::new(), new(), new(), new(), new());
            let model = Arc::new(Model { gate, signals, calls, inside, held });
            let other = model.clone();
            let thread = loom::thread::spawn(move || {
                other.signals.fetch_add(1, Ordering::Release);
                other.run();
            });
            model.gate.hold();
            model.gate.wait_until_quiet();
            let before = model.calls.load(Ordering::Relaxed);
            assert_eq!(model.held.fetch_add(1, Ordering::Relaxed), 0);
            assert_eq!(model.calls.load(Ordering::Relaxed), before, "a call while held");
            assert_eq!(model.inside.load(Ordering::Relaxed), 0, "a handler runs while held");
            if model.gate.release() {
                model.run();
            }
            thread.join().unwrap();
            assert_eq!(model.calls.load(Ordering::Relaxed), 1);
        });
    }

    /// Two threads that find the same signals: each is for one call, and handlers do not nest.
    #[test]
    fn loom_net_01_turns_do_not_overlap_and_lose_nothing() {
        loom::model(|| {
            let new = || Word::new(0);
            let (gate, signals, calls, inside, held) = (Gate::new(), new(), new(), new(), new());
            let model = Arc::new(Model { gate, signals, calls, inside, held });
            let other = model.clone();
            let signal = |model: &Model| {
                model.signals.fetch_add(1, Ordering::Release);
                model.run();
            };
            let thread = loom::thread::spawn(move || signal(&other));
            signal(&model);
            thread.join().unwrap();
            assert_eq!(model.calls.load(Ordering::Relaxed), 2);
        });
    }
}
