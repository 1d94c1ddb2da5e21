// error: E0599
// says: no method named `put` found for reference `&Reading<'_, u32>` in the current scope
//! Who reads cannot write.
pub fn case(array: &mut pgas::Array<u32>) {
    #[cfg(not(fixed))]
    array.read(|array| array.put(1, 1));
    #[cfg(fixed)]
    array.exchange(|array| array.put(1, 1));
}
