//! Collections that are spread over the ranks, in terms of what this crate shows everybody: shared objects,
//! remote functions, tasks, [`World::settle`](crate::World::settle).

mod map;
mod own;
mod pool;
mod vec;

pub use map::{DistMap, Key};
pub use pool::{Todo, WorkPool};
pub use vec::DistVec;
