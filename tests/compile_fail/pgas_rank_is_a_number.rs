// error: E0308
// says: mismatched types: expected `u32`, found `usize`
//! A rank is a `u32`, not a size.
pub fn case(world: pgas::World, place: usize) {
    #[cfg(not(fixed))]
    world.send(place, |_, ()| (), ());
    #[cfg(fixed)]
    world.send(place as u32, |_, ()| (), ());
}
