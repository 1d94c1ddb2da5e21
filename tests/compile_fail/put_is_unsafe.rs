// error: E0133
//! A transfer from an address the compiler knows nothing of.
pub fn f(rank: &gasnet::Rank, from: *const u8) {
    #[cfg(not(fixed))]
    rank.put(rank.id(), 0, from, 8);
    #[cfg(fixed)]
    let _ = (rank, from);
}
