// error: E0596
// says: cannot borrow `*array` as mutable, as it is behind a `&` reference
//! A phase borrows the array for itself.
pub fn case(array: &pgas::Array<u32>) {
    #[cfg(not(fixed))]
    array.read(|array| array.get(1));
    #[cfg(fixed)]
    println!("{}", array.len());
}
