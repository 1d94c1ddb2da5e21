//! Calls that wait for their answers, and the replies that answer them.
//!
//! A call has a place in the table of the rank that made it, and a generation that no other call of that
//! place has had lately. An answer names both, so one that is late, repeated or forged finds nothing and is
//! dropped.

use crate::Engine;
use crate::lock::lock;
use crate::payload::{Payload, Source};
use crate::wire::Answer;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use gasnet::RankId;
use slab::Slab;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
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
    /// Arguments or result could not be read where they arrived.
    #[error("between rank {rank} and its caller: {message}")]
    Codec {
        /// Where.
        rank: RankId,
        /// What could not be read.
        message: String,
    },
}

/// How a call ended, as a byte.
pub(crate) const ANSWERED: u8 = 0;
const PANICKED: u8 = 1;
const ABANDONED: u8 = 2;
const UNREADABLE: u8 = 3;
pub(crate) const NO_ROOM: u8 = 4;

/// What an answer brings.
#[derive(Debug, Default)]
pub struct Answered {
    /// As the service wrote it.
    pub body: Vec<u8>,
    /// The body in place of `body`, where it was too long for a message.
    pub long_body: Option<Payload>,
    /// What came besides.
    pub payloads: Vec<Payload>,
}

impl Answered {
    /// The bytes that the service has answered with.
    pub fn bytes(&self) -> &[u8] {
        self.long_body.as_ref().map_or(&self.body, Payload::bytes)
    }
}

#[derive(Debug, Default)]
struct Waiting {
    outcome: Option<Result<Answered, CallError>>,
    waker: Option<Waker>,
}

/// The state of a call, shared by its table and its caller.
#[derive(Debug, Default)]
struct State {
    /// 1 when there is an outcome.
    done: AtomicU32,
    waiting: Mutex<Waiting>,
}

/// Calls of this rank that wait.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    open: Slab<(u32, Arc<State>)>,
    generation: u32,
}

impl Calls {
    /// A new call.
    pub(crate) fn open(&self, me: RankId, to: RankId) -> (Call, Answer) {
        let state = Arc::<State>::default();
        let mut table = lock(&self.table);
        table.generation = table.generation.wrapping_add(1).max(1);
        let generation = table.generation;
        let place = table.open.insert((generation, state.clone())) as u32;
        (Call { state, to }, Answer { origin: me, place, generation })
    }

    /// Handler: an answer.
    pub(crate) fn complete(&self, from: RankId, answer: Answer, outcome: u8, came: Answered) {
        let state = {
            let mut table = lock(&self.table);
            let place = answer.place as usize;
            match table.open.get(place) {
                Some((generation, _)) if *generation == answer.generation => table.open.remove(place).1,
                _ => return,
            }
        };
        let text = || String::from_utf8_lossy(came.bytes()).into_owned();
        let result = match outcome {
            ANSWERED => Ok(came),
            PANICKED => Err(CallError::Panicked { rank: from, message: text() }),
            ABANDONED => Err(CallError::Abandoned { rank: from }),
            NO_ROOM => Err(CallError::NoRoom { rank: from }),
            _ => Err(CallError::Codec { rank: from, message: text() }),
        };
        let mut waiting = lock(&state.waiting);
        waiting.outcome = Some(result);
        let waker = waiting.waker.take();
        // ORDER: Release; pairs with Acquire in `is_done`. The lock hands the outcome over as well.
        state.done.store(1, Ordering::Release);
        drop(waiting);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// A call that was made. Dropping it forgets the answer, not the call.
#[derive(Debug)]
#[must_use = "the answer comes later: wait for it, or use `send`"]
pub struct Call {
    state: Arc<State>,
    to: RankId,
}

impl Call {
    /// Whether the answer is here. Does not make progress.
    pub fn is_done(&self) -> bool {
        // ORDER: Acquire; pairs with Release in `complete`.
        self.state.done.load(Ordering::Acquire) == 1
    }

    /// The rank that was called.
    pub fn to(&self) -> RankId {
        self.to
    }

    /// The answer, if it is here and was not taken.
    pub fn take(&mut self) -> Option<Result<Answered, CallError>> {
        lock(&self.state.waiting).outcome.take()
    }
}

impl Future for Call {
    type Output = Result<Answered, CallError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut waiting = lock(&self.state.waiting);
        match waiting.outcome.take() {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                waiting.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
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
        Answered { body: body.to_vec(), ..Answered::default() }
    }

    /// Answers that are repeated, late (nobody waits any more, or somebody else at the same place), or made
    /// up.
    #[test]
    fn an_answer_completes_its_own_call_once() {
        let calls = Calls::default();
        let (me, to) = (RankId(0), RankId(1));
        let (mut first, answer) = calls.open(me, to);
        calls.complete(to, answer, ANSWERED, bytes(b"first"));
        calls.complete(to, answer, PANICKED, bytes(b"again"));
        assert_eq!(first.take().unwrap().unwrap().bytes(), b"first");
        assert!(first.take().is_none(), "an answer is taken once");

        let (mut second, next) = calls.open(me, to);
        assert_eq!(answer.place, next.place, "or this shows nothing");
        calls.complete(to, answer, ANSWERED, bytes(b"late"));
        calls.complete(to, Answer { place: 77, ..next }, ANSWERED, bytes(b"made up"));
        assert!(!second.is_done() && second.take().is_none());
        drop(second);
        calls.complete(to, next, ANSWERED, bytes(b"nobody waits"));
        assert!(lock(&calls.table).open.is_empty());
    }

    #[test]
    fn each_way_to_fail_is_an_error_of_its_own() {
        let (calls, rank) = (Calls::default(), RankId(3));
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
