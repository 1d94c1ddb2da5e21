//! The conduit over libfabric: frames as messages of a reliable datagram endpoint, puts, gets and atomics by the provider's own means.
//!
//! It is a plugin, `libgasnet_ofi.so`: a program that runs over it is the same file as over any other network, and knows no libfabric.
//!
//! **Vocabulary.** A *provider* is libfabric's driver for a network, found when the job starts (`choice.rs`: the first in the order of
//! preference that all ranks have; `GASNET_OFI_PROVIDER` chooses). The *port* is this rank's endpoint and what it stands on (`fabric.rs`).
//! A *message* is a frame or a *note* of the conduit's own, with an end that says which (`wire.rs`). A *slot* is memory in which a
//! message is written and from which it leaves (`send.rs`); a *buffer* is where messages come in (`receive.rs`).
//!
//! **Messages.** One endpoint and one completion queue serve both channels, all peers, and one-sided operations. A frame is written in place into a
//! slot; small messages are injected, others complete. What comes in for a channel that nobody is polling waits in its buffer.
//!
//! **Credits** (`gasnet::conduit::credit`) bound what may be under way to a peer, by channel, so a rank always has a buffer for what comes: replies are never stuck
//! behind requests that nobody takes. The rank returns them when it has handled frames. Notes need none: each is asked for by a
//! message that did, or returns half a window.
//!
//! **Would-block.** A provider that has no room (or no connection yet) is asked again at each poll; a frame keeps its slot meanwhile, and slots
//! are few. Requests, replies, notes and one-sided operations have parts of the provider's queue of their own.
//!
//! **One-sided operations** (`onesided.rs`, `local.rs`). The segment is registered once; its key goes to whoever asks. A put completes when its data is in
//! place (FI_DELIVERY_COMPLETE). A trial at start (`trial.rs`) finds out whether the provider keeps that; if not the runtime goes without.
//!
//! **Who must act.** Providers make progress inside calls (FI_PROGRESS_MANUAL is asked for). With software providers (tcp, udp, shm, sockets) a put
//! needs its target inside one, with network cards it does not.
//!
//! **Leaving.** A rank says good-bye to all it has met and waits for theirs: then everything that was sent has arrived.
//!
//! **Registered memory.** Where the provider reaches registered memory only (FI_MR_LOCAL) the program's own is registered and kept (`pins.rs`), registered
//! each time, or copied: what is cheapest, measured at start (`prices.rs`). `GASNET_TEST_OFI_REGISTER` makes any provider one of those (`checked.rs`).
//!
//! Settings: `GASNET_OFI_*`; those of the providers by libfabric's own means (`FI_*`, `fi_info -e`).

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
gasnet::export_conduit!(engine::open);
