// error: E0521
// says: borrowed data escapes outside of closure
//! The handle of one array's phase cannot be used for another array.
pub fn case(one: &mut pgas::Array<u32>, two: &mut pgas::Array<u32>) {
    #[cfg(not(fixed))]
    one.exchange(|one| two.exchange(|two| std::mem::swap(one, two)));
    #[cfg(fixed)]
    one.exchange(|one| two.exchange(|two| (one.put(1, 1), two.put(1, 1))));
}
