// error: E0277
// says: `AtomicU64` is not plain data
//! Elements are updated in phases, not behind their owner's back.
#[cfg(not(fixed))]
use std::sync::atomic::AtomicU64;
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = world.array::<AtomicU64>(10, pgas::Layout::Block);
    #[cfg(fixed)]
    let _ = world.array::<u64>(10, pgas::Layout::Block).update(|array| array.add(1, 1));
}
