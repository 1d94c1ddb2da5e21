// error: E0599
// says: no method named `clone` found for struct `pgas::Pending<R>` in the current scope
//! A result comes once.
pub fn case(pending: pgas::Pending<u32>) {
    #[cfg(not(fixed))]
    let _ = (pending.clone().wait(), pending.wait());
    #[cfg(fixed)]
    {
        let n = pending.wait();
        let _ = (n, n);
    }
}
