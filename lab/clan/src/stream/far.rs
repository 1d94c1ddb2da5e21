//! Streams to ranks whose memory is not mapped here. One active message carries the bytes and the word that
//! publishes them, so that they arrive after half a round trip. Long pieces are put, and the message has
//! the word alone.
//!
//! Messages come in any order. A word waits for the one that it follows, of the writer and of the reader: so
//! bytes are published in the order of the stream, and when the last words are there, none is under way that
//! could meet the next stream of the slot.
//!
//! Words that wait follow positions that the other side may have reached: at most the bytes of a ring further
//! than what has arrived. So there are at most as many as bytes in the ring, whatever the peer sends. A word
//! that follows another position is none of the peer's stream: then the stream has a word that cannot be
//! right, and fails.

use super::ring;
use super::{PEER_WORD, PUBLISHED_WORD, RING_BYTES, SIZE_WORD, SLOT_WORDS, TAKEN_WORD, lock};
use core::sync::atomic::{Ordering, fence};
use gasnet::am::FIRST_CLIENT_HANDLER;
use gasnet::{Error, GlobalPtr, Handler, Message, Rank, Token};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The handlers of bytes, and of the word for bytes taken: below those of `gasnet-via`.
const BYTES: u8 = FIRST_CLIENT_HANDLER - 11;
const TAKEN: u8 = FIRST_CLIENT_HANDLER - 12;
/// Most bytes that travel in a message.
pub(super) const MOST_IN_MESSAGE: usize = 16 << 10;

/// Words that wait, by their place, their sender, and the position that they follow.
type Early = BTreeMap<(u64, u32, u64), u64>;

/// Registers the handlers, for all streams of the rank.
pub(super) fn register(rank: &Rank) {
    let early = Arc::new(Mutex::new(Early::new()));
    let same = early.clone();
    // The error says that earlier `Streams` of the rank have registered them: they serve these, too.
    let _ = rank.register_library(BYTES, Handler::new(move |token, m| _ = bytes_come(token, m, &early)));
    let _ = rank.register_library(TAKEN, Handler::new(move |token, m| _ = taken_comes(token, m, &same)));
}

/// Whether the segment of a rank can only be reached by operations.
pub(super) fn is_far(rank: &Rank, peer: gasnet::RankId) -> bool {
    rank.table().get(peer).is_none_or(|segment| segment.local.is_null())
}

fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

fn whole(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Sends bytes that follow a position of a stream to a slot, and the word that publishes them; no bytes if
/// they are in their place.
pub(super) fn send(
    rank: &Rank,
    slot: GlobalPtr<u64>,
    start: u64,
    word: u64,
    bytes: &[u8],
) -> Result<(), Error> {
    let ([a, b], [c, d], [e, f]) = (halves(slot.offset()), halves(start), halves(word));
    rank.request_medium(slot.rank(), BYTES, &[a, b, c, d, e, f], bytes)
}

/// Sends one of the words of a slot, which follows a position.
pub(super) fn say(
    rank: &Rank,
    slot: GlobalPtr<u64>,
    which: usize,
    start: u64,
    word: u64,
) -> Result<(), Error> {
    if which == PUBLISHED_WORD {
        return send(rank, slot, start, word, &[]);
    }
    let ([a, b], [c, d], [e, f]) = (halves(slot.offset()), halves(start), halves(word));
    rank.request_short(slot.rank(), TAKEN, &[a, b, c, d, e, f])
}

/// Sets an own word. Only handlers write these words of a slot, one at a time.
fn set(rank: &Rank, at: GlobalPtr<u64>, word: u64) {
    // ORDER: Release; pairs with Acquire in `End::load`: publishes the bytes before the word.
    fence(Ordering::Release);
    rank.write(at, word);
}

/// The own slot that a message names, if its stream is with the sender, and the size of its ring.
fn slot(token: &Token<'_>, offset: u64) -> Option<(GlobalPtr<u64>, u64)> {
    let slot = GlobalPtr::<u64>::new(token.rank().id(), offset);
    let size = token.rank().read(slot.add(SIZE_WORD));
    let is_ring = size.is_power_of_two() && u32::try_from(size).is_ok_and(|size| RING_BYTES.contains(&size));
    // Not so: a rank that has left had the slot before.
    let is_theirs = token.rank().read(slot.add(PEER_WORD)) == u64::from(token.source().0) + 1;
    (is_ring && is_theirs).then_some((slot, size))
}

/// Handler. `None`: no message of a stream that there is, so nothing happens.
fn bytes_come(token: &Token<'_>, m: &Message<'_>, early: &Mutex<Early>) -> Option<()> {
    let &[a, b, c, d, e, f] = m.args else { return None };
    let (start, word, mut bytes) = (whole(c, d), whole(e, f), m.bytes());
    let (rank, (slot, size)) = (token.rank(), slot(token, whole(a, b))?);
    if bytes.len() as u64 > size {
        return None;
    }
    for (at, len) in ring::pieces(size, start, bytes.len()) {
        let (piece, rest) = bytes.split_at(len);
        rank.write_slice(slot.add(SLOT_WORDS).cast::<u8>().add(at), piece);
        bytes = rest;
    }
    advance(token, slot.add(PUBLISHED_WORD), size, (start, word), early);
    Some(())
}

/// Handler, likewise.
fn taken_comes(token: &Token<'_>, m: &Message<'_>, early: &Mutex<Early>) -> Option<()> {
    let &[a, b, c, d, e, f] = m.args else { return None };
    let (slot, size) = slot(token, whole(a, b))?;
    advance(token, slot.add(TAKEN_WORD), size, (whole(c, d), whole(e, f)), early);
    Some(())
}

/// Sets a word to one that follows a position, and to those that follow that; or keeps it until its turn.
fn advance(
    token: &Token<'_>,
    at: GlobalPtr<u64>,
    size: u64,
    (start, word): (u64, u64),
    early: &Mutex<Early>,
) {
    let mut early = lock(early);
    let key = |position| (at.offset(), token.source().0, position);
    let ahead = start.wrapping_sub(token.rank().read(at) >> 1);
    if ahead > size {
        set(token.rank(), at, ring::NOWHERE);
        return;
    }
    if ahead > 0 {
        early.insert(key(start), word);
        return;
    }
    let mut last = word;
    while !ring::is_over(last)
        && let Some(next) = early.remove(&key(last >> 1))
    {
        last = next;
    }
    set(token.rank(), at, last);
}
