//! The names of ranks.

use core::fmt;

/// The number of a rank in its job, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RankId(pub u32);

impl fmt::Display for RankId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<u32> for RankId {
    fn from(n: u32) -> RankId {
        RankId(n)
    }
}
