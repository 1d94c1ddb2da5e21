// error: E0277
// says: `Instant` cannot travel to another rank
//! A value that cannot travel is made where its entry is.
use std::time::Instant;
pub fn case(map: pgas::DistMap<u32, Instant>) {
    #[cfg(not(fixed))]
    map.insert(1, Instant::now());
    #[cfg(fixed)]
    drop(map.call(1, |entry, ()| drop(entry.or_insert_with(Instant::now)), ()));
}
