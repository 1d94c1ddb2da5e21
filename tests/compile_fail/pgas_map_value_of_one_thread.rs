// error: E0277
// says: `Rc<u32>` cannot be sent between threads safely
//! Any thread of the rank may serve a call to an entry.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = pgas::DistMap::<u32, std::rc::Rc<u32>>::new(world);
    #[cfg(fixed)]
    let _ = pgas::DistMap::<u32, std::sync::Arc<u32>>::new(world);
}
