// error: E0080
// says: a remote function must not capture anything: pass what it needs as its arguments
//! Nor may a function of a shared object capture.
pub fn case(number: pgas::Shared<u32>, factor: u32) {
    #[cfg(not(fixed))]
    number.send(1, move |number, ()| println!("{}", *number * factor), ());
    #[cfg(fixed)]
    number.send(1, |number, factor: u32| println!("{}", *number * factor), factor);
}
