// error: E0277
// says: `World` cannot travel to another rank
//! The world is not sent: each rank has its own.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    world.send(1, |_, other: pgas::World| println!("{other:?}"), world);
    #[cfg(fixed)]
    world.send(1, |world, ()| println!("{world:?}"), ());
}
