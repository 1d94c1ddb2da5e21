// error: E0277
// says: `&'static u32` is not plain data
//! An address means nothing on another rank.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = world.array::<&'static u32>(10, pgas::Layout::Block);
    #[cfg(fixed)]
    let _ = world.array::<u32>(10, pgas::Layout::Block);
}
