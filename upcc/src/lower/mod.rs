//! From the typed AST to the [intermediate form](crate::ir). No text is made here, and no pass is asked.
//!
//! - `places`: where shared objects are
//! - `accesses`: what statements do to them
//! - `objects`: how objects lie in memory, and how they pass
//! - `effects`: what code may do besides what is written in it

mod accesses;
mod effects;
mod objects;
mod places;

pub use accesses::{accesses, order};
pub use effects::{demands, may_nest, only_waits, pure_call};
pub use objects::{bytes_per_thread, carrier, element_size};
pub(crate) use places::phase_dies;
pub use places::{declared_array, place, pointed, spread};
