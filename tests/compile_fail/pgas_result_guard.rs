// error: E0277
// says: `std::sync::MutexGuard<'_, u32>` cannot travel to another rank
//! A lock is not held across ranks.
use std::sync::Mutex;
pub fn case(number: pgas::Shared<Mutex<u32>>) {
    #[cfg(not(fixed))]
    let _ = number.call(1, |number, ()| number.lock().unwrap(), ());
    #[cfg(fixed)]
    let _ = number.call(1, |number, ()| *number.lock().unwrap(), ());
}
