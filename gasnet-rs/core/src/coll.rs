//! Collective operations: which data moves between the ranks of a team, and how.
//!
//! - [`record`], [`agree`]: whether members mean the same operation.
//! - [`mail`]: messages between members, by operation and step; large ones go straight from segment to
//!   segment.
//! - [`members`]: what a team is made of.
//! - [`tree`]: the trees along which members send messages, given which members share a host.
//! - [`algorithms`]: the operations, each an `async fn` over mail and trees, chosen by size and number of
//!   ranks.
//! - [`table`], [`flat`]: small blocks among members of one host, in memory that they share.
//! - [`board`], [`nic`]: blocks of some pages by NICs alone, where the conduit has such NICs and
//!   `GASNET_COLL=nic` asks for it.
//! - [`reduction`]: functions that combine values.
//! - [`typed`]: the same for slices of Rust values, as methods of [`Team`](crate::Team).
//! - this file: the engine that drives them.
//!
//! **Split phase.** An operation is a future. A blocking call polls it on the caller's stack; a non-blocking
//! one is boxed and put on the rank's list of tasks, which every [`Rank::poll`](crate::Rank::poll) advances,
//! so that a rank that waits for something else still passes messages on. Its end completes an ordinary
//! [`Event`].
//!
//! **Synchronisation.** A member depends on another member only for the data that it receives from it. Data
//! is read only after its owner has entered. It is written by its receiver, or with the receiver's
//! permission. That is `MYSYNC` (and more than `NOSYNC`) on both sides. `ALLSYNC` adds a barrier of the team
//! before or after.
//!
//! **Order.** All members start the operations of a team in the same order, and a count identifies each
//! operation. Operations by tables or NICs use the same places again and again, so they take turns: each
//! draws as many tickets as it has steps when it is started.

pub(crate) mod agree;
pub(crate) mod algorithms;
pub(crate) mod board;
pub(crate) mod flat;
pub(crate) mod mail;
pub(crate) mod members;
pub(crate) mod nic;
pub(crate) mod record;
pub(crate) mod reduction;
pub(crate) mod table;
pub(crate) mod tree;
mod typed;

use crate::Rank;
use crate::rma::EventCalls;
use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use gasnet_sys::mutex::lock;
use gasnet_wire::boot::MeetingPlace;
use gasnet_wire::context;
use gasnet_wire::event::{Event, REMOTE};
use gasnet_wire::shm::map::last_tick;
use mail::Mail;
use members::Members;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

pub use record::{Called, Words};
pub use reduction::{Combine, ElementType, Reduction};
pub use typed::PendingCollective;
pub use typed::Word;

/// The name of a wait for a collective operation.
pub(crate) const COLLECTIVE_WAIT: &str = "a collective operation";

/// When an operation may begin to access data, and when it must have finished with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum When {
    /// Any time between the first member's call and the last member's return.
    No,
    /// When the members concerned have called; when the operation has finished with this member's data.
    #[default]
    My,
    /// When all members have called; when the operation has finished with all data.
    All,
}

/// [`When`] at the beginning and at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SyncMode {
    /// At the beginning.
    pub enter: When,
    /// At the end.
    pub leave: When,
}

impl SyncMode {
    /// A barrier on both sides.
    pub const ALL: SyncMode = SyncMode { enter: When::All, leave: When::All };
    /// No synchronisation beyond the data itself.
    pub const MY: SyncMode = SyncMode { enter: When::My, leave: When::My };
}

/// The properties of an operation that decide how it is carried out: bytes of a block, and whether NICs know
/// the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Barrier,
    Broadcast(usize),
    Scatter(usize),
    Gather(usize),
    GatherAll(usize),
    /// Blocks of different sizes that all members know: bytes of all blocks together.
    GatherAllV(usize),
    Exchange(usize),
    Reduce(usize, bool),
    ReduceAll(usize, bool),
    Scan(usize),
    /// Blocks of different sizes, of which each member knows only its own; the root.
    ScatterV(usize),
    GatherV(usize),
    ExchangeV,
}

/// How an operation is carried out; the same for all members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Path {
    /// By messages.
    Mail,
    /// By the table of the team.
    Flat,
    /// By the NICs.
    Nic,
}

impl Shape {
    /// The places of the operation's blocks on boards, if the blocks have different sizes.
    pub(crate) fn places(self) -> Option<board::Places> {
        match self {
            Shape::ScatterV(root) | Shape::GatherV(root) => Some(board::Places::Rooted(root)),
            Shape::ExchangeV => Some(board::Places::Mutual),
            _ => None,
        }
    }

    /// How an operation of this shape is carried out in a team.
    pub(crate) fn path(self, team: &Members) -> Path {
        let (size, rank) = (team.ranks.len(), team.rank);
        if size == 1 {
            return Path::Mail;
        }
        let has_place =
            || rank.config().coll_nic && board::place(team.id).is_some() && rank.wire.nic_port().is_some();
        if has_place() && board::fits(self, size) {
            return Path::Nic;
        }
        if team.table().is_some() && flat::fits(self, size) { Path::Flat } else { Path::Mail }
    }
}

/// Number of advances for each check of how long outstanding operations have taken. The check is needed
/// because a program may test and never wait.
const ADVANCES_PER_LOOK_AT_AGES: u32 = 1 << 16;

/// A non-blocking operation under way.
struct Task {
    future: Pin<Box<dyn Future<Output = ()> + Send>>,
    op: u32,
    /// When it was started, on the host's clock.
    since: Duration,
}

/// The state of all collective operations of a rank.
pub(crate) struct Collectives {
    pub(crate) mail: Mail,
    /// The operations. Locked during their turns, in which handlers may run.
    tasks: Mutex<Vec<Task>>,
    /// Operations started since the last turn, by any thread.
    fresh: Mutex<Vec<Task>>,
    /// The mail's epoch at the last advance.
    seen: AtomicUsize,
    /// Time of the next question to other members, in milliseconds of the host's clock.
    pub(crate) ask_at: AtomicU64,
    /// Number of advances so far.
    advances: AtomicU32,
    teams: Mutex<Vec<Weak<Members>>>,
    /// Number for the next team that this rank takes part in; 0 is the team of all ranks.
    pub(crate) next_team: AtomicU32,
    /// How a language says that operations do not match.
    pub(crate) words: OnceLock<record::Words>,
}

impl Collectives {
    pub(crate) fn new() -> Collectives {
        Collectives {
            mail: Mail::default(),
            tasks: Mutex::default(),
            fresh: Mutex::default(),
            seen: AtomicUsize::new(usize::MAX),
            ask_at: AtomicU64::new(0),
            advances: AtomicU32::new(0),
            teams: Mutex::default(),
            next_team: AtomicU32::new(1),
            words: OnceLock::new(),
        }
    }

    /// Adds a team.
    pub(crate) fn add_team(&self, team: &Arc<Members>) {
        let mut teams = lock(&self.teams);
        teams.retain(|team| team.strong_count() > 0);
        teams.push(Arc::downgrade(team));
    }

    /// The teams that this rank is in.
    pub(crate) fn teams(&self) -> Vec<Arc<Members>> {
        lock(&self.teams).iter().filter_map(Weak::upgrade).collect()
    }
}

/// An event that the program completes itself.
#[must_use = "an event whose promise is not kept is never done"]
#[derive(Debug)]
pub struct Promise {
    rank: &'static Rank,
    op: u32,
    event: Event,
}

impl Promise {
    /// The event, which is complete when the promise is kept. It may be waited for once.
    pub fn event(&self) -> Event {
        self.event
    }

    /// Completes the event.
    pub fn keep(self) {
        self.rank.wire.ops.finish(self.op, REMOTE);
    }
}

impl Rank {
    /// Gives every non-blocking collective operation a turn, if anything has arrived for one of them since
    /// the last time.
    #[inline]
    pub(crate) fn advance_collectives(&self) {
        // Relaxed: a count.
        if (self.coll.advances.fetch_add(1, Ordering::Relaxed).wrapping_add(1))
            .is_multiple_of(ADVANCES_PER_LOOK_AT_AGES)
        {
            self.ask_about_collectives(self.age_of_oldest_task());
        }
        // A running function of the program must return first.
        if !context::in_program() {
            return;
        }
        // Busy: another thread does this, or this thread does, further up its stack.
        let Ok(mut tasks) = self.coll.tasks.try_lock() else { return };
        let epoch = self.coll.mail.epoch();
        // Relaxed: under the lock.
        if self.coll.seen.swap(epoch, Ordering::Relaxed) == epoch {
            return;
        }
        tasks.append(&mut lock(&self.coll.fresh));
        let cx = &mut Context::from_waker(Waker::noop());
        tasks.retain_mut(|t| {
            let over = t.future.as_mut().poll(cx).is_ready();
            if over {
                self.wire.ops.finish(t.op, REMOTE);
                // Relaxed: a hint, as where it is read.
                self.wire.turns_wanted.fetch_sub(1, Ordering::Relaxed);
            }
            !over
        });
    }

    /// Time that the oldest outstanding operation has taken, or zero if a thread is advancing the operations.
    fn age_of_oldest_task(&self) -> Duration {
        let Ok(tasks) = self.coll.tasks.try_lock() else { return Duration::ZERO };
        let since = tasks.iter().map(|task| task.since).min();
        since.map_or(Duration::ZERO, |since| last_tick().saturating_sub(since))
    }

    /// Has messages about operations that do not match be in the words of a language. The first call counts.
    ///
    /// # One-sided
    pub fn say_collectives(&self, words: Words) {
        let _ = self.coll.words.set(words);
    }

    /// Starts an operation in the background.
    pub(crate) fn spawn_collective(&self, future: impl Future<Output = ()> + Send + 'static) -> Event {
        let mut future: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(future);
        if future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return Event::DONE;
        }
        let op = self.wire.ops.start(1);
        let event = self.wire.ops.event(op);
        self.add_task(future, op);
        event
    }

    fn add_task(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>, op: u32) {
        lock(&self.coll.fresh).push(Task { future, op, since: last_tick() });
        self.wire.turns_wanted.fetch_add(1, Ordering::Relaxed);
        // A message that arrived since its first turn must not wait for the next arrival.
        self.coll.seen.store(usize::MAX, Ordering::Relaxed);
    }

    /// Number of operations that this rank has started in the team of all ranks.
    pub(crate) fn collectives_started(&self) -> u32 {
        self.team_all.get().map_or(0, |all| all.record.started())
    }

    /// Runs an operation to its end. `place`: where the ranks of its team meet.
    pub(crate) fn run_collective<T>(
        &self,
        place: Option<MeetingPlace>,
        future: impl Future<Output = T>,
    ) -> T {
        let mut future = pin!(future);
        let mut result = None;
        let mut seen = usize::MAX;
        self.wire.meet_collectively(place, COLLECTIVE_WAIT, || {
            let epoch = self.coll.mail.epoch();
            if epoch == seen {
                return false;
            }
            seen = epoch;
            match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(r) => {
                    result = Some(r);
                    true
                }
                Poll::Pending => false,
            }
        });
        match result {
            Some(r) => r,
            None => self.fatal("a collective operation ended without a result"),
        }
    }
}

impl EventCalls<'static> {
    /// A new event, and the promise to complete it.
    pub fn promise(self) -> Promise {
        let op = self.rank.wire.ops.start(1);
        Promise { rank: self.rank, op, event: self.rank.wire.ops.event(op) }
    }

    /// Calls a function when an event is done, at once or in a call of the runtime; the event is used up. The
    /// function must not wait.
    pub fn after(self, event: Event, then: impl FnOnce() + Send + 'static) {
        if event == Event::DONE {
            return then();
        }
        let task = async move {
            poll_fn(|_| {
                if self.test_quietly(event) {
                    return Poll::Ready(());
                }
                // No message announces it.
                self.rank.coll.mail.bump();
                Poll::Pending
            })
            .await;
            then();
        };
        let op = self.rank.wire.ops.start(1);
        self.rank.add_task(Box::pin(task), op);
    }
}
