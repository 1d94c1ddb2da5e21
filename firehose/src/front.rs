//! Firehose for many threads.
//!
//! One lock guards the state machine. No call to the registrar, the network or the caller is made under it.
//! Each thread carries out the actions that its own call produced, so the actions of two threads may happen
//! in another order than they were decided in. The protocol allows that: pins and unpins of a bucket wait for
//! each other's end, messages may overtake each other, and a late transfer is compared with the registrations
//! of that time.
//!
//! The notifier is asked for changes before every use, under the lock.

use std::collections::HashMap;

use crate::action::Action;
use crate::firehose::Firehose;
use crate::message::Message;
use crate::registrar::{Change, Notifier, PinError, Registrar};
use crate::request::StartError;
use crate::request::{Failure, OpId, Outcome, Refusal, Request, Side};
use crate::run::Node;
use crate::run::{Keys, Run};
use crate::strategy::{Stats, Strategy, Usage};
use crate::sync::{Condvar, Mutex, MutexGuard};

/// Carries out actions.
pub trait Port: Registrar {
    /// Carries out an action that is neither a pin nor an unpin.
    fn act(&self, action: Action);
}

/// A network is not needed for local pins.
impl<R: Registrar> Port for LocalOnly<R> {
    fn act(&self, _: Action) {}
}

/// A registrar without a network.
#[derive(Debug)]
pub struct LocalOnly<R>(pub R);

impl<R: Registrar> Registrar for LocalOnly<R> {
    fn pin(&self, run: Run) -> Option<Result<(), PinError>> {
        self.0.pin(run)
    }

    fn unpin(&self, run: Run) -> Option<()> {
        self.0.unpin(run)
    }
}

#[derive(Debug)]
struct FrontState {
    firehose: Firehose,
    /// Held memory: `None` until it is pinned.
    holds: HashMap<OpId, Option<Result<Keys, Failure>>>,
}

/// Local memory that is pinned until it is given back by [`Front::release`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "stays pinned until released"]
pub struct Hold {
    op: OpId,
    addr: u64,
    len: u64,
    keys: Keys,
}

impl Hold {
    /// The keys of its buckets.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }
}

/// Why local memory could not be pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HoldError {
    /// The request is not possible.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The memory could not be pinned.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// Firehose for many threads.
#[derive(Debug)]
pub struct Front<P, N> {
    state: Mutex<FrontState>,
    held: Condvar,
    /// Carries out actions.
    pub port: P,
    /// Reports changed mappings.
    pub notifier: N,
}

impl<P: Port, N: Notifier> Front<P, N> {
    /// Puts a lock around a strategy.
    pub fn new(firehose: Firehose, port: P, notifier: N) -> Front<P, N> {
        let state = FrontState { firehose, holds: HashMap::new() };
        Front { state: Mutex::new(state), held: Condvar::new(), port, notifier }
    }

    /// The state after all changes that happened before this call.
    fn lock(&self, out: &mut Vec<Action>) -> MutexGuard<'_, FrontState> {
        let mut state = self.state.lock().unwrap_or_else(|e| e.into_inner());
        self.notifier.changes(&mut |change| state.firehose.changed(change, out));
        state
    }

    /// Calls the state machine, and carries out its actions.
    fn call<T>(&self, f: impl FnOnce(&mut FrontState, &mut Vec<Action>) -> T) -> T {
        let mut out = Vec::new();
        let mut state = self.lock(&mut out);
        let result = f(&mut state, &mut out);
        self.sort_out(&mut state, &mut out);
        drop(state);
        self.carry_out(out);
        result
    }

    /// Handles the actions about held memory.
    fn sort_out(&self, state: &mut FrontState, out: &mut Vec<Action>) {
        let holds = &mut state.holds;
        let mut woken = false;
        out.retain(|action| {
            let (op, result) = match action {
                Action::Held { op, keys, .. } => (op, Ok(keys.clone())),
                Action::Failed { op, failure, .. } => (op, Err(*failure)),
                _ => return true,
            };
            match holds.get_mut(op) {
                Some(hold) => {
                    *hold = Some(result);
                    woken = true;
                    false
                }
                None => true,
            }
        });
        if woken {
            self.held.notify_all();
        }
    }

    fn carry_out(&self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Pin(run) => {
                    if let Some(result) = self.port.pin(run) {
                        self.pinned(run, result);
                    }
                }
                Action::Unpin(run) => {
                    if self.port.unpin(run).is_some() {
                        self.unpinned(run);
                    }
                }
                action => self.port.act(action),
            }
        }
    }

    /// See [`Strategy::start`].
    pub fn start(&self, request: Request) -> Result<OpId, StartError> {
        self.call(|state, out| state.firehose.start(request, out))
    }

    /// See [`Strategy::transferred`].
    pub fn transferred(&self, op: OpId, outcome: Outcome) {
        self.call(|state, out| state.firehose.transferred(op, outcome, out));
    }

    /// See [`Strategy::receive`].
    pub fn receive(&self, from: Node, message: Message) {
        self.call(|state, out| state.firehose.receive(from, message, out));
    }

    /// See [`Strategy::changed`]; for changes that the notifier does not see.
    pub fn changed(&self, change: Change) {
        self.call(|state, out| state.firehose.changed(change, out));
    }

    /// A pin ended that the registrar had not completed at once.
    pub fn pinned(&self, run: Run, result: Result<(), PinError>) {
        self.call(|state, out| state.firehose.pinned(run, result, out));
    }

    /// An unpin ended that the registrar had not completed at once.
    pub fn unpinned(&self, run: Run) {
        self.call(|state, out| state.firehose.unpinned(run, out));
    }

    /// Touches local memory for a transfer if its keys are current. No registration ends while `touch` runs,
    /// so `touch` should be short.
    pub fn access<T>(
        &self,
        side: Side,
        addr: u64,
        len: u64,
        keys: &Keys,
        touch: impl FnOnce() -> T,
    ) -> Result<T, Refusal> {
        let mut out = Vec::new();
        let mut state = self.lock(&mut out);
        let result = state.firehose.check(side, addr, len, keys).map(|()| touch());
        self.sort_out(&mut state, &mut out);
        drop(state);
        self.carry_out(out);
        result
    }

    /// Pins local memory; waits until there is room for it.
    ///
    /// A thread that holds memory must not wait for more, or all threads might wait. It can use
    /// [`Front::try_hold`].
    pub fn hold(&self, addr: u64, len: u64) -> Result<Hold, HoldError> {
        let op = self.call(|state, out| {
            let op = state.firehose.hold(addr, len, 0, out)?;
            state.holds.insert(op, None);
            Ok::<OpId, StartError>(op)
        })?;
        let mut state = self.state.lock().unwrap_or_else(|e| e.into_inner());
        loop {
            if let Some(Some(_)) = state.holds.get(&op)
                && let Some(Some(result)) = state.holds.remove(&op)
            {
                return Ok(Hold { op, addr, len, keys: result? });
            }
            state = self.held.wait(state).unwrap_or_else(|e| e.into_inner());
        }
    }

    /// Holds local memory if it is pinned already, or can be at once without asking the registrar.
    pub fn try_hold(&self, addr: u64, len: u64) -> Result<Option<Hold>, HoldError> {
        self.call(|state, out| {
            let held = state.firehose.try_hold(addr, len, out)?;
            Ok(held.map(|(op, keys)| Hold { op, addr, len, keys }))
        })
    }

    /// Whether the memory is still what was pinned: no mapping of it changed.
    pub fn is_current(&self, hold: &Hold) -> bool {
        self.access(Side::Local, hold.addr, hold.len, &hold.keys, || ()).is_ok()
    }

    /// Gives held memory back. It stays pinned as long as there is room.
    pub fn release(&self, hold: Hold) {
        self.transferred(hold.op, Outcome::Done);
    }

    /// How much is pinned.
    pub fn usage(&self) -> Usage {
        self.call(|state, _| state.firehose.usage())
    }

    /// The counters since the start.
    pub fn stats(&self) -> Stats {
        self.call(|state, _| state.firehose.stats())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::config::Config;
    use crate::notices::Notices;

    const PAGE: u64 = 4096;

    /// Counts what is pinned.
    #[derive(Debug, Default)]
    struct Counter {
        pinned: AtomicU64,
        most: AtomicU64,
    }

    impl Registrar for Counter {
        fn pin(&self, run: Run) -> Option<Result<(), PinError>> {
            if run.contains(1000) {
                return Some(Err(PinError::Unmapped));
            }
            let pinned = self.pinned.fetch_add(run.count, Ordering::SeqCst) + run.count;
            self.most.fetch_max(pinned, Ordering::SeqCst);
            std::thread::yield_now();
            Some(Ok(()))
        }

        fn unpin(&self, run: Run) -> Option<()> {
            std::thread::yield_now();
            self.pinned.fetch_sub(run.count, Ordering::SeqCst);
            Some(())
        }
    }

    fn front(budget: u64) -> Front<LocalOnly<Counter>, Notices> {
        let config = Config { victim_bytes: budget * PAGE, ..Config::default() };
        let firehose = Firehose::new(config).expect("a good configuration");
        Front::new(firehose, LocalOnly(Counter::default()), Notices::default())
    }

    #[test]
    fn threads_share_a_budget() {
        let front = front(6);
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let front = &front;
                scope.spawn(move || {
                    for i in 0..if cfg!(miri) { 20 } else { 300 } {
                        let first = (thread * 7 + i * 3) % 40;
                        let hold = front.hold(first * PAGE, (1 + i % 3) * PAGE).expect("mapped");
                        assert!(front.is_current(&hold));
                        front.release(hold);
                    }
                });
            }
        });
        let most = front.port.0.most.load(Ordering::SeqCst);
        assert!((3..=6).contains(&most), "{most} buckets pinned at once");
        assert_eq!(front.usage().pinned_bytes, front.port.0.pinned.load(Ordering::SeqCst) * PAGE);
    }

    #[test]
    fn what_cannot_be_is_said() {
        let front = front(4);
        assert_eq!(
            front.hold(0, 5 * PAGE),
            Err(HoldError::Start(StartError::TooMuch { wanted: 5, most: 4 }))
        );
        let failure = Failure { side: Side::Local, bucket: 1000, error: PinError::Unmapped };
        assert_eq!(front.hold(999 * PAGE, 2 * PAGE), Err(HoldError::Failed(failure)));
        assert_eq!(front.try_hold(0, 1), Ok(None));
        let hold = front.hold(0, PAGE).expect("mapped");
        let again = front.try_hold(0, 1).expect("possible").expect("pinned");
        front.notifier.tell(Change::Unmapped { addr: 0, len: 1 });
        assert!(!front.is_current(&hold) && !front.is_current(&again));
        front.release(hold);
        front.release(again);
        let hold = front.hold(0, PAGE).expect("mapped");
        assert!(front.is_current(&hold));
        front.release(hold);
        // 0, and 999 that was pinned after all when its neighbour could not be.
        assert_eq!(front.usage().victim_bytes, 2 * PAGE);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;

    use super::*;
    use crate::config::Config;
    use crate::notices::Notices;
    use crate::sync::{AtomicU64, Ordering};

    const PAGE: u64 = 4096;

    #[derive(Debug)]
    struct Counter(AtomicU64);

    impl Registrar for Counter {
        fn pin(&self, run: Run) -> Option<Result<(), PinError>> {
            let pinned = self.0.fetch_add(run.count, Ordering::Relaxed) + run.count;
            assert!(pinned <= 1, "{pinned} buckets pinned, where one may be");
            Some(Ok(()))
        }

        fn unpin(&self, run: Run) -> Option<()> {
            self.0.fetch_sub(run.count, Ordering::Relaxed);
            Some(())
        }
    }

    fn front() -> Arc<Front<LocalOnly<Counter>, Notices>> {
        let config = Config { victim_bytes: PAGE, m_bytes: 0, ..Config::default() };
        let firehose = Firehose::new(config).expect("a good configuration");
        Arc::new(Front::new(firehose, LocalOnly(Counter(AtomicU64::new(0))), Notices::default()))
    }

    /// With room for one bucket, the two threads must take turns; whoever waits is woken.
    #[test]
    fn loom_threads_take_turns_and_nobody_is_forgotten() {
        loom::model(|| {
            let front = front();
            let other = {
                let front = Arc::clone(&front);
                loom::thread::spawn(move || {
                    let hold = front.hold(PAGE, 1).expect("possible");
                    front.release(hold);
                })
            };
            let hold = front.hold(0, 1).expect("possible");
            front.release(hold);
            other.join().expect("no panic");
        });
    }

    /// A change that was told before a use is known to the use, and pinning again works while it is dealt
    /// with.
    #[test]
    fn loom_a_change_ends_a_hold() {
        loom::model(|| {
            let front = front();
            let hold = front.hold(0, 1).expect("possible");
            let monitor = {
                let front = Arc::clone(&front);
                loom::thread::spawn(move || {
                    front.notifier.begin();
                    front.notifier.tell(Change::Unmapped { addr: 0, len: 1 });
                    front.notifier.end();
                })
            };
            front.is_current(&hold);
            monitor.join().expect("no panic");
            assert!(!front.is_current(&hold));
            front.release(hold);
            let again = front.hold(0, 1).expect("possible");
            assert!(front.is_current(&again));
            front.release(again);
        });
    }
}
