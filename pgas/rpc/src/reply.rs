//! Replies, which answer calls.

use crate::Engine;
use crate::calls::{ABANDONED, ANSWERED, PANICKED, UNREADABLE};
use crate::payload::Source;
use crate::wire::{Answer, Short};
use gasnet::RankId;
use std::sync::Arc;

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

    /// [`Reply::answer`] with few bytes.
    #[inline]
    pub fn answer_short(mut self, body: &Short) {
        if let Some(answer) = self.answer.take() {
            self.engine.answer_short(answer, body);
        }
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
