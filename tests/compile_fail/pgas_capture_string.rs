// error: E0308
// says: expected fn pointer, found closure
//! A captured value cannot be copied to another rank by itself.
pub fn case(world: pgas::World, name: String) {
    #[cfg(not(fixed))]
    world.send(1, move |_, ()| println!("{name}"), ());
    #[cfg(fixed)]
    world.send(1, |_, name: String| println!("{name}"), name);
}
