//! Errors, by what is still usable afterwards (design decision D8). Back-pressure is not an error.

use crate::RankId;
use thiserror::Error as ThisError;

/// An error, grouped by the largest thing that it makes unusable.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// This one operation failed; everything else goes on (a bad argument, say).
    #[error("{0}")]
    Op(String),
    /// Nothing more can be exchanged with this peer.
    #[error("rank {0}: {1}")]
    Peer(RankId, String),
    /// The network under the job is unusable.
    #[error("conduit: {0}")]
    Conduit(String),
    /// The job cannot start or cannot go on.
    #[error("{0}")]
    Job(String),
}

impl Error {
    /// An error of one operation.
    pub fn op(text: impl Into<String>) -> Error {
        Error::Op(text.into())
    }
    /// An error that ends the job.
    pub fn job(text: impl Into<String>) -> Error {
        Error::Job(text.into())
    }
}

/// Why a region was not accessed, exported or found. Nothing was read or written then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum RegionError {
    /// The key names no region: it was revoked, or there never was one of this key.
    #[error("the region was revoked, or the key does not belong to this job")]
    Revoked,
    /// The one access that the region was exported for has been made.
    #[error("the region was exported for one access, which has been made")]
    Used,
    /// The access reaches beyond the region, or is longer than one message where there may be one only.
    #[error("the access reaches beyond the region")]
    Range,
    /// The region was not exported for this kind of access.
    #[error("the region was not exported for this kind of access")]
    Access,
    /// An atomic operation on a word that is not aligned to its width.
    #[error("the word is not aligned to its width")]
    Unaligned,
    /// The job has no such rank, or it has left.
    #[error("the region's rank has left, or the job has no such rank")]
    Gone,
    /// There are too many regions, or no memory.
    #[error("there is no room for another region")]
    NoRoom,
    /// The rank has published another region under this name.
    #[error("the name is taken by another region")]
    NameTaken,
}

impl RegionError {
    /// All reasons.
    pub const ALL: [RegionError; 8] = [
        RegionError::Revoked,
        RegionError::Used,
        RegionError::Range,
        RegionError::Access,
        RegionError::Unaligned,
        RegionError::Gone,
        RegionError::NoRoom,
        RegionError::NameTaken,
    ];

    /// As messages carry it: not 0; [`RegionError::Revoked`] is 1.
    pub fn code(self) -> u32 {
        self as u32 + 1
    }

    /// The error of a code.
    pub fn from_code(code: u32) -> Option<RegionError> {
        RegionError::ALL.get(code.checked_sub(1)? as usize).copied()
    }
}
