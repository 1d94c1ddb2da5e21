// error: E0593
// says: closure is expected to take 2 arguments, but it takes 1 argument
//! A remote function is given its world first.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    world.call(1, |x: u32| x, 1).wait();
    #[cfg(fixed)]
    world.call(1, |_, x: u32| x, 1).wait();
}
