//! The conduit over libfabric: frames as messages of a reliable datagram endpoint, and the provider's own
//! puts, gets and atomics.
//!
//! It is a plugin, `libgasnet_ofi.so`: a program needs no other build for it, and no libfabric.
//!
//! # Words
//!
//! - *provider*: libfabric's driver for a network, chosen when the job starts: the first in the order of
//!   preference that all ranks have; `GASNET_OFI_PROVIDER` names one.
//! - *port*: this rank's endpoint with the objects below it.
//! - *message*: a frame, or a *note* of the conduit's own; its last bytes say which.
//! - *slot*: memory in which a message is written and from which it is sent.
//! - *buffer*: memory that receives messages.
//! - *key*: what the provider wants to know of a peer's segment before it reaches that.
//! - *trial*: the test of puts, gets and atomics at the start.
//!
//! # Layers
//!
//! ```text
//! trial                    tests puts and gets at the start
//! engine                   the conduit: frames, notes, credits, completions, leaving
//! onesided                 puts, gets and atomics under way
//! local receive send       local memory of transfers; buffers; slots
//! atomics memory           the provider's atomics; memory for messages
//! fabric                   the port, and calls of libfabric on it
//! offers                   the provider and its properties
//! choice prices pins       which provider; which way to registered memory; memory kept registered
//! checked wire ffi
//! ```
//!
//! # A put, traced
//!
//! `Rma::put` (`engine.rs`) looks up the key of the target's segment (`onesided.rs`). If it is not known, a
//! note asks for it, and the core tries again. The source is made fit for the provider, if that reaches
//! registered memory only (`local.rs`). Then the port starts the write (`fabric.rs`). Each poll takes
//! completions from the queue (`OfiEngine::progress`); that of the put ends the use of its source and is
//! reported to the core.
//!
//! # Protocol
//!
//! **Messages.** One endpoint and one completion queue serve both channels, all peers, and one-sided
//! operations. A frame is written in place into a slot; small messages are injected, others complete. A frame
//! for a channel that nobody polls waits in its buffer.
//!
//! **Credits** (`gasnet_wire::conduit::credit`) bound what may be under way to a peer, by channel, so a rank
//! always has a buffer for what arrives: replies are never stuck behind requests that nobody takes. The rank
//! returns them when it has handled frames. Notes cost no credits: each note answers a message that did, or
//! returns half a window.
//!
//! **Would-block.** A provider without room (or without a connection yet) is tried again at each poll. A
//! frame keeps its slot meanwhile, and the number of slots is bounded. Requests, replies, notes and one-sided
//! operations each have their own share of the provider's queue.
//!
//! **One-sided operations** (`onesided.rs`, `local.rs`). The segment is registered once; its key is sent to
//! peers that ask. A put completes when its data is in place (FI_DELIVERY_COMPLETE). A trial at the start
//! (`trial.rs`) checks that the provider respects this; if not, the runtime uses messages instead.
//!
//! **Who must act.** Providers make progress inside calls (FI_PROGRESS_MANUAL is requested). With software
//! providers (tcp, udp, shm, sockets) a put needs its target inside a call, with network cards it does not.
//!
//! **Leaving.** A rank sends good-byes to all peers it has communicated with and waits for theirs: then
//! everything that was sent has arrived.
//!
//! **Registered memory.** Some providers reach registered memory only (FI_MR_LOCAL). Then the program's own
//! memory is registered and kept (`pins.rs`), registered for each transfer, or copied: whatever is cheapest
//! by a measurement at the start (`prices.rs`). `GASNET_TEST_OFI_REGISTER` makes any provider behave like one
//! of those (`checked.rs`).
//!
//! # Invariants
//!
//! 1. One thread at a time makes calls of libfabric: the one that has the engine. No frame is delivered
//!    meanwhile.
//! 2. Memory that an operation uses stays valid, and at its address, until the operation is complete.
//! 3. A buffer is posted again when the provider has released it and all its messages are handled.
//! 4. Credits bound the memory that a rank needs for frames that it does not poll for.
//! 5. A put is reported when its data is in place at the target.
//!
//! Settings: `GASNET_OFI_*`; providers have settings of their own in libfabric (`FI_*`, see `fi_info -e`).

#![cfg_attr(not(feature = "link"), allow(dead_code, reason = "the protocol, without the network"))]

mod choice;
mod pins;
mod prices;
mod wire;

#[cfg(feature = "link")]
mod atomics;
#[cfg(feature = "link")]
mod checked;
#[cfg(feature = "link")]
mod engine;
#[cfg(feature = "link")]
mod fabric;
#[cfg(feature = "link")]
mod ffi;
#[cfg(feature = "link")]
mod local;
#[cfg(feature = "link")]
mod memory;
#[cfg(feature = "link")]
mod offers;
#[cfg(feature = "link")]
mod onesided;
#[cfg(feature = "link")]
mod receive;
#[cfg(feature = "link")]
mod send;
#[cfg(feature = "link")]
mod trial;

#[cfg(feature = "link")]
gasnet_wire::export_conduit!(open);

/// Opens the conduit, and tries its puts and gets.
#[cfg(feature = "link")]
fn open(
    cx: &gasnet_wire::conduit::OpenContext<'_>,
) -> Result<Option<Box<dyn gasnet_wire::conduit::Conduit>>, gasnet_wire::Error> {
    engine::open(cx, trial::run)
}
