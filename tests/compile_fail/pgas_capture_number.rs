// error: E0308
// says: expected fn pointer, found closure
//! A number that is captured is no argument, even if it could be copied.
pub fn case(world: pgas::World, factor: u32) {
    #[cfg(not(fixed))]
    world.call(1, move |_, x: u32| x * factor, 2).wait();
    #[cfg(fixed)]
    world.call(1, |_, (x, factor): (u32, u32)| x * factor, (2, factor)).wait();
}
