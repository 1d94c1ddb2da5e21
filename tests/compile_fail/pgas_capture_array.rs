// error: E0308
// says: expected fn pointer, found closure
//! An array is collective: a remote function has nothing to do with it.
pub fn case(world: pgas::World, array: pgas::Array<u32>) {
    #[cfg(not(fixed))]
    world.call(1, |_, ()| array.len() as u64, ()).wait();
    #[cfg(fixed)]
    world.call(1, |_, len: u64| len, array.len() as u64).wait();
}
