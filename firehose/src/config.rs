//! The configuration of a node.

use crate::request::{LocalMemory, Request, StartError};
use crate::run::{BUCKET_BITS, Node, Run};

/// The bounds of one node. All nodes of a job have the same, except for `me` and `segment`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Number of nodes.
    pub nodes: u32,
    /// This node.
    pub me: Node,
    /// Bytes of a bucket: a power of two, and a multiple of the page.
    pub bucket_bytes: u64,
    /// `M`: bytes offered to the firehoses of other nodes.
    pub m_bytes: u64,
    /// `MAXVICTIM`: bytes for local pins and for buckets that are pinned in case they are wanted again.
    pub victim_bytes: u64,
    /// Whether the victim FIFO may use all of `M + MAXVICTIM` that nothing else uses at the moment. If not,
    /// the FIFO and the local pins share `MAXVICTIM`, as published.
    pub adaptive: bool,
    /// The memory that pin-everything pins: address and bytes.
    pub segment: Option<(u64, u64)>,
    /// Bytes of a bounce buffer.
    pub bounce_bytes: u64,
    /// Number of bounce buffers that each node keeps for each other node.
    pub bounce_buffers: u32,
}

impl Default for Config {
    /// The published set-up: pages of 4 KiB, 400 MB and 50 MB.
    fn default() -> Config {
        Config {
            nodes: 1,
            me: 0,
            bucket_bytes: 4096,
            m_bytes: 400 << 20,
            victim_bytes: 50 << 20,
            adaptive: false,
            segment: None,
            bounce_bytes: 4096,
            bounce_buffers: 16,
        }
    }
}

/// Why a [`Config`] cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The bucket size is not a power of two.
    #[error("a bucket of {0} bytes: its size must be a power of two, at least 256")]
    Bucket(u64),
    /// The node numbers do not fit.
    #[error("node {me} of {nodes}: there must be between 1 and 1048576 nodes, numbered from 0")]
    Nodes {
        /// The node.
        me: Node,
        /// Number of nodes.
        nodes: u32,
    },
    /// `M` gives the other nodes less than one firehose each.
    #[error(
        "M = {m_bytes} bytes for {nodes} nodes: needs a bucket of {bucket_bytes} bytes for each other node"
    )]
    TooLittleM {
        /// `M`.
        m_bytes: u64,
        /// Number of nodes.
        nodes: u32,
        /// Bucket size.
        bucket_bytes: u64,
    },
    /// `MAXVICTIM` has no room for a local pin.
    #[error("MAXVICTIM = {victim_bytes} bytes: needs at least one bucket of {bucket_bytes} bytes")]
    TooLittleVictim {
        /// `MAXVICTIM`.
        victim_bytes: u64,
        /// Bucket size.
        bucket_bytes: u64,
    },
    /// No bounce buffers.
    #[error("there must be at least one bounce buffer of at least one byte")]
    Bounce,
    /// Pin-everything without a segment.
    #[error("pin-everything needs to know the segment")]
    NoSegment,
}

impl Config {
    /// Checks for what cannot work.
    pub fn check(&self) -> Result<(), ConfigError> {
        let Config { nodes, me, bucket_bytes, m_bytes, victim_bytes, .. } = *self;
        if !bucket_bytes.is_power_of_two() || bucket_bytes < 256 {
            return Err(ConfigError::Bucket(bucket_bytes));
        }
        if nodes == 0 || nodes > 1 << (64 - BUCKET_BITS) || me >= nodes {
            return Err(ConfigError::Nodes { me, nodes });
        }
        if nodes > 1 && self.firehoses() == 0 {
            return Err(ConfigError::TooLittleM { m_bytes, nodes, bucket_bytes });
        }
        if victim_bytes < bucket_bytes {
            return Err(ConfigError::TooLittleVictim { victim_bytes, bucket_bytes });
        }
        if self.bounce_bytes == 0 || self.bounce_buffers == 0 {
            return Err(ConfigError::Bounce);
        }
        Ok(())
    }

    /// `F`: how many firehoses a node has to each other node.
    pub fn firehoses(&self) -> u64 {
        match self.nodes {
            0 | 1 => 0,
            n => self.m_bytes / (self.bucket_bytes * u64::from(n - 1)),
        }
    }

    /// How many bytes from `addr` on fit into `buckets` buckets.
    pub(crate) fn reach(&self, addr: u64, buckets: u64) -> u64 {
        let end = u128::from(addr / self.bucket_bytes) + u128::from(buckets);
        u64::try_from(end * u128::from(self.bucket_bytes) - u128::from(addr)).unwrap_or(u64::MAX)
    }

    /// The buckets of an operation, at the peer and here; an error if there can be no such operation.
    #[inline]
    pub(crate) fn accept(&self, request: &Request) -> Result<(Run, Run), StartError> {
        let Request {
            peer, remote, len, local: LocalMemory::At(local) | LocalMemory::Registered(local), ..
        } = *request;
        if peer >= self.nodes || peer == self.me {
            return Err(StartError::Peer(peer));
        }
        match (self.run(remote, len), self.run(local, len)) {
            (Some(remote), Some(local)) => Ok((remote, local)),
            (None, _) => Err(StartError::Address { addr: remote, len }),
            (_, None) => Err(StartError::Address { addr: local, len }),
        }
    }

    /// The buckets that `len` bytes at `addr` touch; `None` if there are no such addresses.
    #[inline]
    pub fn run(&self, addr: u64, len: u64) -> Option<Run> {
        let shift = self.bucket_bytes.trailing_zeros();
        if len == 0 {
            return Some(Run { first: addr >> shift, count: 0 });
        }
        let last = addr.checked_add(len - 1)? >> shift;
        let first = addr >> shift;
        (last < (1 << BUCKET_BITS) - 1).then_some(Run { first, count: last - first + 1 })
    }
}
