// error: E0373
// says: async block may outlive the current function, but it borrows `n`
//! A task may outlive the function that starts it.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    {
        let n = 5u32;
        world.spawn(async { println!("{n}") });
    }
    #[cfg(fixed)]
    {
        let n = 5u32;
        world.spawn(async move { println!("{n}") });
    }
}
