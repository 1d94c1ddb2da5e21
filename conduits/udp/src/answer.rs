//! Answers at a port of its own that this process runs.
//!
//! A peer that hears nothing at a rank's port cannot tell whether the rank is stopped, or something on the
//! way drops what goes there and what comes from there: the system of its host says the same of both (see
//! [`crate::inquiry`]). So the keeper answers questions at another port:
//!
//! ```text
//! 0  magic, question or answer, 8 bytes     8  the sender's rank u32, zero u32
//! 16 a number of the question, u64          24 a word that only these two ranks can make of the rest, u64
//! ```
//! Who is answered here, and not at the rank's own port, is cut off from that port.

use crate::address::RankAddress;
use crate::auth::{JobKey, Life};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

const QUESTION: [u8; 8] = *b"gasnet?2";
const ANSWER: [u8; 8] = *b"gasnet!2";
const DATAGRAM_BYTES: usize = 32;
/// Bytes before the last word.
const SAID_BYTES: usize = DATAGRAM_BYTES - 8;
/// Most questions that are answered at once.
const QUESTIONS_PER_LOOK: usize = 64;

/// The key of a rank, and who the others are.
#[derive(Clone)]
pub(crate) struct Party {
    pub(crate) me: u32,
    pub(crate) key: JobKey,
    pub(crate) cards: Arc<[RankAddress]>,
}

impl Party {
    fn life(&self, rank: u32) -> Option<Life> {
        let incarnation = self.cards.get(rank as usize)?.incarnation;
        Some(Life { rank, incarnation })
    }

    fn datagram(&self, magic: [u8; 8], to: u32, number: u64) -> Option<[u8; DATAGRAM_BYTES]> {
        let mut out = [0; DATAGRAM_BYTES];
        out[..8].copy_from_slice(&magic);
        out[8..12].copy_from_slice(&self.me.to_le_bytes());
        out[16..24].copy_from_slice(&number.to_le_bytes());
        let word = self.key.word(self.life(self.me)?, self.life(to)?, &out[..SAID_BYTES]);
        out[SAID_BYTES..].copy_from_slice(&word.to_le_bytes());
        Some(out)
    }

    /// The sender and the number of a datagram for this rank.
    fn read(&self, magic: [u8; 8], bytes: &[u8]) -> Option<(u32, u64)> {
        let bytes: &[u8; DATAGRAM_BYTES] = bytes.try_into().ok()?;
        let (said, word) = bytes.split_first_chunk::<SAID_BYTES>()?;
        let from = u32::from_le_bytes(said[8..12].try_into().ok()?);
        let number = u64::from_le_bytes(said[16..].try_into().ok()?);
        let expected = self.key.word(self.life(from)?, self.life(self.me)?, said);
        let genuine = expected ^ u64::from_le_bytes(word.try_into().ok()?) == 0;
        (said[..8] == magic && genuine).then_some((from, number))
    }

    /// A question to a rank.
    pub(crate) fn question(&self, to: u32, number: u64) -> Option<[u8; DATAGRAM_BYTES]> {
        self.datagram(QUESTION, to, number)
    }

    /// Whether this is the answer of that rank to the question of that number.
    pub(crate) fn is_answer(&self, bytes: &[u8], from: u32, number: u64) -> bool {
        self.read(ANSWER, bytes) == Some((from, number))
    }
}

/// The port of a rank at which it answers.
pub(crate) struct Answerer {
    party: Party,
    socket: UdpSocket,
}

impl Answerer {
    /// At a socket that nobody else uses, and that does not block.
    pub(crate) fn new(party: Party, socket: UdpSocket) -> Answerer {
        Answerer { party, socket }
    }

    pub(crate) fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Answers what has been asked.
    pub(crate) fn answer(&self) {
        let mut bytes = [0; DATAGRAM_BYTES + 1];
        for _ in 0..QUESTIONS_PER_LOOK {
            let Ok((len, from)) = self.socket.recv_from(&mut bytes) else { return };
            self.reply(&bytes[..len], from);
        }
    }

    fn reply(&self, question: &[u8], to: SocketAddr) {
        let Some((rank, number)) = self.party.read(QUESTION, question) else { return };
        // Who misses the answer asks again.
        if let Some(answer) = self.party.datagram(ANSWER, rank, number) {
            let _ = self.socket.send_to(&answer, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn parties() -> [Party; 2] {
        let card = |i: u8| RankAddress {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 1)),
            incarnation: u64::from(i),
            share: [i; 16],
            room: 0,
            window: 0,
            full: false,
            refusing: 2,
            answering: 3,
        };
        let cards: Arc<[RankAddress]> = [card(7), card(8)].into();
        let key = JobKey::from_shares(cards.iter().map(|card| &card.share));
        [0, 1].map(|me| Party { me, key: key.clone(), cards: cards.clone() })
    }

    #[test]
    fn only_what_was_asked_is_an_answer() {
        let [asker, other] = parties();
        let question = asker.question(1, 5).unwrap();
        assert_eq!(other.read(QUESTION, &question), Some((0, 5)));
        let answer = other.datagram(ANSWER, 0, 5).unwrap();
        assert!(asker.is_answer(&answer, 1, 5));
        assert!(!asker.is_answer(&answer, 1, 6) && !asker.is_answer(&question, 1, 5));
        for bit in 0..8 * DATAGRAM_BYTES {
            let mut forged = answer;
            forged[bit / 8] ^= 1 << (bit % 8);
            assert!(!asker.is_answer(&forged, 1, 5), "bit {bit}");
        }
        // Neither a question that comes back, nor one for another, nor of nobody.
        assert_eq!(asker.read(QUESTION, &question), None);
        assert!(asker.question(2, 5).is_none());
        for len in 0..DATAGRAM_BYTES {
            assert!(!asker.is_answer(&answer[..len], 1, 5));
        }
    }

    #[test]
    fn questions_over_sockets_are_answered() {
        let [asker, other] = parties();
        let socket = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (own, at) = (socket(), socket());
        at.set_nonblocking(true).unwrap();
        let answerer = Answerer::new(other, at);
        let to = answerer.socket().local_addr().unwrap();
        own.send_to(&[3; DATAGRAM_BYTES], to).unwrap();
        own.send_to(&asker.question(1, 9).unwrap(), to).unwrap();
        own.set_read_timeout(Some(std::time::Duration::from_millis(5))).unwrap();
        let mut bytes = [0; 64];
        let answer = (0..10_000).find_map(|_| {
            answerer.answer();
            own.recv(&mut bytes).ok()
        });
        assert!(asker.is_answer(&bytes[..answer.unwrap()], 1, 9));
    }
}
