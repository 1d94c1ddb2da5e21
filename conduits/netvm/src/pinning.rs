//! Registration.

use crate::conduit::SimConduit;
use crate::nic::Start;
/// How memory gets to be reachable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Registration {
    /// The NIC reaches all memory.
    None,
}
/// Bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {}
pub(crate) struct Pinning;
impl Pinning {
    pub(crate) fn attach(&self, _: &SimConduit, _: usize) {}
    pub(crate) fn start(&self, _: &SimConduit, _: Start<'_>) -> bool {
        false
    }
    pub(crate) fn progress(&self, _: &SimConduit) -> usize {
        0
    }
}
