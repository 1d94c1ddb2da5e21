// error: E0596
// says: cannot borrow `*array` as mutable, as it is behind a `&` reference
//! A phase is entered by all ranks, not by whom is called.
pub fn case(array: pgas::Shared<pgas::Array<u32>>) {
    #[cfg(not(fixed))]
    array.call(1, |array, ()| array.read(|array| array.get(1)), ()).wait();
    #[cfg(fixed)]
    println!("{}", array.len());
}
