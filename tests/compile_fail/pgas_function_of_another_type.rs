// error: E0277
// says: `String` is given to a function that takes `u32`
//! A function is called with arguments of its types.
use pgas::World;
pub fn double(_: World, x: u32) -> u32 {
    2 * x
}
pub fn case(world: World, text: String) {
    #[cfg(not(fixed))]
    world.call(1, double, text).wait();
    #[cfg(fixed)]
    world.call(1, double, text.len() as u32).wait();
}
