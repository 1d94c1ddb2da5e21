// error: E0507
// says: cannot move out of `*pending` which is behind a shared reference
//! Who waits for a result takes it.
pub fn case(pending: &pgas::Pending<u32>) {
    #[cfg(not(fixed))]
    println!("{}", pending.wait());
    #[cfg(fixed)]
    println!("{}", pending.is_ready());
}
