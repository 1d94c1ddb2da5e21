// error: E0277
// says: `Rc<u32>` cannot be sent between threads safely
//! Threads of the rank use a shared object, too.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    world.share(std::rc::Rc::new(1u32));
    #[cfg(fixed)]
    world.share(std::sync::Arc::new(1u32));
}
