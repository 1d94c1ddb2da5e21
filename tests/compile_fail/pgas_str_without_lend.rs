// error: none
// says: implementation of `Deserialize` is not general enough
//! A string slice is lent, or sent as a `String`.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    world.send(1, |_, text: &str| println!("{text}"), "text");
    #[cfg(fixed)]
    world.send_lent(1, |_, text| println!("{text}"), "text");
}
