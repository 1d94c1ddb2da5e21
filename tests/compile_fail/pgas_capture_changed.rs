// error: E0308
// says: expected fn pointer, found closure
//! A remote function cannot change what lies on the stack of the caller.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    {
        let mut count = 0;
        world.call(1, |_, ()| count += 1, ()).wait();
    }
    #[cfg(fixed)]
    {
        let count: u32 = world.call(1, |_, ()| 1, ()).wait();
        println!("{count}");
    }
}
