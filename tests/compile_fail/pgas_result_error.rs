// error: E0277
// says: the trait bound `std::io::Error: serde::Serialize` is not satisfied
//! An error that cannot be written is sent as its text.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = world.call(1, |_, ()| std::fs::read("a"), ());
    #[cfg(fixed)]
    let _ = world.call(1, |_, ()| std::fs::read("a").map_err(|e| e.to_string()), ());
}
