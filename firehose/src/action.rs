//! Actions that a strategy asks its user to carry out.

use crate::message::Message;
use crate::request::{Failure, OpId, Transfer};
use crate::run::{Keys, Node, Run};

/// An action that a strategy asks for. Actions are carried out in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send a message.
    Send {
        /// The receiver.
        to: Node,
        /// The message.
        message: Message,
    },
    /// Send a message together with `len` bytes that are at `addr` here, copied to a bounce buffer first.
    SendData {
        /// The receiver.
        to: Node,
        /// The message.
        message: Message,
        /// Address of the bytes.
        addr: u64,
        /// Number of bytes.
        len: u64,
    },
    /// Copy the bytes that came with the message being received to `addr`.
    Deliver {
        /// The sender of the message.
        from: Node,
        /// Address of the destination.
        addr: u64,
        /// Number of bytes.
        len: u64,
    },
    /// Pin; then call [`Strategy::pinned`](crate::Strategy::pinned).
    Pin(Run),
    /// Let no further transfer touch the buckets, wait for those that do, unpin; then call
    /// [`Strategy::unpinned`](crate::Strategy::unpinned).
    Unpin(Run),
    /// Transfer; then call [`Strategy::transferred`](crate::Strategy::transferred).
    Transfer(Transfer),
    /// Local memory that `Firehose::hold` asked for is pinned until `transferred` is called.
    Held {
        /// The operation.
        op: OpId,
        /// The `tag` given to `hold`.
        tag: u64,
        /// Keys of its buckets.
        keys: Keys,
    },
    /// An operation ended well.
    Done {
        /// The operation; its number is free again.
        op: OpId,
        /// The `tag` of the request.
        tag: u64,
    },
    /// An operation ended without having transferred everything.
    Failed {
        /// The operation; its number is free again.
        op: OpId,
        /// The `tag` of the request.
        tag: u64,
        /// The cause.
        failure: Failure,
    },
}
