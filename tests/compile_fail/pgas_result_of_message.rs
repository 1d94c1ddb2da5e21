// error: none
// says: lifetime may not live long enough: returning this value requires that `'1` must outlive `'2`
//! A result does not borrow from the message, which is gone by then.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = world.call(1, |_, text: &str| text, pgas::lend("a"));
    #[cfg(fixed)]
    let _ = world.call(1, |_, text: &str| text.to_string(), pgas::lend("a"));
}
