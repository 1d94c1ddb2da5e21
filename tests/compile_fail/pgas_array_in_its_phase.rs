// error: E0502
// says: cannot borrow `*array` as mutable because it is also borrowed as immutable
//! In a phase the array is what the phase gives.
pub fn case(array: &mut pgas::Array<u32>) {
    #[cfg(not(fixed))]
    array.local(|mine| println!("{} {}", mine.len(), array.len()));
    #[cfg(fixed)]
    {
        let len = array.len();
        array.local(|mine| println!("{} {len}", mine.len()));
    }
}
