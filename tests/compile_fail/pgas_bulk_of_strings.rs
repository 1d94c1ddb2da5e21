// error: E0277
// says: `String` is not plain data
//! What is put in place without a copy is plain data.
pub fn case(words: Vec<String>) {
    #[cfg(not(fixed))]
    drop(pgas::Bulk::from(words));
    #[cfg(fixed)]
    drop(pgas::Bulk::from(words.concat().into_bytes()));
}
