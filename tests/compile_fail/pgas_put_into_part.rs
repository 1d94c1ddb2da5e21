// error: E0599
// says: no method named `put` found for mutable reference `&mut [u32]` in the current scope
//! A part is a slice: what belongs to others is not in it.
pub fn case(array: &mut pgas::Array<u32>) {
    #[cfg(not(fixed))]
    array.local(|mine| mine.put(100, 1));
    #[cfg(fixed)]
    array.exchange(|array| array.put(100, 1));
}
