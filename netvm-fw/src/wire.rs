//! Heads: the first bytes of every packet, and the form of a command. Ten 64-bit words, little endian:
//!
//! ```text
//! word 0   tag "NV" (16) | version (8) | kind (8) | flags (16) | port (16)
//! word 1   from (32) | to (32)
//! word 2   sequence number (32) | cookie (32)
//! word 3   notification (32) | operation (32)
//! word 4-6 source: page (64) | key (64) | hash (32), offset (16), length (16); or four arguments (32 each) and 0
//! word 7-9 destination, likewise
//! ```
//!
//! A fragment of a message for an appended queue has the queue's number in `operation`. Its destination has
//! the fragment's number in the place of the page, and the message's length in that of the hash.
//!
//! A command that waits for a trigger has the event's number in `from`, and the count it waits for in `seq`.
//!
//! A library fills a head as a command. The NIC fills in `from` and `seq`, and the whole head of packets of
//! its own. [`Head::decode`] checks the form, [`Head::check`] the bounds of every number. A port may change
//! its commands in memory at any time, so the NIC decodes a copy.

use thiserror::Error;

use gasnet_ops::Operation;

use crate::ids::{Hash, Key, Node, PAGE, PortId, Vpn};

/// Bytes of a head.
pub const HEAD_BYTES: usize = 80;
/// Words of a head.
pub const HEAD_WORDS: usize = HEAD_BYTES / 8;
/// Most bytes that travel with a command instead of being fetched from a page.
pub const MAX_INLINE_BYTES: usize = 96;

const TAG: u64 = 0x564e;
const VERSION: u64 = 1;

/// The purpose of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum HeadKind {
    /// Copy from the source (mine) to the destination (yours). With a window number.
    Write = 1,
    /// Send me the source (yours) for my destination. With a window number.
    Read = 2,
    /// The bytes that a read asked for. With a window number.
    ReadReply = 3,
    /// Perform this operation on the destination (yours). With a window number.
    Atomic = 4,
    /// The result of an atomic. It goes to memory that is always there, so it needs no number.
    AtomicReply = 5,
    /// Everything before `seq` is complete: the half of the window before it is free.
    Ack = 6,
    /// A write that asked for an acknowledgement is in place.
    Done = 7,
    /// A write, read or atomic was refused: wrong key, or no such page.
    Refused = 8,
    /// Bytes for the host, through the bounce buffer. With a window number.
    Message = 9,
    /// A command to the own NIC: lease the destination. The reply is an atomic's.
    Lease = 10,
    /// A command to the own NIC: end a lease.
    EndLease = 11,
    /// Fold the source (mine) into the words at the destination (yours), by the operation in `op`
    /// ([`Operation::encode`]), one that combines. With a window number. This is an addition of ours; the
    /// thesis has atomics of one word only.
    Combine = 12,
    /// A command to the own NIC: raise `notification` of the port.
    Raise = 13,
    /// Append the source (mine) to a queue (yours). With a window number.
    Append = 14,
    /// The queue in `op` has no room for messages of this port, or has room again: the number of this word is
    /// in `cookie`, odd if there is no room.
    Room = 15,
    /// A command to the own NIC: there is room in the port's queue `op`.
    Freed = 16,
}

impl HeadKind {
    fn parse(byte: u8) -> Option<HeadKind> {
        use HeadKind::*;
        const ALL: [HeadKind; 16] = [
            Write,
            Read,
            ReadReply,
            Atomic,
            AtomicReply,
            Ack,
            Done,
            Refused,
            Message,
            Lease,
            EndLease,
            Combine,
            Raise,
            Append,
            Room,
            Freed,
        ];
        ALL.get(usize::from(byte).checked_sub(1)?).copied()
    }

    /// Whether it has a window number, as everything that may have to wait in the bounce buffer.
    pub fn sequenced(self) -> bool {
        use HeadKind::{Append, Atomic, Combine, Message, Read, ReadReply, Write};
        matches!(self, Write | Read | ReadReply | Atomic | Message | Combine | Append)
    }

    /// Whether a port may issue it.
    pub fn is_command(self) -> bool {
        use HeadKind::{Append, Atomic, Combine, EndLease, Freed, Lease, Message, Raise, Read, Write};
        matches!(self, Write | Read | Atomic | Message | Lease | EndLease | Combine | Raise | Append | Freed)
    }

    /// Whether bytes follow the head.
    pub fn has_payload(self) -> bool {
        use HeadKind::{Append, Combine, Message, ReadReply, Write};
        matches!(self, Write | ReadReply | Message | Combine | Append)
    }

    /// Whether it is a command for the own NIC, which no packet carries.
    fn stays_here(self) -> bool {
        use HeadKind::{EndLease, Freed, Lease, Raise};
        matches!(self, Lease | EndLease | Raise | Freed)
    }
}

/// Flag: the bytes are with the command (`Write`, `Message`).
pub const INLINED: u16 = 1;
/// Flag: tell me when the write is in place ([`HeadKind::Done`]).
pub const ACKNOWLEDGE: u16 = 2;
/// Flag: the far end (a write's destination, a read's source) is under a lease; `hash` is the frame, `op` the
/// break count.
pub const LEASED: u16 = 4;
/// Flag of a command: carry it out when an event count reaches a threshold. Allowed for raises, and for
/// writes and combining writes without acknowledgement.
pub const TRIGGERED: u16 = 8;
/// Flag: the traffic of a pager. The NIC sets it in the commands of a [pager's
/// port](crate::nic::Nic::open_pager_port), and in what answers them.
pub const PAGING: u16 = 16;
const FLAGS: u16 = INLINED | ACKNOWLEDGE | LEASED | TRIGGERED | PAGING;

/// Traffic that has windows of its own between this node and another: that of programs, or that of pagers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Traffic {
    /// The other node.
    pub node: Node,
    /// Whether it is that of pagers.
    pub paging: bool,
}

/// A range of at most a page's bytes, at one end of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The page.
    pub vpn: Vpn,
    /// Key of its segment.
    pub key: Key,
    /// The hash that finds it in the table, or the frame of a lease.
    pub hash: Hash,
    /// First byte in the page.
    pub offset: u16,
    /// Number of bytes.
    pub len: u16,
}

impl Span {
    /// No bytes.
    pub const NONE: Span = Span { vpn: Vpn(0), key: Key(0), hash: Hash(0), offset: 0, len: 0 };

    /// `len` bytes of a page from `offset` on.
    pub fn new(vpn: Vpn, key: Key, offset: u32, len: u32) -> Span {
        Span { vpn, key, hash: vpn.hash(), offset: offset as u16, len: len as u16 }
    }

    /// Four arguments instead of a span.
    pub fn arguments(args: [u32; 4]) -> Span {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        Span { vpn: Vpn(pair(args[0], args[1])), key: Key(pair(args[2], args[3])), ..Span::NONE }
    }

    /// The arguments.
    pub fn to_arguments(self) -> [u32; 4] {
        let (a, b) = (self.vpn.0, self.key.0);
        [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32]
    }

    /// Whether the span stays in its page.
    #[inline]
    pub fn in_page(self) -> bool {
        u32::from(self.offset) + u32::from(self.len) <= PAGE
    }

    fn encode(self) -> [u64; 3] {
        let last = u64::from(self.hash.0) | u64::from(self.offset) << 32 | u64::from(self.len) << 48;
        [self.vpn.0, self.key.0, last]
    }

    fn decode(w: [u64; 3]) -> Span {
        Span {
            vpn: Vpn(w[0]),
            key: Key(w[1]),
            hash: Hash(w[2] as u32),
            offset: (w[2] >> 32) as u16,
            len: (w[2] >> 48) as u16,
        }
    }
}

/// A part of a message to an appended queue, as its head describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendPart {
    /// The queue of the receiving node.
    pub queue: u32,
    /// Its number in the message; all but the last have a page's bytes.
    pub index: u32,
    /// Bytes of the whole message.
    pub total: u32,
}

impl AppendPart {
    /// The destination of a fragment of `len` bytes, with the key of the queue's segment.
    pub fn span(self, key: Key, len: u32) -> Span {
        Span { vpn: Vpn(self.index.into()), key, hash: Hash(self.total), offset: 0, len: len as u16 }
    }

    /// The fragment of an append's head, if its numbers agree.
    pub fn of(head: &Head) -> Option<AppendPart> {
        let (index, total) = (u32::try_from(head.dst.vpn.0).ok()?, head.dst.hash.0);
        let fragment = AppendPart { queue: head.op, index, total };
        let begin = u64::from(index) * u64::from(PAGE);
        let len = u64::from(total).checked_sub(begin)?.min(PAGE.into());
        (len > 0 && len == u64::from(head.dst.len)).then_some(fragment)
    }

    /// Whether the message ends with it.
    pub fn is_last(self) -> bool {
        (u64::from(self.index) + 1) * u64::from(PAGE) >= u64::from(self.total)
    }
}

/// A decoded head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Head {
    /// Its purpose.
    pub kind: HeadKind,
    /// [`INLINED`], [`ACKNOWLEDGE`], [`LEASED`], [`TRIGGERED`].
    pub flags: u16,
    /// The port that issued it; for a message, the port that receives it (0 = the host itself).
    pub port: PortId,
    /// The sender of the packet; the NIC fills it in.
    pub from: Node,
    /// The receiver.
    pub to: Node,
    /// Its window number; the NIC fills it in.
    pub seq: u32,
    /// The number that the issuing port gave the operation; it comes back with the answer.
    pub cookie: u32,
    /// The notification to raise at the destination's port; 0 = none.
    pub notification: u32,
    /// Number of the atomic or combining operation, break count of a lease, or the port that sends a message
    /// (the NIC fills it in).
    pub op: u32,
    /// The source, or arguments.
    pub src: Span,
    /// The destination.
    pub dst: Span,
}

/// Why a head is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BadHead {
    /// Fewer than 80 bytes.
    #[error("a head has {HEAD_BYTES} bytes")]
    Short,
    /// Another protocol, or another version.
    #[error("no head of this version")]
    Foreign,
    /// A kind that does not exist, or is not allowed here.
    #[error("a kind that does not belong here")]
    HeadKind,
    /// Unknown flags.
    #[error("unknown flags")]
    Flags,
    /// Offset and length leave the page, or the two ends differ in length.
    #[error("bytes outside of their page, or ends of different lengths")]
    Span,
    /// A node that does not exist.
    #[error("no such node")]
    Node,
    /// The operation does not exist, or its operand straddles its size.
    #[error("no such operation, or an operand that is not aligned to its size")]
    Operation,
    /// Payload and head disagree.
    #[error("payload of another length")]
    Payload,
}

impl Head {
    /// The traffic that it belongs to, for its sender.
    pub fn traffic_to(&self) -> Traffic {
        Traffic { node: self.to, paging: self.flags & PAGING != 0 }
    }

    /// The traffic that it belongs to, for its receiver.
    pub fn traffic_from(&self) -> Traffic {
        Traffic { node: self.from, paging: self.flags & PAGING != 0 }
    }

    /// A head with only its kind and addresses set.
    pub fn new(kind: HeadKind, port: PortId, from: Node, to: Node) -> Head {
        let (src, dst) = (Span::NONE, Span::NONE);
        Head { kind, flags: 0, port, from, to, seq: 0, cookie: 0, notification: 0, op: 0, src, dst }
    }

    /// Encodes to words of the wire.
    pub fn encode(&self) -> [u64; HEAD_WORDS] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let first = TAG
            | VERSION << 16
            | (self.kind as u64) << 24
            | u64::from(self.flags) << 32
            | u64::from(self.port.0) << 48;
        let ([a, b, c], [d, e, f]) = (self.src.encode(), self.dst.encode());
        let (route, number) = (pair(self.from.0, self.to.0), pair(self.seq, self.cookie));
        [first, route, number, pair(self.notification, self.op), a, b, c, d, e, f]
    }

    /// Decodes words of the wire.
    pub fn decode(w: &[u64; HEAD_WORDS]) -> Result<Head, BadHead> {
        if w[0] & 0xffff != TAG || w[0] >> 16 & 0xff != VERSION {
            return Err(BadHead::Foreign);
        }
        let flags = (w[0] >> 32) as u16;
        if flags & !FLAGS != 0 {
            return Err(BadHead::Flags);
        }
        Ok(Head {
            kind: HeadKind::parse((w[0] >> 24) as u8).ok_or(BadHead::HeadKind)?,
            flags,
            port: PortId((w[0] >> 48) as u16),
            from: Node(w[1] as u32),
            to: Node((w[1] >> 32) as u32),
            seq: w[2] as u32,
            cookie: (w[2] >> 32) as u32,
            notification: w[3] as u32,
            op: (w[3] >> 32) as u32,
            src: Span::decode([w[4], w[5], w[6]]),
            dst: Span::decode([w[7], w[8], w[9]]),
        })
    }

    /// Encodes to bytes of the wire.
    pub fn to_bytes(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        for (place, word) in bytes.chunks_exact_mut(8).zip(self.encode()) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Decodes the front of a packet; the rest is payload.
    pub fn from_bytes(packet: &[u8]) -> Result<(Head, &[u8]), BadHead> {
        let (head, payload) = packet.split_first_chunk::<HEAD_BYTES>().ok_or(BadHead::Short)?;
        let mut words = [0; HEAD_WORDS];
        for (word, place) in words.iter_mut().zip(head.chunks_exact(8)) {
            *word = place.iter().rev().fold(0, |w, &byte| w << 8 | u64::from(byte));
        }
        Ok((Head::decode(&words)?, payload))
    }

    /// Bytes that follow it.
    pub fn payload_len(&self) -> usize {
        match self.kind {
            HeadKind::Write | HeadKind::ReadReply | HeadKind::Combine | HeadKind::Append => {
                self.dst.len.into()
            }
            HeadKind::Message => self.src.len.into(),
            _ => 0,
        }
    }

    /// Checks that all numbers are in bounds, in a system of `nodes` nodes.
    pub fn check(&self, nodes: u32) -> Result<(), BadHead> {
        if self.to.0 >= nodes || self.from.0 >= nodes {
            return Err(BadHead::Node);
        }
        let ends = |ok: bool| if ok { Ok(()) } else { Err(BadHead::Span) };
        match self.kind {
            HeadKind::Write | HeadKind::Read | HeadKind::ReadReply => {
                let (src, dst) = (self.src, self.dst);
                ends(src.in_page() && dst.in_page() && src.len == dst.len && dst.len > 0)
            }
            HeadKind::Combine => {
                let (src, dst) = (self.src, self.dst);
                let how =
                    Operation::decode(self.op).filter(|how| how.combines()).ok_or(BadHead::Operation)?;
                ends(src.in_page() && dst.in_page() && src.len == dst.len && dst.len > 0)?;
                let whole = |bytes: u16| usize::from(bytes).is_multiple_of(how.width());
                if whole(dst.len) && whole(dst.offset) { Ok(()) } else { Err(BadHead::Operation) }
            }
            HeadKind::Message => ends(self.src.in_page()),
            HeadKind::Append => {
                let agrees = AppendPart::of(self).is_some();
                ends(self.src.in_page() && self.src.len == self.dst.len && agrees)
            }
            HeadKind::Atomic => {
                let op = gasnet_ops::home::HomeOp::parse(self.op).ok_or(BadHead::Operation)?;
                let fits = usize::from(self.dst.len) == op.operand_bytes() && self.dst.in_page();
                let aligned = usize::from(self.dst.offset).is_multiple_of(op.alignment());
                if fits && aligned { Ok(()) } else { Err(BadHead::Operation) }
            }
            HeadKind::Lease | HeadKind::EndLease => ends(self.dst.in_page()),
            HeadKind::AtomicReply | HeadKind::Ack | HeadKind::Done | HeadKind::Refused => Ok(()),
            HeadKind::Raise | HeadKind::Room | HeadKind::Freed => Ok(()),
        }
    }

    /// [`check`](Self::check) for a command from a port's queue.
    pub fn check_command(&self, nodes: u32) -> Result<(), BadHead> {
        if !self.kind.is_command() {
            return Err(BadHead::HeadKind);
        }
        self.check(nodes)?;
        if self.flags & INLINED != 0 && self.payload_len() > MAX_INLINE_BYTES {
            return Err(BadHead::Payload);
        }
        let waits = matches!(self.kind, HeadKind::Write | HeadKind::Combine | HeadKind::Raise);
        if self.flags & TRIGGERED != 0 && !(waits && self.flags & ACKNOWLEDGE == 0) {
            return Err(BadHead::Flags);
        }
        if self.kind == HeadKind::Append && self.flags & (ACKNOWLEDGE | LEASED) != 0 {
            return Err(BadHead::Flags);
        }
        Ok(())
    }

    /// [`check`](Self::check) for a packet with `payload` bytes.
    pub fn check_packet(&self, nodes: u32, payload: usize) -> Result<(), BadHead> {
        if self.kind.stays_here() {
            return Err(BadHead::HeadKind);
        }
        if self.flags & TRIGGERED != 0 {
            return Err(BadHead::Flags);
        }
        self.check(nodes)?;
        if self.payload_len() != payload {
            return Err(BadHead::Payload);
        }
        Ok(())
    }
}
