// error: E0499
// says: cannot borrow `*array` as mutable more than once at a time
//! Threads of a rank put one after the other, or through a lock.
pub fn case(array: &mut pgas::Array<u32>) {
    #[cfg(not(fixed))]
    {
        array.exchange(|array| {
            std::thread::scope(|scope| {
                scope.spawn(|| array.put(1, 1));
                scope.spawn(|| array.put(2, 1));
            })
        });
    }
    #[cfg(fixed)]
    {
        array.exchange(|array| {
            std::thread::scope(|scope| _ = scope.spawn(|| array.put(1, 1)));
            array.put(2, 1);
        });
    }
}
