// error: E0277
// says: `&String` cannot travel to another rank
//! A value is given, not borrowed.
pub fn case(world: pgas::World, name: String) {
    #[cfg(not(fixed))]
    let all = world.gather_all(&name);
    #[cfg(fixed)]
    let all = world.gather_all(name.clone());
    println!("{name} of {all:?}");
}
