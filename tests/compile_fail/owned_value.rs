// error: E0277
//! Nor can something that owns memory be sent as bytes.
pub fn f(rank: &gasnet::Rank) {
    #[cfg(not(fixed))]
    rank.write_slice(gasnet::GlobalPtr::new(rank.id(), 0), &[String::new()]);
    #[cfg(fixed)]
    rank.write_slice(gasnet::GlobalPtr::new(rank.id(), 0), String::new().as_bytes());
}
