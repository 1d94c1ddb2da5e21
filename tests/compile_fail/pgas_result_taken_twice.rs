// error: E0382
// says: use of moved value
//! A result is waited for once.
pub fn case(pending: pgas::Pending<u32>) {
    #[cfg(not(fixed))]
    let first = pending.wait();
    #[cfg(fixed)]
    let first = 1;
    let _ = first + pending.wait();
}
