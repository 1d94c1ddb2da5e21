// error: E0728
// says: `await` is only allowed inside `async` functions and blocks
//! A called function does not wait; an async one awaits.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = world.call(1, |world, ()| world.call(2, |_, ()| 1u32, ()).await, ());
    #[cfg(fixed)]
    let _ = world.call_async(1, |world, ()| async move { world.call(2, |_, ()| 1u32, ()).await }, ());
}
