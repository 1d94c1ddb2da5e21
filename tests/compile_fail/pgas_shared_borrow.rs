// error: E0597
// says: `list` does not live long enough
//! A shared object lives as long as the job.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    {
        let list = vec![1u32];
        world.share(&list);
    }
    #[cfg(fixed)]
    {
        let list = vec![1u32];
        world.share(list);
    }
}
