// error: E0373
// says: closure may outlive the current function, but it borrows `factor`
//! Work goes on in a task; what it counts is its state, which comes back.
pub fn case(pool: pgas::WorkPool<u32>) {
    #[cfg(not(fixed))]
    {
        let factor = 2;
        pool.run([1], 0, |sum, item, _| *sum += factor * item);
    }
    #[cfg(fixed)]
    {
        let factor = 2;
        pool.run([1], 0, move |sum, item, _| *sum += factor * item);
    }
}
