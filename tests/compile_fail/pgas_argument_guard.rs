// error: E0277
// says: `std::sync::MutexGuard<'_, u32>` cannot travel to another rank
//! A lock that is held here is not held there.
use std::sync::{Mutex, MutexGuard};
pub fn case(world: pgas::World, number: &'static Mutex<u32>) {
    #[cfg(not(fixed))]
    world.send(1, |_, _: MutexGuard<'static, u32>| (), number.lock().unwrap());
    #[cfg(fixed)]
    world.send(1, |_, _: u32| (), *number.lock().unwrap());
}
