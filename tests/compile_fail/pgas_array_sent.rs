// error: E0277
// says: `pgas::Array<u32>` cannot travel to another rank
//! An array is not data: it lies on all ranks already.
pub fn case(world: pgas::World, array: pgas::Array<u32>) {
    #[cfg(not(fixed))]
    world.send(1, |_, _: pgas::Array<u32>| (), array);
    #[cfg(fixed)]
    world.send(1, |_, _: usize| (), array.len());
}
