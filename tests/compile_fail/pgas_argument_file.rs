// error: E0277
// says: `File` cannot travel to another rank
//! An open file is one of this process.
pub fn case(world: pgas::World, file: std::fs::File, name: String) {
    #[cfg(not(fixed))]
    world.send(1, |_, _: std::fs::File| (), file);
    #[cfg(fixed)]
    {
        world.send(1, |_, name: String| drop(std::fs::File::open(name)), name);
        drop(file);
    }
}
