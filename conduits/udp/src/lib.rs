//! The UDP conduit: reliable active messages and one-sided transfers over datagrams.
//!
//! ```text
//! conduit   what the core calls
//! engine    all links of a rank, one socket, timers               socket  place  memory
//! link      the protocol between two ranks, no input or output    path  window  buf  share
//! wire      the datagram                                          auth
//! ```
//!
//! **A short message.** `reserve` takes a buffer and room that the peer has promised; the core fills the buffer; `commit` cuts it
//! into chunks (here one), writes the datagram and sends it. The peer's poll takes it from the socket, checks its tag, copies
//! the frame into a buffer and delivers it. The reply carries the acknowledgement, so a round trip takes two datagrams.
//!
//! **A put** goes from the program's memory into datagrams, and from datagrams into the target's segment, large ones without a
//! copy in between ([`link::LARGE`]): no frame, no reply;
//! it is complete when all of it has been acknowledged. A **get** is a wish, answered by data that go to where they belong.
//!
//! **Attackers** can neither forge nor replay anything; who is on the wire can read all of it, and unless `GASNET_UDP_AUTH=full` can
//! change bulk data of puts and gets ([`auth`]).

pub mod auth;
pub mod buf;
mod conduit;
mod disturb;
mod engine;
mod inquiry;
pub mod link;
mod memory;
pub mod path;
mod place;
pub mod share;
mod socket;
mod sys;
pub mod window;
pub mod wire;

pub use conduit::open;
