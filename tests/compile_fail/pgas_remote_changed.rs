// error: E0594
// says: cannot assign to `*number`, which is behind a `&` reference
//! Nor is an object of one rank changed without a lock.
pub fn case(number: pgas::Remote<u32>) {
    #[cfg(not(fixed))]
    number.send(|number, ()| *number += 1, ());
    #[cfg(fixed)]
    number.send(|number, ()| println!("{number}"), ());
}
