// error: E0521
// says: borrowed data escapes outside of closure
//! A thread that outlives the phase does not get the part.
pub fn case(array: &mut pgas::Array<u32>) {
    #[cfg(not(fixed))]
    array.local(|mine| _ = std::thread::spawn(move || mine[0] = 1));
    #[cfg(fixed)]
    array.local(|mine| std::thread::scope(|scope| _ = scope.spawn(|| mine[0] = 1)));
}
