//! Who sent a datagram: a tag under a key that only the ranks of the job have.
//!
//! Every rank contributes random bytes through the job's bootstrap exchange; the job's key is made of all of them, and from
//! it a key for each direction of each pair of ranks, which also depends on the *incarnations* of both (random numbers that a
//! rank draws when it opens the conduit). So the key alone says who sent to whom in which life of both, and the tag covers the
//! packet number, which is never used twice under one key: a datagram of another job, of an earlier life, sent to somebody
//! else, or sent before, is refused. The key leaves the processes of the job only by the launcher's own channels.
//!
//! Header tags are SipHash-1-3 (18 ns for the 56 bytes; 2-4 takes 32, BLAKE3 50, AEGIS 53). They are for attackers who see no
//! tag and no number, who can but guess 64 bits; its authors made 1-3 for hash tables, where attackers see as little, and no
//! attack on it as a keyed function is known. Who sees the traffic can change payloads under any header tag: for that there
//! are tags with payload, AEGIS-128X2 MACs (some 20 bytes/ns on processors with AES instructions; BLAKE3 6, SipHash 2), 64 bits
//! of which are sent.

use crate::wire::Packet;
use aegis::aegis128x2::Aegis128X2Mac;
use siphasher::sip::SipHasher13;

/// Bytes that each rank contributes to the job's key.
pub const SHARE: usize = 16;

/// How much of a datagram its tag covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Coverage {
    /// The header: what an attacker who cannot see the job's traffic can forge or replay.
    #[default]
    Header,
    /// All of it.
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
    /// The key that all shares together make; every rank has to have all of them in the same order.
    pub fn from_shares<'a>(shares: impl Iterator<Item = &'a [u8; SHARE]>) -> JobKey {
        let mut key = *b"gasnet udp job 1";
        for share in shares {
            key = derive(&key, &[share]);
        }
        JobKey(key)
    }

    /// The key of what one rank sends to another.
    pub fn direction(&self, from: Life, to: Life, coverage: Coverage) -> Key {
        let mut text = [0; 24];
        text[..4].copy_from_slice(&from.rank.to_le_bytes());
        text[4..12].copy_from_slice(&from.incarnation.to_le_bytes());
        text[12..16].copy_from_slice(&to.rank.to_le_bytes());
        text[16..].copy_from_slice(&to.incarnation.to_le_bytes());
        let header = SipHasher13::new_with_key(&derive(&self.0, &[b"header", &text]));
        let full = match coverage {
            Coverage::Header => None,
            Coverage::Full => Some(derive(&self.0, &[b"full", &text])),
        };
        Key { header, full }
    }
}

fn derive(key: &[u8; 16], parts: &[&[u8]]) -> [u8; 16] {
    let mut mac = Aegis128X2Mac::<16>::new(key);
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize()
}

/// A rank in one of its lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// Which rank.
    pub rank: u32,
    /// Drawn when it opened the conduit.
    pub incarnation: u64,
}

/// The key of one direction between two ranks.
#[derive(Clone)]
pub struct Key {
    header: SipHasher13,
    full: Option<[u8; 16]>,
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// Whether tags cover payloads.
    #[inline]
    pub fn covers_payload(&self) -> bool {
        self.full.is_some()
    }

    /// The tag of a datagram.
    #[inline]
    pub fn tag(&self, header: &[u8], payload: &[u8]) -> u64 {
        match &self.full {
            None => self.header.hash(header),
            Some(key) => {
                let mut mac = Aegis128X2Mac::<16>::new(key);
                mac.update(header);
                mac.update(payload);
                let mut low = [0; 8];
                low.copy_from_slice(&mac.finalize()[..8]);
                u64::from_le_bytes(low)
            }
        }
    }

    /// Whether a datagram was sent under this key. Takes the same time however wrong the tag is.
    #[inline]
    pub fn verify(&self, packet: &Packet<'_>) -> bool {
        self.tag(packet.tagged(), packet.payload()) ^ packet.tag() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{HEADER, Header, Kind, set_tag};

    fn life(rank: u32, incarnation: u64) -> Life {
        Life { rank, incarnation }
    }

    fn datagram(key: &Key) -> Vec<u8> {
        let header = Header {
            kind: Kind::Put,
            flags: 0,
            sender: 1,
            number: 5,
            seq: 9,
            len: 40,
            acked: 0,
            run: 0,
            delay: 0,
            limits: [1, 2],
            id: 3,
            total: 0,
            at: 77,
        };
        let mut head = [0; HEADER];
        header.emit(&mut head);
        let tag = key.tag(&head[..crate::wire::TAGGED], &[8; 40]);
        set_tag(&mut head, tag);
        [&head[..], &[8; 40]].concat()
    }

    #[test]
    fn each_bit_counts() {
        for (coverage, covered) in [(Coverage::Header, HEADER), (Coverage::Full, HEADER + 40)] {
            let job = JobKey::from_shares([[1; 16], [2; 16]].iter());
            let key = job.direction(life(1, 10), life(2, 20), coverage);
            let good = datagram(&key);
            assert!(key.verify(&Packet::new_checked(&good).unwrap()));
            for bit in 0..good.len() * 8 {
                let mut bad = good.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                let passes = Packet::new_checked(&bad).is_ok_and(|p| key.verify(&p));
                assert_eq!(passes, bit / 8 >= covered, "bit {bit}");
            }
        }
    }

    #[test]
    fn another_job_direction_or_life_has_another_key() {
        let job = JobKey::from_shares([[1; 16], [2; 16]].iter());
        let good = datagram(&job.direction(life(1, 10), life(2, 20), Coverage::Header));
        let other = JobKey::from_shares([[1; 16], [3; 16]].iter());
        for (job, from, to) in [
            (&other, life(1, 10), life(2, 20)),
            (&job, life(2, 20), life(1, 10)),
            (&job, life(1, 11), life(2, 20)),
            (&job, life(1, 10), life(2, 21)),
            (&job, life(1, 10), life(3, 20)),
        ] {
            let key = job.direction(from, to, Coverage::Header);
            assert!(!key.verify(&Packet::new_checked(&good).unwrap()));
        }
    }
}
