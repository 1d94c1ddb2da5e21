// error: none
// says: implementation of `Deserialize` is not general enough
//! An async function may outlive the message, so nothing is lent to it.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    drop(world.call_async(1, |_, _: &str| async move { 1u32 }, "text"));
    #[cfg(fixed)]
    drop(world.call_async(1, |_, _| async move { 1u32 }, "text".to_string()));
}
