//! The primitives of the threads that serve: the standard library's, or loom's under `cfg(loom)`.

#[cfg(not(loom))]
pub(crate) use crate::lock::lock;
#[cfg(loom)]
pub(crate) use loom::{
    sync::{
        Condvar, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    },
    thread::yield_now,
};
#[cfg(not(loom))]
pub(crate) use std::{
    sync::{
        Condvar, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    },
    thread::yield_now,
};

/// Takes a lock of loom's.
#[cfg(loom)]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> loom::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
