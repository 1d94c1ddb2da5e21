// error: E0308
// says: expected fn pointer, found closure
//! A token without bytes proves nothing on another rank, even if it can be copied and sent.
#[derive(Clone, Copy)]
pub struct Initialised(());
pub fn case(world: pgas::World, token: Initialised) {
    #[cfg(not(fixed))]
    world.send(1, move |_, ()| token.0, ());
    #[cfg(fixed)]
    world.send(1, |_, ()| drop(Initialised(())), ());
    let _ = token;
}
