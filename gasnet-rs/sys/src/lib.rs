//! The system calls of all crates of the workspace, behind a safe interface: one thin function each.
//!
//! Calls go through [`rustix`] if it has them, else through `libc`. A function here is safe to call with any
//! arguments; the few that cannot be safe are `unsafe` and state the caller's obligations. Descriptors are
//! owned ([`OwnedFd`]) or borrowed ([`BorrowedFd`]), never numbers, and every descriptor made here is
//! close-on-exec.
//!
//! Errors are [`std::io::Error`]: the caller explains what a refusal means for a job, and what can be done
//! about it.
//!
//! # Words
//!
//! - *bell* ([`fd::Bell`]): a descriptor that is readable while it is rung.
//! - *set* ([`processors::Set`]): processors, as the system's masks have them.
//! - *action* ([`signals::SignalAction`]): what a signal does, kept so that it can be restored.
//! - *handle* ([`process::Handle`]): names a process, and no other that gets its number later.
//!
//! # Layers
//!
//! ```text
//! memory                   mappings, reserved addresses, memory of other processes
//! process                  start, watch and end processes
//! signals thread           masks, actions, a descriptor for signals; threads without signals
//! limits network stdio     resources; addresses and socket options; C's streams
//! processors               where threads run
//! fd                       files, pipes, sockets, bells; reading and writing
//! clock futex mutex poll   time; sleeping on a word, and on descriptors; locks
//! random                   random numbers
//! ```
//!
//! # The start of a rank, traced
//!
//! The launcher calls [`process::spawn_with`] with the program, the descriptors that the rank is to keep, and
//! a [`process::BeforeExec`]. The standard library forks. In the child, before it becomes the program, a hook
//! asks the system to end it with its parent (`process.rs`), lets the descriptors through (`fd.rs`), and sets
//! the limit on descriptors (`limits.rs`), the processors (`processors.rs`), and signals as a new program has
//! them (`signals.rs`). If a call fails that the rank cannot do without, the caller gets the error.
//!
//! # Invariants
//!
//! 1. No call of a safe function, whatever its arguments, can break the memory safety of this process.
//! 2. Code that runs between fork and exec makes system calls only: it allocates nothing and takes no lock,
//!    which another thread might have held.
//! 3. The crate has no state of its own (but for Miri, `stand_in.rs`), and depends on no other crate
//!    of the workspace.
//!
//! [`OwnedFd`]: std::os::fd::OwnedFd
//! [`BorrowedFd`]: std::os::fd::BorrowedFd

pub mod clock;
pub mod dump;
pub mod fd;
pub mod futex;
pub mod limits;
pub mod memory;
pub mod mutex;
pub mod network;
pub mod poll;
pub mod process;
pub mod processors;
mod random;
pub mod signals;
#[cfg(miri)]
mod stand_in;
pub mod stdio;
pub mod thread;

pub use random::{fill_with_secret, random};
