// error: none
// says: lifetime may not live long enough: returning this value requires that `'1` must outlive `'2`
//! A result does not borrow from the message, which is gone by then.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = world.call_lent(1, |_, text| text, "a");
    #[cfg(fixed)]
    let _ = world.call_lent(1, |_, text| text.to_string(), "a");
}
