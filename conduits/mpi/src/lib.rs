//! The conduit over MPI: frames as messages, puts and gets through a window.
//!
//! It is a plugin, `libgasnet_mpi-openmpi.so` or `libgasnet_mpi-mpich.so`: a program that runs over it is the same file as over any other
//! network, and knows no MPI. A program may use MPI itself, too: whoever comes first initialises it, and only the conduit that did
//! finalises it. The runtime's messages travel on communicators of its own.
//!
//! **Messages**. Each channel has a communicator. A rank keeps receives posted on both; since MPI matches messages to
//! receives in the order in which those were posted, looking at the oldest one is enough. A frame lies behind a head of 16 bytes that
//! also returns credits.
//!
//! **Credits.** A rank may have a window of frames per peer and channel under way; the peer returns the credit when it has handled
//! the frame, in the head of whatever it sends next or, when half a window is owed, in a message without a frame on the replies' channel.
//! Credits of replies travel on that channel only: a handler that waits for room to reply looks at no other. So what MPI has to buffer
//! for a rank that does not listen is bounded. A message that returns credits needs none.
//!
//! **Puts and gets**. The segments form a window, locked shared by everyone for the whole job. Where a test at the start
//! finds that the window does not do what MPI says, the runtime goes without: by messages. Atomics are messages always: those of
//! neighbours are instructions of the processor on the same words, and MPI promises nothing about both at once.
//!
//! **Threads.** MPI is initialised for several threads only if the rank's calls may come from several. A program of one thread per
//! rank whose other threads use MPI by themselves initialises MPI first.
//!
//! **Who must act.** MPI makes progress inside its calls; a put may need the target inside one. Every wait of the runtime polls.
//!
//! Settings: those of the MPI library, by its own means.

#[cfg(feature = "link")]
mod calls;
#[cfg(feature = "link")]
mod engine;
#[cfg(feature = "link")]
mod window;

#[cfg(feature = "link")]
gasnet::export_conduit!(engine::open);
