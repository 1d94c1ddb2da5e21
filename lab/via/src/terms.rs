//! The words of VIA as types: what programs hand in and get back.

use serde::{Deserialize, Serialize};

/// Most segments of a descriptor.
pub const MAX_SEGMENTS: usize = 64;
/// Most bytes that one descriptor moves.
pub const MAX_TRANSFER: u32 = 16 << 20;
/// Most descriptors that a queue holds, those that are done and not taken yet included.
pub const MAX_POSTED: usize = 4096;
/// Most bytes of a discriminator.
pub const MAX_DISCRIMINATOR: usize = 64;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// Names one object as long as it exists, and no later one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// The number that stands for it in foreign interfaces.
            pub fn number(self) -> u32 {
                self.0
            }

            /// The object of a number; one that no object has is refused where it is used.
            pub fn of(number: u32) -> $name {
                $name(number)
            }
        }
    )*};
}

ids! {
    /// An opening of the network interface, to which all other objects belong.
    NicId;
    /// A protection tag.
    TagId;
    /// A memory handle: registered memory.
    MemoryId;
    /// A virtual interface.
    ViId;
    /// A completion queue.
    CqId;
    /// A listener for connection requests.
    ListenerId;
    /// A connection request that waits for an answer.
    RequestId;
}

/// The promise of a connection about its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reliability {
    /// A message arrives at most once, in any order; a corrupt one never. Without a posted receive it is
    /// dropped.
    Unreliable,
    /// Messages arrive exactly once, in order. A send is done when its buffers may be changed.
    Delivery,
    /// As `Delivery`, and a send is done only when its bytes are in the memory of the receiver.
    Reception,
}

impl Reliability {
    /// Whether messages arrive exactly once.
    pub fn is_reliable(self) -> bool {
        self != Reliability::Unreliable
    }
}

/// Attributes of a VI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ViAttributes {
    /// The same at both ends.
    pub reliability: Reliability,
    /// Most bytes of a message: the same at both ends, at most [`MAX_TRANSFER`].
    pub max_transfer: u32,
    /// Opaque; the same at both ends.
    pub qos: u32,
    /// Memory that the VI uses has the same tag.
    pub tag: TagId,
    /// The peer may write to memory of this tag that is registered for it.
    pub rdma_write: bool,
    /// The peer may read such memory; with a reliable VI only.
    pub rdma_read: bool,
}

/// Attributes of registered memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MemoryAttributes {
    /// VIs of the same tag may use it.
    pub tag: TagId,
    /// Their peers may write to it.
    pub rdma_write: bool,
    /// Their peers may read it.
    pub rdma_read: bool,
}

/// Attributes of a VI that each end of a connection tells the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RemoteAttributes {
    /// Its level.
    pub reliability: Reliability,
    /// Its largest message.
    pub max_transfer: u32,
    /// Its quality of service.
    pub qos: u32,
    /// RDMA writes to it may succeed.
    pub rdma_write: bool,
    /// RDMA reads of it may succeed.
    pub rdma_read: bool,
}

impl From<&ViAttributes> for RemoteAttributes {
    fn from(own: &ViAttributes) -> RemoteAttributes {
        let ViAttributes { reliability, max_transfer, qos, rdma_write, rdma_read, .. } = *own;
        RemoteAttributes { reliability, max_transfer, qos, rdma_write, rdma_read }
    }
}

impl RemoteAttributes {
    /// Whether two VIs may be connected.
    pub(crate) fn agree(&self, other: &RemoteAttributes) -> Result<(), ViaError> {
        match () {
            () if self.reliability != other.reliability => Err(ViaError::Reliability),
            () if self.max_transfer != other.max_transfer => Err(ViaError::TransferSize),
            () if self.qos != other.qos => Err(ViaError::Qos),
            () => Ok(()),
        }
    }
}

/// Where a connection request goes to, or comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Address {
    /// The rank.
    pub rank: u32,
    /// Which of the rank's ends: chosen by the program, at most [`MAX_DISCRIMINATOR`] bytes.
    pub discriminator: Vec<u8>,
}

impl Address {
    /// The end of a rank that has this discriminator.
    pub fn new(rank: u32, discriminator: impl Into<Vec<u8>>) -> Address {
        Address { rank, discriminator: discriminator.into() }
    }
}

/// The state of a VI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ViState {
    /// Not connected.
    Idle,
    /// Connected.
    Connected,
    /// A request of this VI, or an answer to one, is under way.
    Pending,
    /// The connection has broken; [`disconnect`](crate::Nic::disconnect) makes it idle.
    Error,
}

/// Bytes of registered memory here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Segment {
    /// The handle.
    pub memory: MemoryId,
    /// Address of the first byte: memory that was registered as a vector begins at 0, other memory at its
    /// address.
    pub at: u64,
    /// How many bytes.
    pub len: u32,
}

/// Memory of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PeerMemory {
    /// The peer's handle.
    pub memory: MemoryId,
    /// Address of the first byte, as in [`Segment::at`].
    pub at: u64,
}

/// The operation that a descriptor asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Send the segments as one message, or receive one into them.
    Message,
    /// Write the segments to memory of the peer.
    Write(PeerMemory),
    /// Read memory of the peer into the segments.
    Read(PeerMemory),
}

/// The behaviour of a send when no posted receive is known for it, on a reliable VI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Overrun {
    /// The receiver is asked; if it has none, the connection breaks, and nothing was sent.
    Break,
    /// The post is refused with [`ViaError::WouldBlock`].
    Refuse,
    /// The descriptor stays in the queue until there is one.
    Queue,
}

/// A unit of work.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Descriptor {
    /// The operation.
    pub operation: Operation,
    /// Memory here, in order.
    pub segments: Vec<Segment>,
    /// A number for the receiver. With an RDMA write it takes a receive of the peer.
    pub immediate: Option<u32>,
    /// It waits until earlier RDMA reads of this VI are done.
    pub fence: bool,
    /// The behaviour when no receive is posted for it.
    pub overrun: Overrun,
    /// The program's own; it comes back with the completion.
    pub cookie: u64,
    /// Where the descriptor itself is, of programs whose descriptors are in registered memory. The memory is
    /// kept until the descriptor has left its queue.
    pub own: Option<Segment>,
}

impl Descriptor {
    /// A message of these segments, or a receive into them.
    pub fn message(segments: Vec<Segment>) -> Descriptor {
        Descriptor {
            operation: Operation::Message,
            segments,
            immediate: None,
            fence: false,
            overrun: Overrun::Break,
            cookie: 0,
            own: None,
        }
    }

    /// An RDMA write of these segments.
    pub fn write(segments: Vec<Segment>, to: PeerMemory) -> Descriptor {
        Descriptor { operation: Operation::Write(to), ..Descriptor::message(segments) }
    }

    /// An RDMA read into these segments.
    pub fn read(segments: Vec<Segment>, from: PeerMemory) -> Descriptor {
        Descriptor { operation: Operation::Read(from), ..Descriptor::message(segments) }
    }

    /// The same with a number for the receiver.
    pub fn with_immediate(self, immediate: u32) -> Descriptor {
        Descriptor { immediate: Some(immediate), ..self }
    }

    /// The same with a cookie.
    pub fn with_cookie(self, cookie: u64) -> Descriptor {
        Descriptor { cookie, ..self }
    }

    /// Bytes of all segments.
    pub(crate) fn len(&self) -> u64 {
        self.segments.iter().map(|s| u64::from(s.len)).sum()
    }
}

/// Errors of a descriptor that is done: the bits of VIPL's status word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Errors(pub(crate) u32);

impl Errors {
    /// None: it has succeeded.
    pub const NONE: Errors = Errors(0);
    /// The request of the descriptor is impossible as written.
    pub const FORMAT: Errors = Errors(2);
    /// Memory here is not registered, or has another tag than the VI.
    pub const PROTECTION: Errors = Errors(4);
    /// A message is longer than the posted segments, or than the VI allows.
    pub const LENGTH: Errors = Errors(8);
    /// The connection ended first.
    pub const FLUSHED: Errors = Errors(0x20);
    /// The connection broke while it was carried out.
    pub const TRANSPORT: Errors = Errors(0x40);
    /// The peer's memory may not be accessed so; nothing of it was touched.
    pub const RDMA_PROTECTION: Errors = Errors(0x80);
    /// The peer's descriptor was in error.
    pub const REMOTE: Errors = Errors(0x100);

    /// The bits.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Whether there is none.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl core::fmt::Debug for Errors {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let name = match *self {
            Errors::NONE => "none",
            Errors::FORMAT => "format",
            Errors::PROTECTION => "protection",
            Errors::LENGTH => "length",
            Errors::FLUSHED => "flushed",
            Errors::TRANSPORT => "transport",
            Errors::RDMA_PROTECTION => "RDMA protection",
            Errors::REMOTE => "remote descriptor",
            Errors(bits) => return write!(f, "Errors({bits:#x})"),
        };
        f.write_str(name)
    }
}

/// The kind of a descriptor that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Done {
    /// A send.
    Send,
    /// A receive.
    Receive,
    /// An RDMA write of this end.
    Write,
    /// A receive that an RDMA write of the peer with an immediate number has taken.
    RemoteWrite,
    /// An RDMA read.
    Read,
}

/// A descriptor that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Completed {
    /// The program's own number of it.
    pub cookie: u64,
    /// Its kind.
    pub done: Done,
    /// Its errors.
    pub errors: Errors,
    /// Bytes that were moved.
    pub len: u32,
    /// The number that came with it, or went.
    pub immediate: Option<u32>,
}

/// Why a call is refused. Nothing was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ViaError {
    /// An argument that cannot be.
    #[error("{0}")]
    Parameter(&'static str),
    /// Something is full, or still in use.
    #[error("{0}")]
    Resource(&'static str),
    /// The time was up.
    #[error("the time was up: no answer has come")]
    Timeout,
    /// The server has refused.
    #[error("the server has rejected the connection")]
    Rejected,
    /// Nobody waits for a connection there.
    #[error(
        "nobody waits for a connection of this discriminator at that rank: start the server first, or ask again"
    )]
    NoMatch,
    /// The ends have different levels of reliability.
    #[error("the two VIs have different levels of reliability: give both the same one")]
    Reliability,
    /// The ends have different largest messages, or one is too large.
    #[error("the largest message of a VI is from 1 to 16 MiB, and the same at both ends of a connection")]
    TransferSize,
    /// The ends have different qualities of service.
    #[error("the two VIs have different qualities of service: give both the same one")]
    Qos,
    /// No such tag.
    #[error("there is no such protection tag here, or it belongs to another NIC handle")]
    Tag,
    /// RDMA reads of an unreliable VI.
    #[error("RDMA reads need a reliable VI")]
    RdmaRead,
    /// The VI is in another state.
    #[error("the VI is {0:?}: the call needs another state")]
    State(ViState),
    /// No receive is known to be posted for it.
    #[error("no receive of the peer is known to be posted: post again later")]
    WouldBlock,
    /// A wait for a queue without descriptors.
    #[error("the queue has no descriptor to wait for")]
    Empty,
    /// A wait for a queue that has a completion queue.
    #[error("the queue reports to a completion queue: wait for that one")]
    Reports,
    /// The rank has left the job, or there is no such rank.
    #[error("the peer's rank has left, or the job has no such rank")]
    Gone,
}

/// A report to the owner of the NIC handle, apart from descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Report {
    /// The descriptor of this cookie was refused: it is not in memory that the VI may use, or not aligned.
    Descriptor(u64),
    /// The connection was lost or ended by the peer.
    ConnectionLost,
    /// A message has come and no receive was posted.
    ReceiveQueueEmpty,
    /// A descriptor was posted to a queue that is full.
    Overrun,
    /// The peer's RDMA write was refused.
    WriteProtection,
    /// The peer's RDMA read was refused.
    ReadProtection,
}

/// A [`Report`] about a VI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorReport {
    /// Whose.
    pub nic: NicId,
    /// About what.
    pub vi: ViId,
    /// The report.
    pub report: Report,
}
