// error: E0599
// says: no method named `get` found for mutable reference `&mut Exchanging<'_, u32>` in the current scope
//! Who puts cannot read: others put at the same time.
pub fn case(array: &mut pgas::Array<u32>) {
    #[cfg(not(fixed))]
    array.exchange(|array| array.put(1, array.get(2)));
    #[cfg(fixed)]
    {
        let value = array.read(|array| array.get(2));
        array.exchange(|array| array.put(1, value));
    }
}
