// error: E0080
// says: a remote function must not capture anything: pass what it needs as its arguments
//! An async function captures nothing either.
pub fn case(world: pgas::World, factor: u32) {
    #[cfg(not(fixed))]
    world.call_async(1, move |_, ()| async move { factor }, ());
    #[cfg(fixed)]
    world.call_async(1, |_, factor: u32| async move { factor }, factor);
}
