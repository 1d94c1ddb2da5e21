// error: E0308
// says: mismatched types: expected `u64`, found `u32`
//! The result is what the function returns.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    {
        let n: u64 = world.call(1, |_, ()| 1u32, ()).wait();
        println!("{n}");
    }
    #[cfg(fixed)]
    {
        let n: u32 = world.call(1, |_, ()| 1u32, ()).wait();
        println!("{n}");
    }
}
