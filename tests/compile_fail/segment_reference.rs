// error: E0133
//! Memory a peer can write is given out as an address, never as a reference.
pub fn f(rank: &gasnet::Rank) -> u8 {
    let first = rank.table().get(rank.id()).unwrap().local;
    #[cfg(not(fixed))]
    return *first;
    #[cfg(fixed)]
    return first.is_null().into();
}
