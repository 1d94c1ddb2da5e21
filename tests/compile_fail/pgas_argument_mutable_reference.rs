// error: E0277
// says: `&mut u32` cannot travel to another rank
//! What is changed there comes back as a result.
pub fn case(world: pgas::World, n: &'static mut u32) {
    #[cfg(not(fixed))]
    world.send(1, |_, n: &'static mut u32| *n += 1, n);
    #[cfg(fixed)]
    {
        let more = world.call(1, |_, n: u32| n + 1, *n).wait();
        *n = more;
    }
}
