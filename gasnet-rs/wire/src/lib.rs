//! The wire: how the ranks of a job start, send each other active messages, wait, meet in a barrier, and
//! leave.
//!
//! The wire does not know what the messages are for. A layer above it, the crate `gasnet`, gives memory and
//! collective operations their meaning. It says when it starts which of its functions serve which messages
//! ([`AboveSays`]), and implements [`Above`] for what polls and long waits do for it.
//!
//! # Who uses it
//! - **A conduit** implements [`conduit::Conduit`], and needs no other crate of this project; one that is
//!   loaded at run time exports it by [`export_conduit!`]. `docs/adding-a-conduit.md` follows one through.
//! - **A launcher** makes a [`Boot`] for each rank, and listens to what ranks tell it ([`boot::ToMonitor`]).
//! - **The layer above** owns the [`Wire`]. Programs never see it: it has functions that only a layer
//!   that keeps their rules may call, so it is `unsafe` to make one ([`Wire::start`]), and the layer
//!   gives nobody a reference to it.
//!
//! Everything else here is for all: [`Error`], [`Event`], [`GlobalPtr`], [`RankId`], and how to wait.
//!
//! # Layers
//! Imports go down; `docs/architecture.md` has the whole table, and a test holds it.
//! ```text
//! wire                              the state of what follows
//! progress  spins                   a thread that polls; the program's own waiting loops
//! barrier  waiting  am              the job's barrier; polls, and waits that poll; active messages
//! pause  departure  report          a step of a wait; ranks that have left; why a rank is blocked
//! death                             ranks that have died in a job that goes on
//! reach  job  above  who            ranges of segments; how a rank leaves; the layer above; who is who
//! shm  plugin                       rings and links of neighbours; conduits that are loaded at run time
//! conduit  meeting                  the seam to networks; start
//! wait  config                      how to wait; settings
//! bytes  neighbourhood  boot        words and copies of what others may touch; who shares memory; what a rank is told
//! segment  event  transfer  port    where data is; what is outstanding, and which answers count; NICs that compute
//! ids  slots  narrow  context  threads  question  last_words  error   small things that all of them use
//! ```
//!
//! # One message, followed
//! `am.rs` decides by the target where it goes. *To oneself*: the handler runs at once. *To a
//! neighbour*: into a link in shared memory (`shm/link.rs`), whose reader a bell wakes (`shm/bell.rs`).
//! *To anyone else*: as a frame (`am/frame.rs`) through the conduit. A poll of the target (`waiting.rs`)
//! takes it out and runs the handler: one of the program or a library, or, by the numbers of
//! `am/own.rs`, one of the layer above.

mod above;
pub mod am;
pub mod apply;
pub mod barrier;
pub mod boot;
pub mod bytes;
pub mod conduit;
pub mod config;
pub mod context;
pub mod death;
mod departure;
mod error;
pub mod event;
mod gathered;
mod ids;
mod job;
pub mod last_words;
pub mod limits;
pub mod lock;
pub mod meeting;
pub mod narrow;
pub mod neighbourhood;
pub mod number;
mod pause;
pub mod plugin;
pub mod port;
pub mod prim;
mod progress;
mod question;
pub mod reach;
pub mod report;
pub mod segment;
pub mod shm;
pub mod slots;
pub mod spins;
mod start;
pub mod threads;
pub mod transfer;
pub mod wait;
mod waiting;
mod who;
mod wire;

pub use above::Above;
pub use am::{Handler, Message, MessageCalls, Token};
pub use barrier::BarrierCalls;
pub use boot::Boot;
pub use conduit::Advice;
pub use config::Config;
pub use error::{Error, RegionError};
pub use event::{Categories, Event, Local, Refused};
pub use gathered::Gathered;
pub use ids::RankId;
pub use job::EndCalls;
pub use lock::{OneThread, Threading, Turn, Turns};
pub use pause::WaitCalls;
pub use report::ReportCalls;
pub use segment::{GlobalPtr, SegmentEntry, SegmentTable, Shared};
pub use shm::bell::Bells;
pub use shm::frames::FrameGrid;
pub use spins::Spins;
pub use start::{AboveSays, OpenConduit, Started};
pub use wait::{WaitPolicy, Waiter};
pub use who::Topology;
pub use wire::Wire;
