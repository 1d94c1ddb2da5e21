//! Compatible and composite types.

use crate::front::types::*;
use rustc_hash::FxHashMap;

/// Results for pairs of function types, kept during one question. Function types may mention the same type
/// many times.
type Known<T> = FxHashMap<(TypeId, TypeId), T>;

impl Types {
    /// Whether two types are compatible in the sense of C, layouts of shared types included.
    pub fn compatible(&self, a: TypeId, b: TypeId) -> bool {
        self.compatible_known(a, b, &mut Known::default())
    }

    fn compatible_known(&self, a: TypeId, b: TypeId, known: &mut Known<bool>) -> bool {
        let (a, b) = (self.canon(a), self.canon(b));
        if a == b || self.is_error(a) || self.is_error(b) {
            return true;
        }
        if self.own_quals(a) != self.own_quals(b) {
            return false;
        }
        match (self.kind(a), self.kind(b)) {
            (TypeKind::Pointer(x), TypeKind::Pointer(y)) => self.compatible_known(*x, *y, known),
            (TypeKind::Array { elem: x, len: l }, TypeKind::Array { elem: y, len: m }) => {
                self.compatible_known(*x, *y, known)
                    && match (l, m) {
                        (ArrayLen::Const(p), ArrayLen::Const(q))
                        | (ArrayLen::Threads(p), ArrayLen::Threads(q)) => p == q,
                        (ArrayLen::Const(_), ArrayLen::Threads(_))
                        | (ArrayLen::Threads(_), ArrayLen::Const(_)) => false,
                        _ => true,
                    }
            }
            (
                TypeKind::Function { ret: r, params: p, variadic: v, proto: pp },
                TypeKind::Function { ret: s, params: q, variadic: w, proto: qp },
            ) => {
                if let Some(&answer) = known.get(&(a, b)) {
                    return answer;
                }
                let answer = self.compatible_known(*r, *s, known)
                    && match (pp, qp) {
                        (true, true) => {
                            v == w
                                && p.len() == q.len()
                                && p.iter().zip(q).all(|(x, y)| self.param_compatible(*x, *y, known))
                        }
                        // Old-style declarations match whatever promotes to itself.
                        (true, false) if q.is_empty() => !v && p.iter().all(|t| self.promotes_to_itself(*t)),
                        (false, true) if p.is_empty() => !w && q.iter().all(|t| self.promotes_to_itself(*t)),
                        _ => true,
                    };
                known.insert((a, b), answer);
                answer
            }
            (TypeKind::Enum(_), TypeKind::Scalar(s)) => Some(*s) == self.as_scalar(a),
            (TypeKind::Scalar(s), TypeKind::Enum(_)) => Some(*s) == self.as_scalar(b),
            (TypeKind::Vector { bytes: x, .. }, TypeKind::Vector { bytes: y, .. }) => x == y,
            _ => false,
        }
    }

    /// Whether an argument of this type is passed as it is without a prototype.
    fn promotes_to_itself(&self, t: TypeId) -> bool {
        use Scalar::*;
        !matches!(self.as_scalar(t), Some(Bool | Char | SChar | UChar | Short | UShort | Float))
    }

    /// Parameters: a transparent union goes with its members.
    fn param_compatible(&self, a: TypeId, b: TypeId, known: &mut Known<bool>) -> bool {
        if self.compatible_known(a, b, known) {
            return true;
        }
        let mut member = |u: TypeId, t: TypeId| {
            self.record(u).is_some_and(|r| {
                r.transparent && r.fields.iter().any(|f| self.compatible_unqualified_known(f.ty, t, known))
            })
        };
        member(a, b) || member(b, a)
    }

    /// Compatible when the qualifiers of the types themselves are ignored.
    pub fn compatible_unqualified(&self, a: TypeId, b: TypeId) -> bool {
        self.compatible_unqualified_known(a, b, &mut Known::default())
    }

    fn compatible_unqualified_known(&self, a: TypeId, b: TypeId, known: &mut Known<bool>) -> bool {
        let (a, b) = (self.canon(a), self.canon(b));
        if self.compatible_known(a, b, known) {
            return true;
        }
        match (self.kind(a), self.kind(b)) {
            (TypeKind::Scalar(x), TypeKind::Scalar(y)) => x == y,
            (TypeKind::Enum(_), TypeKind::Scalar(_)) | (TypeKind::Scalar(_), TypeKind::Enum(_)) => {
                self.as_scalar(a) == self.as_scalar(b)
            }
            (TypeKind::Array { elem: x, len: l }, TypeKind::Array { elem: y, len: m }) => {
                let len = match (l, m) {
                    (ArrayLen::Const(p), ArrayLen::Const(q))
                    | (ArrayLen::Threads(p), ArrayLen::Threads(q)) => p == q,
                    (ArrayLen::Const(_), ArrayLen::Threads(_))
                    | (ArrayLen::Threads(_), ArrayLen::Const(_)) => false,
                    _ => true,
                };
                len && self.compatible_unqualified_known(*x, *y, known)
            }
            (TypeKind::Pointer(x), TypeKind::Pointer(y)) => self.compatible_known(*x, *y, known),
            (x, y) => x == y,
        }
    }

    /// The composite of two compatible types.
    pub fn composite(&mut self, a: TypeId, b: TypeId) -> TypeId {
        self.composite_known(a, b, &mut Known::default())
    }

    fn composite_known(&mut self, a: TypeId, b: TypeId, known: &mut Known<TypeId>) -> TypeId {
        if a == b || self.is_error(a) {
            return a;
        }
        if self.is_error(b) {
            return b;
        }
        if self.canon(a) == self.canon(b) {
            return a;
        }
        let (ka, kb) = (self.ckind(a).clone(), self.ckind(b).clone());
        match (ka, kb) {
            (TypeKind::Array { elem: x, len: l }, TypeKind::Array { elem: y, len: m }) => {
                let elem = self.composite_known(x, y, known);
                let len = match (l, m) {
                    (ArrayLen::Const(_) | ArrayLen::Threads(_), _) => l,
                    (_, ArrayLen::Const(_) | ArrayLen::Threads(_)) => m,
                    (ArrayLen::Vla(_), _) => l,
                    (_, ArrayLen::Vla(_)) => m,
                    _ => l,
                };
                self.array(elem, len)
            }
            (
                TypeKind::Function { ret: r, params: p, variadic, proto: pp },
                TypeKind::Function { ret: s, params: q, variadic: w, proto: qp },
            ) => {
                if let Some(&answer) = known.get(&(a, b)) {
                    return answer;
                }
                let ret = self.composite_known(r, s, known);
                let (params, variadic, proto) = match (pp, qp) {
                    (true, true) => {
                        let ps = p.iter().zip(&q).map(|(&x, &y)| self.composite_known(x, y, known)).collect();
                        (ps, variadic, true)
                    }
                    (true, false) => (p, variadic, true),
                    _ => (q, w, qp),
                };
                let answer = self.intern(TypeKind::Function { ret, params, variadic, proto }, Quals::NONE);
                known.insert((a, b), answer);
                answer
            }
            (TypeKind::Pointer(x), TypeKind::Pointer(y)) => {
                let q = self.quals(a);
                let p = self.composite_known(x, y, known);
                self.intern(TypeKind::Pointer(p), q)
            }
            _ => a,
        }
    }
}
