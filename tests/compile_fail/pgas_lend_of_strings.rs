// error: E0277
// says: the trait bound `String: bytemuck::pod::Pod` is not satisfied
//! Elements that are lent are plain data.
pub fn case(world: pgas::World, words: &'static [String]) {
    #[cfg(not(fixed))]
    world.send_lent(1, |_, words: &[String]| println!("{words:?}"), words);
    #[cfg(fixed)]
    world.send(1, |_, words: Vec<String>| println!("{words:?}"), words.to_vec());
}
