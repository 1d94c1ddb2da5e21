// error: E0277
// says: `pgas::Pending<u32>` cannot travel to another rank
//! A result returns to the rank that made the call. Use a `Reply` to send one elsewhere.
pub fn case(world: pgas::World, pending: pgas::Pending<u32>) {
    #[cfg(not(fixed))]
    world.send(1, |_, _: pgas::Pending<u32>| (), pending);
    #[cfg(fixed)]
    world.send(1, |_, _: u32| (), pending.wait());
}
