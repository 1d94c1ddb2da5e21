// error: E0308
// says: expected fn pointer, found closure
//! The function's argument is what was sent.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    world.send(1, |_, _: u64| (), 1u32);
    #[cfg(fixed)]
    world.send(1, |_, _: u32| (), 1u32);
}
