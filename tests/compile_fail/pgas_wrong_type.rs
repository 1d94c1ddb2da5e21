// error: E0631
// says: type mismatch in closure arguments
//! The function's argument is what was sent.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    world.send(1, |_, _: u64| (), 1u32);
    #[cfg(fixed)]
    world.send(1, |_, _: u32| (), 1u32);
}
