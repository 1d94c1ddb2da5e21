//! One-sided transfers to memory that is not all pinned.
//!
//! A network card without page tables may touch memory only while software has *pinned* it, and pinning is
//! slow. This crate decides what is pinned, when, and for whom. It moves no byte, makes no system call and
//! has no clock: its callers report what happened, and it answers with [`Action`]s. It was written for
//! **Firehose** (Bell and Bonachea, IPDPS 2003); the strategies that Firehose is compared with implement the
//! same trait, [`Strategy`].
//!
//! # Words
//!
//! - *node*: an owner of memory and of a network card; nodes are numbered from 0.
//! - *bucket*: an aligned group of pages, the unit of all bookkeeping; its number is its address divided by
//!   its size.
//! - *registration*: the fact that a bucket is pinned, from when [`Registrar::pin`] ended until
//!   [`Registrar::unpin`] begins.
//! - *epoch*: counts the changes of a node's mappings; a registration carries the epoch of its making as its
//!   *key*.
//! - *firehose*: a claim of one node on one registration of another. Its holder may transfer without asking.
//! - *move*: the message by which a node drops some firehoses and asks for others.
//! - *victim*: a bucket or firehose that is not in use and is kept for its next use; the oldest goes first.
//! - *void*: said of a registration whose memory changed under it. It is never used again.
//!
//! # The protocol
//!
//! Each node offers `M` bytes to the others, `F = M / (bucket * (nodes - 1))` firehoses to each of them, and
//! keeps up to `MAXVICTIM` more bytes pinned for its own transfers and for buckets that may be wanted again.
//!
//! ```text
//!   initiator                                         owner of the memory
//!   hit:   count the firehose up, transfer  ------->  (nothing)
//!   miss:  pick victims; Move{release, acquire} --->  count released down, acquired up; pin what is not
//!          transfer  <------------------------------  Moved{keys}
//!                                                     changed(range): void; unpin
//!          drop the firehose  <---------------------  Invalidate{runs}
//!   stale: transfer with an old key  -------------->  refused by the card (Strategy::check)
//!          drop the firehose; move again
//! ```
//!
//! # Invariants
//!
//! 1. Pinned bytes, including those being pinned or unpinned, never exceed `M + MAXVICTIM` ([`Usage`]).
//! 2. A bucket with references is never unpinned, except when its mapping changed.
//! 3. No transfer uses a registration older than the last change of its memory: the key is compared where the
//!    memory is touched, on both sides. Invalidations only save the refusal.
//! 4. No operation waits while it holds what another one waits for. A part of an operation takes all its
//!    firehoses at once or none, then all its local pins at once or none, always in this order; a part that
//!    has both needs nothing more. Pins wait for unpins, and unpins wait for nothing.
//!
//! Messages must arrive exactly once; their order is free.
//!
//! # Driving it
//!
//! ```text
//!   Strategy::start      ->  [Pin, Send ...] Transfer  ->  Strategy::transferred  ->  Done
//!   Strategy::receive    ->  [Pin, Unpin, Send ...]
//!   Strategy::pinned, unpinned, changed  ->  likewise
//! ```
//! ```
//! use firehose::*;
//! let config = |me| Config { nodes: 2, me, ..Config::default() };
//! let (mut here, mut there) = (Firehose::new(config(0))?, Firehose::new(config(1))?);
//! let put = |remote| Request {
//!     tag: 7, peer: 1, direction: Direction::Put, remote, local: LocalMemory::Registered(0), len: 8,
//! };
//! let (mut mine, mut theirs) = (Vec::new(), Vec::new());
//! // A miss: ask, let the owner pin and answer, transfer.
//! let op = here.start(put(0x5000), &mut mine)?;
//! let Some(Action::Send { to: 1, message }) = mine.pop() else { panic!() };
//! there.receive(0, message, &mut theirs);
//! let Some(Action::Pin(run)) = theirs.pop() else { panic!() };
//! there.pinned(run, Ok(()), &mut theirs);
//! let Some(Action::Send { to: 0, message }) = theirs.pop() else { panic!() };
//! here.receive(1, message, &mut mine);
//! let Some(Action::Transfer(transfer)) = mine.pop() else { panic!() };
//! assert!(there.check(Side::Remote, transfer.remote, transfer.len, &transfer.remote_keys).is_ok());
//! here.transferred(op, Outcome::Done, &mut mine);
//! assert_eq!(mine.pop(), Some(Action::Done { op, tag: 7 }));
//! // A hit: nothing but the transfer.
//! here.start(put(0x5008), &mut mine)?;
//! assert!(matches!(mine[..], [Action::Transfer(_)]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! Actions are carried out in order. A `Pin` or `Unpin` may take time; `pinned` or `unpinned` reports its
//! end.

mod action;
mod bounce;
mod buckets;
mod config;
mod fifo;
mod firehose;
mod firehoses;
mod front;
mod message;
mod notices;
mod registrar;
mod rendezvous;
mod request;
mod run;
mod select;
mod strategy;
mod sync;
mod table;

pub use action::Action;
pub use bounce::Bounce;
pub use config::{Config, ConfigError};
pub use firehose::Firehose;
pub use front::{Front, Hold, HoldError, LocalOnly, Port};
pub use message::{DecodeError, Granted, Message, Purpose};
pub use notices::Notices;
pub use registrar::{Change, Notifier, PinError, Registrar};
pub use rendezvous::Rendezvous;
pub use request::{
    Direction, Failure, LocalMemory, OpId, Outcome, Refusal, Request, Side, StartError, Transfer,
};
pub use run::{Held, Keys, Node, Run};
pub use strategy::{Stats, Strategy, StrategyKind, Usage};
