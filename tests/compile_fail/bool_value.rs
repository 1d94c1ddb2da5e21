// error: E0277
//! Bytes that a peer wrote need not be a `bool`.
pub fn f(rank: &gasnet::Rank) {
    #[cfg(not(fixed))]
    type Flag = bool;
    #[cfg(fixed)]
    type Flag = u8;
    let at = gasnet::GlobalPtr::<Flag>::new(rank.id(), 0);
    let _: Flag = rank.read(at);
}
