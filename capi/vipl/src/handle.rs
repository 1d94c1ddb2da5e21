//! Handles as C has them.

use crate::results::{INVALID_PARAMETER, Return};

/// The kind of object that a handle stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandleKind {
    Nic = 1,
    Tag,
    Vi,
    Cq,
    Connection,
}

/// A handle of C: a kind and a number, and never an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Handle(usize);

impl Handle {
    pub const NULL: Handle = Handle(0);

    pub fn new(kind: HandleKind, number: u32) -> Handle {
        Handle((kind as usize) << 32 | number as usize)
    }

    pub fn number(self, kind: HandleKind) -> Result<u32, Return> {
        if self.0 >> 32 == kind as usize { Ok(self.0 as u32) } else { Err(INVALID_PARAMETER) }
    }
}
