// error: E0277
// says: `Rc<u32>` cannot travel to another rank
//! A counter of references counts those of one rank.
use std::rc::Rc;
pub fn case(world: pgas::World, n: Rc<u32>) {
    #[cfg(not(fixed))]
    world.send(1, |_, _: Rc<u32>| (), n);
    #[cfg(fixed)]
    world.send(1, |_, _: u32| (), *n);
}
