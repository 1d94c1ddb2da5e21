// error: E0382
//! The source of a put belongs to the handle until it is waited for.
pub fn f(rank: &gasnet::Rank) {
    let mut values = vec![1u64; 100];
    let pending = rank.write_nb(gasnet::GlobalPtr::new(rank.id(), 0), values);
    #[cfg(not(fixed))]
    {
        values[0] = 2;
        drop(pending);
    }
    #[cfg(fixed)]
    {
        values = pending.wait();
        values[0] = 2;
    }
}
