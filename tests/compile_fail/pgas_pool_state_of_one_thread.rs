// error: E0277
// says: `Rc<{integer}>` cannot be sent between threads safely
//! Any thread of the rank may go on with the work.
pub fn case(pool: pgas::WorkPool<u32>) {
    #[cfg(not(fixed))]
    pool.run([1], std::rc::Rc::new(0), |_, _, _| ());
    #[cfg(fixed)]
    pool.run([1], std::sync::Arc::new(0), |_, _, _| ());
}
