// error: E0277
// says: `String` is not plain data
//! Elements that are lent are plain data.
pub fn case(world: pgas::World, words: &'static [String]) {
    #[cfg(not(fixed))]
    world.send_lent(1, |_, words: &[String]| println!("{words:?}"), words);
    #[cfg(fixed)]
    world.send(1, |_, words: Vec<String>| println!("{words:?}"), words.to_vec());
}
