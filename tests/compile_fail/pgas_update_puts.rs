// error: E0599
// says: no method named `put` found for mutable reference `&mut Updating<'_, u32>` in the current scope
//! A put is no update: it matters which is the last.
pub fn case(array: &mut pgas::Array<u32>) {
    #[cfg(not(fixed))]
    array.update(|array| array.put(1, 1));
    #[cfg(fixed)]
    array.exchange(|array| array.put(1, 1));
}
