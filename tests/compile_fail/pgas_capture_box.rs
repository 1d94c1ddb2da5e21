// error: E0308
// says: expected fn pointer, found `Box<dyn Fn(World, u32) -> u32>`
//! A box is memory of this rank.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    {
        let f: Box<dyn Fn(pgas::World, u32) -> u32> = Box::new(|_, x| x);
        world.call(1, f, 2).wait();
    }
    #[cfg(fixed)]
    world.call(1, |_, x: u32| x, 2).wait();
}
