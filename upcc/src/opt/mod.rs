//! UPC optimisations: loops that run through the local part of shared arrays.

use crate::ast::{Expr, Forall};
use crate::emit::{Emitter, Frag};

/// What is known to be local while a loop body is emitted.
#[derive(Clone, Debug)]
pub struct Local {}

impl Emitter<'_> {
    /// Emits a `upc_forall` in a faster form, if one is known to be right. Whether it did.
    pub fn forall_optimised(&mut self, _f: &Forall) -> bool {
        false
    }

    /// The private C lvalue of a shared lvalue that is known to be local here.
    pub fn privatised(&mut self, _lv: &Expr) -> Option<Frag> {
        None
    }
}
