// error: none
// says: with struct literal syntax due to private fields
//! Only a phase gives what it permits.
pub fn case(array: &pgas::Array<u32>) {
    #[cfg(not(fixed))]
    let _ = pgas::Reading::<u32> { array, copy: None };
    #[cfg(fixed)]
    let _ = array.len();
}
