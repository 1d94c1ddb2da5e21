//! Questions to other images, and their answers, of any length.
//!
//! What only the owner of some memory can find out or do, others ask it for: [`crate::owner`] and
//! [`crate::accessors`] say what there is to ask. Question and answer are bytes. Each is one message if it is
//! short; otherwise it comes in parts, several of which are under way, and each of which is replied to:
//!
//! ```text
//! image that asks                                          owner
//! number, length and place of a part; the part   ------->  keeps it
//! the part that arrives last                     ------->  joins all parts, and serves the question
//!                                                <-------  the length of the answer, and its first part
//! a place behind the end of the question         ------->
//!                                                <-------  the part of the answer from there on
//! ```
//!
//! The owner keeps nothing of a question whose answer it has handed over.

use crate::image::{self, Image, Kept, lock};
use crate::stat::Failure;
use crate::walk::wire::{Parser, Writer};
use gasnet::RankId;
use gasnet::am::{FIRST_LIBRARY_HANDLER, Handler, MAX_MEDIUM, Message, Token};
use std::collections::{BTreeMap, VecDeque};

/// The handler of replies to all questions.
const REPLY: u8 = FIRST_LIBRARY_HANDLER + 17;

/// Bytes of a part: a message has some more.
const PART_BYTES: usize = MAX_MEDIUM - 512;
/// Bytes of the text of a failure.
const MAX_TEXT_BYTES: usize = 400;
/// Parts under way.
const MAX_UNDER_WAY: usize = 8;

/// Answers a question: adds the answer to the vector.
pub type Serve = fn(&Image, &[u8], &mut Vec<u8>) -> Result<(), Failure>;

/// The handlers of replies, and of questions of each kind.
pub fn handlers(kinds: &[(u8, Serve)]) -> Vec<(u8, Handler)> {
    let questions = kinds
        .iter()
        .map(|&(handler, serve)| (handler, Handler::new(move |token, message| hear(token, message, serve))));
    questions.chain([(REPLY, Handler::new(|_, message| take(message)))]).collect()
}

impl Image {
    /// Asks another image; returns its answer. The question is both slices, one after the other.
    ///
    /// # Errors
    /// What the other image found wrong.
    pub fn ask(&self, rank: RankId, handler: u8, head: &[u8], data: &[u8]) -> Result<Vec<u8>, Failure> {
        let (id, n) = (self.new_number(), head.len() + data.len());
        let send = |place: usize, message: &mut Writer| {
            [id, n as u64, place as u64].into_iter().for_each(|n| message.number(n));
            let end = n.min(place.saturating_add(PART_BYTES));
            if place < end {
                message.0.extend(&head[place.min(head.len())..end.min(head.len())]);
                message.0.extend(&data[place.saturating_sub(head.len())..end.saturating_sub(head.len())]);
            }
            self.rank.request_medium(rank, handler, &[], &message.0)
        };
        let mut answer = Vec::new();
        self.in_parts((0..n).step_by(PART_BYTES), rank, &mut answer, send)?;
        let length = answer.first_chunk().map(|length| u64::from_le_bytes(*length)).ok_or_else(ends_early)?;
        answer.drain(..size_of::<u64>());
        let end = n.saturating_add(length as usize);
        self.in_parts((n + answer.len()..end).step_by(PART_BYTES), rank, &mut answer, send)?;
        if n + answer.len() == end { Ok(answer) } else { Err(ends_early()) }
    }

    /// Has a message sent for each place, several at a time; adds the replies to `all`, one after the other.
    fn in_parts(
        &self,
        mut places: impl Iterator<Item = usize>,
        rank: RankId,
        all: &mut Vec<u8>,
        send: impl Fn(usize, &mut Writer) -> Result<(), gasnet::Error>,
    ) -> Result<(), Failure> {
        let mut result = Ok(());
        let mut under_way = VecDeque::new();
        loop {
            while under_way.len() < MAX_UNDER_WAY
                && result.is_ok()
                && let Some(place) = places.next()
            {
                let call = self.new_number();
                lock(&self.calls).replies.insert(call, None);
                let mut message = Writer::default();
                message.number(call);
                send(place, &mut message).map_err(|e| Failure::other(e.to_string()))?;
                under_way.push_back(call);
            }
            // All replies are taken, whatever they say.
            let Some(call) = under_way.pop_front() else { return result };
            match self.await_reply(call, rank) {
                Ok(part) if all.is_empty() => *all = part,
                Ok(part) => all.extend(part),
                Err(failure) => result = result.and(Err(failure)),
            }
        }
    }

    fn new_number(&self) -> u64 {
        let mut calls = lock(&self.calls);
        calls.asked += 1;
        calls.asked
    }

    fn await_reply(&self, call: u64, rank: RankId) -> Result<Vec<u8>, Failure> {
        let mut reply = None;
        self.rank.waits().wait_for("an answer of the image that has a component", Some(rank), || {
            reply = lock(&self.calls).replies.get_mut(&call).and_then(Option::take);
            reply.is_some()
        });
        lock(&self.calls).replies.remove(&call);
        let mut reply = reply.unwrap_or_default();
        match reply.first() {
            Some(0) => {
                reply.drain(..1);
                Ok(reply)
            }
            Some(_) => Err(Failure::other(String::from_utf8_lossy(&reply[1..]))),
            None => Err(ends_early()),
        }
    }
}

/// A question that no image asks.
pub fn nonsense() -> Failure {
    Failure::other("a question about a coarray that was forged or corrupted")
}

/// An answer that no image gives.
pub fn ends_early() -> Failure {
    Failure::other("an answer that ends early")
}

/// The handler of replies.
fn take(message: &Message<'_>) {
    let Some((call, rest)) = message.bytes().split_first_chunk() else { return };
    let Some(image) = image::current() else { return };
    // A reply that nobody awaits was forged.
    if let Some(reply) = lock(&image.calls).replies.get_mut(&u64::from_le_bytes(*call)) {
        *reply = Some(rest.to_vec());
    }
}

/// The handler of questions.
fn hear(token: &Token<'_>, message: &Message<'_>, serve: Serve) {
    let mut parser = Parser(message.bytes());
    let Some((call, image)) = parser.number().zip(image::current()) else { return };
    let mut reply = Writer::default();
    reply.number(call);
    let at = reply.0.len();
    reply.0.push(0);
    if let Err(failure) = take_part(image, token.source(), parser, serve, &mut reply.0) {
        reply.0.truncate(at);
        reply.0.push(1);
        reply.0.extend(failure.text.bytes().take(MAX_TEXT_BYTES));
    }
    if let Err(e) = token.reply_medium(REPLY, &[], &reply.0) {
        image.fatal(&e.to_string());
    }
}

/// Takes a part of a question, or hands out a part of an answer.
fn take_part(
    image: &Image,
    from: RankId,
    mut parser: Parser<'_>,
    serve: Serve,
    reply: &mut Vec<u8>,
) -> Result<(), Failure> {
    let mut number = || parser.number().ok_or_else(nonsense);
    let (id, length, place) = (number()?, number()? as usize, number()? as usize);
    let (key, part) = ((from.0, id), parser.rest());
    let mut calls = lock(&image.calls);
    if let Some(place) = place.checked_sub(length) {
        let answer = calls.kept.get_mut(&key).ok_or_else(nonsense)?;
        let part = answer.joined.get(place..).ok_or_else(nonsense)?;
        let part = &part[..part.len().min(PART_BYTES)];
        reply.extend(part);
        answer.done += part.len();
        if answer.done >= answer.joined.len() {
            calls.kept.remove(&key);
        }
        return Ok(());
    }
    let joined;
    let question = if part.len() == length {
        part
    } else {
        let question = calls.kept.entry(key).or_default();
        question.early.insert(place, part.to_vec());
        while let Some(next) = question.early.remove(&question.joined.len()) {
            question.joined.extend(next);
        }
        if question.joined.len() < length {
            return Ok(());
        }
        joined = calls.kept.remove(&key).map(|question| question.joined).unwrap_or_default();
        &joined[..]
    };
    drop(calls);
    if question.len() != length {
        return Err(nonsense());
    }
    let mut answer = Vec::new();
    serve(image, question, &mut answer)?;
    reply.extend((answer.len() as u64).to_le_bytes());
    let first = answer.len().min(PART_BYTES);
    reply.extend(&answer[..first]);
    if first < answer.len() {
        let early = BTreeMap::new();
        lock(&image.calls).kept.insert(key, Kept { joined: answer, done: first, early });
    }
    Ok(())
}
