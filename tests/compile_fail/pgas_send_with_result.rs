// error: E0308
// says: mismatched types: expected `()`, found `u32`
//! Nobody takes a result of what is sent.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    world.send(1, |_, x: u32| x + 1, 1);
    #[cfg(fixed)]
    let _ = world.call(1, |_, x: u32| x + 1, 1);
}
