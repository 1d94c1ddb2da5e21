// error: E0308
// says: expected fn pointer, found closure
//! A token of which there is one, even without bytes, is not there on two ranks.
pub struct Only(());
pub fn case(world: pgas::World, only: Only) {
    #[cfg(not(fixed))]
    world.send(1, move |_, ()| _ = core::ptr::from_ref(&only), ());
    #[cfg(fixed)]
    world.send(1, |_, ()| _ = size_of::<Only>(), ());
    drop(only);
}
