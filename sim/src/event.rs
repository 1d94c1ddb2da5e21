//! The events of the [`World`](crate::world::World), the contents of packets, and one-sided operations.

use crate::choice::Kind;
use crate::time::Time;
use core::any::Any;
use firehose::{Keys, Refusal};
use gasnet_wire::conduit::{Channel, FrameLine};

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorldEvent {
    /// A rank that let time pass continues.
    Resume(u32),
    /// The frame in this slot leaves.
    Send(u32),
    /// A copy of a packet arrives.
    Arrive(u32),
    /// A NIC reads the source of a put.
    Fetch(u32),
    /// The initiator learns that an op is done.
    Done(u32),
    /// An event inside a rank's NIC.
    Nic(u32, u64),
    /// An event of the device of a simulation without the runtime.
    Device(u64),
    /// A rank dies.
    Dies(u32),
    /// Ranks of this host may look at the memory that they share.
    Stir(u32),
}

/// A moment of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// At this virtual time.
    At(Time),
    /// When so many events have happened.
    Event(u64),
}

/// The part of an event that a NIC handles.
pub(crate) enum Left {
    Nic(u32, u64),
    /// A rank dies.
    Dies(u32),
    Firmware {
        to: u32,
        message: Box<dyn Any + Send>,
    },
}

/// Bytes of a packet's header on the wire.
pub(crate) const HEADER_BYTES: usize = 32;

/// The bytes of a payload; most payloads are one word.
#[derive(Debug)]
pub(crate) enum Bytes {
    Word([u8; 16], u8),
    Heap(Box<[u8]>),
}

impl Bytes {
    pub(crate) fn new(bytes: &[u8]) -> Bytes {
        if bytes.len() <= 16 {
            let mut word = [0; 16];
            word[..bytes.len()].copy_from_slice(bytes);
            Bytes::Word(word, bytes.len() as u8)
        } else {
            Bytes::Heap(bytes.into())
        }
    }
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Bytes::Word(word, len) => &word[..*len as usize],
            Bytes::Heap(b) => b,
        }
    }
}

/// A frame: its buffer, and the number of bytes used.
pub(crate) struct FrameBuf {
    pub(crate) lines: Box<[FrameLine]>,
    pub(crate) len: usize,
    pub(crate) channel: Channel,
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// The sender's.
    pub(crate) epoch: u32,
}

/// Contents of a packet.
pub(crate) enum Body {
    /// An active message.
    Frame(FrameBuf),
    /// Bytes for the target's segment.
    Put { op: u32, offset: u64, bytes: Bytes },
    /// A request for bytes of the target's segment.
    Get { op: u32, offset: u64, len: usize },
    /// The bytes of a get.
    Data { op: u32, bytes: Bytes },
    /// A registration that an op claims is not current: nothing was done.
    Refused { op: u32, refusal: Refusal },
    /// A message between the registration strategies of two hosts; the target's processor handles it when it
    /// polls.
    Control(Box<dyn Any + Send>),
    /// A message between the firmware of two NICs.
    Firmware(Box<dyn Any + Send>),
}

impl Body {
    /// The kind of its arrival in a choice.
    pub(crate) fn way(&self) -> Kind {
        match self {
            Body::Frame(_) => Kind::Message,
            Body::Put { .. } => Kind::Put,
            Body::Get { .. } => Kind::Get,
            Body::Data { .. } => Kind::Data,
            Body::Refused { .. } => Kind::Done,
            Body::Control(_) | Body::Firmware(_) => Kind::Other,
        }
    }

    /// The op that it is a part of.
    pub(crate) fn op(&self) -> Option<u32> {
        match self {
            Body::Put { op, .. }
            | Body::Get { op, .. }
            | Body::Data { op, .. }
            | Body::Refused { op, .. } => Some(*op),
            Body::Frame(_) | Body::Control(_) | Body::Firmware(_) => None,
        }
    }

    /// Its number in the trace.
    pub(crate) fn kind(&self) -> u64 {
        match self {
            Body::Frame(_) => 1,
            Body::Put { .. } => 2,
            Body::Get { .. } => 3,
            Body::Data { .. } => 4,
            Body::Control(_) => 5,
            Body::Firmware(_) => 6,
            Body::Refused { .. } => 10,
        }
    }
}

/// A one-sided operation as the core requests it.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) peer: u32,
    /// Offset in the peer's segment.
    pub(crate) offset: u64,
    /// Address here.
    pub(crate) local: usize,
    /// A put's bytes.
    pub(crate) source: Option<&'a [u8]>,
    pub(crate) len: usize,
    pub(crate) token: u64,
}

impl<'a> Start<'a> {
    pub(crate) fn put(peer: u32, offset: u64, local: usize, bytes: &'a [u8], token: u64) -> Start<'a> {
        Start { peer, offset, local, source: Some(bytes), len: bytes.len(), token }
    }
    pub(crate) fn get(peer: u32, offset: u64, local: usize, len: usize, token: u64) -> Start<'a> {
        Start { peer, offset, local, source: None, len, token }
    }
}

/// A one-sided op under way.
#[derive(Debug)]
pub(crate) struct OneSidedOp {
    /// Which of its initiator's calls it is; the world says.
    pub(crate) number: u32,
    /// The epoch of its initiator; the world says.
    pub(crate) epoch: u32,
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Destination of a get in the initiator's memory; source of a put that the NIC has not read yet.
    pub(crate) local: usize,
    /// Where that put goes.
    pub(crate) offset: u64,
    pub(crate) len: usize,
    /// The owner's number for it.
    pub(crate) token: u64,
    pub(crate) owner: Owner,
    /// The registrations it relies on; the NICs compare them when they touch the memory.
    pub(crate) claims: Option<Box<Claims>>,
}

/// The registrations that an op relies on.
#[derive(Debug)]
pub(crate) struct Claims {
    /// At the target.
    pub(crate) remote: Keys,
    /// Here: the offset in the segment and the keys; `None` for memory that is registered permanently.
    pub(crate) local: Option<(u64, Keys)>,
}

/// The part that is told when an op is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The core.
    Core,
    /// The registration strategy, which tells the core later.
    Strategy,
}

/// The activity of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    /// Running, or about to run.
    Ready,
    /// It lets time pass; an event of its own resumes it.
    Busy,
    /// It waits for anything to happen.
    Idle(&'static str),
    /// Its program has ended.
    Over,
}
