// error: E0308
// says: expected fn pointer, found closure
//! Nor may a function of an entry.
pub fn case(map: pgas::DistMap<u32, u32>, by: u32) {
    #[cfg(not(fixed))]
    map.update(1, move |sum, ()| *sum += by, ());
    #[cfg(fixed)]
    map.update(1, |sum, by: u32| *sum += by, by);
}
