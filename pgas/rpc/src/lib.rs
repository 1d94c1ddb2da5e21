//! The engine of remote calls. It carries opaque records between ranks, runs the functions that they name,
//! brings answers back, and tells when all of it is over. The crate `pgas` puts types on it; programs use
//! that one.
//!
//! # Vocabulary
//! *Record*: a header and a body of bytes, the unit that is sent. *Service*: the function of the program that
//! a record names ([`Service`]). *Call*: a record that is to be answered; its state waits in the table of
//! calls ([`Call`]). *Reply*: the right, and the duty, to answer one call ([`Reply`]); it can be sent on in
//! another record. *Batch*: records to one rank that travel in one active message. *Payload*: bytes of any
//! size that belong to a record, and are in place before it. *Serving*: running the services of records that
//! have arrived. *Task*: an `async` function that a service has started.
//!
//! # Layers
//! ```text
//! lib       Engine: sends, receives, serves, waits
//! serve     what arrives, until its services are over
//! settle    when all records everywhere have been served
//! outbox    records on their way out, and how much may be under way to a rank
//! batches   what is for one rank, in one message
//! hand      a record that has come to a thread that waits
//! counts    counts that grow with every record
//! calls     calls that wait for their answers
//! reply     the right, and the duty, to answer a call
//! threads   threads that serve beside the program
//! payload   bytes of any size, in place before their record
//! tasks     futures that the rank drives
//! wire      records as bytes
//! service   functions as numbers that mean the same on all ranks
//! prim      atomics and locks, the standard library's or loom's
//! ```
//!
//! # One call, traced
//! [`Engine::call`] enters the call into the table (`calls.rs`), appends a record to the batch for the target
//! and sends the batch as one active message (`outbox.rs`). The target's handler only queues it (`serve.rs`):
//! handlers may neither wait nor send. When the target next waits for something in this engine, or serves, it
//! takes the record, finds the service (`service.rs`), and runs it in the program's context, with a
//! [`Reply`]. The answer is a record, too. The handler at the caller recognises it, and completes the call at
//! once: to take an answer needs no service, no room and no lock that anybody holds for long.
//!
//! # No deadlock
//! 1. A handler only queues, or completes calls. So each rank that is inside the runtime drains its network.
//! 2. Who sends from the program waits while too many bytes are under way to the target ([`WINDOW_BYTES`]),
//!    and serves meanwhile. Who sends from a service or a task never waits: its record is queued. So serving
//!    always ends, and gives way to those who wait.
//! 3. A service may not wait for a call (it would serve nothing meanwhile): that is told at once. It may
//!    start a task, which may.
//!
//! Memory is bounded by what services send beyond what they receive, as with any message queue.
//!
//! # Two hops
//! In a job of many ranks few records go from one rank to another. So the ranks form a square (`way`), and
//! what is sent goes first to the rank in the own row that is in the target's column, and from there to the
//! target. A rank has batches to two times the square root of the ranks then, and they fill. Calls and
//! answers, which somebody waits for, go straight. Who is between waits for room at the target as long as
//! need be, and does not count the record as served until it has left, so that its sender waits in turn.
//!
//! # Order
//! None between records, even to the same rank.
//!
//! # After Trapeze
//! Delegation, and payloads that arrive before their record, come from Trapeze's remote calls. The
//! differences:
//!
//! | There | Here |
//! |---|---|
//! | messages of 128 bytes | records of any length: a body that no message holds is a payload |
//! | at most 8 hops, credits of their own | any number of hops: who sends from a service never waits |
//! | continuations on a stack, deferred if a lock is held | futures and tasks; a service that waits is told |
//! | waiters time out, unused calls are evicted | conduits lose nothing; of ranks that have left: an error |
//! | marshalling into remote memory, or a buffer | a body is written once, into the batch that is sent |

pub mod batches;
mod calls;
mod counts;
mod hand;
mod outbox;
mod payload;
mod peers;
mod prim;
mod reply;
mod send;
mod serve;
pub mod service;
mod settle;
mod tasks;
mod threads;
mod wire;

pub use calls::{Answered, Call, CallError, panic_text};
pub use outbox::WINDOW_BYTES;
pub use payload::{MOST_PAYLOADS, Payload, Source};
pub use peers::PeerTable;
pub use reply::Reply;
pub use service::{Apply, Named, Serve, Service};
pub use tasks::Task;
pub use wire::Short;

use calls::Calls;
use core::any::Any;
use counts::{Count, OwnThread};
use gasnet::{Error, Handler, Message, Rank, RankId, Token};
use gasnet_wire::boot::MeetingPlace;
use gasnet_wire::context;
use outbox::Outbox;
use payload::{HeldRecord, Payloads};
use send::{BATCH, GRANT, OFFER, RECORDS, SERVED};
use serve::{ArrivedBatch, Parked, TOGETHER};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock};
use tasks::Tasks;
use threads::{Inbox, Servers};
use wire::{Small, To};

/// In a job of at least this many ranks, records go by way of a third rank, so that more of them travel
/// together.
const TWO_HOPS_FROM: u32 = 64;

/// A thread of the program that waits, and serves: those that serve beside it need not.
struct Here {
    engine: &'static Engine,
    /// Whether there are such threads.
    beside: bool,
    /// Whether the thread is in a wait that this one is part of.
    within: bool,
}

impl Here {
    #[inline]
    fn waiting(engine: &'static Engine) -> Here {
        let beside = !engine.servers.none();
        if beside {
            engine.servers.waiter_comes();
        }
        // Where others serve, too, none is to have in its hand what they could serve.
        Here { engine, beside, within: context::set_waiting(!beside) }
    }

    /// Serves. A service may hold this thread up, so others see to what comes meanwhile.
    #[inline]
    fn serve(&self) -> usize {
        let engine = self.engine;
        let done = engine.serve_hand();
        match self.beside {
            // Most turns of a wait find nothing: they are to cost little.
            _ if !engine.has_work() => done,
            false => done + engine.serve(),
            true => done + engine.servers.serve_in_wait(|| engine.serve()),
        }
    }
}

impl Drop for Here {
    #[inline]
    fn drop(&mut self) {
        let engine = self.engine;
        context::set_waiting(self.within);
        if !self.within {
            engine.put_down();
        }
        if self.beside {
            engine.servers.waiter_goes();
            if engine.has_work() {
                engine.servers.work();
            }
        }
    }
}

/// The path of this rank's executable, as much of its end as there is room for.
fn program() -> [u8; 256] {
    let path = std::env::current_exe().unwrap_or_default();
    let path = path.as_os_str().as_encoded_bytes();
    let mut name = [0; 256];
    let end = &path[path.len().saturating_sub(name.len())..];
    name[..end.len()].copy_from_slice(end);
    name
}

/// The rank by way of which a record goes; `None`: straight.
fn way(size: u32, me: u32, to: u32) -> Option<u32> {
    let side = f64::from(size).sqrt().ceil() as u32;
    let in_own_row = me / side * side + to % side;
    // The last row may not be full; who is in it goes by the target's row.
    let way = if in_own_row < size { in_own_row } else { to / side * side + me % side };
    (way != me && way != to).then_some(way)
}

/// A record as its service gets it.
pub struct Incoming<'a> {
    /// The engine that serves it.
    pub engine: &'static Engine,
    /// The rank that sent the record.
    pub from: RankId,
    /// The service to run.
    service: &'static Service,
    /// The duty to answer, if the record is a call.
    pub reply: Option<Reply>,
    /// The bytes that came, from an address that is a multiple of 8.
    pub body: &'a [u8],
    /// The payloads of the record.
    pub payloads: Vec<Payload>,
}

/// The engine of one rank. It lives as long as the process.
pub struct Engine {
    rank: &'static Rank,
    own: OwnThread,
    outbox: Outbox,
    calls: Calls,
    tasks: Arc<Tasks>,
    servers: Servers,
    /// Whether a thread was started for other executors.
    helper: Once,
    inbox: Inbox<ArrivedBatch>,
    payloads: Payloads,
    /// Records sent to services, and records whose services (and their tasks) are over.
    sent: Count,
    served: Count,
    /// Records for other ranks that have no room: who has sent each, and the bytes it counts there.
    parked: Mutex<VecDeque<Parked>>,
    parked_count: AtomicUsize,
    /// With `GASNET_STATS=1`: what the program has asked for, and active messages sent for it.
    counts: Option<[AtomicU64; 2]>,
    context: OnceLock<&'static (dyn Any + Send + Sync)>,
    /// Signs names of functions.
    key: OnceLock<service::Key>,
}

/// Functions of the program run outside of the engine's locks, and a panic of one is caught, or goes on when
/// the record it was for is accounted for.
impl std::panic::UnwindSafe for Engine {}
impl std::panic::RefUnwindSafe for Engine {}

impl core::fmt::Debug for Engine {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Engine").field("rank", &self.rank.id()).finish_non_exhaustive()
    }
}

impl Engine {
    /// Whether this rank has an engine.
    pub fn has_started(rank: &Rank) -> bool {
        rank.messages().is_registered(BATCH)
    }

    /// Starts the engine of this rank.
    ///
    /// # Collective
    /// Over all ranks.
    ///
    /// # Errors
    /// There is an engine already, or ranks run different builds of the program, whose functions have
    /// different addresses.
    pub fn start(rank: &'static Rank) -> Result<&'static Engine, Error> {
        let own = OwnThread::here();
        let engine: &'static Engine = Box::leak(Box::new(Engine {
            rank,
            own,
            outbox: Outbox::new(rank.size(), own),
            calls: Calls::new(own),
            tasks: Arc::default(),
            servers: Servers::default(),
            helper: Once::new(),
            inbox: Inbox::default(),
            payloads: Payloads::default(),
            sent: Count::default(),
            served: Count::default(),
            parked: Mutex::default(),
            parked_count: AtomicUsize::new(0),
            counts: rank.config().stats.then(Default::default),
            context: OnceLock::new(),
            key: OnceLock::new(),
        }));
        rank.register_library(BATCH, Handler::new(|token, m| engine.handle_answers(token.source(), m)))?;
        rank.register_library(RECORDS, Handler::new(|token, m| engine.handle_records(token.source(), m)))?;
        rank.register_library(OFFER, Handler::new(|token, m| engine.offered(token, m)))?;
        rank.register_library(GRANT, Handler::new(|token, m| engine.granted(token.source(), m)))?;
        rank.register_library(
            SERVED,
            Handler::new(|token, m| {
                engine.outbox.told_served(token.source(), m.args);
                engine.servers.work();
            }),
        )?;
        rank.reports().awaited(|| engine.calls.awaited());
        engine.meet()?;
        if rank.config().progress_thread {
            engine.serve_by_threads(1)?;
        }
        Ok(engine)
    }

    /// Draws the key of the job, and compares builds: ranks of different ones would take each other's
    /// functions for others. Where builds differ, the least and the greatest differ, so all go on to tell
    /// which they are. A rank gets no more than these, so that its memory does not grow with the job.
    fn meet(&self) -> Result<(), Error> {
        let (mine, [a, b]) = (service::identity(), service::Key::share());
        let both = |x: [u64; 4], y: [u64; 4]| {
            let [a, b] = service::Key::add([x[2], x[3]], [y[2], y[3]]);
            [x[0].min(y[0]), x[1].max(y[1]), a, b]
        };
        let all = self.rank_team().reduce_all_commutative(&[[mine, mine, a, b]], both);
        let [least, greatest, a, b] = all[0];
        let _ = self.key.set(service::Key::of_shares([a, b]));
        if least == greatest {
            return Ok(());
        }
        let all = self.rank_team().gather_all(&[mine]);
        let other = all.iter().position(|&identity| identity != mine).unwrap_or_default();
        let programs = self.rank_team().gather_all(&[program()]);
        let me = self.rank.id().0 as usize;
        let name = |rank: usize| {
            let path = String::from_utf8_lossy(&programs[rank]);
            format!("rank {rank} runs {}, build {:016x}", path.trim_end_matches('\0'), all[rank])
        };
        Err(Error::job(format!(
            "ranks run different builds of the program: {}; {}. A remote call names a function by its place in the \
             executable, so start the same file on all hosts",
            name(me),
            name(other)
        )))
    }

    fn rank_team(&self) -> gasnet::Team {
        self.rank.team_all()
    }

    /// Leaves a value for services to find: [`Engine::context`], and [`context::reading`]. Once.
    pub fn set_context(&self, context: &'static (dyn Any + Send + Sync)) {
        let _ = self.context.set(context);
    }

    /// Sends a record that nobody answers: `service` runs on `to` with `body`, which is taken if it is long,
    /// and with at most [`MOST_PAYLOADS`] payloads.
    ///
    /// # One-sided
    /// Returns when the record is queued; it leaves at the next call of the engine that makes progress, or
    /// when enough of them are together. May wait, and serve meanwhile, unless called by a service or a task.
    /// After the end of all ranks ([`Engine::finish`]) it does nothing.
    #[track_caller]
    pub fn send(
        &'static self,
        to: RankId,
        service: &'static Service,
        body: &mut Vec<u8>,
        payloads: Vec<Arc<dyn Source>>,
    ) {
        self.check_rank(to);
        if self.calls.is_closed() {
            return;
        }
        self.count(1);
        if self.rank.size() >= TWO_HOPS_FROM
            && payloads.is_empty()
            && body.len() <= outbox::LARGEST_IN_BATCH
            && !self.rank.is_neighbour(to)
            && let Some(way) = way(self.rank.size(), self.rank.id().0, to.0)
        {
            return self.send_by_way(RankId(way), to, service, body);
        }
        self.make_room(to);
        self.has_sent_one();
        self.post(
            to,
            To::Service { service: service::number(self.rank, service), answer: None },
            body,
            payloads,
        );
    }

    fn send_by_way(&'static self, way: RankId, to: RankId, service: &'static Service, body: &[u8]) {
        self.make_room(way);
        self.has_sent_one();
        let what = To::Onward { service: service::number(self.rank, service), from: self.rank.id(), to };
        if self.outbox.append(way, &what, &[], false, body) {
            self.flush_to(way);
        }
    }

    /// Counts `n` more things that the program has asked for ([`Engine::counted`]): some that travel in one
    /// record.
    pub fn count(&self, n: usize) {
        if let Some([asked, _]) = &self.counts {
            // Relaxed: a count.
            asked.fetch_add(n as u64, Ordering::Relaxed);
        }
    }

    /// With `GASNET_STATS=1`: how much the program has asked for, and how many active messages were sent for
    /// it, to answer included.
    pub fn counted(&self) -> Option<[u64; 2]> {
        // Relaxed: counts.
        self.counts.as_ref().map(|counts| [0, 1].map(|i| counts[i].load(Ordering::Relaxed)))
    }

    /// Sends a record that is to be answered.
    ///
    /// # One-sided
    /// Returns when the record is on its way; the answer completes the [`Call`], or the end of all ranks does
    /// ([`CallError::Gone`]). May wait as [`Engine::send`].
    #[track_caller]
    pub fn call(
        &'static self,
        to: RankId,
        service: &'static Service,
        body: &mut Vec<u8>,
        payloads: Vec<Arc<dyn Source>>,
    ) -> Call {
        let (call, what) = self.begin(to, service);
        if let Some(what) = what {
            self.post_now(to, what, body, payloads);
        }
        call
    }

    /// [`Engine::call`] with few bytes and no payloads.
    #[inline]
    #[track_caller]
    pub fn call_short(&'static self, to: RankId, service: &'static Service, body: &Short) -> Call {
        let (call, what) = self.begin(to, service);
        if let Some(what) = what {
            let record = Small::new(&what, body);
            self.outbox.count(to, Small::BYTES);
            self.send_small(to, RECORDS, &record);
        }
        call
    }

    /// Begins a call, and counts it; what its record is for. None is sent when all ranks have left.
    #[inline]
    #[track_caller]
    fn begin(&'static self, to: RankId, service: &'static Service) -> (Call, Option<To>) {
        self.check_rank(to);
        self.make_room(to);
        let (call, answer) = self.calls.open(self.rank.id(), to);
        if self.calls.is_closed() {
            return (call, None);
        }
        self.has_sent_one();
        self.count(1);
        (call, Some(To::Service { service: service::number(self.rank, service), answer: Some(answer) }))
    }

    #[inline]
    fn send_small(&self, to: RankId, handler: u8, record: &Small) {
        self.count_message();
        self.sent_or_fatal(self.rank.request_short(to, handler, record.arguments()));
    }

    /// Before anything is counted: a panic leaves nothing behind that is waited for.
    #[track_caller]
    fn check_rank(&self, to: RankId) {
        assert!(to.0 < self.rank.size(), "rank {to} of {}: ranks are numbered from 0", self.rank.size());
    }

    /// Answers a call.
    pub(crate) fn answer(
        &'static self,
        answer: wire::Answer,
        outcome: u8,
        body: &mut Vec<u8>,
        payloads: Vec<Arc<dyn Source>>,
    ) {
        // Who has called has left, or is about to, and hears of that.
        if self.calls.is_closed() {
            return;
        }
        let what = To::Call { answer, outcome };
        if TOGETHER.get() {
            self.post(answer.origin, what, body, payloads);
        } else {
            self.post_now(answer.origin, what, body, payloads);
        }
    }

    /// Answers a call with few bytes.
    #[inline]
    pub(crate) fn answer_short(&'static self, answer: wire::Answer, body: &Short) {
        if self.calls.is_closed() {
            return;
        }
        let (to, what) = (answer.origin, To::Call { answer, outcome: calls::ANSWERED });
        if !TOGETHER.get() {
            self.send_small(to, BATCH, &Small::new(&what, body));
        } else if self.outbox.append(to, &what, &[], false, body.bytes()) {
            self.flush_to(to);
        }
    }

    /// Sends a record by itself, at once.
    fn post_now(&self, to: RankId, what: To, body: &mut Vec<u8>, payloads: Vec<Arc<dyn Source>>) {
        if body.len() > outbox::LARGEST_IN_BATCH || !payloads.is_empty() {
            return self.post(to, what, body, payloads);
        }
        if let Some(body) = Short::new(body) {
            let record = Small::new(&what, &body);
            let is_answer = matches!(what, To::Call { .. });
            if !is_answer {
                self.outbox.count(to, Small::BYTES);
            }
            return self.send_small(to, if is_answer { BATCH } else { RECORDS }, &record);
        }
        let mut record = outbox::buffer();
        wire::append(&mut record, &what, &[], false, body);
        self.outbox.count_batch(to, &record);
        self.send_batch(to, &record);
        outbox::recycle(record);
    }

    /// Queues a record.
    fn post(&self, to: RankId, what: To, body: &mut Vec<u8>, mut payloads: Vec<Arc<dyn Source>>) {
        let whole = body.len() > outbox::LARGEST_IN_BATCH;
        if whole {
            payloads.insert(0, Arc::new(core::mem::take(body)));
        }
        if !payloads.is_empty() {
            let body = core::mem::take(body);
            return self.offer(HeldRecord { to, what, whole, body, sources: payloads });
        }
        if self.outbox.append(to, &what, &[], false, body) {
            self.flush_to(to);
        }
    }

    /// Holds a record back and asks for room for its payloads.
    fn offer(&self, held: HeldRecord) {
        let to = held.to;
        self.outbox.count(to, held.len());
        // A record that is held counts until it leaves, so that settling waits for answers, too.
        self.has_sent_one();
        let (number, lengths) = self.payloads.hold(held);
        let lengths = bytemuck::cast_slice(&lengths);
        self.sent_or_fatal(self.rank.request_medium(to, OFFER, &[number], lengths));
    }

    /// Who sends from the program waits while too much is under way to a rank.
    #[inline]
    fn make_room(&'static self, to: RankId) {
        if !self.outbox.has_room(to) && !context::serving() {
            self.wait_for_room(to);
        }
    }

    #[cold]
    fn wait_for_room(&'static self, to: RankId) {
        self.flush_to(to);
        self.rank.waits().wait_for("a rank that is to serve remote calls", Some(to), || {
            self.serve();
            self.outbox.has_room(to)
        });
    }

    /// Handler: a record is to come, with payloads of these lengths.
    fn offered(&'static self, token: &Token<'_>, m: &Message<'_>) {
        let from = token.source();
        let (&[number], true) = (m.args, m.len <= 8 * (MOST_PAYLOADS + 1)) else {
            self.garbled(from, "an offer that is none");
        };
        let keys = self.payloads.make_rooms(self.rank, from, m.bytes()).unwrap_or_default();
        self.sent_or_fatal(token.reply_medium(GRANT, &[number], bytemuck::cast_slice(&keys)));
    }

    /// Handler: the keys for the payloads of a record.
    fn granted(&self, from: RankId, m: &Message<'_>) {
        let keys = m.bytes().chunks_exact(size_of::<gasnet::RegionKey>()).map(bytemuck::pod_read_unaligned);
        let known = match m.args {
            &[number] => self.payloads.granted(from, number, keys.collect()),
            _ => false,
        };
        if !known {
            self.garbled(from, "keys for payloads that it was not offered");
        }
        self.servers.work();
    }

    /// Runs something that may not wait: what it sends is queued, whatever is under way.
    pub fn without_waiting<T>(run: impl FnOnce() -> T) -> T {
        struct Restore(bool);
        impl Drop for Restore {
            fn drop(&mut self) {
                context::set_serving(self.0);
            }
        }
        let _restore = Restore(context::set_serving(true));
        run()
    }

    /// Whether the calling thread runs a service or a task, where nothing may wait.
    pub fn is_serving() -> bool {
        context::serving()
    }

    /// Starts a task: the rank drives the future whenever it serves. Called by a service, the record that it
    /// serves counts as served when the task is over. A panic of the future ends the task, and goes on in who
    /// serves.
    pub fn spawn(&'static self, future: impl Future<Output = ()> + Send + 'static) {
        /// Counts the record as served, however the task ends.
        struct Over(&'static Engine);
        impl Drop for Over {
            fn drop(&mut self) {
                self.0.has_served_one();
            }
        }
        self.has_sent_one();
        let over = Over(self);
        self.tasks.spawn(async move {
            let _over = over;
            future.await;
        });
    }

    /// Polls a future whose thread serves between polls, as those of tasks do.
    pub fn driving<T>(poll: impl FnOnce() -> T) -> T {
        tasks::driving(poll)
    }

    /// A future waits for an answer. If another executor polls it, whose threads sleep and do not serve, a
    /// thread that serves is started, once.
    pub fn is_awaited(&'static self) {
        if tasks::drives() || !self.servers.none() {
            return;
        }
        self.helper
            .call_once(|| self.serve_by_threads(1).unwrap_or_else(|e| self.rank.fatal(&e.to_string())));
    }

    /// Waits until a condition holds, and serves meanwhile. `what` names the wait in reports.
    ///
    /// # Panics
    /// In a service, which may not wait: it would keep others from being served.
    #[track_caller]
    pub fn wait_until(&'static self, what: &'static str, mut condition: impl FnMut() -> bool) {
        self.wait_for(what, None, &mut condition);
    }

    /// The beginning of every wait: it sends what is queued, and serves from then on.
    #[track_caller]
    fn begin_wait(&'static self, what: &str) -> Here {
        assert!(
            !context::serving(),
            "a function that another rank has called may not wait ({what}): make it async, and await"
        );
        self.flush();
        Here::waiting(self)
    }

    /// [`Engine::wait_until`] where it is known which rank will end the wait.
    ///
    /// # Panics
    /// As [`Engine::wait_until`].
    #[track_caller]
    pub fn wait_for(
        &'static self,
        what: &'static str,
        peer: Option<RankId>,
        mut condition: impl FnMut() -> bool,
    ) {
        let here = self.begin_wait(what);
        // Who waits for one rank goes on as soon as it can. Who waits for all would be the last that others
        // wait for: what they have asked for comes first.
        let serves_first = peer.is_none();
        self.rank.waits().wait_for(what, peer, || {
            !(serves_first && hand::has(self.own)) && condition() || here.serve() > 0 && condition()
        });
    }

    /// [`Engine::wait_until`] at a place of the program that all ranks have to reach
    /// ([`WaitCalls::meet_until`](gasnet::WaitCalls::meet_until)).
    ///
    /// # Panics
    /// As [`Engine::wait_until`].
    #[track_caller]
    pub fn meet_until(
        &'static self,
        place: Option<MeetingPlace>,
        what: &'static str,
        mut condition: impl FnMut() -> bool,
    ) {
        let here = self.begin_wait(what);
        self.rank.waits().meet_until(place, what, || {
            !hand::has(self.own) && condition() || here.serve() > 0 && condition()
        });
    }

    /// A barrier of all ranks, at which this rank serves while it waits.
    ///
    /// # Collective
    ///
    /// # Panics
    /// In a service. Ends the job when ranks name the barrier differently: they are in different places of
    /// the program.
    pub fn barrier(&'static self, name: i32, what: &'static str) {
        assert!(!context::serving(), "a function that another rank has called may not enter a barrier");
        self.rank.split_barrier().notify(name, 0);
        self.end_barrier(name, what);
    }

    /// The second half of a barrier.
    fn end_barrier(&'static self, name: i32, what: &'static str) {
        let mut outcome = None;
        self.meet_until(Some(MeetingPlace::Barrier), what, || {
            outcome = outcome.take().or_else(|| self.rank.split_barrier().test(name, 0));
            outcome.is_some()
        });
        if outcome == Some(gasnet::barrier::Outcome::Mismatched) {
            self.in_different_places(what);
        }
    }

    #[cold]
    fn in_different_places(&self, what: &str) -> ! {
        self.rank.fatal(&format!(
            "{what}: this rank has made a collective call while another rank made a different one, or ended. All \
             ranks must make the same collective calls in the same order"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::way;
    use std::collections::HashSet;

    #[test]
    fn ways_are_short_and_few() {
        let sizes = [2u32, 5, 11, 64, 67, 100, 1000];
        for &size in &sizes[..if cfg!(miri) { 3 } else { sizes.len() }] {
            let side = f64::from(size).sqrt().ceil() as usize;
            for me in 0..size {
                let next = |to| way(size, me, to).unwrap_or(to);
                // From a rank between, the rest of the way is straight.
                assert!((0..size).all(|to| next(to) == to || way(size, next(to), to).is_none()));
                let others: HashSet<u32> = (0..size).map(next).collect();
                // Its row, its column, and those who would meet it in the row that is not full.
                assert!(others.len() <= 3 * side, "{} of {size}", others.len());
            }
        }
    }
}
