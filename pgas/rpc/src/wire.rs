//! Records as bytes. A batch is one record after the other. Each begins at a multiple of 8:
//! ```text
//! 0   service, or 0 for an answer                 4   check word of the service, or the outcome
//! 8   bytes of the body; number of payloads << 24; whether the first of them is the body, << 23
//!                                                 12  the call's place in the table of its origin
//! 16  the call's generation; 0: not to be answered   20  the origin: the rank whose call it is
//!     A record that is not to be answered and goes by way of another rank has at 12 the rank it is for,
//!     and at 20 the rank that has sent it, both plus 1.
//! 24  the keys of the payloads, 32 bytes each; then the body, and zeros up to a multiple of 8
//! ```
//! All ranks of a job have the same byte order.
//!
//! A batch travels as the payload of a message. A record that travels alone and has at most
//! [`SMALL_WORDS`] words ([`Small`]) travels as the message's arguments: to a neighbour it is in one cache
//! line then. It is always sent with all of these words, of which the last ones may be of no meaning: to copy
//! as many as are needed would take longer.

use gasnet::am::Kind;
use gasnet::{Message, RankId, RegionKey};

/// Bytes of a record before its body.
pub(crate) const HEAD: usize = 24;
const KEY: usize = size_of::<RegionKey>();
/// Parts of the word that tells the lengths.
const PAYLOADS_SHIFT: u32 = 24;
const WHOLE: u32 = 1 << 23;

/// Bytes at an address that is a multiple of 8.
#[derive(Debug, Default)]
pub(crate) struct AlignedBuffer {
    words: Vec<u64>,
    len: usize,
    /// Whether some record is an answer, and whether some is none.
    answers: bool,
    services: bool,
}

impl AlignedBuffer {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.len = 0;
        self.answers = false;
        self.services = false;
    }

    /// Whether a record that was appended is an answer.
    pub(crate) fn has_answers(&self) -> bool {
        self.answers
    }

    /// Whether a record that was appended is for a service, and takes the receiver's time.
    pub(crate) fn has_services(&self) -> bool {
        self.services
    }

    /// Words that there is room for without another allocation.
    pub(crate) fn capacity(&self) -> usize {
        self.words.capacity()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }

    pub(crate) fn copy_from(&mut self, bytes: &[u8]) {
        self.clear();
        self.append(bytes);
    }

    /// Appends bytes; the end is then a multiple of 8, and padded with zeros.
    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        let whole = bytes.len() / 8;
        self.words.reserve(whole + 1);
        let (words, rest) = bytes.split_at(whole * 8);
        self.words.extend(
            words.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default())),
        );
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.words.push(u64::from_ne_bytes(last));
        }
        self.len = self.words.len() * 8;
    }
}

/// Words of the longest record that travels as arguments.
pub(crate) const SMALL_WORDS: usize = 6;
/// Words of its body.
pub(crate) const SHORT_WORDS: usize = SMALL_WORDS - HEAD / 8;

/// A body of few bytes. A record with one travels as arguments.
#[derive(Debug, Clone, Copy)]
pub struct Short {
    pub(crate) words: [u64; SHORT_WORDS],
    pub(crate) len: usize,
}

impl Short {
    /// The first `len` bytes of these words.
    ///
    /// # Panics
    /// `len` is more than there are.
    #[inline]
    pub fn of_words(words: [u64; SHORT_WORDS], len: usize) -> Short {
        assert!(len <= 8 * SHORT_WORDS, "{len} bytes are not few");
        Short { words, len }
    }

    /// These bytes, if they are few.
    #[inline]
    pub(crate) fn new(body: &[u8]) -> Option<Short> {
        let mut words = [0; SHORT_WORDS];
        bytemuck::cast_slice_mut(&mut words).get_mut(..body.len())?.copy_from_slice(body);
        Some(Short { words, len: body.len() })
    }

    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }
}

/// A record that travels as the arguments of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Small {
    words: [u64; SMALL_WORDS],
}

impl Small {
    /// No record.
    pub(crate) const NONE: Small = Small { words: [0; SMALL_WORDS] };
    /// Bytes that each counts as.
    pub(crate) const BYTES: usize = 8 * SMALL_WORDS;

    /// A record without payloads.
    #[inline]
    pub(crate) fn new(what: &To, body: &Short) -> Small {
        let [a, b, c] = head(what, 0, false, body.len);
        let [d, e, f] = body.words;
        Small { words: [a, b, c, d, e, f] }
    }

    /// A record that arrived as the arguments of a short message.
    #[inline]
    pub(crate) fn from_arguments(arguments: &[u32]) -> Option<Small> {
        let all = <&[u32; 2 * SMALL_WORDS]>::try_from(arguments).ok()?;
        Some(Small { words: bytemuck::cast(*all) })
    }

    /// The bytes that mean something.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        first(bytemuck::cast_slice(&self.words))
    }

    /// The record, if it is one, and the only one.
    #[inline]
    pub(crate) fn record(&self) -> Option<ArrivedRecord<'_>> {
        let mut rest = self.bytes();
        take(&mut rest).ok().filter(|record| rest.is_empty() && record.is_short())
    }

    /// The body of [`Small::record`], `len` bytes.
    #[inline]
    pub(crate) fn body(&self, len: usize) -> Short {
        let [_, _, _, a, b, c] = self.words;
        Short { words: [a, b, c], len }
    }

    /// As it travels.
    #[inline]
    pub(crate) fn arguments(&self) -> &[u32] {
        bytemuck::cast_slice(&self.words)
    }
}

/// A batch that has arrived, at an address that is a multiple of 8.
#[derive(Debug)]
pub(crate) enum Batch {
    Small(Small),
    Large(AlignedBuffer),
}

/// The records that a message brings.
#[inline]
pub(crate) fn bytes_of<'a>(m: &'a Message<'_>) -> &'a [u8] {
    if m.kind == Kind::Short { first(bytemuck::cast_slice(m.args)) } else { m.bytes() }
}

/// The bytes of the first record, if that has no payloads; all bytes if it does not end among them.
#[inline]
fn first(bytes: &[u8]) -> &[u8] {
    let len = bytes.get(8..12).map_or(0, bytemuck::pod_read_unaligned::<u32>) & (WHOLE - 1);
    bytes.get(..HEAD + (len as usize).next_multiple_of(8)).unwrap_or(bytes)
}

/// Names a call at the rank that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) origin: RankId,
    pub(crate) place: u32,
    /// Never 0.
    pub(crate) generation: u32,
}

impl Answer {
    pub(crate) fn words(self) -> [u32; 3] {
        [self.origin.0, self.place, self.generation]
    }
    pub(crate) fn from_words([origin, place, generation]: [u32; 3]) -> Answer {
        Answer { origin: RankId(origin), place, generation }
    }
}

/// The purpose of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum To {
    /// A service, by its number and check word; and whose call it is to answer.
    Service { service: [u32; 2], answer: Option<Answer> },
    /// A service of another rank, which whoever gets this sends it on to.
    Onward { service: [u32; 2], from: RankId, to: RankId },
    /// A service that was sent by way of another rank.
    From { service: [u32; 2], from: RankId },
    /// A call that waits.
    Call { answer: Answer, outcome: u8 },
}

/// A record that has arrived.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ArrivedRecord<'a> {
    pub(crate) to: To,
    keys: &'a [u8],
    /// The first payload is the body.
    pub(crate) whole: bool,
    pub(crate) body: &'a [u8],
}

impl ArrivedRecord<'_> {
    /// Whether it is all there is: it has no payloads.
    pub(crate) fn is_short(&self) -> bool {
        self.keys.is_empty() && !self.whole
    }

    /// Whether the ranks that the record names can be those of a record that arrives at rank `me` of `size`
    /// ranks.
    #[inline]
    pub(crate) fn is_possible(&self, me: RankId, size: u32) -> bool {
        match self.to {
            To::Service { answer, .. } => answer.is_none_or(|answer| answer.origin.0 < size),
            To::Onward { from, to, .. } => from.0 < size && to.0 < size,
            To::From { from, .. } => from.0 < size,
            To::Call { answer, .. } => answer.origin == me,
        }
    }

    /// Bytes that it takes.
    pub(crate) fn size(&self) -> usize {
        HEAD + self.keys.len() + self.body.len().next_multiple_of(8)
    }

    /// The keys of its payloads.
    pub(crate) fn keys(&self) -> impl Iterator<Item = RegionKey> {
        self.keys.chunks_exact(KEY).map(bytemuck::pod_read_unaligned)
    }
}

/// The words before the keys and the body of a record: fewer than 256 keys, and less than 8 MiB.
#[inline]
fn head(to: &To, keys: usize, whole: bool, body: usize) -> [u64; HEAD / 8] {
    debug_assert!(keys < 256 && body < WHOLE as usize, "parts of a word");
    let len = (keys as u32) << PAYLOADS_SHIFT | if whole { WHOLE } else { 0 } | body as u32;
    let ([first, second], [origin, place, generation]) = match *to {
        To::Service { service, answer } => (service, answer.map_or([0; 3], Answer::words)),
        To::Onward { service, from, to } => (service, [from.0 + 1, to.0 + 1, 0]),
        To::From { service, from } => (service, [from.0 + 1, 0, 0]),
        To::Call { answer, outcome } => ([0, u32::from(outcome)], answer.words()),
    };
    let pair = |low: u32, high: u32| bytemuck::cast::<[u32; 2], u64>([low, high]);
    [pair(first, second), pair(len, place), pair(generation, origin)]
}

/// Appends a record.
#[inline]
pub(crate) fn append(buffer: &mut AlignedBuffer, to: &To, keys: &[RegionKey], whole: bool, body: &[u8]) {
    match to {
        To::Call { .. } => buffer.answers = true,
        _ => buffer.services = true,
    }
    buffer.words.extend(head(to, keys.len(), whole, body.len()));
    buffer.append(bytemuck::cast_slice(keys));
    buffer.append(body);
}

/// The records of a batch. Ends after the first one that is wrong.
pub(crate) fn records(bytes: &[u8]) -> impl Iterator<Item = Result<ArrivedRecord<'_>, &'static str>> {
    let mut rest = bytes;
    core::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let record = take(&mut rest);
        if record.is_err() {
            rest = &[];
        }
        Some(record)
    })
}

#[inline]
fn take<'a>(rest: &mut &'a [u8]) -> Result<ArrivedRecord<'a>, &'static str> {
    let (head, after) = rest.split_at_checked(HEAD).ok_or("a record that is cut off")?;
    let [first, second, len, place, generation, origin]: [u32; 6] = bytemuck::pod_read_unaligned(head);
    let (payloads, whole, len) = (len >> PAYLOADS_SHIFT, len & WHOLE != 0, (len & (WHOLE - 1)) as usize);
    let (keys, after) =
        after.split_at_checked(payloads as usize * KEY).ok_or("a record longer than its message")?;
    let padded = len.next_multiple_of(8);
    let (body, after) = after.split_at_checked(padded).ok_or("a record longer than its message")?;
    *rest = after;
    let answer = (generation != 0).then(|| Answer::from_words([origin, place, generation]));
    let to = match (first, answer) {
        (0, None) => return Err("an answer to no call"),
        (0, Some(answer)) => To::Call { answer, outcome: second as u8 },
        (number, None) if origin > 0 => {
            let (service, from) = ([number, second], RankId(origin - 1));
            match place {
                0 => To::From { service, from },
                to => To::Onward { service, from, to: RankId(to - 1) },
            }
        }
        (number, answer) => To::Service { service: [number, second], answer },
    };
    Ok(ArrivedRecord { to, keys, whole, body: &body[..len] })
}

#[cfg(test)]
mod tests;
