// error: E0277
// says: `Rc<u32>` cannot be sent between threads safely
//! Work is given to others, so it can travel.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = pgas::WorkPool::<std::rc::Rc<u32>>::new(world);
    #[cfg(fixed)]
    let _ = pgas::WorkPool::<u32>::new(world);
}
