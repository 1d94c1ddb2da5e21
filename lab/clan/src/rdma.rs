//! Queues of RDMA requests: writes to regions of other ranks that an *engine* carries out, while the program
//! does something else.
//!
//! # Words
//! A *request* writes a buffer, which it owns until it is done, to a region. A queue's requests are done, and
//! become visible, in the order in which they were made; each has an *id*. An *immediate* is a request for
//! four bytes, usually the last of a message: who sees it finds all that the queue has written before.
//! Requests up to one that is marked *last* are a *group*: the engine gets it as a whole, and no request of
//! another queue comes in between.
//!
//! ```text
//!   program                         engine
//!   write, write, write(last) ----> queue 0 ---.
//!   immediate                 ----> queue 1 ---+-- by turns, a group each --> region_write, one at a time
//!   kick, if the queue is inactive             |
//!   test, wait <------ completed: id ----------'
//! ```
//!
//! # Engine
//! An [`RdmaEngine`] serves the queues that were made with it. It has a thread ([`RdmaEngine::start`]), or it
//! works while the program waits, and when it is told to ([`RdmaEngine::progress`]). A request leaves when
//! the one before it, of whatever queue, is in place: it takes a round trip. So a queue is for large writes,
//! and for what must not wait for large writes of other queues.
//!
//! To make a request to an active queue is a store. A queue is active while the engine finds requests in it,
//! and a little longer (`schedule.rs`); to an inactive one the request is followed by a kick (`activity.rs`),
//! which may wake the engine's thread.
//!
//! Operations outside of the queue may overtake it: a store through an [`Aperture`](crate::Aperture) is
//! seen before requests that were made earlier. To publish data that a queue writes, use an immediate of
//! that queue. In the other direction, requests take effect after stores whose aperture was
//! [flushed](crate::Aperture::flush).
//!
//! # Faults
//! A request that is refused breaks its queue: no later one is carried out, and their results are that of the
//! first.

mod activity;
mod schedule;

use crate::bed;
use activity::Activity;
use core::time::Duration;
use gasnet::region::{RegionError, RegionKey, RegionOp};
use gasnet::{Error, Rank};
use gasnet_sys::mutex::lock;
use schedule::{Next, Schedule};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

/// The id before that of a queue's first request. Ids wrap soon: a program that compares them as numbers
/// fails early.
const BEFORE_FIRST: u32 = u32::MAX - 8;
/// Longest sleep of an engine's thread without requests.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// A request of a queue. Ids grow by one and wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId(u32);

/// The queue has no room for the request; what it was to write is given back.
#[derive(Debug, PartialEq, Eq)]
pub struct QueueFull(pub Vec<u8>);

impl core::fmt::Display for QueueFull {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("an RDMA queue has as many requests as it may have")
    }
}

impl std::error::Error for QueueFull {}

#[derive(Debug)]
struct Request {
    source: Vec<u8>,
    key: RegionKey,
    at: u64,
}

/// The state that a queue and the engine share.
#[derive(Debug)]
struct Line {
    activity: Activity,
    /// The last request that is done.
    completed: AtomicU32,
    /// The first request that was refused.
    failed: OnceLock<(u32, RegionError)>,
    /// Nobody makes requests any more.
    closed: AtomicBool,
}

impl Line {
    fn result(&self, RequestId(id): RequestId) -> Option<Result<(), RegionError>> {
        // ORDER: Acquire; pairs with Release in `EngineState::complete`: the failure, if there is one.
        let completed = self.completed.load(Ordering::Acquire);
        (completed.wrapping_sub(id) as i32 >= 0).then(|| match self.failed.get() {
            Some((first, e)) if id.wrapping_sub(*first) as i32 >= 0 => Err(*e),
            _ => Ok(()),
        })
    }
}

/// The engine's side of a queue.
#[derive(Debug)]
struct EngineQueue {
    groups: Receiver<Vec<Request>>,
    /// The next group, once it was looked for.
    first: Option<Vec<Request>>,
    line: Arc<Line>,
}

impl EngineQueue {
    fn has_request(&mut self) -> bool {
        if self.first.is_none() {
            self.first = self.groups.try_recv().ok();
        }
        self.first.is_some()
    }
}

/// A group that is carried out.
#[derive(Debug)]
struct Service<'r> {
    queue: usize,
    rest: std::vec::IntoIter<Request>,
    under_way: Option<RegionOp<'r, u8>>,
}

#[derive(Debug, Default)]
struct EngineState<'r> {
    schedule: Schedule,
    queues: Vec<EngineQueue>,
    service: Option<Service<'r>>,
}

impl<'r> EngineState<'r> {
    /// Takes a queue in, in the place of one that is over if there is one; returns its number. The old number
    /// may still have a turn, which then is the new queue's.
    fn add(&mut self, queue: EngineQueue) -> usize {
        let served = self.service.as_ref().map(|service| service.queue);
        // ORDER: Acquire; pairs with Release in `RdmaQueue::drop`: the last group is there.
        let over =
            |queue: &mut EngineQueue| queue.line.closed.load(Ordering::Acquire) && !queue.has_request();
        let places = self.queues.iter_mut().enumerate();
        match places.filter(|(i, _)| Some(*i) != served).find_map(|(i, old)| over(old).then_some(i)) {
            Some(i) => {
                self.queues[i] = queue;
                i
            }
            None => {
                self.queues.push(queue);
                self.queues.len() - 1
            }
        }
    }

    fn is_idle(&mut self) -> bool {
        self.service.is_none() && self.schedule.is_idle()
    }

    /// Begins the next group, if there is one.
    fn begin(&mut self) {
        loop {
            match self.schedule.next(|queue| self.queues[queue].has_request()) {
                Next::Serve(queue) => {
                    if let Some(group) = self.queues[queue].first.take() {
                        let rest = group.into_iter();
                        self.service = Some(Service { queue, rest, under_way: None });
                        return;
                    }
                }
                Next::Deactivate(queue) => {
                    let EngineQueue { line, .. } = &self.queues[queue];
                    let line = line.clone();
                    if !line.activity.deactivate(|| self.queues[queue].has_request()) {
                        self.schedule.kick(queue);
                    }
                }
                Next::Idle => return,
            }
        }
    }

    /// Notes that the next request of a queue is done, and how.
    fn complete(&self, queue: usize, result: Result<(), RegionError>) {
        let line = &self.queues[queue].line;
        // Relaxed: only the engine changes it.
        let id = line.completed.load(Ordering::Relaxed).wrapping_add(1);
        if let Err(e) = result {
            line.failed.get_or_init(|| (id, e));
        }
        // ORDER: Release; pairs with Acquire in `Line::result`.
        line.completed.store(id, Ordering::Release);
    }

    /// One step: a request is started or done. False: there was nothing to do.
    fn step(&mut self, rank: &'r Rank) -> bool {
        if self.service.is_none() {
            self.begin();
        }
        let Some(service) = &mut self.service else { return false };
        let queue = service.queue;
        if let Some(op) = &mut service.under_way {
            if !op.test() {
                return false;
            }
            let result = service.under_way.take().map_or(Ok(()), |op| op.wait().map(drop));
            self.complete(queue, result);
            return true;
        }
        let Some(Request { source, key, at }) = service.rest.next() else {
            self.service = None;
            return true;
        };
        match self.queues[queue].line.failed.get() {
            Some((_, e)) => self.complete(queue, Err(*e)),
            None if rank.has_departed(key.rank()) => self.complete(queue, Err(RegionError::Revoked)),
            None => service.under_way = Some(rank.region(&key).write_nb(at, source)),
        }
        true
    }
}

/// The state that an engine's object, its thread and its queues share.
#[derive(Debug)]
struct Engine<'r> {
    rank: &'r Rank,
    state: Mutex<EngineState<'r>>,
    kicked: Mutex<Vec<usize>>,
    /// Where the thread sleeps.
    bed: AtomicU32,
    kicks: AtomicU64,
    over: AtomicBool,
}

impl Engine<'_> {
    fn kick(&self, queue: usize) {
        // Relaxed: a counter.
        self.kicks.fetch_add(1, Ordering::Relaxed);
        lock(&self.kicked).push(queue);
        bed::wake(&self.bed);
    }

    /// Does what can be done now, unless another thread does. False: there was nothing to do.
    fn progress(&self) -> bool {
        let Ok(mut state) = self.state.try_lock() else { return false };
        for queue in core::mem::take(&mut *lock(&self.kicked)) {
            state.schedule.kick(queue);
        }
        state.step(self.rank)
    }

    fn is_idle(&self) -> bool {
        // A thread that has it is at work.
        lock(&self.kicked).is_empty() && self.state.try_lock().is_ok_and(|mut s| s.is_idle())
    }

    /// The thread.
    fn work(&self) {
        gasnet_sys::thread::sleep_exactly();
        // Relaxed: whoever ends the thread waits for it.
        let over = || self.over.load(Ordering::Relaxed) || self.rank.has_departed(self.rank.id());
        while !over() {
            self.rank.wait_until("RDMA requests", || {
                while self.progress() {}
                self.is_idle() || over()
            });
            bed::sleep(&self.bed, LONGEST_SLEEP, || !self.is_idle() || over());
        }
    }
}

/// Carries out the requests of queues; see the [module](self). Dropping it waits until all are done.
#[derive(Debug)]
pub struct RdmaEngine<'r> {
    engine: Arc<Engine<'r>>,
    thread: Option<JoinHandle<()>>,
}

impl<'r> RdmaEngine<'r> {
    /// An engine that works in the calls of the program: in waits for its queues, and in
    /// [`progress`](Self::progress).
    pub fn new(rank: &'r Rank) -> RdmaEngine<'r> {
        let engine = Engine {
            rank,
            state: Mutex::default(),
            kicked: Mutex::default(),
            bed: AtomicU32::new(0),
            kicks: AtomicU64::new(0),
            over: AtomicBool::new(false),
        };
        RdmaEngine { engine: Arc::new(engine), thread: None }
    }

    /// A queue for up to `depth` requests that are not done.
    pub fn queue(&self, depth: u32) -> RdmaQueue<'r> {
        let depth = depth.max(1);
        // A group is at least one request.
        let (sender, groups) = sync_channel(depth as usize);
        let line = Arc::new(Line {
            activity: Activity::new(),
            completed: AtomicU32::new(BEFORE_FIRST),
            failed: OnceLock::new(),
            closed: AtomicBool::new(false),
        });
        let number = lock(&self.engine.state).add(EngineQueue { groups, first: None, line: line.clone() });
        RdmaQueue {
            engine: self.engine.clone(),
            line,
            number,
            depth,
            made: BEFORE_FIRST,
            group: Vec::new(),
            sender,
        }
    }

    /// Starts or ends a request, if that is possible now. False: there was nothing to do, or another thread
    /// is at it.
    pub fn progress(&self) -> bool {
        self.engine.progress()
    }

    /// How often a request was followed by a kick.
    pub fn kicks(&self) -> u64 {
        self.engine.kicks.load(Ordering::Relaxed)
    }
}

impl RdmaEngine<'static> {
    /// An engine with a thread of its own, which sleeps while there are no requests.
    ///
    /// # Errors
    /// The rank is for one thread ([`gasnet::Threading::Serial`]), or the system has no more threads.
    pub fn start(rank: &'static Rank) -> Result<RdmaEngine<'static>, Error> {
        if !rank.is_parallel() {
            return Err(Error::op(
                "an RDMA engine has a thread of its own: the rank was started for one thread",
            ));
        }
        let mut engine = RdmaEngine::new(rank);
        let work = engine.engine.clone();
        let builder = std::thread::Builder::new().name("gasnet-rdma".into());
        let thread = gasnet_sys::thread::spawn_without_signals(builder, move || work.work())
            .map_err(|e| Error::op(format!("a thread for RDMA requests: {e}")))?;
        engine.thread = Some(thread);
        Ok(engine)
    }
}

impl Drop for RdmaEngine<'_> {
    fn drop(&mut self) {
        // A panic ends the job, which must not wait for peers first.
        if std::thread::panicking() {
            return;
        }
        self.engine.rank.wait_until("RDMA requests of an engine that ends", || {
            while self.engine.progress() {}
            self.engine.is_idle()
        });
        self.engine.over.store(true, Ordering::Relaxed);
        bed::wake(&self.engine.bed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A queue of requests. Dropping it hands over a group that is not complete; what was requested is carried
/// out.
#[derive(Debug)]
pub struct RdmaQueue<'r> {
    engine: Arc<Engine<'r>>,
    line: Arc<Line>,
    number: usize,
    depth: u32,
    /// The last request that was made.
    made: u32,
    /// Requests of a group whose last is missing.
    group: Vec<Request>,
    sender: SyncSender<Vec<Request>>,
}

impl RdmaQueue<'_> {
    fn has_room(&self) -> bool {
        // Relaxed: room that was given back holds nothing to be seen.
        self.made.wrapping_sub(self.line.completed.load(Ordering::Relaxed)) < self.depth
    }

    /// Requests to write a buffer to a region, from byte `at` on, after all earlier requests of the queue.
    /// `last` ends a group, which has at most as many requests as the queue; no request of a group is carried
    /// out before it is complete.
    ///
    /// # Errors
    /// There is no room.
    pub fn write(
        &mut self,
        source: Vec<u8>,
        key: RegionKey,
        at: u64,
        last: bool,
    ) -> Result<RequestId, QueueFull> {
        if !self.has_room() {
            return Err(QueueFull(source));
        }
        self.made = self.made.wrapping_add(1);
        self.group.push(Request { source, key, at });
        if last {
            self.hand_over();
        }
        Ok(RequestId(self.made))
    }

    /// Requests to write a number to a region, at byte `at`, after all earlier requests of the queue; the
    /// last of a group. Who sees it finds what they have written.
    ///
    /// # Errors
    /// There is no room.
    pub fn immediate(&mut self, key: RegionKey, at: u64, number: u32) -> Result<RequestId, QueueFull> {
        self.write(number.to_ne_bytes().to_vec(), key, at, true)
    }

    fn hand_over(&mut self) {
        let group = core::mem::take(&mut self.group);
        // There is room for as many groups as requests, and the engine keeps the other end while it lives.
        if self.sender.try_send(group).is_ok() && self.line.activity.needs_kick() {
            self.engine.kick(self.number);
        }
    }

    /// Whether a request is done, and how. Any number of threads may ask.
    pub fn test(&self, id: RequestId) -> Option<Result<(), RegionError>> {
        self.line.result(id)
    }

    /// Waits until a request is done, at most for `longest`. `None`: it is not, or its group is not complete.
    pub fn wait(&self, id: RequestId, longest: Option<Duration>) -> Option<Result<(), RegionError>> {
        let staged = self.made.wrapping_sub(id.0) < self.group.len() as u32;
        if !staged {
            self.wait_until("an RDMA request", longest, || self.test(id).is_some());
        }
        self.test(id)
    }

    /// Waits until there is room for a request, at most for `longest`. False: there is none.
    pub fn wait_space(&self, longest: Option<Duration>) -> bool {
        if (self.group.len() as u32) < self.depth {
            self.wait_until("room in an RDMA queue", longest, || self.has_room());
        }
        self.has_room()
    }

    fn wait_until(&self, what: &'static str, longest: Option<Duration>, condition: impl Fn() -> bool) {
        let rank = self.engine.rank;
        let begun = longest.map(|longest| (rank.now(), longest));
        rank.wait_until(what, || {
            self.engine.progress();
            condition() || begun.is_some_and(|(begun, longest)| rank.now().saturating_sub(begun) >= longest)
        });
    }
}

impl Drop for RdmaQueue<'_> {
    fn drop(&mut self) {
        if !self.group.is_empty() {
            self.hand_over();
        }
        // ORDER: Release; pairs with Acquire in `EngineState::add`.
        self.line.closed.store(true, Ordering::Release);
    }
}
