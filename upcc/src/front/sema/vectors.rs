//! Operations with vectors (GNU).

use crate::front::ast::*;
use crate::front::sema::Sema;
use crate::front::types::*;

impl Sema<'_> {
    /// The type of an operation with a vector (GNU); `None` if it is not possible.
    pub(super) fn vector_result(&mut self, op: BinOp, l: TypeId, r: TypeId) -> Option<TypeId> {
        let shape = |cx: &Self, t| match *cx.types.ckind(t) {
            TypeKind::Vector { elem, bytes } => Some((cx.types.as_scalar(elem)?, bytes)),
            _ => None,
        };
        let ((elem, bytes), ty) = match (shape(self, l), shape(self, r)) {
            (Some(a), Some(b)) => {
                // Integers of one size go together; shifts only need as many elements.
                let same =
                    a == b || a.1 == b.1 && a.0.is_integer() && b.0.is_integer() && a.0.size() == b.0.size();
                if !same {
                    return None;
                }
                (a, l)
            }
            (Some(a), None) if self.types.is_arithmetic(r) => (a, l),
            (None, Some(b)) if self.types.is_arithmetic(l) => (b, r),
            _ => return None,
        };
        use BinOp::*;
        if matches!(op, Rem | BitAnd | BitXor | BitOr | Shl | Shr) && !elem.is_integer() {
            return None;
        }
        if matches!(op, Lt | Gt | Le | Ge | Eq | Ne) {
            let int = match elem.size() {
                1 => Scalar::SChar,
                2 => Scalar::Short,
                4 => Scalar::Int,
                _ => Scalar::Long,
            };
            let elem = self.types.scalar(int);
            return Some(self.types.intern(TypeKind::Vector { elem, bytes }, Quals::NONE));
        }
        Some(ty)
    }
}
