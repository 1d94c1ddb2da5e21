// error: E0277
// says: `&u32` cannot travel to another rank
//! A result does not point into the memory of the called rank.
pub fn case(number: pgas::Shared<u32>) {
    #[cfg(not(fixed))]
    let _ = number.call(1, |number, ()| number, ());
    #[cfg(fixed)]
    let _ = number.call(1, |number, ()| *number, ());
}
