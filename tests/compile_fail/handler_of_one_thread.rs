// error: E0277
//! A handler runs on whatever thread polls.
use std::sync::atomic::{AtomicU32, Ordering};
pub fn f() -> gasnet::Handler {
    #[cfg(not(fixed))]
    let count = std::cell::Cell::new(0u32);
    #[cfg(fixed)]
    let count = AtomicU32::new(0);
    gasnet::Handler::new(move |_, _| {
        #[cfg(not(fixed))]
        count.set(AtomicU32::new(count.get() + 1).load(Ordering::Relaxed));
        #[cfg(fixed)]
        count.fetch_add(1, Ordering::Relaxed);
    })
}
