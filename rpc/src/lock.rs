//! Locks whose holders do not panic halfway.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock. What it guards is whole even if a holder has panicked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
