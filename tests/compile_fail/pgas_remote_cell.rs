// error: E0277
// says: `RefCell<u32>` cannot be shared between threads safely
//! Calls of several threads may have an object at the same time.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    drop(world.remote(std::cell::RefCell::new(1u32)));
    #[cfg(fixed)]
    drop(world.remote(std::sync::Mutex::new(1u32)));
}
