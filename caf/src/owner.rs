//! Questions to the owner of a component, who follows the reference in its own memory.
//!
//! A question and its answer are one message each. What does not fit into one goes in parts, several of which
//! are under way: each names the whole reference, and a range of bytes of the elements it leads to.
#![expect(unsafe_code, reason = "the owner follows pointers of its program")]

use crate::assign::runs;
use crate::image::{self, Image, lock};
use crate::stat::Failure;
use crate::walk::wire::{Parser, Writer};
use crate::walk::{Found, Reader, Step, walk};
use gasnet::RankId;
use gasnet::am::{FIRST_LIBRARY_HANDLER, Handler, MAX_MEDIUM, Message, Token};
use gasnet_wire::bytes;
use std::ops::Range;

/// Handlers of this module.
const QUESTION: u8 = FIRST_LIBRARY_HANDLER + 16;
/// The handler of answers to all questions.
pub const ANSWER: u8 = FIRST_LIBRARY_HANDLER + 17;

/// Bytes of a message beside steps and elements.
const MAX_HEAD_BYTES: usize = 512;
/// Longest steps that go in a message.
pub const MAX_STEPS_BYTES: usize = MAX_MEDIUM / 2;
/// Questions under way.
const MAX_UNDER_WAY: usize = 8;

/// What is asked, as a number of the message.
mod question {
    /// Bytes of the elements.
    pub const READ: u64 = 0;
    /// Elements are written.
    pub const WRITE: u64 = 1;
    /// Whether the component is there.
    pub const PRESENT: u64 = 2;
}

/// The elements that a reference leads to, or a part of them.
#[derive(Debug)]
pub struct Elements {
    /// Bytes of one.
    pub bytes: usize,
    /// Extents of the dimensions.
    pub extents: Vec<usize>,
    /// What they hold, one after the other.
    pub data: Vec<u8>,
}

impl Elements {
    /// Bytes of all.
    fn whole(&self) -> usize {
        self.extents.iter().product::<usize>() * self.bytes
    }
}

/// A reference to elements of another image.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Whose.
    pub rank: RankId,
    /// Where its steps begin, from the start of the segment.
    pub offset: u64,
    /// The steps.
    pub steps: &'a [Step],
}

/// The handlers of this module.
pub fn handlers() -> Vec<(u8, Handler)> {
    vec![(QUESTION, Handler::new(answer)), (ANSWER, Handler::new(|_, message| take(message)))]
}

/// Bytes that steps take in a message.
pub fn length(steps: &[Step]) -> usize {
    let mut message = Writer::default();
    message.steps(steps);
    message.0.len()
}

impl Image {
    /// Asks for elements: as many as come with one answer, or as `most` says, from the first on.
    ///
    /// # Errors
    /// What the owner found wrong.
    pub fn ask_first(&self, target: Target<'_>, most: usize) -> Result<Elements, Failure> {
        let call = self.ask(target, |message| {
            [question::READ, 0, most as u64].into_iter().for_each(|n| message.number(n));
        })?;
        elements(self.await_answer(call, target.rank)?)
    }

    /// Asks for all elements.
    ///
    /// # Errors
    /// As [`Image::ask_first`]; or they have changed meanwhile.
    pub fn ask_all(&self, target: Target<'_>) -> Result<Elements, Failure> {
        let mut all = self.ask_first(target, usize::MAX)?;
        let (whole, part) = (all.whole(), MAX_MEDIUM - MAX_HEAD_BYTES);
        if all.data.len() == whole {
            return Ok(all);
        }
        let starts = (all.data.len()..whole).step_by(part);
        let bytes = all.bytes;
        self.in_parts(
            target,
            starts.map(|start| start..whole.min(start + part)),
            question::READ,
            &[],
            |part, answer| {
                let more = elements(answer)?;
                if more.whole() != whole || more.bytes != bytes || more.data.len() != part.len() {
                    return Err(Failure::other("a component has changed its shape while it was read"));
                }
                all.data.extend(more.data);
                Ok(())
            },
        )?;
        Ok(all)
    }

    /// Has elements written: as many as the reference leads to, of the same extents.
    ///
    /// # Errors
    /// As [`Image::ask_first`], or another shape there.
    pub fn ask_write(&self, target: Target<'_>, elements: &Elements) -> Result<(), Failure> {
        let room = MAX_MEDIUM - MAX_HEAD_BYTES - length(target.steps);
        let whole = elements.data.len();
        let starts = (0..whole.max(1)).step_by(room);
        let parts = starts.map(|start| start..whole.min(start + room));
        let mut head = Writer::default();
        head.number(elements.bytes as u64);
        head.numbers(elements.extents.iter().map(|n| *n as u64));
        let whole = Whole { head: &head.0, data: &elements.data };
        self.in_parts(target, parts, question::WRITE, &[whole], |_, _| Ok(()))
    }

    /// Asks whether the component is allocated or associated.
    ///
    /// # Errors
    /// As [`Image::ask_first`].
    pub fn ask_present(&self, target: Target<'_>) -> Result<bool, Failure> {
        let call = self.ask(target, |message| message.number(question::PRESENT))?;
        let answer = self.await_answer(call, target.rank)?;
        Ok(Parser(&answer).number() == Some(1))
    }

    /// Asks about each part, several at a time; the answers come in order.
    fn in_parts(
        &self,
        target: Target<'_>,
        parts: impl Iterator<Item = Range<usize>>,
        question: u64,
        with: &[Whole<'_>],
        mut each: impl FnMut(Range<usize>, Vec<u8>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut result = Ok(());
        let mut under_way = std::collections::VecDeque::new();
        let mut parts = parts.fuse();
        loop {
            while under_way.len() < MAX_UNDER_WAY
                && let Some(part) = parts.next()
            {
                let call = self.ask(target, |message| {
                    [question, part.start as u64, part.len() as u64]
                        .into_iter()
                        .for_each(|n| message.number(n));
                    for whole in with {
                        message.0.extend(whole.head);
                        message.0.extend(&whole.data[part.clone()]);
                    }
                })?;
                under_way.push_back((part, call));
            }
            // All answers are taken, whatever they say.
            let Some((part, call)) = under_way.pop_front() else { return result };
            let answer = self.await_answer(call, target.rank);
            if result.is_ok() {
                result = answer.and_then(|answer| each(part, answer));
            }
        }
    }

    /// The number of a new question, and its message, which begins with that.
    pub fn new_call(&self) -> (u64, Writer) {
        let mut calls = lock(&self.calls);
        calls.asked += 1;
        let call = calls.asked;
        calls.answers.insert(call, None);
        let mut message = Writer::default();
        message.number(call);
        (call, message)
    }

    /// Sends a question; returns its number.
    fn ask(&self, target: Target<'_>, what: impl FnOnce(&mut Writer)) -> Result<u64, Failure> {
        let (call, mut message) = self.new_call();
        message.number(target.offset);
        message.steps(target.steps);
        what(&mut message);
        let sent = self.rank.request_medium(target.rank, QUESTION, &[], &message.0);
        sent.map_err(|e| Failure::other(e.to_string()))?;
        Ok(call)
    }

    /// Waits for an answer.
    ///
    /// # Errors
    /// What the other image found wrong.
    pub fn await_answer(&self, call: u64, rank: RankId) -> Result<Vec<u8>, Failure> {
        let mut answer = None;
        self.rank.waits().wait_for("an answer of the image that has a component", Some(rank), || {
            answer = lock(&self.calls).answers.get_mut(&call).and_then(Option::take);
            answer.is_some()
        });
        lock(&self.calls).answers.remove(&call);
        let answer = answer.unwrap_or_default();
        match answer.split_first() {
            Some((0, rest)) => Ok(rest.to_vec()),
            Some((_, text)) => Err(Failure::other(String::from_utf8_lossy(text))),
            None => Err(Failure::other("an answer without a word")),
        }
    }
}

/// What is written, of which each part takes some bytes.
struct Whole<'a> {
    head: &'a [u8],
    data: &'a [u8],
}

/// An answer with elements.
fn elements(answer: Vec<u8>) -> Result<Elements, Failure> {
    let mut parser = Parser(&answer);
    let head = parser.number().zip(parser.numbers());
    let (bytes, extents) = head.ok_or_else(|| Failure::other("an answer that ends early"))?;
    let extents = extents.into_iter().map(|n| n as usize).collect();
    Ok(Elements { bytes: bytes as usize, extents, data: parser.rest().to_vec() })
}

/// The handler of answers.
fn take(message: &Message<'_>) {
    let Some((call, rest)) = message.bytes().split_first_chunk() else { return };
    let Some(image) = image::current() else { return };
    // An answer that nobody awaits was forged.
    if let Some(answer) = lock(&image.calls).answers.get_mut(&u64::from_le_bytes(*call)) {
        *answer = Some(rest.to_vec());
    }
}

/// The handler of questions.
fn answer(token: &Token<'_>, message: &Message<'_>) {
    let mut parser = Parser(message.bytes());
    let Some((call, image)) = parser.number().zip(image::current()) else { return };
    let mut answer = Writer::default();
    answer.number(call);
    let at = answer.0.len();
    answer.0.push(0);
    if let Err(failure) = serve(image, parser, &mut answer) {
        answer.0.truncate(at);
        answer.0.push(1);
        answer.0.extend(failure.text.bytes().take(MAX_HEAD_BYTES));
    }
    if let Err(e) = token.reply_medium(ANSWER, &[], &answer.0) {
        image.fatal(&e.to_string());
    }
}

/// Own memory.
pub struct Own;

impl Reader for Own {
    fn copy(&self, to: &mut [u8], from: usize) -> bool {
        let from = std::ptr::with_exposed_provenance::<u8>(from);
        // SAFETY: descriptors and pointers of the program lead to memory of the program.
        unsafe { bytes::load(to.as_mut_ptr(), from, to.len()) };
        true
    }
}

/// Answers a question about the own memory.
fn serve(image: &Image, mut parser: Parser<'_>, answer: &mut Writer) -> Result<(), Failure> {
    let nonsense = || Failure::other("a question about a component that was forged or corrupted");
    let (offset, steps) = parser.number().zip(parser.steps()).ok_or_else(nonsense)?;
    let what = parser.number().ok_or_else(nonsense)?;
    let own = image.rank.table().get(image.rank.id()).filter(|own| offset < own.size as u64);
    let base = own.ok_or_else(nonsense)?.local.expose_provenance() + offset as usize;
    let found = walk(&Own, base, &steps);
    if what == question::PRESENT {
        answer.number(found.is_ok().into());
        return Ok(());
    }
    let Found { section, bytes } = found.map_err(|miss| miss.on(image.rank.id().0 + 1))?;
    let whole = section.count() * bytes;
    let (start, length) = parser.number().zip(parser.number()).ok_or_else(nonsense)?;
    let start = whole.min(start as usize);
    match what {
        question::READ => {
            answer.number(bytes as u64);
            answer.numbers(section.extents().into_iter().map(|n| n as u64));
            let room = MAX_MEDIUM - MAX_HEAD_BYTES;
            let end = start + room.min(whole - start).min(length as usize);
            runs(&section, bytes, start..end, |at, n| {
                let before = answer.0.len();
                answer.0.resize(before + n, 0);
                Own.copy(&mut answer.0[before..], at);
            });
            Ok(())
        }
        question::WRITE => {
            let (theirs, extents) = parser.number().zip(parser.numbers()).ok_or_else(nonsense)?;
            let data = parser.rest();
            let extents: Vec<usize> = extents.into_iter().map(|n| n as usize).collect();
            same_shape(&section.extents(), &extents)?;
            if theirs != bytes as u64 || data.len() as u64 != length || data.len() > whole - start {
                return Err(nonsense());
            }
            let mut rest = data;
            runs(&section, bytes, start..start + data.len(), |at, n| {
                let (now, later) = rest.split_at(n);
                // SAFETY: as in `Own`; the program lets its components be written.
                unsafe { bytes::store(std::ptr::with_exposed_provenance_mut(at), now.as_ptr(), n) };
                rest = later;
            });
            Ok(())
        }
        _ => Err(nonsense()),
    }
}

/// Whether two shapes are the same but for dimensions of one element.
///
/// # Errors
/// They are not.
pub fn same_shape(to: &[usize], from: &[usize]) -> Result<(), Failure> {
    let longer = |all: &[usize]| all.iter().copied().filter(|n| *n != 1).collect::<Vec<_>>();
    if longer(to) == longer(from) {
        return Ok(());
    }
    Err(Failure::other(format!("array bounds mismatch: shape {from:?} is assigned to shape {to:?}")))
}
