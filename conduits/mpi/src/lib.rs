//! The conduit over MPI: frames as messages, puts and gets through a window.
//!
//! It is a plugin, `libgasnet_mpi-openmpi.so` or `libgasnet_mpi-mpich.so`: a program that runs over it is the same file as over any other
//! network, and knows no MPI. A program may use MPI itself, too: whoever comes first initialises it. A program that did, or wants to end MPI
//! itself, calls `MPI_Finalize` on all ranks when it has no more use for the runtime's network: that shuts the conduit first, and leaves only
//! the program's end (`gasnet_exit`, `upc_global_exit`, a return) to the runtime. Else the conduit finalises MPI when the rank leaves, if it
//! initialised it. The runtime's messages travel on a communicator of its own.
//!
//! **Messages**. One communicator serves both channels. A rank keeps receives posted on it; since MPI matches messages to
//! receives in the order in which those were posted, looking at the oldest one is enough, and one look is one call of MPI. What comes for a
//! channel that nobody is polling keeps its receive, and another is posted in its place. A frame lies behind a head of 8 bytes that
//! also returns credits; of most frames without payload the second word, which is zero, stays at home.
//!
//! **Credits** (`gasnet::conduit::credit`) bound what may be under way to a peer, by channel. The peer returns them when it has handled
//! frames, in the head of whatever it sends next or, when half a window is owed, in a message without a frame, which needs none. They count
//! when the message arrives, whoever wants its frame. So what a rank that does not listen has to keep, and MPI for it, is bounded.
//!
//! **Puts and gets**. The segments form a window, locked shared by everyone for the whole job. Where a test at the start
//! finds that the window does not do what MPI says, the runtime goes without: by messages. Atomics are messages always: those of
//! neighbours are instructions of the processor on the same words, and MPI promises nothing about both at once. Beside progress threads a second
//! test asks whether a put gets by without its target; where it does not, as with MPICH, puts and gets are messages too: those are announced
//! to a sleeping thread, the later steps of MPI's own put are not.
//!
//! **Threads.** MPI is initialised for several threads only if the rank's calls may come from several, and for a single one where that makes
//! them all (UPC, C in its SEQ mode). A program of one thread per rank whose other threads use MPI by themselves initialises MPI first. What a
//! program that did so has allowed is kept to (`threads.rs`): where its threads may all call the runtime, or beside a progress thread
//! (`GASNET_PROGRESS=thread`), it has to be `MPI_THREAD_MULTIPLE`, or `MPI_THREAD_SERIALIZED` where it sees itself to it that none of its calls of MPI
//! overlaps with one of the runtime.
//!
//! **Who must act.** MPI makes progress inside its calls; a put may need the target inside one, several times. Every wait of the runtime polls.
//! Progress threads of ranks of one host sleep by a doorbell, which peers ring behind what they send.
//!
//! Settings: those of the MPI library, by its own means.

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
gasnet::export_conduit!(engine::open);
