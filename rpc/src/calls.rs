//! Calls that wait for their answers, and the replies that answer them.
//!
//! A call has a place in the table of the rank that made it, and a generation that no other call of that
//! place has had lately. An answer names both, so one that is late, repeated or forged finds nothing and is
//! dropped. A place is made once and used for one call after the other: a call allocates nothing.

use crate::Engine;
use crate::payload::{Payload, Source};
use crate::prim::{Turns, turns};
use crate::wire::Answer;
use core::any::Any;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use gasnet::RankId;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
        /// What it said.
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
        /// What could not be read.
        message: String,
    },
}

/// What a panic said.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(it said nothing)")
}

/// How a call ended, as a byte.
pub(crate) const ANSWERED: u8 = 0;
const PANICKED: u8 = 1;
const ABANDONED: u8 = 2;
const UNREADABLE: u8 = 3;
pub(crate) const NO_ROOM: u8 = 4;

/// Words of an answer that are kept without an allocation.
const SHORT_ANSWER_WORDS: usize = 3;

/// The bytes of an answer.
#[derive(Debug)]
enum Body {
    /// So many bytes of these words.
    Short([u64; SHORT_ANSWER_WORDS], usize),
    InMessage(Vec<u8>),
    /// It was too long for a message.
    InPlace(Payload),
}

/// What an answer brings.
#[derive(Debug)]
pub struct Answered {
    body: Body,
    /// What came besides.
    pub payloads: Vec<Payload>,
}

impl Answered {
    /// An answer without payloads.
    pub(crate) fn new(body: &[u8]) -> Answered {
        let mut words = [0; SHORT_ANSWER_WORDS];
        let body = match bytemuck::cast_slice_mut(&mut words).get_mut(..body.len()) {
            Some(start) => {
                start.copy_from_slice(body);
                Body::Short(words, body.len())
            }
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
    pub fn bytes(&self) -> &[u8] {
        match &self.body {
            Body::Short(words, len) => &bytemuck::cast_slice(words)[..*len],
            Body::InMessage(bytes) => bytes,
            Body::InPlace(payload) => payload.bytes(),
        }
    }
}

/// The call that has a place.
#[derive(Debug)]
struct Occupant {
    /// Of the call that waits, or of the next one. Never 0.
    generation: u32,
    /// Whether a call waits.
    waits: bool,
    /// The rank that was called.
    to: RankId,
    outcome: Option<Result<Answered, CallError>>,
    waker: Option<Waker>,
}

/// Where one call at a time waits.
struct Place {
    number: u32,
    /// Whether there is an outcome, for a look without the lock.
    done: AtomicBool,
    occupant: Turns<Occupant>,
}

impl core::fmt::Debug for Place {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Place")
            .field("number", &self.number)
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

impl Place {
    /// Ends the wait of the call that is here, if `is_it` says so.
    fn end(
        &self,
        is_it: impl FnOnce(&Occupant) -> bool,
        outcome: impl FnOnce(RankId) -> Result<Answered, CallError>,
    ) {
        let waker = {
            let mut occupant = self.occupant.take();
            if !occupant.waits || !is_it(&occupant) {
                return;
            }
            occupant.waits = false;
            occupant.outcome = Some(outcome(occupant.to));
            // ORDER: Release; pairs with Acquire in `is_done`. The lock hands the outcome over as well.
            self.done.store(true, Ordering::Release);
            occupant.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn new(number: u32) -> Place {
        let occupant = Occupant { generation: 1, waits: false, to: RankId(0), outcome: None, waker: None };
        Place { number, done: AtomicBool::new(false), occupant: turns(occupant) }
    }
}

/// Calls of this rank that wait.
#[derive(Debug)]
pub(crate) struct Calls {
    table: Turns<Table>,
    /// All ranks have left: calls end at once.
    closed: AtomicBool,
}

/// Places live as long as the process, as the engine does.
#[derive(Debug, Default)]
struct Table {
    places: Vec<&'static Place>,
    /// Those without a call. The one used last is used next: it is in the cache.
    free: Vec<&'static Place>,
}

impl Default for Calls {
    fn default() -> Calls {
        Calls { table: turns(Table::default()), closed: AtomicBool::new(false) }
    }
}

impl Calls {
    /// A new call. It is over if all have left.
    pub(crate) fn open(&'static self, me: RankId, to: RankId) -> (Call, Answer) {
        let free = self.table.take().free.pop();
        let place = free.unwrap_or_else(|| self.make());
        let generation = {
            let mut occupant = place.occupant.take();
            occupant.waits = true;
            occupant.to = to;
            occupant.generation
        };
        // After the place waits: one of this and `close` sees the other, since both lock the place.
        if self.is_closed() {
            place.end(|_| true, |rank| Err(CallError::Gone { rank }));
        }
        (Call { calls: self, place, to }, Answer { origin: me, place: place.number, generation })
    }

    #[cold]
    fn make(&self) -> &'static Place {
        let mut table = self.table.take();
        let place: &'static Place = Box::leak(Box::new(Place::new(table.places.len() as u32)));
        table.places.push(place);
        place
    }

    /// Handler: an answer.
    pub(crate) fn complete(&self, from: RankId, answer: Answer, outcome: u8, came: Answered) {
        let place = self.table.take().places.get(answer.place as usize).copied();
        let Some(place) = place else { return };
        let text = || String::from_utf8_lossy(came.bytes()).into_owned();
        let result = match outcome {
            ANSWERED => Ok(came),
            PANICKED => Err(CallError::Panicked { rank: from, message: text() }),
            ABANDONED => Err(CallError::Abandoned { rank: from }),
            NO_ROOM => Err(CallError::NoRoom { rank: from }),
            _ => Err(CallError::Codec { rank: from, message: text() }),
        };
        place.end(|occupant| occupant.generation == answer.generation, |_| result);
    }

    /// All ranks have left: ends the calls that wait, and all that are made from now on.
    pub(crate) fn close(&self) {
        // Relaxed: the locks of places tell, one of which every call takes after this.
        self.closed.store(true, Ordering::Relaxed);
        let places = self.table.take().places.clone();
        places.iter().for_each(|place| place.end(|_| true, |rank| Err(CallError::Gone { rank })));
    }

    /// Whether all ranks have left.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        // Relaxed: as where it is stored.
        self.closed.load(Ordering::Relaxed)
    }
}

/// A call that was made. Dropping it forgets the answer, not the call.
#[derive(Debug)]
#[must_use = "the answer comes later: wait for it, or use `send`"]
pub struct Call {
    calls: &'static Calls,
    place: &'static Place,
    to: RankId,
}

impl Call {
    /// Whether the answer is here. Does not make progress.
    #[inline]
    pub fn is_done(&self) -> bool {
        // ORDER: Acquire; pairs with Release in `complete`.
        self.place.done.load(Ordering::Acquire)
    }

    /// The rank that was called.
    pub fn to(&self) -> RankId {
        self.to
    }

    /// The answer, if it is here and was not taken.
    pub fn take(&mut self) -> Option<Result<Answered, CallError>> {
        self.place.occupant.take().outcome.take()
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let left = {
            let mut occupant = self.place.occupant.take();
            // An answer that comes later, or once more, is to another generation.
            occupant.generation = occupant.generation.wrapping_add(1).max(1);
            occupant.waits = false;
            // Relaxed: the lock hands the place over.
            self.place.done.store(false, Ordering::Relaxed);
            (occupant.outcome.take(), occupant.waker.take())
        };
        // What is left may run code of its own when it is dropped: not while the place is locked.
        drop(left);
        self.calls.table.take().free.push(self.place);
    }
}

impl Future for Call {
    type Output = Result<Answered, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.is_done()
            && let Some(outcome) = self.take()
        {
            return Poll::Ready(outcome);
        }
        // Made and dropped outside of the lock: both run code that is not ours.
        let mut waker = Some(cx.waker().clone());
        let outcome = {
            let mut occupant = self.place.occupant.take();
            core::mem::swap(&mut occupant.waker, &mut waker);
            occupant.outcome.take()
        };
        drop(waker);
        outcome.map_or(Poll::Pending, Poll::Ready)
    }
}

/// The right and the duty to answer one call: exactly one of its methods is called, or it is sent on.
/// Dropped, it tells the caller so.
#[must_use = "dropped, it tells the caller that there is no answer"]
pub struct Reply {
    engine: &'static Engine,
    answer: Option<Answer>,
}

impl core::fmt::Debug for Reply {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Reply").field("answer", &self.answer).finish_non_exhaustive()
    }
}

impl Reply {
    pub(crate) fn new(engine: &'static Engine, answer: Answer) -> Reply {
        Reply { engine, answer: Some(answer) }
    }

    fn end(&mut self, outcome: u8, body: &mut Vec<u8>, payloads: Vec<Arc<dyn Source>>) {
        if let Some(answer) = self.answer.take() {
            self.engine.answer(answer, outcome, body, payloads);
        }
    }

    /// The rank whose call it is.
    pub fn origin(&self) -> RankId {
        self.answer.map_or(self.engine.rank().id(), |answer| answer.origin)
    }

    /// Answers with these bytes, which are taken if they are many, and with payloads.
    pub fn answer(mut self, body: &mut Vec<u8>, payloads: Vec<Arc<dyn Source>>) {
        self.end(ANSWERED, body, payloads);
    }

    /// Says that the function has panicked.
    pub fn panicked(mut self, message: &str) {
        self.end(PANICKED, &mut message.into(), Vec::new());
    }

    /// Says that what came cannot be read.
    pub fn unreadable(mut self, message: &str) {
        self.end(UNREADABLE, &mut message.into(), Vec::new());
    }

    /// Gives the duty up, as words: whoever makes a reply of them ([`Reply::from_words`]) has it then.
    pub fn into_words(mut self) -> [u32; 3] {
        self.answer.take().map_or([0; 3], Answer::words)
    }

    /// Takes the duty over on another rank, or here. `None` for words that [`Reply::into_words`] has not
    /// made. Words used twice answer twice: the second answer finds no call.
    pub fn from_words(engine: &'static Engine, words: [u32; 3]) -> Option<Reply> {
        let answer = Answer::from_words(words);
        (answer.generation != 0 && answer.origin.0 < engine.rank().size()).then(|| Reply::new(engine, answer))
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.end(ABANDONED, &mut Vec::new(), Vec::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(body: &[u8]) -> Answered {
        Answered::new(body)
    }

    fn calls() -> &'static Calls {
        Box::leak(Box::default())
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
        assert_eq!(calls.table.take().free.len(), 1, "the place is free, once");
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
        for step in 0..20_000u64 {
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
