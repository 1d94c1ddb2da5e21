//! Errors, by what is still usable afterwards (design decision D8). Back-pressure is not an error.

use crate::RankId;
use thiserror::Error as ThisError;

/// What went wrong, grouped by the largest thing it breaks.
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
