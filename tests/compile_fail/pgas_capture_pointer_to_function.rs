// error: E0080
// says: pass what it needs as its arguments (a pointer to a function
//! A pointer to a function is an address of this rank: the function itself is called.
use pgas::World;
pub fn double(_: World, x: u32) -> u32 {
    2 * x
}
pub fn case(world: World) {
    #[cfg(not(fixed))]
    {
        let f: fn(World, u32) -> u32 = double;
        world.call(1, f, 2).wait();
    }
    #[cfg(fixed)]
    world.call(1, double, 2).wait();
}
