//! The UDP conduit: reliable active messages and one-sided transfers over datagrams.
//!
//! ```text
//! conduit   what the core calls                                   (unsafe: slots, frames)
//! engine    all links of a rank, one socket, timers
//! link      the protocol between two ranks, no input or output    path  window  buf
//! wire      the datagram                                          auth
//! ```

pub mod auth;
pub mod buf;
pub mod link;
pub mod path;
pub mod window;
pub mod wire;
