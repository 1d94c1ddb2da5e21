// error: E0308
// says: expected fn pointer, found closure
//! Memory that threads share is not shared with other ranks.
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
#[cfg(not(fixed))]
use std::sync::Arc;
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    {
        let n = Arc::new(AtomicU32::new(0));
        world.send(1, move |_, ()| _ = n.fetch_add(1, Relaxed), ());
    }
    #[cfg(fixed)]
    {
        let n = world.share(AtomicU32::new(0));
        n.send(1, |n, ()| _ = n.fetch_add(1, Relaxed), ());
    }
}
