// error: E0308
// says: mismatched types: expected `u32`, found floating-point number
//! An update has the type of the elements.
pub fn case(array: &mut pgas::Array<u32>) {
    #[cfg(not(fixed))]
    array.update(|array| array.add(1, 0.5));
    #[cfg(fixed)]
    array.update(|array| array.add(1, 1));
}
