// error: E0599
// says: the method `update` exists for struct `pgas::Array<u8>`, but its trait bounds were not satisfied
//! Updates are operations on words.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let mut array = world.array::<u8>(10, pgas::Layout::Block);
    #[cfg(fixed)]
    let mut array = world.array::<u32>(10, pgas::Layout::Block);
    array.update(|array| array.add(1, 1));
}
