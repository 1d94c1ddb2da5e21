// error: E0308
// says: mismatched types: expected `usize`, found `u32`
//! An index is a `usize`.
pub fn case(array: &mut pgas::Array<u32>, rank: u32) {
    #[cfg(not(fixed))]
    array.read(|array| array.get(rank));
    #[cfg(fixed)]
    array.read(|array| array.get(rank as usize));
}
