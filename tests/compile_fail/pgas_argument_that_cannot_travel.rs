// error: E0277
// says: `Raw` cannot travel to another rank
//! An argument is written by serde.
#[cfg(not(fixed))]
pub struct Raw(*const u8);
#[cfg(fixed)]
pub struct Raw(pub usize);
pub fn case(world: pgas::World, raw: Raw) {
    #[cfg(not(fixed))]
    world.send(1, |_, _: Raw| (), raw);
    #[cfg(fixed)]
    world.send(1, |_, _: usize| (), raw.0);
}
