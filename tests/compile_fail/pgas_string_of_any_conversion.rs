// error: E0283
// says: type annotations needed
//! Where a function takes a `String`, a `&str` may be given as it is: what `into` is to make is open.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    world.send(1, |_, text: String| println!("{text}"), "text".into());
    #[cfg(fixed)]
    world.send(1, |_, text: String| println!("{text}"), "text");
}
