// error: E0277
// says: `&mut u32` cannot travel to another rank
//! An entry stays where it is.
pub fn case(map: pgas::DistMap<u32, u32>) {
    #[cfg(not(fixed))]
    drop(map.call(1, |entry, ()| entry.or_default(), ()));
    #[cfg(fixed)]
    drop(map.call(1, |entry, ()| *entry.or_default(), ()));
}
