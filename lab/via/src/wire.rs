//! Packets between the machines of two ranks.
//!
//! A packet names the *link* it is for: one end of one connection, or of an attempt to connect. Its number is
//! used once, so nothing of an old connection reaches a new one. Packets may arrive in any order.
//!
//! A *datagram* is a packet of an unreliable connection. It begins with a checksum of the rest, so that what
//! the simulated wire has done to it is found.

use crate::terms::{Address, Errors, RemoteAttributes};
use serde::{Deserialize, Serialize};
use std::hash::Hasher;

/// Bytes of a checksum.
const CHECK_BYTES: usize = 8;

/// Why a request for a connection is answered with no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum No {
    Rejected,
    Nobody,
    Reliability,
    TransferSize,
    Qos,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Packet {
    /// A VI wants to be connected; answers go to `link`. `peer`: to one that wants the same.
    Request { link: u32, peer: bool, local: Address, remote: Address, attributes: RemoteAttributes },
    /// The request of this link of the sender is over.
    Cancel { link: u32 },
    /// Yes: `own` is the link of the other end, which has posted `posted` receives.
    Accept { link: u32, own: u32, attributes: RemoteAttributes, posted: u64 },
    /// No.
    Refuse { link: u32, why: No },
    /// The requester has heard the yes.
    Confirm { link: u32, posted: u64 },
    /// The requester does not wait any more.
    Gone { link: u32 },
    /// The piece of message `number` that begins at byte `at`; the bytes follow the packet. `posted` is the
    /// number of receives that the sender has posted. `written`: the message reports an RDMA write of this
    /// many bytes.
    Data {
        link: u32,
        number: u64,
        at: u32,
        total: u32,
        posted: u64,
        immediate: Option<u32>,
        written: Option<u32>,
    },
    /// Is there a receive for message `number`? `wait`: answer when there is.
    Ask { link: u32, number: u64, wait: bool },
    /// `posted` receives are posted.
    Posted { link: u32, posted: u64 },
    /// `count` messages are in place.
    Placed { link: u32, count: u64 },
    /// The connection has broken at message `number`; messages before it are in place.
    Broken { link: u32, number: u64, errors: Errors },
    /// The connection is over, after `sent` messages of the sender, which has `placed` of the other end's
    /// in place.
    Bye { link: u32, sent: u64, placed: u64 },
    /// May the VI write to, or read, this memory?
    Resolve { link: u32, memory: u32, write: bool },
    /// Yes, by this key: byte 0 of the region is at address `base`.
    Grant { link: u32, memory: u32, write: bool, key: [u8; 32], base: u64 },
    /// No.
    Deny { link: u32, memory: u32, write: bool },
    /// By what names is the rank known?
    Names { question: u32 },
    /// By these.
    Named { question: u32, names: Vec<String> },
}

/// Makes the bytes of a packet, with the bytes that follow it.
pub(crate) fn encode(packet: &Packet, payload: usize, datagram: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(CHECK_BYTES + 48 + payload);
    if datagram {
        bytes.extend([0; CHECK_BYTES]);
    }
    // A vector takes all that there is; nothing else can fail.
    postcard::to_extend(packet, bytes).unwrap_or_default()
}

/// The checksum of a datagram.
fn check(bytes: &[u8]) -> [u8; CHECK_BYTES] {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish().to_le_bytes()
}

/// Puts the checksum into a datagram that is complete.
pub(crate) fn seal(bytes: &mut [u8]) {
    if let Some((head, rest)) = bytes.split_at_mut_checked(CHECK_BYTES) {
        head.copy_from_slice(&check(rest));
    }
}

/// The packet of some bytes, and how many bytes precede what follows it. `None`: they are no packet, or a
/// datagram that was changed on the way.
pub(crate) fn decode(bytes: &[u8], datagram: bool) -> Option<(Packet, usize)> {
    let rest = match datagram {
        false => bytes,
        true => {
            let (head, rest) = bytes.split_at_checked(CHECK_BYTES)?;
            (head == check(rest)).then_some(rest)?
        }
    };
    let (packet, payload) = postcard::take_from_bytes(rest).ok()?;
    Some((packet, bytes.len() - payload.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::Reliability;

    fn packets() -> Vec<Packet> {
        let attributes = RemoteAttributes {
            reliability: Reliability::Reception,
            max_transfer: 1 << 20,
            qos: 9,
            rdma_write: true,
            rdma_read: false,
        };
        let (local, remote) = (Address::new(3, *b"here"), Address::new(u32::MAX, *b""));
        vec![
            Packet::Request { link: 1, peer: true, local, remote, attributes },
            Packet::Accept { link: 2, own: u32::MAX, attributes, posted: u64::MAX },
            Packet::Data {
                link: 7,
                number: 1,
                at: 2,
                total: 3,
                posted: 4,
                immediate: Some(5),
                written: Some(6),
            },
            Packet::Broken { link: 8, number: 9, errors: Errors::REMOTE },
            Packet::Grant { link: 1, memory: 2, write: false, key: [0xee; 32], base: u64::MAX },
        ]
    }

    #[test]
    fn packets_survive_their_bytes() {
        for packet in packets() {
            for datagram in [false, true] {
                let mut bytes = encode(&packet, 3, datagram);
                bytes.extend(*b"abc");
                if datagram {
                    seal(&mut bytes);
                }
                let (back, at) = decode(&bytes, datagram).expect("a packet");
                assert_eq!((&back, &bytes[at..]), (&packet, &b"abc"[..]));
            }
        }
    }

    /// VIA-9: no single bit can be changed without being noticed, and no byte be lost.
    #[test]
    fn via_09_changed_datagrams_are_not_packets() {
        for packet in packets() {
            let mut bytes = encode(&packet, 3, true);
            bytes.extend(*b"abc");
            seal(&mut bytes);
            for bit in 0..8 * bytes.len() {
                let mut changed = bytes.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(decode(&changed, true), None, "bit {bit} of {packet:?}");
            }
            (0..bytes.len()).for_each(|n| assert_eq!(decode(&bytes[..n], true), None));
        }
    }
}
