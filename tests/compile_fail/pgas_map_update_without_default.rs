// error: E0277
// says: the trait bound `NonZero<u32>: Default` is not satisfied
//! An update of a key that is not there begins with the default.
use std::num::NonZero;
pub fn case(map: pgas::DistMap<u32, NonZero<u32>>) {
    #[cfg(not(fixed))]
    map.update(1, |_, ()| (), ());
    #[cfg(fixed)]
    drop(map.call(1, |entry, ()| drop(entry.or_insert(NonZero::<u32>::MAX)), ()));
}
