// error: E0277
// says: `RefCell<std::option::Option<gasnet_rpc::reply::Reply>>` cannot be shared between threads safely
//! A reply belongs to one; several that may answer take it from a lock.
pub fn case(world: pgas::World, reply: pgas::Reply<u32>) {
    #[cfg(not(fixed))]
    world.share(reply);
    #[cfg(fixed)]
    world.share(std::sync::Mutex::new(Some(reply)));
}
