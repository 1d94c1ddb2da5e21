// error: E0308
// says: expected fn pointer, found closure
//! A function of a shared object is given that object.
use std::sync::Mutex;
pub fn case(number: pgas::Shared<Mutex<u32>>) {
    #[cfg(not(fixed))]
    number.send(1, |number: &'static Mutex<u64>, ()| drop(number), ());
    #[cfg(fixed)]
    number.send(1, |number: &'static Mutex<u32>, ()| drop(number), ());
}
