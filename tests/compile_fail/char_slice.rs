// error: E0277
//! Nor a `char`.
pub fn f(rank: &gasnet::Rank) {
    #[cfg(not(fixed))]
    type Letter = char;
    #[cfg(fixed)]
    type Letter = u32;
    let at = gasnet::GlobalPtr::<Letter>::new(rank.id(), 0);
    drop(rank.read_nb(at, 4));
}
