//! The runtime's own words in every segment.
//!
//! All fields are atomics and zero at start. Other ranks reach them like any shared memory: directly where
//! the segment is mapped, by remote atomics where it is not (see [`crate::core::Core`]). Fields marked *(0)*
//! are used in rank 0's segment only.

use crate::heap::Root;
use std::mem::offset_of;
use std::sync::atomic::AtomicU64;

/// Locks a thread can hold or wait for at the same time.
pub const LOCK_NODES: usize = 1 << LOCK_NODE_BITS;
/// Bits of a node's number.
pub const LOCK_NODE_BITS: u32 = 16;

/// A thread's element in the queue of one lock (see [`crate::locks`]).
#[repr(C, align(64))]
pub struct LockNode {
    /// The next thread in the queue; 0 if there is none yet.
    pub next: AtomicU64,
    /// Set by the predecessor when it hands the lock over.
    pub granted: AtomicU64,
}

/// The start of the control area.
#[repr(C, align(128))]
pub struct Control {
    /// The ends of the two heaps on this rank: see [`Boundary`](crate::alloc::Boundary).
    pub boundary: AtomicU64,
    /// (0) Lock over the growth of the global heap; holds the rank plus one.
    pub grow: AtomicU64,
    /// (0) Results of the last two collective allocations.
    pub results: [AtomicU64; 2],
    /// Checksum of the shared object that this thread loads (see [`crate::libraries`]).
    pub loading: AtomicU64,
    /// (0) Likewise of the last one that got memory, and where.
    pub loaded: [AtomicU64; 2],
    /// (0) Threads that have ended.
    pub ended: AtomicU64,
    /// Complement of the smallest number of barriers joined by a thread that has ended; 0 if none has.
    pub ended_early: AtomicU64,
    /// Non-zero when all threads have ended.
    pub all_ended: AtomicU64,
    /// Lock nodes of this thread that others gave back: index plus one, linked by [`LockNode::next`].
    pub returned: AtomicU64,
    /// Partial results of the last two reductions: presence, then the value in the third and fourth word.
    pub partials: [AtomicU64; 8],
    /// Bookkeeping of this thread's heap of local objects.
    pub local: Root,
    /// (0) Bookkeeping of the heap of distributed objects.
    pub global: Root,
    /// Elements of queues of locks.
    pub nodes: [LockNode; LOCK_NODES],
}

/// Offset of a field from the start of the control area.
macro_rules! field {
    ($name:ident) => {
        std::mem::offset_of!($crate::control::Control, $name) as u64
    };
}
pub(crate) use field;

/// Offset of `next` and `granted` of a node from the start of the control area.
pub fn node_fields(index: u32) -> (u64, u64) {
    let node = offset_of!(Control, nodes) + index as usize * size_of::<LockNode>();
    ((node + offset_of!(LockNode, next)) as u64, (node + offset_of!(LockNode, granted)) as u64)
}
