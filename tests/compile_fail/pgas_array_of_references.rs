// error: E0277
// says: the trait bound `&'static u32: Plain` is not satisfied
//! An address means nothing on another rank.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = world.array::<&'static u32>(10, pgas::Layout::Block);
    #[cfg(fixed)]
    let _ = world.array::<u32>(10, pgas::Layout::Block);
}
