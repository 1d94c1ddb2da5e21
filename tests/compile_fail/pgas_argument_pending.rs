// error: E0277
// says: `pgas::Pending<u32>` cannot travel to another rank
//! A result comes to the rank that has called. What is to go elsewhere is a `Reply`.
pub fn case(world: pgas::World, pending: pgas::Pending<u32>) {
    #[cfg(not(fixed))]
    world.send(1, |_, _: pgas::Pending<u32>| (), pending);
    #[cfg(fixed)]
    world.send(1, |_, _: u32| (), pending.wait());
}
