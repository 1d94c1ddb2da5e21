// error: E0499
// says: cannot borrow `*array` as mutable more than once at a time
//! An array is in one phase at a time.
pub fn case(array: &mut pgas::Array<u32>) {
    #[cfg(not(fixed))]
    {
        let again = &mut *array;
        array.update(|_| again.read(|array| println!("{}", array.get(1))));
    }
    #[cfg(fixed)]
    {
        array.update(|_| ());
        array.read(|array| println!("{}", array.get(1)));
    }
}
