// error: E0277
// says: `Cell<u32>` cannot be shared between threads safely
//! Calls of several threads may have a shared object at the same time.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    world.share(std::cell::Cell::new(1u32));
    #[cfg(fixed)]
    world.share(std::sync::atomic::AtomicU32::new(1));
}
