// error: E0608
//! A handle is no slice.
pub fn f(rank: &gasnet::Rank) -> u64 {
    let pending = rank.read_nb(gasnet::GlobalPtr::<u64>::new(rank.id(), 0), 100);
    #[cfg(fixed)]
    let pending = pending.wait();
    pending[0]
}
