// error: E0277
//! A reference means nothing to another rank.
pub fn f(rank: &gasnet::Rank) {
    #[cfg(not(fixed))]
    rank.write(gasnet::GlobalPtr::<&'static u32>::new(rank.id(), 0), &7);
    #[cfg(fixed)]
    rank.write(gasnet::GlobalPtr::<u32>::new(rank.id(), 0), 7);
}
