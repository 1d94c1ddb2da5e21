// error: E0596
// says: cannot borrow data in dereference of `Shared<Vec<u32>>` as mutable
//! A shared object cannot be changed without a lock.
pub fn case(world: pgas::World, shared: pgas::Shared<Vec<u32>>) {
    #[cfg(not(fixed))]
    {
        let mut shared = shared;
        shared.push(1);
    }
    #[cfg(fixed)]
    world.share(std::sync::Mutex::new(Vec::new())).lock().unwrap().push(1u32);
}
