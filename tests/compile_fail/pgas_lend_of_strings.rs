// error: E0277
// says: `Lend<'_, [String]>` cannot be an argument of a remote function
//! Elements that are lent are plain data.
pub fn case(world: pgas::World, words: &'static [String]) {
    #[cfg(not(fixed))]
    world.send(1, |_, words: &[String]| println!("{words:?}"), pgas::lend(words));
    #[cfg(fixed)]
    world.send(1, |_, words: Vec<String>| println!("{words:?}"), words.to_vec());
}
