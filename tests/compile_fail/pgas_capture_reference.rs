// error: E0308
// says: expected fn pointer, found closure
//! What a remote function captures would be somewhere else there.
pub fn case(world: pgas::World) {
    let factor = 3u32;
    #[cfg(not(fixed))]
    world.call(1, |_, x: u32| x * factor, 2).wait();
    #[cfg(fixed)]
    world.call(1, |_, (x, factor): (u32, u32)| x * factor, (2, factor)).wait();
}
