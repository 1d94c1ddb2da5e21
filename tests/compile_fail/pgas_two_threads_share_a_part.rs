// error: E0499
// says: cannot borrow `*mine` as mutable more than once at a time
//! Threads divide a part, they do not share it.
pub fn case(array: &mut pgas::Array<u32>) {
    #[cfg(not(fixed))]
    {
        array.local(|mine| {
            std::thread::scope(|scope| {
                scope.spawn(|| mine[0] = 1);
                scope.spawn(|| mine[1] = 1);
            })
        });
    }
    #[cfg(fixed)]
    {
        array.local(|mine| {
            let (left, right) = mine.split_at_mut(1);
            std::thread::scope(|scope| {
                scope.spawn(|| left[0] = 1);
                scope.spawn(|| right[0] = 1);
            })
        });
    }
}
