//! How the room of a rank's socket is divided among those who send to it.
//!
//! The kernel drops what finds no room in the socket's buffer. One sender keeps to it by its window; many senders, each with a window of
//! its own, do not. So a part of the room is promised from the start, the same to every rank of the job: what it may have on its way
//! unasked ([`first`]). The rest is for those who want more: a sender whose window keeps it from sending says so in every
//! datagram ([`crate::wire::WANTS`]), and the receiver tells each of those its part in every datagram that it sends to it. A sender
//! whose part is small also sends smaller datagrams, so that even the smallest part carries something.
//!
//! A part grows old: who has been idle for [`FRESH`] goes back to what it may do unasked, and the receiver forgets it a little later.

use crate::path::{MS, Time};
use std::collections::BTreeMap;

/// How long a sender that has nothing on its way may count on the part that it was told.
pub const FRESH: u64 = MS;
/// How long a receiver counts a sender that wants no more.
const COUNTED: u64 = 2 * FRESH;
/// How often a receiver looks for those that it need not count any more.
const SWEEP: u64 = MS / 4;
/// The least that anyone may have on its way.
const LEAST: u64 = 2 << 10;

/// What each of `senders` may have on its way unasked to a rank with so much room for what is on its way.
pub fn first(room: u64, senders: u64) -> u64 {
    match senders {
        0 | 1 => room,
        _ => (room / 4 / senders).max(LEAST),
    }
}

/// Who wants more than that, and what there is for each.
#[derive(Debug)]
pub struct Shares {
    /// Bytes to be divided.
    room: u64,
    /// When a sender was heard of last that wants no more; `None` while it does.
    senders: BTreeMap<u32, Option<Time>>,
    sweep_at: Time,
}

impl Shares {
    /// Of a rank with so much room for what is on its way to it.
    pub fn new(room: u64) -> Shares {
        Shares { room, senders: BTreeMap::new(), sweep_at: 0 }
    }

    /// A datagram of a peer has come, which says whether it wants more.
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

    /// What a peer may have on its way; 0: what it may unasked.
    #[inline]
    pub fn of(&mut self, now: Time, peer: u32) -> u64 {
        if self.senders.is_empty() {
            return 0;
        }
        if now >= self.sweep_at {
            self.sweep_at = now + SWEEP;
            self.senders.retain(|_, since| since.is_none_or(|since| now < since + COUNTED));
        }
        if self.senders.contains_key(&peer) { self.room / self.senders.len() as u64 } else { 0 }
    }
}

/// A share as a header has it: three bits of mantissa, five of exponent, in units of 64 bytes; 0 is none. Never more than it was.
pub fn encode(share: u64) -> u8 {
    let units = share / 64;
    if units < 8 {
        return 0;
    }
    let exponent = u64::from(units.ilog2() - 3).min(31);
    let mantissa = (units >> exponent).min(15);
    (exponent << 3 | (mantissa - 8)) as u8
}

/// What [`encode`] made of it.
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
        // Whoever wants no more is counted for a while.
        shares.heard(MS, 0, false);
        assert_eq!(shares.of(MS, 1), 128 << 10);
        shares.heard(MS + COUNTED, 0, false);
        assert_eq!(shares.of(MS + COUNTED, 1), (512 << 10) / 3);
        assert_eq!(shares.of(MS + COUNTED, 0), 0);
        // Who wants is counted however long nothing is heard of it.
        assert_eq!(shares.of(1000 * MS, 3), (512 << 10) / 3);
    }

    #[test]
    fn what_is_free_is_bounded_by_the_room() {
        assert_eq!(first(1 << 20, 1), 1 << 20);
        assert_eq!(first(1 << 20, 16), 16 << 10);
        assert_eq!(first(128 << 10, 1000), LEAST);
    }
}
