// error: E0308
// says: expected fn pointer, found closure
//! The world of this rank is not that of the other, which the function is given.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    world.send(1, move |_, ()| println!("{}", world.rank()), ());
    #[cfg(fixed)]
    world.send(1, |world, ()| println!("{}", world.rank()), ());
}
