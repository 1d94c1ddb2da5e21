// error: E0277
// says: `bool` is not plain data
//! Any bytes must be an element.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = world.array::<bool>(10, pgas::Layout::Block);
    #[cfg(fixed)]
    let _ = world.array::<u8>(10, pgas::Layout::Block);
}
