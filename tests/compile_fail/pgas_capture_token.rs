// error: E0277
// says: `*const ()` cannot be sent between threads safely
//! A token of one thread, even without bytes, does not get to the thread that serves.
use std::marker::PhantomData;
#[derive(Clone, Copy)]
pub struct Here(
    #[cfg(not(fixed))] PhantomData<*const ()>,
    #[cfg(fixed)] PhantomData<()>,
);
pub fn case(world: pgas::World, here: Here) {
    world.send(1, move |_, ()| drop(here), ());
}
