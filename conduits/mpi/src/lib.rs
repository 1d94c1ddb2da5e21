//! The conduit over MPI: frames as messages, puts and gets through a window.
//!
//! It is a plugin, `libgasnet_mpi-openmpi.so` or `libgasnet_mpi-mpich.so`: a program needs no other build for
//! it, and no MPI. A program may also use MPI itself; whichever of the two needs MPI first initialises it. A
//! program that initialised MPI, or wants to end it, calls `MPI_Finalize` on all ranks when it no longer uses
//! the runtime's network. That shuts the conduit first; then the program may only end (`gasnet_exit`,
//! `upc_global_exit`, a return). If the conduit initialised MPI, it finalises MPI when the rank leaves. All
//! ranks leave together, and a rank that no other follows ends the job with a message. If a program leaves by
//! `gasnet_exit` and has not finalised its own MPI, the launching code does so, also where all ranks share
//! memory and this conduit is not opened. The runtime's messages use a communicator of their own.
//!
//! # Words
//!
//! - *engine*: the state for calls of MPI, which one thread at a time uses.
//! - *receive*: a buffer with its persistent request: posted, with a frame, or idle.
//! - *head*: the word in front of a frame.
//! - *ready*: of a frame: it has arrived, and is not handled yet.
//! - *window*: MPI's, over the segments of all ranks.
//! - *nudge*: a message that asks a rank to call MPI, because puts wait for it.
//!
//! # Layers
//!
//! ```text
//! engine          the conduit: opening and leaving, frames, credits, sleep
//! window          puts and gets under way, and the tests at the start
//! calls           MPI's calls, with errors as values
//! head threads    the head of a message; which level of threads MPI needs
//! ```
//!
//! # A small frame, traced
//!
//! `Mpi::send` (`engine.rs`) pays credits for the frame, and writes the head (`head.rs`), which returns the
//! credits that the receiver is owed. `MPI_Send` (`calls.rs`) takes both at once; then the receiver's
//! doorbell is rung, if there are progress threads. The receiver's poll tests its oldest posted receive. It
//! counts the returned credits, inserts the word that was omitted, and delivers the frame from the receive's
//! buffer. Then the receive is idle, until it is posted again, and its credits are owed to the sender.
//!
//! # Protocol
//!
//! **Messages**. One communicator serves both channels. A rank keeps receives posted on it. MPI matches
//! messages to receives in the order in which those were posted, so testing the oldest is enough, and one
//! look is one call of MPI. A frame for a channel that nobody polls keeps its receive, and another is posted
//! in its place. A frame follows a head of 8 bytes that also returns credits. Most frames without payload
//! omit their second word, which is zero.
//!
//! **Credits** (`gasnet_wire::conduit::credit`) bound what may be under way to a peer, by channel. The peer
//! returns them when it has handled frames, in the head of its next message, or, when half a window is due,
//! in a message without a frame, which costs none. They count when the message arrives, even if its frame is
//! not wanted yet. So the memory that a rank that does not poll needs, in the conduit and in MPI, is bounded.
//!
//! **Puts and gets**. The segments form a window, locked shared by all ranks for the whole job. If a test at
//! the start finds that the window does not work as MPI specifies, the runtime uses messages instead. Atomics
//! are always messages: those of neighbours are processor instructions on the same words, and MPI makes no
//! promise about a mixture. With progress threads a second test asks whether a put completes without its
//! target. If not, as with MPICH, puts and gets are messages too, because messages are announced to a
//! sleeping thread, and the later steps of MPI's own put are not.
//!
//! **Threads.** MPI is initialised for several threads only if the rank's calls may come from several, and
//! for a single one if that thread makes all calls (UPC, C in its SEQ mode). A program with one thread per
//! rank whose other threads use MPI initialises MPI first. The runtime respects the level with which a
//! program did so (`threads.rs`). If all its threads may call the runtime, or if there is a progress thread
//! (`GASNET_PROGRESS=thread`), the level must be `MPI_THREAD_MULTIPLE`. `MPI_THREAD_SERIALIZED` is enough if
//! the program ensures that none of its calls of MPI overlaps with one of the runtime.
//!
//! **Who must act.** MPI makes progress inside its calls; a put may need the target inside a call several
//! times. Every wait of the runtime polls. The progress threads of ranks on one host sleep on a doorbell,
//! which peers ring after they have sent.
//!
//! # Invariants
//!
//! 1. Once the conduit is open, its calls of MPI are made with the engine taken, by one thread at a time. No
//!    frame is delivered meanwhile.
//! 2. A buffer belongs to a posted receive, an active send, a slot, a frame that is not handled, or a list of
//!    free ones. It is never freed.
//! 3. Credits bound the memory that a rank needs for frames that it does not poll for, here and in MPI.
//! 4. A put is complete at its target only after a flush of the window.
//! 5. A frame that was committed is sent, or the process ends.
//!
//! Settings: those of the MPI library, set as the library documents.

#[cfg(feature = "link")]
mod calls;
#[cfg(feature = "link")]
mod engine;
#[cfg(any(test, feature = "link"))]
mod head;
#[cfg(any(test, feature = "link"))]
mod threads;
#[cfg(feature = "link")]
mod window;

#[cfg(feature = "link")]
gasnet_wire::export_conduit!(engine::open);
