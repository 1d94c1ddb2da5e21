// error: E0277
// says: `&mut u32` cannot travel to another rank
//! A remote function cannot change the caller's variable. It returns the new value.
pub fn case(world: pgas::World, n: &'static mut u32) {
    #[cfg(not(fixed))]
    world.send(1, |_, n: &'static mut u32| *n += 1, n);
    #[cfg(fixed)]
    {
        let more = world.call(1, |_, n: u32| n + 1, *n).wait();
        *n = more;
    }
}
