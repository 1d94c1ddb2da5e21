//! Divides the room of a rank's socket among its senders.
//!
//! The kernel drops datagrams that find no room in the socket's buffer. One sender respects the room by its
//! window; many senders, each with a window of its own, do not. So a part of the room is granted from the
//! start, the same for every rank of the job: the bytes that each may have under way without a request
//! ([`first`]). The rest is for senders that want more. A sender whose window keeps it from sending sets a
//! flag in every datagram ([`crate::wire::WANTS`]), and the receiver tells each of those its part in every
//! datagram to it. A sender with a small part also sends smaller datagrams, so that even the smallest part
//! carries something.
//!
//! A part expires: a sender that has been idle for [`FRESH_NS`] nanoseconds goes back to its first share, and
//! the receiver forgets it a little later.

use crate::path::{NS_PER_MS, Time};
use std::collections::BTreeMap;

/// How long, in nanoseconds, a sender without packets under way may rely on its part.
pub const FRESH_NS: u64 = NS_PER_MS;
/// How long, in nanoseconds, a receiver counts a sender that wants no more.
const COUNTED_NS: u64 = 2 * FRESH_NS;
/// How often, in nanoseconds, a receiver searches for senders that it no longer has to count.
const SWEEP_NS: u64 = NS_PER_MS / 4;
/// The least bytes that any sender may have under way.
const MIN_SHARE_BYTES: u64 = 2 << 10;

/// Bytes that each of `senders` may have in flight without a request, to a rank with this much room.
pub fn first(room: u64, senders: u64) -> u64 {
    match senders {
        0 | 1 => room,
        _ => (room / 4 / senders).max(MIN_SHARE_BYTES),
    }
}

/// The senders that want more than that, and the part of each.
#[derive(Debug)]
pub struct Shares {
    /// Bytes to be divided.
    room: u64,
    /// When a sender that wants no more was last heard; `None` while it wants more.
    senders: BTreeMap<u32, Option<Time>>,
    sweep_at: Time,
}

impl Shares {
    /// The shares of a rank with this much room for packets under way to it.
    pub fn new(room: u64) -> Shares {
        Shares { room, senders: BTreeMap::new(), sweep_at: 0 }
    }

    /// A datagram of a peer has arrived, which says whether the peer wants more.
    #[inline]
    pub fn heard(&mut self, now: Time, peer: u32, wants: bool) {
        if wants {
            self.senders.insert(peer, None);
        } else if !self.senders.is_empty()
            && let Some(since) = self.senders.get_mut(&peer)
        {
            since.get_or_insert(now);
        }
    }

    /// Bytes that a peer may have in flight; 0: its first share.
    #[inline]
    pub fn of(&mut self, now: Time, peer: u32) -> u64 {
        if self.senders.is_empty() {
            return 0;
        }
        if now >= self.sweep_at {
            self.sweep_at = now + SWEEP_NS;
            self.senders.retain(|_, since| since.is_none_or(|since| now < since + COUNTED_NS));
        }
        if self.senders.contains_key(&peer) { self.room / self.senders.len() as u64 } else { 0 }
    }
}

/// A share as a header has it: three bits of mantissa, five of exponent, in units of 64 bytes; 0 is none. It
/// is rounded down.
pub fn encode(share: u64) -> u8 {
    let units = share / 64;
    if units < 8 {
        return 0;
    }
    let exponent = u64::from(units.ilog2() - 3).min(31);
    let mantissa = (units >> exponent).min(15);
    (exponent << 3 | (mantissa - 8)) as u8
}

/// Decodes the result of [`encode`].
pub fn decode(code: u8) -> u64 {
    if code == 0 { 0 } else { (8 + u64::from(code & 7)) << (code >> 3) << 6 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_survive_in_a_byte() {
        for share in (0..100_000).chain([1 << 20, 3 << 20, 1 << 30, 1 << 40]) {
            let read = decode(encode(share));
            assert!(read <= share && (share < 1024 || read > share - share / 8 - 64), "{share}: {read}");
        }
        assert!((1..=255).all(|code| encode(decode(code)) == code));
    }

    #[test]
    fn those_who_want_divide_the_room() {
        let mut shares = Shares::new(512 << 10);
        assert_eq!(shares.of(0, 1), 0);
        (0..4).for_each(|peer| shares.heard(0, peer, true));
        assert_eq!((shares.of(0, 1), shares.of(0, 4)), (128 << 10, 0));
        // A sender that wants no more is counted for a while.
        shares.heard(NS_PER_MS, 0, false);
        assert_eq!(shares.of(NS_PER_MS, 1), 128 << 10);
        shares.heard(NS_PER_MS + COUNTED_NS, 0, false);
        assert_eq!(shares.of(NS_PER_MS + COUNTED_NS, 1), (512 << 10) / 3);
        assert_eq!(shares.of(NS_PER_MS + COUNTED_NS, 0), 0);
        // A sender that wants more is counted however long it is silent.
        assert_eq!(shares.of(1000 * NS_PER_MS, 3), (512 << 10) / 3);
    }

    #[test]
    fn what_is_free_is_bounded_by_the_room() {
        assert_eq!(first(1 << 20, 1), 1 << 20);
        assert_eq!(first(1 << 20, 16), 16 << 10);
        assert_eq!(first(128 << 10, 1000), MIN_SHARE_BYTES);
    }
}
