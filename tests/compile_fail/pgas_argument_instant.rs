// error: E0277
// says: `Instant` cannot travel to another rank
//! A time of one machine says nothing on another.
use std::time::{Duration, Instant};
pub fn case(world: pgas::World, start: Instant) {
    #[cfg(not(fixed))]
    world.send(1, |_, _: Instant| (), start);
    #[cfg(fixed)]
    world.send(1, |_, _: Duration| (), start.elapsed());
}
