// error: E0373
//! A handler lives as long as the process.
use std::sync::atomic::{AtomicU32, Ordering};
pub fn f(rank: &gasnet::Rank) {
    let count = AtomicU32::new(0);
    #[cfg(not(fixed))]
    let handler = gasnet::Handler::new(|_, _| drop(count.fetch_add(1, Ordering::Relaxed) + 1));
    #[cfg(fixed)]
    let handler = gasnet::Handler::new(move |_, _| _ = count.fetch_add(1, Ordering::Relaxed));
    rank.register(128, handler).unwrap();
}
