//! LAPI's messages: the receiver says where the bytes of a message go, and counters tell how far it has come.
//!
//! # Words
//! *Header handler*: a function of the target that is called with the header of a message, when the first of
//! it has come, and says where the bytes go ([`Landing`]). *Completion handler*: is called at the target when
//! all bytes are there. *Counter*: a number of a rank that messages raise and that threads wait for. A
//! message may raise three: at its sender when the bytes may be changed (*origin*), at the target when it has
//! been dealt with (*target*), and at the sender when it knows that (*completion*). They rise in this order.
//!
//! # A message, traced
//! ```text
//!   sender                                  target
//!   send ---- header, first bytes --->  header handler: where to
//!        ---- more bytes --->           copied there, in any order
//!   origin + 1
//!        <--- all are there ---         completion handler, in the next call of the program
//!                                       target + 1
//!   completion + 1  <--- dealt with ---
//! ```
//! [`Lapi::send`] returns when the bytes may be changed, so the origin counter is raised by then. Header
//! handlers run inside the runtime, whenever the rank polls, one at a time: they may neither wait nor send.
//! Completion handlers may call everything. They run in the calls of this module that wait, in
//! [`serve`](Lapi::serve), and on the thread of [`interrupts`](Lapi::interrupts): several at once, if there
//! are several threads.
//!
//! # Order
//! None between messages, unless one begins after the completion counter of the other was raised, or after a
//! [`fence`](Lapi::fence). Where two messages of which none waits for the other write to the same place, each
//! byte is of one or the other.
//!
//! # A target that does not poll
//! The rank of the target has to poll: a sender to one that computes goes on until the conduit has no room,
//! and waits then. With `GASNET_PROGRESS=thread` the bytes go to their place meanwhile, and with
//! [`interrupts`](Lapi::interrupts) completion handlers run, too.
//!
//! # What differs
//! LAPI's gets, and operations that read and change a word, are those of [`Rank`]. Counters have numbers, the
//! same on all ranks, instead of addresses. After the chapter on LAPI of V. Innocente and Adewale's survey.

use gasnet::am::{FIRST_CLIENT_HANDLER, MAX_MEDIUM};
use gasnet::{Error, GlobalPtr, Handler, Message, Rank, RankId, Token};
use gasnet_sys::mutex::lock;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// The handlers of first pieces, of further ones, and of answers: below those of packets.
const FIRST: u8 = FIRST_CLIENT_HANDLER - 8;
const MORE: u8 = FIRST_CLIENT_HANDLER - 9;
const ANSWER: u8 = FIRST_CLIENT_HANDLER - 10;
/// The header handler of puts.
const PUT: u32 = u32::MAX;

/// Most bytes of a header.
pub const MAX_HEADER: usize = 4096;

/// The number of a counter; each rank has one of that number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CounterId(pub u32);

/// The counters that a message raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Raises {
    /// At the sender: the bytes may be changed.
    pub origin: Option<CounterId>,
    /// At the target: the message has been dealt with, by its completion handler if it has one.
    pub target: Option<CounterId>,
    /// At the sender: the target's counter has been raised.
    pub completion: Option<CounterId>,
}

/// The argument of a header handler.
#[derive(Debug)]
pub struct Header<'a> {
    /// The messages of this rank.
    pub lapi: &'static Lapi,
    /// The sender.
    pub source: RankId,
    /// The header.
    pub bytes: &'a [u8],
    /// How many bytes follow it.
    pub len: usize,
}

/// The argument of a completion handler.
#[derive(Debug)]
pub struct CompletedMessage {
    /// The messages of this rank.
    pub lapi: &'static Lapi,
    /// The sender.
    pub source: RankId,
    /// The buffer of the landing, with the message in its first bytes; empty if they went elsewhere.
    pub buffer: Vec<u8>,
    /// How many bytes the message has.
    pub len: usize,
}

type Completion = Box<dyn FnOnce(CompletedMessage) + Send>;
type HeaderHandler = Box<dyn Fn(&Header<'_>) -> Landing + Send + Sync>;

enum LandingPlace {
    Buffer(Vec<u8>),
    Segment(GlobalPtr<u8>),
    Nowhere,
}

/// Where the bytes of a message go, and what is called when they are there.
pub struct Landing {
    place: LandingPlace,
    then: Option<Completion>,
}

impl core::fmt::Debug for Landing {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Landing").field("then", &self.then.is_some()).finish_non_exhaustive()
    }
}

impl Landing {
    /// To the first bytes of a buffer, which the completion handler gets. A buffer that is too short ends the
    /// job.
    pub fn buffer(buffer: Vec<u8>) -> Landing {
        Landing { place: LandingPlace::Buffer(buffer), then: None }
    }

    /// To a place in the target's segment. One outside of it, or in another rank's, ends the job.
    pub fn segment(at: GlobalPtr<u8>) -> Landing {
        Landing { place: LandingPlace::Segment(at), then: None }
    }

    /// Nowhere: the bytes are lost.
    pub fn nowhere() -> Landing {
        Landing { place: LandingPlace::Nowhere, then: None }
    }

    /// Has this called when all bytes are there.
    #[must_use]
    pub fn then(self, call: impl FnOnce(CompletedMessage) + Send + 'static) -> Landing {
        Landing { then: Some(Box::new(call)), ..self }
    }
}

/// A message of which something has come.
#[derive(Default)]
struct Coming {
    /// The contents of its first piece.
    begun: Option<Begun>,
    /// Bytes that are in their place, and pieces that came before the first.
    placed: usize,
    early: Vec<(usize, Vec<u8>)>,
}

struct Begun {
    landing: Landing,
    len: usize,
    target: Option<CounterId>,
    completion: Option<CounterId>,
}

/// A completion handler that is due.
struct Due {
    source: RankId,
    begun: Begun,
    call: Completion,
}

/// The messages of a rank; they live as long as the process.
pub struct Lapi {
    rank: &'static Rank,
    handlers: Vec<HeaderHandler>,
    counters: Vec<AtomicU64>,
    /// One header handler runs at a time.
    alone: Mutex<()>,
    /// By sender and number.
    coming: Mutex<FxHashMap<(u32, u32), Coming>>,
    due: Mutex<VecDeque<Due>>,
    /// How many messages to each rank are not in place there.
    under_way: Vec<AtomicU64>,
    next: AtomicU32,
}

impl core::fmt::Debug for Lapi {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Lapi").field("rank", &self.rank.id()).finish_non_exhaustive()
    }
}

/// A counter as an argument of a message.
fn argument(counter: Option<CounterId>) -> u32 {
    counter.map_or(0, |counter| counter.0 + 1)
}

/// The header handlers of a rank; the first has number 0.
#[derive(Default)]
pub struct HeaderHandlers(Vec<HeaderHandler>);

impl core::fmt::Debug for HeaderHandlers {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("HeaderHandlers").field(&self.0.len()).finish()
    }
}

impl HeaderHandlers {
    /// With one more handler.
    #[must_use]
    pub fn and(mut self, call: impl Fn(&Header<'_>) -> Landing + Send + Sync + 'static) -> HeaderHandlers {
        self.0.push(Box::new(call));
        self
    }
}

impl Lapi {
    /// Starts the messages of this rank, with `counters` counters at 0. All ranks have as many, and have
    /// the same header handlers in the same order.
    ///
    /// # Collective
    /// Over all ranks; acts as a barrier.
    ///
    /// # Errors
    /// They were started before.
    pub fn start(
        rank: &'static Rank,
        counters: u32,
        handlers: HeaderHandlers,
    ) -> Result<&'static Lapi, Error> {
        let zeros = |n: u32| (0..n).map(|_| AtomicU64::new(0)).collect();
        let lapi: &'static Lapi = Box::leak(Box::new(Lapi {
            rank,
            handlers: handlers.0,
            counters: zeros(counters),
            alone: Mutex::default(),
            coming: Mutex::default(),
            due: Mutex::default(),
            under_way: zeros(rank.size()),
            next: AtomicU32::new(0),
        }));
        rank.register_library(FIRST, Handler::new(|token, m| lapi.first(token, m)))?;
        rank.register_library(MORE, Handler::new(|token, m| lapi.more(token, m)))?;
        rank.register_library(ANSWER, Handler::new(|token, m| lapi.answer(token.source(), m.args)))?;
        rank.barrier();
        Ok(lapi)
    }

    /// The rank.
    pub fn rank(&self) -> &'static Rank {
        self.rank
    }

    /// Sends a header to a header handler of a rank, and bytes to where it says.
    ///
    /// # One-sided
    /// Returns when header and bytes may be changed. Waits while the conduit has no room.
    ///
    /// # Errors
    /// The header is longer than [`MAX_HEADER`], or there are 4 GiB or more; or there is no such counter.
    pub fn send(
        &self,
        to: RankId,
        handler: u32,
        header: &[u8],
        bytes: &[u8],
        raises: Raises,
    ) -> Result<(), Error> {
        if handler as usize >= self.handlers.len() {
            return Err(Error::op(format!(
                "header handler {handler}: there are {} at this rank",
                self.handlers.len()
            )));
        }
        self.start_message(to, handler, header, bytes, raises)
    }

    /// Writes bytes to a rank's segment, as a message whose header handler says so.
    ///
    /// # One-sided
    /// As [`send`](Self::send). The bytes are in their place when the target's counter is raised.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn put(&self, to: GlobalPtr<u8>, bytes: &[u8], raises: Raises) -> Result<(), Error> {
        self.start_message(to.rank(), PUT, &to.offset().to_le_bytes(), bytes, raises)
    }

    fn start_message(
        &self,
        to: RankId,
        handler: u32,
        header: &[u8],
        bytes: &[u8],
        raises: Raises,
    ) -> Result<(), Error> {
        let Raises { origin, target, completion } = raises;
        for counter in [origin, target, completion].into_iter().flatten() {
            if counter.0 as usize >= self.counters.len() {
                return Err(Error::op(format!("counter {}: there are {}", counter.0, self.counters.len())));
            }
        }
        let Ok(len) = u32::try_from(bytes.len()) else {
            return Err(Error::op(format!("a message of {} bytes: at most {}", bytes.len(), u32::MAX)));
        };
        if header.len() > MAX_HEADER {
            return Err(Error::op(format!("a header of {} bytes: at most {MAX_HEADER}", header.len())));
        }
        if to.0 >= self.rank.size() {
            return Err(Error::op(format!("a message to rank {to}: the job has {} ranks", self.rank.size())));
        }
        let under_way = &self.under_way[to.0 as usize];
        // Relaxed: counts this rank's own calls, of which each knows what it has sent.
        under_way.fetch_add(1, Ordering::Relaxed);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (now, rest) = bytes.split_at(bytes.len().min(MAX_MEDIUM - header.len()));
        let args = [number, handler, header.len() as u32, len, argument(target), argument(completion)];
        if let Err(e) = self.rank.request_medium(to, FIRST, &args, &[header, now].concat()) {
            under_way.fetch_sub(1, Ordering::Relaxed);
            return Err(e);
        }
        for (i, piece) in rest.chunks(MAX_MEDIUM).enumerate() {
            let at = now.len() + i * MAX_MEDIUM;
            self.rank.request_medium(to, MORE, &[number, at as u32], piece)?;
        }
        self.raise(origin);
        Ok(())
    }

    fn raise(&self, counter: Option<CounterId>) {
        if let Some(counter) = counter {
            // ORDER: Release; pairs with Acquire in `get` and `take`: what was done before is visible to
            // who sees the counter.
            self.counters[counter.0 as usize].fetch_add(1, Ordering::Release);
        }
    }

    /// The value of a counter of this rank.
    ///
    /// # Panics
    /// There is no such counter.
    pub fn get(&self, counter: CounterId) -> u64 {
        // ORDER: Acquire; pairs with Release in `raise`.
        self.counters[counter.0 as usize].load(Ordering::Acquire)
    }

    /// Sets a counter of this rank. Not while messages may raise it.
    ///
    /// # Panics
    /// There is no such counter.
    pub fn set(&self, counter: CounterId, value: u64) {
        // ORDER: Release; pairs with Acquire in `get` and `take`, as in `raise`.
        self.counters[counter.0 as usize].store(value, Ordering::Release);
    }

    /// Subtracts `value` from a counter, if the counter is at least that high.
    fn take(&self, counter: CounterId, value: u64) -> bool {
        let counter = &self.counters[counter.0 as usize];
        // ORDER: Acquire; pairs with Release in `raise`.
        counter.fetch_update(Ordering::Acquire, Ordering::Relaxed, |is| is.checked_sub(value)).is_ok()
    }

    /// Waits until a counter of this rank is at least `value`, and takes `value` off it. Runs completion
    /// handlers meanwhile.
    ///
    /// # Panics
    /// There is no such counter.
    pub fn wait(&'static self, counter: CounterId, value: u64) {
        self.rank.wait_until("a counter of LAPI", || {
            self.run_due();
            self.take(counter, value)
        });
    }

    /// Waits until all messages that this rank has sent to another are in their place there: later ones come
    /// after them. Their completion handlers need not have run.
    pub fn fence(&'static self, to: RankId) {
        self.rank.wait_until("messages of LAPI to be in their place", || {
            self.run_due();
            // ORDER: Acquire; pairs with Release in `answer`: what the program does next comes after what the
            // target did before its answer.
            self.under_way[to.0 as usize].load(Ordering::Acquire) == 0
        });
    }

    /// [`fence`](Self::fence) for all ranks.
    pub fn fence_all(&'static self) {
        self.rank.ranks().for_each(|to| self.fence(to));
    }

    /// Polls, and runs the completion handlers that are due. Returns how many.
    pub fn serve(&'static self) -> usize {
        self.rank.poll();
        self.run_due()
    }

    /// Runs completion handlers on a thread of their own, which polls, until what this returns is dropped.
    /// The rank must allow more than one thread.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn interrupts(&'static self) -> io::Result<Interrupts> {
        let over = Arc::new(AtomicBool::new(false));
        let ends = over.clone();
        let thread = std::thread::Builder::new().name("lapi".into()).spawn(move || {
            self.rank.wait_until("the end of LAPI's interrupts", || {
                self.run_due();
                // Relaxed: whoever ends it waits for the thread.
                ends.load(Ordering::Relaxed)
            });
        })?;
        Ok(Interrupts { over, thread: Some(thread) })
    }

    fn run_due(&'static self) -> usize {
        let mut count = 0;
        loop {
            // Not held while one runs.
            let next = lock(&self.due).pop_front();
            let Some(Due { source, begun, call }) = next else { return count };
            let buffer = match begun.landing.place {
                LandingPlace::Buffer(buffer) => buffer,
                LandingPlace::Segment(_) | LandingPlace::Nowhere => Vec::new(),
            };
            call(CompletedMessage { lapi: self, source, buffer, len: begun.len });
            self.raise(begun.target);
            if begun.completion.is_some() && !self.rank.has_departed(source) {
                let sent = self.rank.request_short(source, ANSWER, &[0, argument(begun.completion)]);
                sent.unwrap_or_else(|e| self.rank.fatal(&format!("an answer of LAPI to rank {source}: {e}")));
            }
            count += 1;
        }
    }

    /// Ends the job: a message that arrived cannot be one of this module's.
    fn nonsense(&self, source: RankId, what: &str) -> ! {
        self.rank.fatal(&format!("a message of LAPI from rank {source}: {what}"))
    }

    /// The counter that an argument names.
    fn counter(&self, source: RankId, argument: u32) -> Option<CounterId> {
        let counter = CounterId(argument.checked_sub(1)?);
        if counter.0 as usize >= self.counters.len() {
            let n = self.counters.len();
            self.nonsense(source, &format!("it names counter {}, and this rank has {n}", counter.0));
        }
        Some(counter)
    }

    /// Handler: the header and the first bytes.
    fn first(&'static self, token: &Token<'_>, m: &Message<'_>) {
        let source = token.source();
        let &[number, handler, header, len, target, completion] = m.args else {
            self.nonsense(source, "it has other arguments")
        };
        let len = len as usize;
        let Some((header, bytes)) = m.bytes().split_at_checked(header as usize) else {
            self.nonsense(source, "its header is cut off")
        };
        let landing = self.landing(source, handler, header, len);
        match &landing.place {
            LandingPlace::Buffer(buffer) if buffer.len() < len => {
                let room = buffer.len();
                self.nonsense(
                    source,
                    &format!("it has {len} bytes, and the buffer of its header handler {room}"),
                );
            }
            LandingPlace::Segment(at) if at.rank() != self.rank.id() => {
                let rank = at.rank();
                self.nonsense(source, &format!("its header handler named the segment of rank {rank}"));
            }
            _ => {}
        }
        let (target, completion) = (self.counter(source, target), self.counter(source, completion));
        self.arrive(token, number, 0, bytes, Some(Begun { landing, len, target, completion }));
    }

    fn landing(&'static self, source: RankId, handler: u32, header: &[u8], len: usize) -> Landing {
        if handler == PUT {
            let Ok(offset) = <[u8; 8]>::try_from(header) else { self.nonsense(source, "a put to nowhere") };
            return Landing::segment(GlobalPtr::new(self.rank.id(), u64::from_le_bytes(offset)));
        }
        let Some(call) = self.handlers.get(handler as usize) else {
            let n = self.handlers.len();
            self.nonsense(source, &format!("it names header handler {handler}, and this rank has {n}"))
        };
        let _alone = lock(&self.alone);
        call(&Header { lapi: self, source, bytes: header, len })
    }

    /// Handler: further bytes.
    fn more(&'static self, token: &Token<'_>, m: &Message<'_>) {
        let &[number, at] = m.args else { self.nonsense(token.source(), "a piece has other arguments") };
        self.arrive(token, number, at as usize, m.bytes(), None);
    }

    /// Takes in a piece, and sees whether the message is whole.
    fn arrive(&'static self, token: &Token<'_>, number: u32, at: usize, bytes: &[u8], first: Option<Begun>) {
        let source = token.source();
        let mut all = lock(&self.coming);
        let coming = all.entry((source.0, number)).or_default();
        if first.is_some() && coming.begun.is_some() {
            self.nonsense(source, "it has begun twice");
        }
        coming.begun = coming.begun.take().or(first);
        let Some(begun) = &mut coming.begun else {
            coming.early.push((at, bytes.to_vec()));
            return;
        };
        let early = coming.early.iter().map(|(at, piece)| (*at, &**piece));
        for (at, piece) in early.chain([(at, bytes)]) {
            if at + piece.len() > begun.len {
                self.nonsense(source, "a piece lies outside of it");
            }
            match &mut begun.landing.place {
                LandingPlace::Buffer(buffer) => buffer[at..at + piece.len()].copy_from_slice(piece),
                LandingPlace::Segment(to) => self.rank.write_slice(to.add(at), piece),
                LandingPlace::Nowhere => {}
            }
            coming.placed += piece.len();
        }
        coming.early.clear();
        if coming.placed < begun.len {
            return;
        }
        let whole = all.remove(&(source.0, number)).and_then(|coming| coming.begun);
        drop(all);
        if let Some(begun) = whole {
            self.whole(token, begun);
        }
    }

    /// All bytes are in their place.
    fn whole(&self, token: &Token<'_>, mut begun: Begun) {
        let source = token.source();
        let mut dealt_with = None;
        match begun.landing.then.take() {
            Some(call) => lock(&self.due).push_back(Due { source, begun, call }),
            None => {
                self.raise(begun.target);
                dealt_with = begun.completion;
            }
        }
        if let Err(e) = token.reply_short(ANSWER, &[1, argument(dealt_with)]) {
            self.rank.fatal(&format!("an answer of LAPI to rank {source}: {e}"));
        }
    }

    /// Handler: how many messages are in their place, and the counter to raise.
    fn answer(&self, source: RankId, args: &[u32]) {
        let &[placed @ 0..=1, completion] = args else {
            self.nonsense(source, "an answer has other arguments")
        };
        // ORDER: Release; pairs with Acquire in `fence`.
        self.under_way[source.0 as usize].fetch_sub(placed.into(), Ordering::Release);
        self.raise(self.counter(source, completion));
    }
}

/// The thread of [`Lapi::interrupts`]. Dropping it ends the thread, and waits for that.
#[derive(Debug)]
pub struct Interrupts {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        // Relaxed: as in `Lapi::interrupts`.
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take().filter(|t| t.thread().id() != std::thread::current().id()) {
            // A panic of a completion handler has been reported.
            let _ = thread.join();
        }
    }
}
