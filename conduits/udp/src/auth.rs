//! Who sent a datagram: a tag under a key that only the ranks of the job have.
//!
//! Every rank contributes random bytes through the job's bootstrap exchange; the job's key is made of all of them, and from
//! it a key for each direction of each pair of ranks, which also depends on the *incarnations* of both (random numbers that a
//! rank draws when it opens the conduit). So the key alone says who sent to whom in which life of both, and the tag covers the
//! packet number, which is never used twice under one key: a datagram of another job, of an earlier life, sent to somebody
//! else, or sent before, is refused. The key leaves the processes of the job only by the launcher's own channels, and is as
//! secret as they are.
//!
//! **What a tag covers.** All of the datagram: header, messages, ranges of an acknowledgement. With [`Coverage::Messages`] one
//! thing is left out: the payload of a large part of a put or of what was got ([`BULK`]), which is then neither looked at nor
//! copied on its way. `docs/architecture.md` says what an attacker can and cannot do with either.
//!
//! **Two functions.** Short datagrams get SipHash-1-3, which costs least there (nanoseconds: 56 bytes 18; 2-4 takes 32, BLAKE3
//! 50, AEGIS 53). Its authors made 1-3 for hash tables; no attack on it as a keyed function is known. Longer ones, and all
//! with [`Coverage::Full`], get the AEGIS-128X2 MAC (some 20 bytes/ns on processors with AES instructions; BLAKE3 6, SipHash
//! 2), 64 bits of which are sent. Each has a key of its own, and what decides between them is covered by both.

use crate::wire::{Kind, Packet, TAGGED, kind};
use aegis::aegis128x2::Aegis128X2Mac;
use siphasher::sip::SipHasher13;

/// Bytes that each rank contributes to the job's key.
pub const SHARE: usize = 16;

/// Longer payloads of puts and gets are bulk data.
pub const BULK: usize = 256;
/// Longest payload for which SipHash is the faster one.
const SHORT: usize = 256;

/// How much of a datagram its tag covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Coverage {
    /// All of it but bulk data.
    #[default]
    Messages,
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
        Key {
            short: SipHasher13::new_with_key(&derive(&self.0, &[b"short", &text])),
            long: derive(&self.0, &[b"long", &text]),
            coverage,
        }
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
    short: SipHasher13,
    long: [u8; 16],
    coverage: Coverage,
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// Whether the tag of such a datagram says nothing about its payload.
    #[inline]
    pub fn spares(&self, kind: Kind, len: usize) -> bool {
        self.coverage == Coverage::Messages && len > BULK && matches!(kind, Kind::Put | Kind::Data)
    }

    /// The tag of a datagram.
    #[inline]
    pub fn tag(&self, header: &[u8; TAGGED], payload: &[u8]) -> u64 {
        let spared = kind(header).is_some_and(|kind| self.spares(kind, payload.len()));
        let covered = if spared { &[] } else { payload };
        if self.coverage == Coverage::Messages && covered.len() <= SHORT {
            let mut all = [0; TAGGED + SHORT];
            all[..TAGGED].copy_from_slice(header);
            all[TAGGED..TAGGED + covered.len()].copy_from_slice(covered);
            return self.short.hash(&all[..TAGGED + covered.len()]);
        }
        let mut mac = Aegis128X2Mac::<16>::new(&self.long);
        mac.update(header);
        mac.update(covered);
        let mut low = [0; 8];
        low.copy_from_slice(&mac.finalize()[..8]);
        u64::from_le_bytes(low)
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
    use crate::wire::{HEADER, Header, set_tag, tagged};

    fn life(rank: u32, incarnation: u64) -> Life {
        Life { rank, incarnation }
    }

    fn datagram(key: &Key, kind: Kind, len: usize) -> Vec<u8> {
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
        let mut datagram = vec![8; HEADER + len];
        let (head, payload) = datagram.split_first_chunk_mut().unwrap();
        header.emit(head);
        let tag = key.tag(tagged(head), payload);
        set_tag(head, tag);
        datagram
    }

    /// Whatever its length and kind, a changed datagram is refused, unless the change is in bulk data that the job leaves out.
    #[test]
    fn each_bit_counts() {
        use Kind::*;
        for coverage in [Coverage::Messages, Coverage::Full] {
            let job = JobKey::from_shares([[1; 16], [2; 16]].iter());
            let key = job.direction(life(1, 10), life(2, 20), coverage);
            for kind in [Ack, Ping, Probe, Frame, Put, Get, Data, Close] {
                for len in [0, 1, 40, SHORT, SHORT + 1, BULK, BULK + 1, 1000] {
                    let spared = coverage == Coverage::Messages && matches!(kind, Put | Data) && len > BULK;
                    let covered = if spared { HEADER } else { HEADER + len };
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

    /// Nanoseconds of a tag by length: `cargo test --release -p gasnet-udp --lib -- --ignored --nocapture tags`.
    #[test]
    #[ignore = "prints figures of a quiet machine, and asserts none"]
    fn cost_of_tags() {
        let job = JobKey::from_shares([[1; 16], [2; 16]].iter());
        for coverage in [Coverage::Messages, Coverage::Full] {
            let key = job.direction(life(1, 10), life(2, 20), coverage);
            for len in [0, 16, 40, 64, 128, 129, 256, 512, 1408, 4112, 16 << 10, 65_443] {
                let datagram = datagram(&key, Kind::Frame, len);
                let packet = Packet::new_checked(&datagram).unwrap();
                let rounds = 200_000_000 / (1000 + 40 * len as u32);
                let start = std::time::Instant::now();
                for _ in 0..rounds {
                    assert!(key.verify(std::hint::black_box(&packet)));
                }
                println!("{coverage:?} {len}: {:.1}", start.elapsed().as_nanos() as f64 / f64::from(rounds));
            }
        }
    }

    #[test]
    fn another_job_direction_or_life_has_another_key() {
        let job = JobKey::from_shares([[1; 16], [2; 16]].iter());
        let good = datagram(&job.direction(life(1, 10), life(2, 20), Coverage::Messages), Kind::Put, 40);
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
