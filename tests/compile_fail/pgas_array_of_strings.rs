// error: E0277
// says: `String` is not plain data
//! Elements of an array are plain data: other ranks copy their bytes.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = world.array::<String>(10, pgas::Layout::Block);
    #[cfg(fixed)]
    let _ = world.array::<[u8; 16]>(10, pgas::Layout::Block);
}
