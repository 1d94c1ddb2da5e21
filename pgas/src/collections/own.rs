//! A value behind a lock that notices when its own thread comes again.

use core::cell::RefCell;
use gasnet_sys::mutex::lock;
use std::sync::Mutex;

thread_local! {
    /// Addresses of the values that the thread uses now.
    static USED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// A rank's part of a collection. A closure of the program that has it may, by waiting, come to serve a call
/// that wants it, too: that is told, where a mutex alone would wait for ever.
pub(super) struct OwnPart<T>(Mutex<T>);

impl<T> OwnPart<T> {
    pub(super) fn new(value: T) -> OwnPart<T> {
        OwnPart(Mutex::new(value))
    }

    /// Uses the value.
    ///
    /// # Panics
    /// The thread uses it already.
    #[track_caller]
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        struct Used(usize);
        impl Drop for Used {
            fn drop(&mut self) {
                USED.with_borrow_mut(|used| used.retain(|at| *at != self.0));
            }
        }
        let me = core::ptr::from_ref(self) as usize;
        let again = USED.with_borrow(|used| used.contains(&me));
        assert!(
            !again,
            "a closure that is given this rank's part of a collection has waited, or has used the collection: it may not, \
             since calls that come meanwhile want the part as well"
        );
        let mut value = lock(&self.0);
        USED.with_borrow_mut(|used| used.push(me));
        let _used = Used(me);
        f(&mut value)
    }

    /// Takes the value and leaves an empty one.
    #[track_caller]
    pub(super) fn take(&self) -> T
    where
        T: Default,
    {
        self.with(core::mem::take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn again_by_the_same_thread_panics_and_leaves_it_usable() {
        let (a, b) = (OwnPart::new(1), OwnPart::new(2));
        assert_eq!(a.with(|a| b.with(|b| *a + *b)), 3);
        let twice = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| a.with(|_| a.with(|a| *a))));
        assert!(twice.is_err());
        assert_eq!(a.with(|a| *a), 1);
    }
}
