// error: E0133
//! Running without locks is a promise that safe code cannot make.
pub fn f() -> gasnet::Threading {
    #[cfg(not(fixed))]
    return gasnet::Threading::Serial(gasnet::OneThread::promise());
    #[cfg(fixed)]
    return gasnet::Threading::Parallel;
}
