//! How objects lie in memory, and how they pass.

use crate::front::ast::TranslationUnit;
use crate::front::types::{PtsLayout, Scalar, TypeId};
use crate::ir::Carrier;

/// How a value of this type passes to and from the functions for far accesses; `None`: through memory.
pub fn carrier(u: &TranslationUnit, t: TypeId) -> Option<Carrier> {
    match u.types.as_scalar(t) {
        Some(Scalar::Float) => Some(Carrier::Float),
        Some(Scalar::Double) => Some(Carrier::Double),
        Some(s) if s.is_integer() => match s.size() {
            size @ (1 | 2 | 4 | 8) => Some(Carrier::Bytes(size as u8)),
            _ => None,
        },
        Some(_) => None,
        None if !u.types.is_pointer(t) => None,
        None if u.types.is_pts(t) && u.types.pts == PtsLayout::Struct => None,
        None => Some(Carrier::Bytes(8)),
    }
}

/// Bytes of an element of `t` that is no array.
pub fn element_size(u: &TranslationUnit, t: TypeId) -> u64 {
    u.types.const_size(u.types.ultimate_elem(t)).unwrap_or(1).max(1)
}

/// Bytes of a shared object on the thread that has most of it.
pub fn bytes_per_thread(u: &TranslationUnit, ty: TypeId) -> u64 {
    let e = element_size(u, ty);
    let b = u.types.block(ty).map_or(0, |b| b.size());
    let Some((n, times)) = u.types.total_elems(ty) else { return e };
    let n = n.max(1);
    if b == 0 {
        return n.saturating_mul(e);
    }
    let blocks = n.div_ceil(b);
    let mine = match (times, u.types.static_threads) {
        (true, _) => blocks,
        (false, Some(t)) => blocks.div_ceil(u64::from(t.max(1))),
        (false, None) => blocks,
    };
    mine.saturating_mul(b).min(if times { u64::MAX } else { n.max(b.min(n)) }).saturating_mul(e)
}
