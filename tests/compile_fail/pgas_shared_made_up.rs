// error: E0624
// says: associated function `new` is private
//! Only `share` makes a name of a shared object.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = pgas::Shared::<u64>::new(world, 0);
    #[cfg(fixed)]
    let _ = world.share(0u64);
}
