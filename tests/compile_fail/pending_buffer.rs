// error: E0616
//! The destination of a get cannot be looked at before it has arrived.
pub fn f(rank: &gasnet::Rank) -> u64 {
    let pending = rank.read_nb(gasnet::GlobalPtr::<u64>::new(rank.id(), 0), 100);
    #[cfg(not(fixed))]
    return pending.buffer[0];
    #[cfg(fixed)]
    return pending.wait()[0];
}
