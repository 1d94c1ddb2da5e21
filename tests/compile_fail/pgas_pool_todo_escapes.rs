// error: E0521
// says: borrowed data escapes outside of closure
//! New work is added while an item is worked on.
pub fn case(pool: pgas::WorkPool<u32>) {
    #[cfg(not(fixed))]
    {
        let mut kept = Vec::new();
        pool.run([1], (), move |(), _, todo| kept.push(todo));
    }
    #[cfg(fixed)]
    pool.run([1], (), move |(), item, todo| todo.push(item));
}
