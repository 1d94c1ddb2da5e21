// error: none
// says: implementation of `Deserialize` is not general enough
//! A table owns its keys.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = pgas::DistMap::<&'static str, u32>::new(world);
    #[cfg(fixed)]
    let _ = pgas::DistMap::<String, u32>::new(world);
}
