//! Taking a lock of the standard library.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock, whether or not a holder has panicked: for values that are whole at every point where that
/// can happen.
#[inline]
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holders_panic_is_no_reason_to_stop() {
        let mutex = Mutex::new(1);
        let ended = std::panic::catch_unwind(|| {
            let mut held = lock(&mutex);
            *held = 2;
            panic!("expected");
        });
        assert!(ended.is_err() && mutex.is_poisoned());
        assert_eq!(*lock(&mutex), 2);
    }
}
