// error: E0308
// says: expected fn pointer, found closure
//! The name of a shared object is an argument like any other.
use pgas::Shared;
pub fn case(world: pgas::World, number: Shared<u32>) {
    #[cfg(not(fixed))]
    world.send(1, move |_, ()| println!("{}", *number), ());
    #[cfg(fixed)]
    world.send(1, |_, number: Shared<u32>| println!("{}", *number), number);
}
