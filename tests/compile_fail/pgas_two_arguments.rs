// error: E0593
// says: closure is expected to take 2 arguments, but it takes 3 arguments
//! A remote function has one argument; several are a tuple.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    world.call(1, |_, a: u32, b: u32| a + b, (1u32, 2u32)).wait();
    #[cfg(fixed)]
    world.call(1, |_, (a, b): (u32, u32)| a + b, (1, 2)).wait();
}
