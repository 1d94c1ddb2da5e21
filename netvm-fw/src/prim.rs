//! The atomics of the structures that both sides share: `core`'s, or loom's under `cfg(loom)`.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// An array of atomics.
pub(crate) fn words(n: usize, value: u32) -> Box<[AtomicU32]> {
    (0..n).map(|_| AtomicU32::new(value)).collect()
}

/// An array of wide atomics, all zero.
pub(crate) fn wide(n: usize) -> Box<[AtomicU64]> {
    (0..n).map(|_| AtomicU64::new(0)).collect()
}
