//! The core of a PGAS runtime: N ranks, each owning a segment of memory that every rank can put to, get from
//! and operate on atomically, plus active messages that run a handler on another rank.
//!
//! # Vocabulary
//! *Rank*: one process of the job. *Segment*: the memory of a rank that others can reach. *Neighbourhood*:
//! ranks of one host that map each other's segments, normally all of them. *Conduit*: a network that moves
//! frames between hosts. *Handler*: the function an active message runs. *Event*: the completion of a
//! non-blocking operation. *Access region*: a bracket that gathers implicit operations into one event.
//!
//! # Layers
//! Imports go down; `docs/architecture.md` has the whole table, and a test holds it. What moves messages
//! and waits is a crate below this one, [`gasnet_wire`], which knows nothing of what they are for. Here
//! is what memory and collective operations mean. [`Rank`] registers what serves its messages, and what
//! polls and long waits have to do for it.
//! ```text
//! domain  sync             words that a team changes by chosen functions; queues and locks made of words
//! rank                     the object that programs call, and how a rank starts
//! team                     teams
//! region                   any memory under a revocable key
//! coll  rma  atomics  vis  collective operations; puts, gets and atomic operations; of lists of pieces
//! native  amref  processes these by the conduit's own means, over active messages, by the system
//! ----------------------------------------------------------------------------------------------
//! gasnet_wire              messages, waits, the barrier, rings in shared memory, the seam to networks
//! ```
//!
//! # Where the methods of [`Rank`] are
//! What a program writes every day is a method of [`Rank`], in the file of its subject. Everything else is a
//! method of a part, such as [`AtomicCalls`], that a method of [`Rank`] gives out
//! (`docs/decisions/0016-a-rank-has-parts.md`):
//!
//! | File | Methods |
//! |---|---|
//! | `rank/calls.rs` | calls of the wire: who is who, `poll`, `request_short`, `barrier`, `done`; its parts: `messages()`, `waits()`, `split_barrier()`, `ending()`, `reports()`, `topology()` |
//! | `rank/start.rs` | `start`, `dismantle` |
//! | `rank/survival.rs` | `survival()`: how it goes on when another one has died |
//! | `rank/segments.rs`, `rank/agreed.rs` | `attach`, `allocate`; `segments()`: other ways to attach, memory that ranks agree about |
//! | `rma.rs` | `put`, `get`, `memset`, `read`, `write`; `wait`, `test`; `events()`; `implicit()`: without events |
//! | `kept.rs` | `kept()`: the same in memory that no safe call reaches |
//! | `vis.rs` | `shapes()`: puts and gets of many pieces; `notify` |
//! | `atomics.rs` | `atomics()`: atomic operations on words of segments |
//! | `team.rs`, `coll.rs` | the team of all ranks, whose methods are the collectives; promises |
//! | `region.rs`, `region/` | `regions()`, `region()`: memory under a revocable key, and all operations on it |
//! | `sync/nic.rs` | `nic()`: the NIC, if it works by itself |
//!
//! # One put, traced
//! [`Rank::put`] (`rma.rs`) asks the segment table (`segment.rs` of the wire) where the bytes are.
//! *Near*: one copy, done. *Far*: `native.rs` gives it to the conduit if that has puts of its
//! own; else `amref.rs` cuts the put into fragments and sends each as a request (`am.rs` of the wire),
//! which goes as a frame through the conduit; the target's poll runs the handler (`amref.rs`), which
//! copies and replies; the reply, if it is one that is awaited (`transfer.rs`), counts down the op
//! (`event.rs`) the caller waits for.
//!
//! # A program
//! ```no_run
//! # fn demo(rank: &gasnet::Rank) -> Result<(), gasnet::Error> {
//! use gasnet::GlobalPtr;
//! let cell: GlobalPtr<u64> = rank.allocate_array(1)?;
//! let right = gasnet::RankId((rank.id().0 + 1) % rank.size());
//! rank.write(cell.on(right), 42);
//! rank.barrier();
//! assert_eq!(rank.read(cell), 42);
//! # Ok(()) }
//! ```
//! The crate `gasnet-conduits` starts a job: `gasnet_conduits::run(|rank| ...)`.

pub mod am;
mod amref;
pub mod atomics;
pub mod coll;
pub mod domain;
mod kept;
mod native;
mod processes;
mod rank;
pub mod region;
mod rma;
pub mod sync;
mod team;
pub mod vis;

pub use gasnet_wire::barrier;

pub use am::{Handler, Message, Token};
pub use atomics::AtomicCalls;
pub use domain::AtomicDomain;
pub use gasnet_wire::death::{Died, attempt};
pub use gasnet_wire::{
    Advice, Bells, Boot, Categories, Config, Error, Event, FrameGrid, GlobalPtr, Local, OneThread,
    OpenConduit, RankId, Refused, SegmentEntry, SegmentTable, Shared, Spins, Threading, Turn, Turns,
    WaitPolicy, Waiter,
};
pub use gasnet_wire::{BarrierCalls, EndCalls, MessageCalls, ReportCalls, Topology, WaitCalls};
pub use kept::KeptCalls;
pub use rank::{Rank, SegmentCalls, Survival};
pub use region::{KeyedRegion, Modes, Region, RegionCalls, RegionError, RegionKey};
pub use rma::{EventCalls, ImplicitCalls, Pending};
pub use team::{Team, TeamBarrierCalls};
pub use vis::ShapeCalls;
