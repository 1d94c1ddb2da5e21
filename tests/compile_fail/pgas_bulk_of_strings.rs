// error: E0277
// says: `String` is not plain data
//! Only plain data can be put into place without a copy.
pub fn case(words: Vec<String>) {
    #[cfg(not(fixed))]
    drop(pgas::Bulk::from(words));
    #[cfg(fixed)]
    drop(pgas::Bulk::from(words.concat().into_bytes()));
}
