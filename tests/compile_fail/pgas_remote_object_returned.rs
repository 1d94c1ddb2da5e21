// error: E0277
// says: `&Vec<u32>` cannot travel to another rank
//! A function does not give its object away.
pub fn case(list: pgas::Remote<Vec<u32>>) {
    #[cfg(not(fixed))]
    drop(list.call(|list, ()| list, ()));
    #[cfg(fixed)]
    drop(list.call(|list, ()| list.clone(), ()));
}
