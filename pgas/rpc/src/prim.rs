//! The primitives of what threads share without locks: the standard library's, or loom's under `cfg(loom)`.

#[cfg(not(loom))]
pub(crate) use gasnet_sys::mutex::lock;
#[cfg(loom)]
pub(crate) use loom::{
    sync::{
        Condvar, Mutex,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    },
    thread::yield_now,
};
#[cfg(not(loom))]
pub(crate) use std::{
    sync::{
        Condvar, Mutex,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    },
    thread::yield_now,
};

/// A lock for a few instructions, which costs half of what one does that sleeps.
#[cfg(not(loom))]
pub(crate) type Turns<T> = gasnet::Turns<T>;

/// Guards a value.
#[cfg(not(loom))]
pub(crate) fn turns<T>(value: T) -> Turns<T> {
    Turns::new(gasnet::Threading::Parallel, value)
}

/// The same for models, which do not end where a thread spins.
#[cfg(loom)]
#[derive(Debug)]
pub(crate) struct Turns<T>(Mutex<T>);

#[cfg(loom)]
impl<T> Turns<T> {
    pub(crate) fn take(&self) -> loom::sync::MutexGuard<'_, T> {
        lock(&self.0)
    }
}

/// Guards a value.
#[cfg(loom)]
pub(crate) fn turns<T>(value: T) -> Turns<T> {
    Turns(Mutex::new(value))
}

/// Takes a lock of loom's.
#[cfg(loom)]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> loom::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
