//! The UDP conduit: reliable active messages and one-sided transfers over datagrams.
//!
//! ```text
//! conduit   the interface to the core                             vigil
//! trial     which addresses of hosts reach each other
//! engine    all links of a rank, one socket, timers               socket  address  memory
//! link      the protocol between two ranks, no input or output    path  window  buf  share
//! wire      the form of a datagram                                auth  mac
//! ```
//!
//! **A short message.** `reserve` takes a buffer, and room that the peer has granted; the core fills the
//! buffer; `commit` cuts it into chunks (here one), writes the datagram and sends it. The peer's poll takes
//! it from the socket, checks its tag, copies the frame into a buffer and delivers it. The reply carries the
//! acknowledgement, so a round trip takes two datagrams.
//!
//! **A put** goes from the program's memory into datagrams, and from datagrams into the target's segment,
//! large ones without a copy in between ([`link::LARGE_DATAGRAM_BYTES`]). It has no frame and no reply, and
//! is complete when all of it has been acknowledged. A **get** is a request, answered by data that go
//! directly to the destination.
//!
//! **Attackers** can neither forge nor replay anything. Those with access to the network can read everything
//! and, unless `GASNET_UDP_AUTH=full`, change bulk data of puts and gets ([`auth`]).

mod address;
mod answer;
pub mod auth;
pub mod buf;
mod conduit;
mod disturb;
mod engine;
mod inquiry;
pub mod link;
mod mac;
mod memory;
pub mod path;
mod settings;
pub mod share;
mod socket;
mod trial;
mod vigil;
pub mod window;
pub mod wire;

pub use conduit::open;
pub use settings::{SETTINGS, check_settings, has_faults};
