// error: E0308
// says: expected fn pointer, found closure
//! Nor may a function of a shared object capture.
pub fn case(number: pgas::Shared<u32>, factor: u32) {
    #[cfg(not(fixed))]
    number.send(1, move |number, ()| println!("{}", *number * factor), ());
    #[cfg(fixed)]
    number.send(1, |number, factor: u32| println!("{}", *number * factor), factor);
}
