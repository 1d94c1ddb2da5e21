// error: E0277
// says: `f64` cannot be the key of a `DistMap`
//! A key can be hashed, and is equal to itself.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = pgas::DistMap::<f64, u32>::new(world);
    #[cfg(fixed)]
    let _ = pgas::DistMap::<u64, u32>::new(world);
}
