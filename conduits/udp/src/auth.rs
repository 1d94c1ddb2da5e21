//! Authenticates the sender of a datagram: by a tag, under a key that only the ranks of the job have.
//!
//! Every rank contributes random bytes through the job's bootstrap exchange, and all of them together make
//! the job's key. From it comes a key for each direction of each pair of ranks, which also depends on the
//! *incarnations* of both (random numbers that a rank draws when it opens the conduit). So the key alone
//! identifies sender, receiver, and the life of both. The tag also covers the packet number, which is never
//! used twice under one key. Hence a datagram is refused if it comes from another job or an earlier life, was
//! sent to another rank, or was sent before. The key leaves the job's processes only through the launcher's
//! channels, and is as secret as they are.
//!
//! **What a tag covers.** The whole datagram: header, messages, ranges of an acknowledgement. With
//! [`Coverage::Messages`] one thing is excluded: the payload of a large part of a put or get
//! ([`MIN_BULK_BYTES`]), which is then neither read nor copied on its way. `docs/architecture.md` says what
//! an attacker can and cannot do in either case.
//!
//! **Two functions.** Short datagrams get SipHash-1-3, which costs least for them (nanoseconds for 56 bytes:
//! 18; SipHash-2-4 takes 32, BLAKE3 50, AEGIS 53). Its authors made 1-3 for hash tables; no attack on it as a
//! keyed function is known. Longer datagrams, and all with [`Coverage::Full`], get the AEGIS-128X2 MAC (some
//! 20 bytes/ns on processors with AES instructions; BLAKE3 6, SipHash 2), of which 64 bits are sent. Each
//! function has a key of its own, and both tags cover the fields that decide between them.

use crate::mac;
use crate::wire::{Packet, PacketKind, TAGGED_BYTES, kind};
use siphasher::sip::SipHasher13;

/// Bytes that each rank contributes to the job's key.
pub const KEY_SHARE_BYTES: usize = 16;

/// Longer payloads of puts and gets are bulk data.
pub const MIN_BULK_BYTES: usize = 256;
/// Longest payload in bytes for which SipHash is the faster function.
const SIPHASH_MAX_BYTES: usize = 256;

/// The part of a datagram that its tag covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Coverage {
    /// Everything except bulk data.
    #[default]
    Messages,
    /// Everything.
    Full,
}

/// The key of a job.
#[derive(Clone)]
pub struct JobKey([u8; 16]);

impl core::fmt::Debug for JobKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("JobKey(..)")
    }
}

impl JobKey {
    /// The key made of all shares; every rank must have all of them in the same order.
    pub fn from_shares<'a>(shares: impl Iterator<Item = &'a [u8; KEY_SHARE_BYTES]>) -> JobKey {
        let mut key = *b"gasnet udp job 1";
        for share in shares {
            key = derive(&key, &[share]);
        }
        JobKey(key)
    }

    /// The key for datagrams from one rank to another.
    pub fn direction(&self, from: Life, to: Life, coverage: Coverage) -> AuthKey {
        let mut text = [0; 24];
        text[..4].copy_from_slice(&from.rank.to_le_bytes());
        text[4..12].copy_from_slice(&from.incarnation.to_le_bytes());
        text[12..16].copy_from_slice(&to.rank.to_le_bytes());
        text[16..].copy_from_slice(&to.incarnation.to_le_bytes());
        AuthKey {
            short: SipHasher13::new_with_key(&derive(&self.0, &[b"short", &text])),
            long: derive(&self.0, &[b"long", &text]),
            coverage,
        }
    }
}

impl JobKey {
    /// A word that only these ranks can make of what the first says to the second, apart from datagrams of
    /// their link.
    pub(crate) fn word(&self, from: Life, to: Life, what: &[u8]) -> u64 {
        let ends = [from, to].map(|life| {
            let mut text = [0; 12];
            text[..4].copy_from_slice(&life.rank.to_le_bytes());
            text[4..].copy_from_slice(&life.incarnation.to_le_bytes());
            text
        });
        let mac = derive(&self.0, &[b"asked", &ends[0], &ends[1], what]);
        u64::from_le_bytes(core::array::from_fn(|i| mac[i]))
    }
}

fn derive(key: &[u8; 16], parts: &[&[u8]]) -> [u8; 16] {
    mac::tag(key, parts)
}

/// A rank in one of its lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// The rank.
    pub rank: u32,
    /// A random number, drawn when the rank opened the conduit.
    pub incarnation: u64,
}

/// The key of one direction between two ranks.
#[derive(Clone)]
pub struct AuthKey {
    short: SipHasher13,
    long: [u8; 16],
    coverage: Coverage,
}

impl core::fmt::Debug for AuthKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("AuthKey(..)")
    }
}

impl AuthKey {
    /// Whether the tag of such a datagram does not cover its payload.
    #[inline]
    pub fn spares(&self, kind: PacketKind, len: usize) -> bool {
        self.coverage == Coverage::Messages
            && len > MIN_BULK_BYTES
            && matches!(kind, PacketKind::Put | PacketKind::Data)
    }

    /// The tag of a datagram.
    #[inline]
    pub fn tag(&self, header: &[u8; TAGGED_BYTES], payload: &[u8]) -> u64 {
        let spared = kind(header).is_some_and(|kind| self.spares(kind, payload.len()));
        let covered = if spared { &[] } else { payload };
        if self.coverage == Coverage::Messages && covered.len() <= SIPHASH_MAX_BYTES {
            let mut all = [0; TAGGED_BYTES + SIPHASH_MAX_BYTES];
            all[..TAGGED_BYTES].copy_from_slice(header);
            all[TAGGED_BYTES..TAGGED_BYTES + covered.len()].copy_from_slice(covered);
            return self.short.hash(&all[..TAGGED_BYTES + covered.len()]);
        }
        let mut low = [0; 8];
        low.copy_from_slice(&mac::tag(&self.long, &[header, covered])[..8]);
        u64::from_le_bytes(low)
    }

    /// Whether a datagram was sent under this key. The time does not depend on how wrong the tag is.
    #[inline]
    pub fn verify(&self, packet: &Packet<'_>) -> bool {
        self.tag(packet.tagged(), packet.payload()) ^ packet.tag() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{HEADER_BYTES, Header, set_tag, tagged};

    fn life(rank: u32, incarnation: u64) -> Life {
        Life { rank, incarnation }
    }

    fn datagram(key: &AuthKey, kind: PacketKind, len: usize) -> Vec<u8> {
        let header = Header {
            kind,
            flags: 0,
            share: 9,
            sender: 1,
            number: 5,
            seq: 9,
            len: len as u32,
            acked: 0,
            run: 0,
            delay: 0,
            limits: [1, 2],
            id: 3,
            total: 0,
            at: 77,
        };
        let mut datagram = vec![8; HEADER_BYTES + len];
        let (head, payload) = datagram.split_first_chunk_mut().unwrap();
        header.emit(head);
        let tag = key.tag(tagged(head), payload);
        set_tag(head, tag);
        datagram
    }

    /// A changed datagram of any length and kind is refused, unless the change is in bulk data that the job
    /// excludes.
    #[test]
    fn each_bit_counts() {
        use PacketKind::*;
        for coverage in [Coverage::Messages, Coverage::Full] {
            let job = JobKey::from_shares([[1; 16], [2; 16]].iter());
            let key = job.direction(life(1, 10), life(2, 20), coverage);
            for kind in [Ack, Ping, Probe, Frame, Put, Get, Data, Close] {
                for len in [
                    0,
                    1,
                    40,
                    SIPHASH_MAX_BYTES,
                    SIPHASH_MAX_BYTES + 1,
                    MIN_BULK_BYTES,
                    MIN_BULK_BYTES + 1,
                    1000,
                ] {
                    let spared =
                        coverage == Coverage::Messages && matches!(kind, Put | Data) && len > MIN_BULK_BYTES;
                    let covered = if spared { HEADER_BYTES } else { HEADER_BYTES + len };
                    let good = datagram(&key, kind, len);
                    assert!(key.verify(&Packet::new_checked(&good).unwrap()));
                    for bit in 0..good.len() * 8 {
                        let mut bad = good.clone();
                        bad[bit / 8] ^= 1 << (bit % 8);
                        let passes = Packet::new_checked(&bad).is_ok_and(|p| key.verify(&p));
                        assert_eq!(passes, bit / 8 >= covered, "{kind:?} of {len}, bit {bit}");
                    }
                }
            }
        }
    }

    #[test]
    fn another_job_direction_or_life_has_another_key() {
        let job = JobKey::from_shares([[1; 16], [2; 16]].iter());
        let good =
            datagram(&job.direction(life(1, 10), life(2, 20), Coverage::Messages), PacketKind::Put, 40);
        let other = JobKey::from_shares([[1; 16], [3; 16]].iter());
        for (job, from, to) in [
            (&other, life(1, 10), life(2, 20)),
            (&job, life(2, 20), life(1, 10)),
            (&job, life(1, 11), life(2, 20)),
            (&job, life(1, 10), life(2, 21)),
            (&job, life(1, 10), life(3, 20)),
        ] {
            let key = job.direction(from, to, Coverage::Messages);
            assert!(!key.verify(&Packet::new_checked(&good).unwrap()));
        }
    }
}
