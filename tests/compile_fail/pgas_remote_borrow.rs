// error: E0597
// says: `list` does not live long enough
//! An object lives until the last reference anywhere is gone.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    {
        let list = vec![1u32];
        drop(world.remote(&list));
    }
    #[cfg(fixed)]
    {
        let list = vec![1u32];
        drop(world.remote(list));
    }
}
