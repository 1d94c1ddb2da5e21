// error: none
// says: future cannot be sent between threads safely
//! A lock is not held while others have their turn.
use pgas::{Shared, World};
use std::sync::Mutex;
pub fn case(world: World, number: Shared<Mutex<u32>>) {
    let add = |world: World, number: Shared<Mutex<u32>>| async move {
        #[cfg(not(fixed))]
        let mut held = number.lock().unwrap();
        let one = world.call(2, |_, ()| 1u32, ()).await;
        #[cfg(fixed)]
        let mut held = number.lock().unwrap();
        *held += one;
    };
    let _ = world.call_async(1, add, number);
}
