// error: E0277
// says: `Rc<u32>` cannot travel to another rank
//! A result is written by serde.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = world.call(1, |_, ()| std::rc::Rc::new(1u32), ());
    #[cfg(fixed)]
    let _ = world.call(1, |_, ()| 1u32, ());
}
