// error: E0308
// says: mismatched types: expected `String`, found `&str`
//! A value has the type of the table's.
pub fn case(map: pgas::DistMap<u32, String>) {
    #[cfg(not(fixed))]
    map.insert(1, "one");
    #[cfg(fixed)]
    map.insert(1, "one".to_string());
}
