// error: E0277
//! A struct with padding has bytes that nobody initialised.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Padded {
    pub small: u8,
    pub large: u32,
}
pub fn f(rank: &gasnet::Rank) {
    #[cfg(not(fixed))]
    rank.write(gasnet::GlobalPtr::new(rank.id(), 0), Padded { small: 1, large: 2 });
    #[cfg(fixed)]
    rank.write(gasnet::GlobalPtr::new(rank.id(), 0), [1u32, 2]);
}
