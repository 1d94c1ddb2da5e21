// error: E0308
// says: expected fn pointer, found closure
//! A remote function cannot capture: the variable would not exist on the other rank.
pub fn case(world: pgas::World) {
    let factor = 3u32;
    #[cfg(not(fixed))]
    world.call(1, |_, x: u32| x * factor, 2).wait();
    #[cfg(fixed)]
    world.call(1, |_, (x, factor): (u32, u32)| x * factor, (2, factor)).wait();
}
