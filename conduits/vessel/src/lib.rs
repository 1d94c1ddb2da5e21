//! A process as a rank of a simulated job.
//!
//! `gasnetrun --simulate` runs an executable in one of two *vessels*. In the closure vessel all ranks are
//! coroutines of one process. In the *process vessel* each rank is a process of the executable, as in any
//! other job, so it has statics of its own, and may be written in C, UPC or Fortran. This crate has the
//! process's side: [`Seat`] gives it its [`Boot`](gasnet_wire::boot::Boot) and its conduit.
//!
//! # Words
//!
//! - *simulator*: the process that holds the cluster in virtual time (`gasnet-sim`). The ranks are its
//!   children.
//! - *mailbox*: the memory that a rank shares with the simulator ([`Mailbox`]).
//! - *turn*: as in the cluster. Either the simulator runs, or exactly one of the ranks.
//!
//! # Protocol
//!
//! ```text
//!  rank r                          simulator, on the coroutine of rank r
//!    | question, words, bytes         |
//!    |  turn := SIMULATOR  ---------->|  does with its own conduit what the rank asks for, which may let
//!    |                                |  virtual time pass and others have turns
//!    |<------------------  turn := RANK
//!    | answer, words, bytes, view     |
//! ```
//!
//! A question is a call of the conduit, of the exchange between ranks, or of the overseer. The simulator
//! answers it by the same call of the conduit that a coroutine would have made. So costs, choices and faults
//! know nothing of vessels.
//!
//! The answer to a poll may be a frame. The rank runs its handler, which may ask further questions, and then
//! notes that it is done with the frame. The simulator is inside of its poll until it has read that.
//! Questions nest, like calls.
//!
//! What needs no answer is a *note*: it is kept in the mailbox and read before the next question. So a rank
//! that sends ten messages and waits has asked once. Where something other than the costs chooses the order,
//! a send is a step of its own, after which others may go on, and so it is a question.
//!
//! The world changes for a rank only while the simulator has the turn. So each answer comes with a [`View`]:
//! the virtual time, and what a poll would find. Polls that find nothing and cost nothing, and questions for
//! the time, are answered from it. It is exact until the next question, or note that lets time pass. It also
//! says how many frames can be sent for sure, so that a rank need not ask for room.
//!
//! # Invariants
//!
//! 1. Whoever does not have the turn touches nothing of the mailbox, except its last words, which the rank
//!    writes when it crashes.
//! 2. A rank runs only while it has the turn: from its first question on, which it asks before its runtime
//!    starts; and at its end until its process is gone, so that its output precedes that of others.
//! 3. The simulator believes nothing that a rank says: it checks numbers and lengths, and it reads and writes
//!    the rank's memory by system calls, which fail where nothing is.
//! 4. One thread of a rank asks questions. Others, and processes that it has forked, are refused.

mod asker;
mod mailbox;
mod outside;
mod place;
mod seat;

pub use mailbox::{BYTES, Facts, Letter, Looked, Mailbox, PART_BYTES, View, answer, ask};
pub use place::place;
pub use seat::{PLAN, SEAT, Seat};
