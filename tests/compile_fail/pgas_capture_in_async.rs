// error: E0308
// says: expected fn pointer, found closure
//! An async function captures nothing either.
pub fn case(world: pgas::World, factor: u32) {
    #[cfg(not(fixed))]
    world.call_async(1, move |_, ()| async move { factor }, ());
    #[cfg(fixed)]
    world.call_async(1, |_, factor: u32| async move { factor }, factor);
}
