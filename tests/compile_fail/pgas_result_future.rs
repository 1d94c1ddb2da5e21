// error: E0277
// says: cannot travel to another rank
//! A function that awaits is called by `call_async`.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = world.call(1, |_, ()| async { 1u32 }, ());
    #[cfg(fixed)]
    let _ = world.call_async(1, |_, ()| async { 1u32 }, ());
}
