//! Tokens: what compiled code keeps of a coarray and hands over with every access.

use crate::descriptor::Dimension;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr};

/// Why memory is registered: numbers that the compiler knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoarrayKind {
    /// A coarray that exists from the start.
    Static,
    /// A coarray that is allocated.
    Allocated,
    /// Variables of type `lock_type`.
    Locks,
    /// Variables of type `event_type`.
    Events,
    /// The lock of a `critical` construct.
    Critical,
    /// The memory of another one, under a name of `change team`.
    Alias,
}

/// A coarray, as compiled code knows it: a token is the address of one of these.
#[derive(Debug)]
pub struct Coarray {
    /// First byte, from the start of the segment; the same on all images of its team.
    pub offset: u64,
    /// Bytes that compiled code may use.
    pub bytes: u64,
    /// Its kind: static or allocated data, locks, events.
    pub kind: CoarrayKind,
    /// Elements of locks and events; else 0.
    pub count: u64,
    /// Whether its elements are of an intrinsic type.
    pub is_bare: bool,
    /// Whether components of it were seen that have memory of their own, or may have.
    pub has_components: AtomicBool,
    /// The dimensions with which it was allocated, once compiled code has set them; none for static ones.
    pub shape: OnceLock<Vec<Dimension>>,
    /// Where compiled code has its descriptor.
    pub descriptor: AtomicPtr<u8>,
    /// Where compiled code has the token that was set first. Only compared.
    pub home: AtomicPtr<u8>,
}
