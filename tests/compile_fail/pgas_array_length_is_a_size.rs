// error: E0308
// says: mismatched types: expected `usize`, found `u64`
//! A length is a `usize` on all ranks.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = world.array::<u8>(10u64, pgas::Layout::Block);
    #[cfg(fixed)]
    let _ = world.array::<u8>(10, pgas::Layout::Block);
}
