//! Virtual interfaces between ranks, as in the Virtual Interface Architecture (VIA), in software over every
//! conduit.
//!
//! # Vocabulary
//! *VI*: an endpoint that is connected to exactly one other. It has a *send queue* and a *receive queue* of
//! *descriptors*, which are carried out and come back in order. *Completion queue*: says of which queue, out
//! of many, a descriptor is done. *Memory handle*: names memory that was registered. *Protection tag*: VIs
//! use memory of their own tag only. *Immediate*: a number that travels with a message. *Agent*: what plays
//! the part of network card and kernel for a rank.
//!
//! # Layers
//! ```text
//! nic       Nic: what programs call
//! agent     carries packets and RDMA operations; Agent
//! notice    functions that are called when something has happened
//! region    registered memory of this process
//! machine   VIs, descriptors, completions; connections (machine/connect), names (machine/names): no I/O
//! link      one end of a connection: numbers, receives that are known, pieces of messages
//! queue     work queues and completion queues      memory    tags, handles, checks
//! wire      packets as bytes                       table     objects by numbers
//! terms     the words as types
//! lapi      messages whose receiver says where they go: apart from all of these
//! ```
//!
//! # A message, traced
//! [`Nic::post_send`] checks the descriptor's memory against the VI's tag (`memory.rs`), copies the bytes
//! into a packet and sends it as an active message (`agent.rs`); the send is done. At the other end the
//! handler gives the packet to the machine, which puts it in order (`link.rs`), copies it into the memory of
//! the oldest receive, and lets the program have the descriptor (`queue.rs`). An *RDMA* operation asks the
//! owner once for the key of the memory, a [`RegionKey`](gasnet::RegionKey), and is then a put or get of that
//! region. The owner's program need not call this crate, but its rank has to poll.
//!
//! # Levels of reliability
//! | | [`Unreliable`](Reliability::Unreliable) | [`Delivery`](Reliability::Delivery) | [`Reception`](Reliability::Reception) |
//! |---|---|---|---|
//! | messages arrive | at most once, in any order | exactly once, in order | exactly once, in order |
//! | a send is done when | its memory may be changed | its memory may be changed | it is in the receiver's memory |
//! | no receive is posted | dropped at the receiver | the connection breaks, nothing was sent | the same |
//! | an error of a descriptor | is that descriptor's | breaks the connection | breaks the connection |
//!
//! Conduits lose nothing. So [`Agent::set_faults`] has the sender lose, repeat, change and delay the packets
//! of unreliable connections; a checksum finds those that were changed.
//!
//! **Overrun.** A sender on a reliable VI knows how many receives the peer has posted ([`Overrun`]): the
//! count comes with every message of the peer, and where it does not suffice the peer is asked before
//! anything is sent. VIA has no flow control beyond that: a program that must not break its connection counts
//! credits of its own, or posts with [`Overrun::Queue`].
//!
//! **Order.** What follows an RDMA write on a VI comes after its bytes. RDMA reads are passed by later
//! descriptors, unless these have [`Descriptor::fence`].
//!
//! **Functions that are called.** A thread of the agent calls what [`Nic::notify_send`], [`Nic::notify_cq`]
//! and [`Nic::on_error`] were given, one at a time. It polls the rank while a notification is wanted. Errors
//! are told as they come in: when the rank polls.
//!
//! **LAPI**, which the same survey describes, is in [`lapi`].
//!
//! **From C.** `capi/vipl` has `vipl.h`, the VI Provider Library, over this crate.
//!
//! # What differs from the architecture
//! Descriptors are values, which nobody can change after posting, and are not registered. Memory that the
//! program gave away as a vector is addressed from 0 on, and read and written by [`Nic::read`] and
//! [`Nic::write`]: a peer may write to it at any time. A post that its completion queue has no place for is
//! refused, so no completion is lost. A rank receives whenever it polls. It sends the first part of an
//! answer then too; the rest leaves when its program calls this crate.
//!
//! After V. Innocente and Adewale's survey of VIA, and chapter 5 of D. Riddoch, "Low Latency Distributed
//! Computing", Cambridge 2002.
//!
//! ```no_run
//! # fn demo(rank: &'static gasnet::Rank) -> Result<(), Box<dyn std::error::Error>> {
//! use gasnet_via::*;
//! let nic = Agent::start(rank)?.open();
//! let tag = nic.create_tag();
//! let memory = nic.register(vec![0; 100], MemoryAttributes { tag, rdma_write: false, rdma_read: false })?;
//! let vi = nic.create_vi(
//! ViAttributes { reliability: Reliability::Delivery, max_transfer: 4096, qos: 0, tag, rdma_write: false,
//! rdma_read: false },
//!     None,
//!     None,
//! )?;
//! let all = vec![Segment { memory, at: 0, len: 100 }];
//! if rank.id().0 == 0 {
//!     nic.post_receive(vi, Descriptor::message(all))?;
//!     let listener = nic.listen(b"greetings")?;
//!     rank.barrier();
//!     nic.accept(nic.next_request(listener, None)?.id, vi)?;
//!     let got = nic.wait_receive(vi, None)?;
//!     assert!(got.errors.is_none() && got.len == 100);
//! } else {
//!     rank.barrier();
//!     nic.write(memory, 0, &[7; 100])?;
//!     nic.connect(vi, nic.address(*b"client"), Address::new(0, *b"greetings"), None)?;
//!     nic.post_send(vi, Descriptor::message(all))?;
//! }
//! # Ok(()) }
//! ```

mod agent;
pub mod lapi;
mod link;
mod machine;
mod memory;
mod nic;
mod notice;
mod queue;
mod region;
mod table;
mod terms;
mod wire;

pub use agent::{Agent, Faults};
pub use machine::{Polled, Request, ViStatus};
pub use nic::Nic;
pub use terms::{
    Address, Completed, CqId, Descriptor, Done, ErrorReport, Errors, ListenerId, MAX_DISCRIMINATOR,
    MAX_POSTED, MAX_SEGMENTS, MAX_TRANSFER, MemoryAttributes, MemoryId, NicId, Operation, Overrun,
    PeerMemory, Reliability, RemoteAttributes, Report, RequestId, Segment, TagId, ViAttributes, ViId,
    ViState, ViaError,
};
