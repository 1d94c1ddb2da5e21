// error: E0596
// says: cannot borrow `*key` as mutable, as it is behind a `&` reference
//! A key that changes would be in the wrong place.
pub fn case(map: pgas::DistMap<String, String>) {
    #[cfg(not(fixed))]
    map.for_each(|key, _| key.push('a'));
    #[cfg(fixed)]
    map.for_each(|_, value| value.push('a'));
}
