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
//! Imports go down; `docs/architecture.md` has the whole table, and a test holds it. The lower half, the
//! [`Wire`], moves messages and waits, and knows nothing of what they are for. The upper half, [`Rank`], is
//! what memory and collective operations mean. It registers what serves its messages, and what polls and long
//! waits have to do for it (`above.rs`).
//! ```text
//! domain  sync                      words that a team changes by chosen functions; queues and locks made of words
//! rank                              the object that programs call, and how a rank starts
//! team                              teams
//! region                            any memory under a revocable key
//! coll  rma  atomics  vis           collective operations; puts, gets and atomic operations; of lists of pieces
//! native  amref  processes          these by the conduit's own means, over active messages, by the system
//! ----------------------------------------------------------------------------------------------------
//! wire                              the state of what follows
//! progress  spins                   a thread that polls; the program's own waiting loops
//! barrier  waiting  am              the job's barrier; polls, and waits that poll; active messages
//! pause  departure  report          a step of a wait; ranks that have left; why a rank is blocked
//! reach  job  above  who            ranges of segments; how a rank leaves; the upper half; who is who
//! shm  plugin                       rings and links of neighbours; conduits that are loaded at run time
//! conduit  meeting                  the seam to networks; start
//! wait  config                      how to wait; settings
//! bytes  neighbourhood  boot        words and copies of what others may touch; who shares memory; what a rank is told
//! segment  event  transfer          where data is; what is outstanding, and which answers count
//! ids  slots  narrow  context  threads  question  last_words  error   small things that all of them use
//! ```
//!
//! # Where the methods of [`Rank`] are
//! A call of the program is a method of [`Rank`], or of the [`Wire`] that it derefs to, in the file of its
//! subject:
//!
//! | File | Methods |
//! |---|---|
//! | `who.rs` | who is who, on which host |
//! | `rank/start.rs` | `start`, `dismantle` |
//! | `rank/segments.rs` | `attach`, `bind_segment`, `allocate` |
//! | `rank/agreed.rs` | `allocate_agreed`, `allocate_kept` |
//! | `waiting.rs`, `pause.rs` | `poll`, waits; one step of a wait |
//! | `rma.rs` | `put`, `get`, `memset` in all forms; `read`, `write`; events: `wait`, `test`; implicit operations |
//! | `kept.rs` | the same in memory that no safe call reaches |
//! | `vis.rs` | puts and gets of many pieces |
//! | `atomics.rs` | atomic operations on words of segments |
//! | `am.rs`, `am/prepared.rs` | handlers, requests; messages made in place |
//! | `barrier.rs` | the barrier in its phases |
//! | `team.rs`, `coll.rs` | the team of all ranks, whose methods are the collectives; promises |
//! | `region.rs`, `region/` | memory under a revocable key, and all operations on it |
//! | `sync/mod.rs`, `sync/nic.rs` | words that NICs and programs share; the NIC itself |
//! | `spins.rs` | waiting loops of the program's own |
//! | `job.rs` | leaving, and errors that end the job |
//! | `departure.rs` | which ranks have left |
//! | `report.rs` | what reports say of a rank beside its waits |
//!
//! # One put, traced
//! [`Rank::put`] (`rma.rs`) asks the segment table (`segment.rs`) where the bytes are. *Mapped here*: one
//! copy, done. *Away*: `native.rs` gives it to the conduit if that has puts of its own; else `amref.rs` cuts
//! the put into fragments and sends each as a request (`am.rs`), which goes as a frame through the conduit;
//! the target's poll runs the handler (`amref.rs`), which copies and replies; the reply, if it is one that is
//! awaited (`transfer.rs`), counts down the op (`event.rs`) the caller waits for.
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
pub use domain::AtomicDomain;
pub use gasnet_wire::Advice;
pub use gasnet_wire::Boot;
pub use gasnet_wire::Config;
pub use gasnet_wire::Error;
pub use gasnet_wire::OpenConduit;
pub use gasnet_wire::RankId;
pub use gasnet_wire::{Bells, FrameGrid, Spins, WaitPolicy, Waiter};
pub use gasnet_wire::{Categories, Event, Local, Refused};
pub use gasnet_wire::{GlobalPtr, SegmentEntry, SegmentTable, Shared};
pub use gasnet_wire::{OneThread, Threading, Turn, Turns};
pub use rank::Rank;
pub use region::{Modes, Region, RegionError, RegionKey};
pub use rma::Pending;
pub use team::Team;
