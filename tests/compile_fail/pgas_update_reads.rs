// error: E0599
// says: no method named `get` found for mutable reference `&mut Updating<'_, u32>` in the current scope
//! Who updates cannot read: others update at the same time.
pub fn case(array: &mut pgas::Array<u32>) {
    #[cfg(not(fixed))]
    array.update(|array| println!("{}", array.get(1)));
    #[cfg(fixed)]
    array.read(|array| println!("{}", array.get(1)));
}
