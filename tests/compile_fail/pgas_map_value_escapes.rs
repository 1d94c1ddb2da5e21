// error: E0521
// says: borrowed data escapes outside of closure
//! Values are lent for the closure only.
pub fn case(map: pgas::DistMap<String, String>) {
    #[cfg(not(fixed))]
    {
        let mut kept = Vec::new();
        map.for_each(|_, value| kept.push(value));
    }
    #[cfg(fixed)]
    {
        let mut kept = Vec::new();
        map.for_each(|_, value| kept.push(value.clone()));
    }
}
