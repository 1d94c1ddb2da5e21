//! Calls that wait for their answers.
//!
//! A call has a place in the table of the rank that made it, and a generation that no other call of that
//! place has had lately. An answer names both, so one that is late, repeated or forged finds nothing and is
//! dropped. A place is made once and used for one call after the other: a call allocates nothing.
//!
//! The handler writes an answer of few bytes straight to where its caller looks. Who may use a place, its
//! state tells; a lock is taken for what few calls need: a waker, an error, an answer that is long.

use crate::counts::OwnThread;
use crate::payload::Payload;
use crate::prim::{AtomicBool, AtomicU32, AtomicU64, Ordering, Turns, fence, turns, yield_now};
use crate::wire::{Answer, SHORT_WORDS, Short};
use core::any::Any;
use core::panic::Location;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use gasnet::RankId;
use gasnet_wire::report::Awaited;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Instant;
use thiserror::Error;

/// Why a call has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CallError {
    /// The function has panicked.
    #[error("the function called on rank {rank} has panicked: {message}")]
    Panicked {
        /// Where.
        rank: RankId,
        /// The text of the panic.
        message: String,
    },
    /// The reply was dropped unanswered.
    #[error("rank {rank} has dropped the reply without an answer")]
    Abandoned {
        /// Where.
        rank: RankId,
    },
    /// There was no memory for the arguments or the result where they were to go.
    #[error("rank {rank} has no memory for the arguments or the result")]
    NoRoom {
        /// Where.
        rank: RankId,
    },
    /// The rank has left: the program is over there, and with it all that was asked for.
    #[error("rank {rank} has left: its program is over")]
    Gone {
        /// Which.
        rank: RankId,
    },
    /// Arguments or result could not be read where they arrived.
    #[error("between rank {rank} and its caller: {message}")]
    Codec {
        /// Where.
        rank: RankId,
        /// Which value could not be read, and why.
        message: String,
    },
}

/// The text of a panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(it said nothing)")
}

/// How a call ended, as a byte.
pub(crate) const ANSWERED: u8 = 0;
pub(crate) const PANICKED: u8 = 1;
pub(crate) const ABANDONED: u8 = 2;
pub(crate) const UNREADABLE: u8 = 3;
pub(crate) const NO_ROOM: u8 = 4;

/// The bytes of an answer.
#[derive(Debug)]
enum Body {
    Short(Short),
    InMessage(Vec<u8>),
    /// It was too long for a message.
    InPlace(Payload),
}

/// An answer that has arrived.
#[derive(Debug)]
pub struct Answered {
    body: Body,
    /// The payloads of the answer.
    pub payloads: Vec<Payload>,
}

impl Answered {
    /// An answer without payloads.
    pub(crate) fn new(body: &[u8]) -> Answered {
        let body = match Short::new(body) {
            Some(short) => Body::Short(short),
            None => Body::InMessage(body.to_vec()),
        };
        Answered { body, payloads: Vec::new() }
    }

    /// An answer with payloads; `long_body` is the body in place of `body`.
    pub(crate) fn with_payloads(body: &[u8], long_body: Option<Payload>, payloads: Vec<Payload>) -> Answered {
        match long_body {
            Some(body) => Answered { body: Body::InPlace(body), payloads },
            None => Answered { payloads, ..Answered::new(body) },
        }
    }

    /// The bytes that the service has answered with.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match &self.body {
            Body::Short(short) => short.bytes(),
            Body::InMessage(bytes) => bytes,
            Body::InPlace(payload) => payload.bytes(),
        }
    }
}

/// States of a place: the low byte of its state word. Above it is the generation of the call that has the
/// place now, or will have it next.
const FREE: u64 = 0;
/// A call waits.
const WAITS: u64 = 1;
/// A call waits, and is to be woken by the waker in `rest`.
const SLEEPS: u64 = 2;
/// The outcome is being written, by one who has claimed that.
const ENDS: u64 = 3;
/// From here on there is an outcome: in `rest`, if it was not taken,
const DONE: u64 = 4;
/// or one that was taken from `words`,
const TAKEN: u64 = 5;
/// or an answer in `words`, whose length is the state less this.
const SHORT: u64 = 8;
/// The part of a state that tells it.
const STATE: u64 = 0xff;

/// Where one call at a time waits. The state tells who may use what: a call that opens or leaves has the
/// place for itself, and so does the one that claims to end it.
struct CallPlace {
    number: u32,
    /// The number of the next free place, plus 1, while this one is in the own thread's list.
    next: AtomicU32,
    /// The rank that was called.
    to: AtomicU32,
    state: AtomicU64,
    words: [AtomicU64; SHORT_WORDS],
    rest: Turns<Rest>,
}

/// State of a call that few calls need.
#[derive(Debug, Default)]
struct Rest {
    outcome: Option<Result<Answered, CallError>>,
    waker: Option<Waker>,
    /// Since when the call has been awaited, and where it was made.
    awaited: Option<(Instant, &'static Location<'static>)>,
}

impl Rest {
    /// Nobody awaits the call any more; whom to wake.
    fn wake_up(&mut self) -> Option<Waker> {
        self.awaited = None;
        self.waker.take()
    }
}

impl core::fmt::Debug for CallPlace {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Place")
            .field("number", &self.number)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl CallPlace {
    fn new(number: u32) -> CallPlace {
        CallPlace {
            number,
            next: AtomicU32::new(0),
            to: AtomicU32::new(0),
            state: AtomicU64::new(1 << 8 | FREE),
            words: core::array::from_fn(|_| AtomicU64::new(0)),
            rest: turns(Rest::default()),
        }
    }

    /// A call waits here from now on; its generation. Nobody else has the place.
    #[inline]
    fn open(&self, to: RankId) -> u32 {
        self.to.store(to.0, Ordering::Relaxed);
        // Relaxed: who has left the place has handed it over with the list of free ones.
        let generation = self.state.load(Ordering::Relaxed) >> 8;
        // ORDER: Release; pairs with Acquire in `claim`: the call before has read its outcome.
        self.state.store(generation << 8 | WAITS, Ordering::Release);
        generation as u32
    }

    /// Claims to end the wait of the call that is here, of that generation; the state before.
    #[inline]
    fn claim(&self, generation: Option<u32>) -> Option<u64> {
        // Relaxed: what counts is read by the exchange.
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let waits = state & STATE == WAITS || state & STATE == SLEEPS;
            if !waits || generation.is_some_and(|generation| u64::from(generation) != state >> 8) {
                return None;
            }
            // ORDER: Acquire; pairs with Release in `open`.
            let ends = state & !STATE | ENDS;
            match self.state.compare_exchange(state, ends, Ordering::Acquire, Ordering::Relaxed) {
                Ok(before) => return Some(before),
                Err(now) => state = now,
            }
        }
    }

    /// There is an outcome: ends what `claim` has begun.
    #[inline]
    fn end(&self, before: u64, done: u64) {
        let waker = if before & STATE == SLEEPS { self.rest.take().wake_up() } else { None };
        // ORDER: Release; pairs with Acquire in `is_done`, `poll` and `leave`: the outcome was written.
        self.state.store(before & !STATE | done, Ordering::Release);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ends the wait of the call that is here, of that generation.
    fn complete(&self, generation: Option<u32>, outcome: impl FnOnce() -> Result<Answered, CallError>) {
        if let Some(before) = self.claim(generation) {
            let outcome = outcome();
            self.rest.take().outcome = Some(outcome);
            self.end(before, DONE);
        }
    }

    /// [`CallPlace::complete`] by a short answer.
    #[inline]
    fn complete_short(&self, generation: u32, answer: &Short) {
        if let Some(before) = self.claim(Some(generation)) {
            for (to, word) in self.words.iter().zip(answer.words) {
                // Relaxed: `end` publishes it.
                to.store(word, Ordering::Relaxed);
            }
            self.end(before, SHORT + answer.len as u64);
        }
    }

    #[inline]
    fn is_done(&self) -> bool {
        // ORDER: Acquire; pairs with Release in `end`.
        self.state.load(Ordering::Acquire) & STATE >= DONE
    }

    /// The outcome, if it is here and was not taken. By the call that has the place.
    #[inline]
    fn take(&self) -> Option<Result<Answered, CallError>> {
        // ORDER: Acquire; pairs with Release in `end`.
        let state = self.state.load(Ordering::Acquire);
        match state & STATE {
            short @ SHORT.. => {
                // Relaxed, all: nobody else uses the place now.
                let words = core::array::from_fn(|i| self.words[i].load(Ordering::Relaxed));
                self.state.store(state & !STATE | TAKEN, Ordering::Relaxed);
                let body = Body::Short(Short { words, len: (short - SHORT) as usize });
                Some(Ok(Answered { body, payloads: Vec::new() }))
            }
            DONE => self.rest.take().outcome.take(),
            _ => None,
        }
    }

    /// Has a waker called when there is an outcome; returns that if it is here. By the call that has the
    /// place, and was made there.
    fn poll(&self, waker: &Waker, made: &'static Location<'static>) -> Poll<Result<Answered, CallError>> {
        if !self.is_done() {
            // Made and dropped outside of the lock: both run code that is not ours.
            let (mut waker, now) = (Some(waker.clone()), Instant::now());
            let mut rest = self.rest.take();
            core::mem::swap(&mut rest.waker, &mut waker);
            rest.awaited.get_or_insert((now, made));
            drop(rest);
            drop(waker);
        }
        loop {
            // ORDER: Acquire; pairs with Release in `end`. After the lock: who has claimed the place, and has
            // taken a waker before, is seen.
            let state = self.state.load(Ordering::Acquire);
            match state & STATE {
                SLEEPS => return Poll::Pending,
                WAITS => {
                    let sleeps = state & !STATE | SLEEPS;
                    // Relaxed: the lock hands the waker over. If it fails, there will be an outcome.
                    let _ = self.state.compare_exchange(state, sleeps, Ordering::Relaxed, Ordering::Relaxed);
                }
                // For some instructions.
                ENDS => yield_now(),
                _ => {
                    // One that was left too late to be called.
                    let waker = self.rest.take().wake_up();
                    drop(waker);
                    return self.take().map_or(Poll::Pending, Poll::Ready);
                }
            }
        }
    }

    /// The call leaves: an answer that comes later, or once more, is to another generation.
    #[inline]
    fn leave(&self) {
        loop {
            // ORDER: Acquire; pairs with Release in `end`.
            let state = self.state.load(Ordering::Acquire);
            let generation = ((state >> 8) as u32).wrapping_add(1).max(1);
            let free = u64::from(generation) << 8 | FREE;
            match state & STATE {
                // For some instructions.
                ENDS => yield_now(),
                WAITS | SLEEPS => {
                    // Relaxed: nothing was written.
                    let left = self.state.compare_exchange(state, free, Ordering::Relaxed, Ordering::Relaxed);
                    if left.is_ok() {
                        return if state & STATE == SLEEPS {
                            self.clear()
                        };
                    }
                }
                done => {
                    // Relaxed: the list of free places hands it over.
                    self.state.store(free, Ordering::Relaxed);
                    return if done == DONE {
                        self.clear()
                    };
                }
            }
        }
    }

    /// Drops what is left.
    #[cold]
    fn clear(&self) {
        // It may run code of its own: not while the place is locked.
        drop(core::mem::take(&mut *self.rest.take()));
    }
}

/// Places that are made together, at first; then twice as many, and so on. Models have few.
const FIRST_PLACES: u32 = if cfg!(loom) { 1 } else { 16 };

/// Free places that the own thread keeps.
const MOST_OWN_PLACES: u32 = 256;

/// Calls of this rank that wait.
pub(crate) struct Calls {
    /// All places, by number, in parts that double. They live as long as the process, as the engine does.
    places: [OnceLock<Box<[CallPlace]>>; 27],
    /// Those without a call. The one used last is used next: it is in the cache.
    free: Turns<Free>,
    own: OwnThread,
    /// A list of further free places, which only the own thread uses: the number of the first, plus 1, and
    /// how many they are.
    own_first: AtomicU32,
    own_count: AtomicU32,
    /// All ranks have left: calls end at once.
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct Free {
    places: Vec<&'static CallPlace>,
    /// Parts that were made.
    parts: usize,
}

impl core::fmt::Debug for Calls {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Calls").field("closed", &self.closed).finish_non_exhaustive()
    }
}

impl Calls {
    pub(crate) fn new(own: OwnThread) -> Calls {
        Calls {
            places: core::array::from_fn(|_| OnceLock::new()),
            free: turns(Free::default()),
            own,
            own_first: AtomicU32::new(0),
            own_count: AtomicU32::new(0),
            closed: AtomicBool::new(false),
        }
    }

    /// A new call. It is over if all have left.
    #[inline]
    #[track_caller]
    pub(crate) fn open(&'static self, me: RankId, to: RankId) -> (Call, Answer) {
        let place = self.take_own().unwrap_or_else(|| self.take_free());
        let generation = place.open(to);
        let call = Call { calls: self, place, to, made: Location::caller() };
        if self.is_closed() {
            call.is_gone();
        }
        (call, Answer { origin: me, place: place.number, generation })
    }

    /// A free place of the own thread, if this is that.
    #[inline]
    fn take_own(&'static self) -> Option<&'static CallPlace> {
        if !self.own.is_here() {
            return None;
        }
        // Relaxed, all: only this thread uses the list.
        let place = self.place(self.own_first.load(Ordering::Relaxed).checked_sub(1)?)?;
        self.own_first.store(place.next.load(Ordering::Relaxed), Ordering::Relaxed);
        self.own_count.store(self.own_count.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        Some(place)
    }

    fn take_free(&'static self) -> &'static CallPlace {
        let mut free = self.free.take();
        free.places.pop().unwrap_or_else(|| self.make(&mut free))
    }

    /// A call has left the place.
    #[inline]
    fn give_back(&'static self, place: &'static CallPlace) {
        // Relaxed, all: as in `take_own`.
        let count = self.own_count.load(Ordering::Relaxed);
        if count == MOST_OWN_PLACES || !self.own.is_here() {
            return self.free.take().places.push(place);
        }
        place.next.store(self.own_first.load(Ordering::Relaxed), Ordering::Relaxed);
        self.own_first.store(place.number + 1, Ordering::Relaxed);
        self.own_count.store(count + 1, Ordering::Relaxed);
    }

    /// Makes more places; one of them.
    #[cold]
    fn make(&'static self, free: &mut Free) -> &'static CallPlace {
        let (part, size) = (free.parts, FIRST_PLACES << free.parts);
        free.parts += 1;
        // The parts before are as many places as this one, less the first part.
        let first = size - FIRST_PLACES;
        let places = self.places[part].get_or_init(|| (first..first + size).map(CallPlace::new).collect());
        free.places.extend(places[1..].iter().rev());
        &places[0]
    }

    /// The place of a number.
    #[inline]
    fn place(&self, number: u32) -> Option<&CallPlace> {
        let from_first = number.checked_add(FIRST_PLACES)?;
        let part = (from_first / FIRST_PLACES).ilog2();
        self.places.get(part as usize)?.get()?.get((from_first - (FIRST_PLACES << part)) as usize)
    }

    /// Handler: an answer.
    pub(crate) fn complete(&self, from: RankId, answer: Answer, outcome: u8, came: Answered) {
        let Some(place) = self.place(answer.place) else { return };
        let text = || String::from_utf8_lossy(came.bytes()).into_owned();
        let result = match outcome {
            ANSWERED => Ok(came),
            PANICKED => Err(CallError::Panicked { rank: from, message: text() }),
            ABANDONED => Err(CallError::Abandoned { rank: from }),
            NO_ROOM => Err(CallError::NoRoom { rank: from }),
            _ => Err(CallError::Codec { rank: from, message: text() }),
        };
        place.complete(Some(answer.generation), || result);
    }

    /// Handler: an answer of few bytes.
    #[inline]
    pub(crate) fn complete_short(&self, answer: Answer, body: &Short) {
        if let Some(place) = self.place(answer.place) {
            place.complete_short(answer.generation, body);
        }
    }

    /// All ranks have left: ends the calls that wait, and all that are made from now on.
    pub(crate) fn close(&self) {
        // Relaxed: who looks at a call looks at this, too.
        self.closed.store(true, Ordering::Relaxed);
        // ORDER: SeqCst; pairs with the fence in `Call::poll`.
        fence(Ordering::SeqCst);
        for place in self.places.iter().filter_map(OnceLock::get).flatten() {
            let rank = RankId(place.to.load(Ordering::Relaxed));
            place.complete(None, || Err(CallError::Gone { rank }));
        }
    }

    /// Whether all ranks have left.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        // Relaxed: as where it is stored.
        self.closed.load(Ordering::Relaxed)
    }
}

/// Calls in a report, at most; those that have been awaited for longest.
const MOST_REPORTED: usize = 8;

impl Calls {
    /// The calls that are awaited: those to one rank from one place of the program together.
    pub(crate) fn awaited(&self) -> Vec<Awaited> {
        let mut all: BTreeMap<(u32, String), (usize, Instant)> = BTreeMap::new();
        for place in self.places.iter().filter_map(OnceLock::get).flatten() {
            // Relaxed, both: what a report says may be over when it is read. The lock hands the rest over.
            if place.state.load(Ordering::Relaxed) & STATE != SLEEPS {
                continue;
            }
            let (awaited, to) = (place.rest.take().awaited, place.to.load(Ordering::Relaxed));
            if let Some((since, made)) = awaited {
                let (count, first) = all.entry((to, made.to_string())).or_insert((0, since));
                (*count, *first) = (*count + 1, since.min(*first));
            }
        }
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_by_key(|&(_, (_, first))| first);
        all.truncate(MOST_REPORTED);
        let in_words = |((to, place), (count, first)): ((u32, String), (usize, Instant))| Awaited {
            peer: RankId(to),
            what: match count {
                1 => "the result of a remote call that its program awaits".into(),
                _ => format!("the results of {count} remote calls that its program awaits"),
            },
            seconds: first.elapsed().as_secs(),
            place,
        };
        all.into_iter().map(in_words).collect()
    }
}

/// A call that was made. Dropping it forgets the answer, not the call.
#[derive(Debug)]
#[must_use = "the answer comes later: wait for it, or use `send`"]
pub struct Call {
    calls: &'static Calls,
    place: &'static CallPlace,
    to: RankId,
    /// Where the program has made it.
    made: &'static Location<'static>,
}

/// Its state changes as a whole.
impl std::panic::UnwindSafe for Call {}
impl std::panic::RefUnwindSafe for Call {}

impl Call {
    /// Whether the answer is here. Does not make progress.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.place.is_done() || (self.calls.is_closed() && self.is_gone())
    }

    /// All ranks have left: ends the call, if it has not ended. [`Calls::close`] does so, but for calls that
    /// another thread opens meanwhile.
    #[cold]
    fn is_gone(&self) -> bool {
        self.place.complete(None, || Err(CallError::Gone { rank: self.to }));
        self.place.is_done()
    }

    /// As a call that was made at this place of the program: for reports.
    #[inline]
    pub fn made_at(self, made: &'static Location<'static>) -> Call {
        let mut call = self;
        call.made = made;
        call
    }

    /// The rank that was called.
    pub fn to(&self) -> RankId {
        self.to
    }

    /// The answer, if it is here and was not taken.
    #[inline]
    pub fn take(&mut self) -> Option<Result<Answered, CallError>> {
        self.place.take()
    }
}

impl Drop for Call {
    #[inline]
    fn drop(&mut self) {
        self.place.leave();
        self.calls.give_back(self.place);
    }
}

impl Future for Call {
    type Output = Result<Answered, CallError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = self.place.poll(cx.waker(), self.made);
        if polled.is_ready() {
            return polled;
        }
        // ORDER: SeqCst; pairs with the fence in `close`: that sees that the call sleeps, or this sees that
        // all have left.
        fence(Ordering::SeqCst);
        if self.calls.is_closed() && self.is_gone() { self.place.poll(cx.waker(), self.made) } else { polled }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(body: &[u8]) -> Answered {
        Answered::new(body)
    }

    fn calls() -> &'static Calls {
        Box::leak(Box::new(Calls::new(OwnThread::here())))
    }

    /// Answers that are repeated, late (nobody waits any more, or somebody else at the same place), or made
    /// up.
    #[test]
    fn an_answer_completes_its_own_call_once() {
        let calls = calls();
        let (me, to) = (RankId(0), RankId(1));
        let (mut first, answer) = calls.open(me, to);
        calls.complete(to, answer, ANSWERED, bytes(b"first"));
        calls.complete(to, answer, PANICKED, bytes(b"again"));
        assert_eq!(first.take().unwrap().unwrap().bytes(), b"first");
        assert!(first.take().is_none(), "an answer is taken once");
        drop(first);

        let (mut second, next) = calls.open(me, to);
        assert_eq!(answer.place, next.place, "or this shows nothing");
        calls.complete(to, answer, ANSWERED, bytes(b"late"));
        calls.complete(to, Answer { place: 77, ..next }, ANSWERED, bytes(b"made up"));
        assert!(!second.is_done() && second.take().is_none());
        drop(second);
        calls.complete(to, next, ANSWERED, bytes(b"nobody waits"));
        let mut free: Vec<u32> = calls.free.take().places.iter().map(|place| place.number).collect();
        free.extend(core::iter::from_fn(|| calls.take_own()).map(|place| place.number));
        let mut sorted = free.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..FIRST_PLACES), "all places are free, once: {free:?}");
        assert_eq!(calls.own_count.load(Ordering::Relaxed), 0);
    }

    /// Calls that one thread opens and another one drops.
    #[test]
    fn places_go_round_between_threads() {
        let calls = calls();
        const MANY: u32 = 2 * MOST_OWN_PLACES;
        let open = || -> Vec<Call> { (0..MANY).map(|_| calls.open(RankId(0), RankId(1)).0).collect() };
        let check = |open: Vec<Call>| {
            let mut numbers: Vec<u32> = open.iter().map(|call| call.place.number).collect();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), open.len(), "two calls have the same place");
            assert!(numbers.last() < Some(&(2 * MANY)), "places are not used again: {numbers:?}");
            open
        };
        for _ in 0..if cfg!(miri) { 1 } else { 4 } {
            let here = check(open());
            let other_thread = std::thread::spawn(move || drop(here)).join();
            let there = std::thread::spawn(open).join();
            assert!(other_thread.is_ok());
            drop(check(there.unwrap()));
            assert!(calls.own_count.load(Ordering::Relaxed) <= MOST_OWN_PLACES);
        }
    }

    #[test]
    fn where_all_have_left_calls_end() {
        let (calls, me) = (calls(), RankId(0));
        let (mut answered, answer) = calls.open(me, RankId(1));
        calls.complete(RankId(1), answer, ANSWERED, bytes(b"before"));
        let (mut under_way, late) = calls.open(me, RankId(2));
        calls.close();
        calls.complete(RankId(2), late, ANSWERED, bytes(b"late"));
        let (mut after, _) = calls.open(me, RankId(3));
        assert!(answered.is_done() && under_way.is_done() && after.is_done());
        assert_eq!(answered.take().unwrap().unwrap().bytes(), b"before");
        assert_eq!(under_way.take().unwrap().unwrap_err(), CallError::Gone { rank: RankId(2) });
        assert_eq!(after.take().unwrap().unwrap_err(), CallError::Gone { rank: RankId(3) });
    }

    /// Calls that are opened, dropped and answered at random, with answers that are right, late, repeated or
    /// made up: each call gets its own answer, once, and no other.
    #[test]
    fn random_answers_complete_what_they_name() {
        let mut random = fastrand::Rng::with_seed(5);
        let calls = calls();
        let mut open: Vec<(Call, Answer, u64)> = Vec::new();
        let mut over: Vec<Answer> = Vec::new();
        for step in 0..if cfg!(miri) { 300 } else { 20_000u64 } {
            match random.u32(..4) {
                0 => {
                    let (call, answer) = calls.open(RankId(0), RankId(1));
                    assert!(!call.is_done() && !over.contains(&answer), "step {step}");
                    open.push((call, answer, step));
                }
                1 if !open.is_empty() => {
                    let (mut call, answer, word) = open.swap_remove(random.usize(..open.len()));
                    if random.bool() {
                        calls.complete(RankId(1), answer, ANSWERED, bytes(&word.to_ne_bytes()));
                        calls.complete(RankId(1), answer, ANSWERED, bytes(b"again"));
                        assert!(call.is_done());
                        assert_eq!(call.take().unwrap().unwrap().bytes(), word.to_ne_bytes());
                    }
                    over.push(answer);
                }
                2 if !over.is_empty() => {
                    let late = over[random.usize(..over.len())];
                    calls.complete(RankId(1), late, ANSWERED, bytes(b"late"));
                }
                _ => {
                    let made_up = Answer {
                        origin: RankId(0),
                        place: random.u32(..8) << random.u32(..28),
                        generation: random.u32(..) | 1 << 31,
                    };
                    calls.complete(RankId(1), made_up, ANSWERED, bytes(b"made up"));
                }
            }
            assert!(open.iter().all(|(call, ..)| !call.is_done()), "step {step}");
        }
    }

    #[test]
    fn each_way_to_fail_is_an_error_of_its_own() {
        let (calls, rank) = (calls(), RankId(3));
        let end = |outcome| {
            let (mut call, answer) = calls.open(RankId(0), rank);
            calls.complete(rank, answer, outcome, bytes("\u{e4}".as_bytes()));
            call.take().unwrap().unwrap_err()
        };
        let message = "\u{e4}".to_string();
        assert_eq!(end(PANICKED), CallError::Panicked { rank, message: message.clone() });
        assert_eq!(end(ABANDONED), CallError::Abandoned { rank });
        assert_eq!(end(NO_ROOM), CallError::NoRoom { rank });
        assert_eq!(end(UNREADABLE), CallError::Codec { rank, message });
    }
}

/// The places of calls, without the calls.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::model;
    use loom::sync::Arc;
    use loom::thread;

    const TO: RankId = RankId(1);

    fn short(word: u64) -> Short {
        Short::of_words([word, 0, 0], 8)
    }

    fn answer(place: &Arc<CallPlace>, generation: u32, word: u64) -> thread::JoinHandle<()> {
        let place = place.clone();
        thread::spawn(move || place.complete_short(generation, &short(word)))
    }

    fn word(outcome: Option<Result<Answered, CallError>>) -> Option<u64> {
        outcome.map(|outcome| u64::from_ne_bytes(outcome.unwrap().bytes().try_into().unwrap()))
    }

    struct Flag(AtomicBool);
    impl std::task::Wake for Flag {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.store(true, Ordering::Release);
        }
    }

    /// An answer comes while the call begins to sleep.
    #[test]
    fn loom_who_sleeps_is_woken() {
        model(|| {
            let place = Arc::new(CallPlace::new(0));
            let generation = place.open(TO);
            let answered = answer(&place, generation, 7);
            let flag = std::sync::Arc::new(Flag(AtomicBool::new(false)));
            let waker = Waker::from(flag.clone());
            match place.poll(&waker, Location::caller()) {
                Poll::Ready(outcome) => assert_eq!(word(Some(outcome)), Some(7)),
                Poll::Pending => {
                    answered.join().unwrap();
                    assert!(flag.0.load(Ordering::Acquire), "nobody wakes it");
                    assert!(place.is_done());
                    assert_eq!(word(place.take()), Some(7));
                    return place.leave();
                }
            }
            answered.join().unwrap();
            place.leave();
        });
    }

    /// Of two answers one counts, with all of its words, and none of them ends the next call of the place.
    #[test]
    fn loom_an_answer_is_for_one_call() {
        model(|| {
            let place = Arc::new(CallPlace::new(0));
            let generation = place.open(TO);
            let answers = [answer(&place, generation, 7), answer(&place, generation, 8)];
            if place.is_done() {
                assert!(matches!(word(place.take()), Some(7 | 8)));
                assert_eq!(word(place.take()), None);
            }
            place.leave();
            assert_ne!(place.open(TO), generation);
            assert!(!place.is_done() && place.take().is_none());
            answers.into_iter().for_each(|answered| answered.join().unwrap());
            assert!(!place.is_done());
            place.leave();
        });
    }

    /// All leave while a call is made, and begins to sleep.
    #[test]
    fn loom_where_all_have_left_no_call_sleeps() {
        // The threads of a model share what threads keep for themselves: none of them is an own thread.
        let nobody = OwnThread::here();
        OwnThread::here();
        model(move || {
            let calls: &'static Calls = Box::leak(Box::new(Calls::new(nobody)));
            // The place is there before: loom does not see what hands a new one over.
            drop(calls.open(RankId(0), TO));
            let left = thread::spawn(move || calls.close());
            let (mut call, _) = calls.open(RankId(0), TO);
            let flag = std::sync::Arc::new(Flag(AtomicBool::new(false)));
            let waker = Waker::from(flag.clone());
            let first = Pin::new(&mut call).poll(&mut Context::from_waker(&waker));
            left.join().unwrap();
            if let Poll::Ready(outcome) = first {
                assert_eq!(outcome.unwrap_err(), CallError::Gone { rank: TO });
            } else {
                assert!(flag.0.load(Ordering::Acquire), "nobody wakes it");
                assert!(call.is_done());
            }
        });
    }

    /// All leave while a call is answered.
    #[test]
    fn loom_a_call_ends_once() {
        model(|| {
            let place = Arc::new(CallPlace::new(0));
            let generation = place.open(TO);
            let answered = answer(&place, generation, 7);
            place.complete(None, || Err(CallError::Gone { rank: TO }));
            answered.join().unwrap();
            match place.take() {
                Some(Err(error)) => assert_eq!(error, CallError::Gone { rank: TO }),
                outcome => assert_eq!(word(outcome), Some(7)),
            }
            assert!(place.take().is_none());
            place.leave();
        });
    }
}
