// error: E0277
// says: the trait bound `Only: Copy` is not satisfied
//! A token of which there is one, even without bytes, is not there on two ranks.
#[cfg_attr(fixed, derive(Clone, Copy))]
pub struct Only(());
pub fn case(world: pgas::World, only: Only) {
    world.send(1, move |_, ()| _ = core::ptr::from_ref(&only), ());
}
