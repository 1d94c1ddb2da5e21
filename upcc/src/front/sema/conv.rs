//! Conversions: implicit ones, assignments, casts.

use crate::front::ast::*;
use crate::front::consteval;
use crate::front::sema::Sema;
use crate::front::token::{TokIdx, TokRange};
use crate::front::types::*;

/// Why a value is converted: for messages.
#[derive(Clone, Debug)]
pub(crate) enum Why {
    Assign,
    Init,
    /// Argument number (from 1) of a function.
    Arg(usize, String),
    Return,
}

impl Why {
    fn text(&self) -> String {
        match self {
            Why::Assign => "this assignment".to_owned(),
            Why::Init => "this initializer".to_owned(),
            Why::Arg(n, f) => format!("argument {n} of `{f}`"),
            Why::Return => "this return value".to_owned(),
        }
    }
}

impl Sema<'_> {
    /// A node; `upc` says whether an operand has UPC.
    pub(crate) fn node(&self, kind: ExprKind, ty: TypeId, cat: Cat, toks: TokRange, upc: bool) -> Expr {
        let has_upc = upc || self.types.mentions_shared(ty);
        let id = NodeId(self.nodes.get());
        self.nodes.set(id.0 + 1);
        Expr { id, kind, ty, cat, toks, has_upc, strict: false, value: None }
    }

    pub(crate) fn bad_expr(&mut self, toks: TokRange) -> Expr {
        let ty = self.types.error();
        self.node(ExprKind::Error, ty, Cat::Rvalue, toks, false)
    }

    /// A node for an lvalue: whether an access through it is strict is decided here.
    pub(crate) fn lvalue_node(&self, kind: ExprKind, ty: TypeId, toks: TokRange, upc: bool) -> Expr {
        let cat = if self.types.is_function(ty) { Cat::Function } else { Cat::Lvalue };
        let mut e = self.node(kind, ty, cat, toks, upc);
        let q = self.types.quals(ty);
        if q.shared.is_some() {
            e.strict = match q.reference {
                Some(r) => r == Ref::Strict,
                None => self.strict,
            };
        }
        e
    }

    pub(crate) fn implicit(&self, conv: Conv, ty: TypeId, e: Expr) -> Expr {
        let (toks, upc, strict) = (e.toks, e.has_upc, e.strict);
        let value = match conv {
            Conv::Arith => e.value.and_then(|v| consteval::convert(&self.types, v, ty)),
            Conv::Same => e.value,
            _ => None,
        };
        let mut n = self.node(ExprKind::Implicit { conv, expr: Box::new(e) }, ty, Cat::Rvalue, toks, upc);
        n.value = value;
        n.strict = strict && conv == Conv::SharedLoad;
        n
    }

    /// The value of an expression: arrays and functions decay, lvalues are loaded.
    pub(crate) fn rvalue(&mut self, e: Expr) -> Expr {
        if self.types.is_error(e.ty) {
            return e;
        }
        if let Some(elem) = self.types.elem(e.ty) {
            let p = self.types.pointer(elem);
            let conv = if self.types.is_shared(elem) { Conv::SharedDecay } else { Conv::ArrayDecay };
            return self.implicit(conv, p, e);
        }
        if e.cat == Cat::Function || self.types.is_function(e.ty) {
            let p = self.types.pointer(e.ty);
            return self.implicit(Conv::FuncDecay, p, e);
        }
        if e.cat != Cat::Lvalue {
            return e;
        }
        let shared = self.types.is_shared(e.ty);
        if self.types.is_void(e.ty) {
            return e;
        }
        if !self.types.is_complete(e.ty) {
            let t = self.show(e.ty);
            self.error(e.toks.start, format!("the value of the incomplete type `{t}` cannot be used"));
            return self.bad_expr(e.toks);
        }
        let ty = self.types.unqualified(e.ty);
        self.implicit(if shared { Conv::SharedLoad } else { Conv::Load }, ty, e)
    }

    /// Integer promotion of an rvalue.
    pub(crate) fn promote(&mut self, e: Expr) -> Expr {
        let Some(s) = self.types.as_scalar(e.ty) else { return e };
        if !s.is_integer() {
            return e;
        }
        if let ExprKind::Implicit { conv: Conv::Load | Conv::SharedLoad, expr } = &e.kind
            && let Some((r, f)) = expr.bit_field(&self.types)
            && let Some(w) = self.types.records[r.0 as usize].fields[f as usize].bits
            && (w < 32 || (w == 32 && s.is_signed()))
        {
            let int = self.types.int();
            return self.arith(e, int);
        }
        let to = promoted(s);
        let t = self.types.scalar(to);
        self.arith(e, t)
    }

    /// An arithmetic rvalue as another arithmetic type.
    pub(crate) fn arith(&mut self, e: Expr, ty: TypeId) -> Expr {
        if self.types.canon(e.ty) == self.types.canon(ty) || self.types.is_error(e.ty) {
            return e;
        }
        self.implicit(Conv::Arith, ty, e)
    }

    /// The usual arithmetic conversions on two arithmetic types.
    pub(crate) fn common_type(&mut self, a: TypeId, b: TypeId) -> TypeId {
        let part = |t: &TypeKind, s: Option<Scalar>| match t {
            TypeKind::Complex(s) => (*s, true),
            _ => (s.unwrap_or(Scalar::Int), false),
        };
        let (x, cx) = part(self.types.ckind(a), self.types.as_scalar(a));
        let (y, cy) = part(self.types.ckind(b), self.types.as_scalar(b));
        let s = common_scalar(x, y);
        if cx || cy { self.types.intern(TypeKind::Complex(s), Quals::NONE) } else { self.types.scalar(s) }
    }

    /// Default argument promotions.
    pub(crate) fn default_promote(&mut self, e: Expr) -> Expr {
        match self.types.as_scalar(e.ty) {
            Some(Scalar::Float) => {
                let d = self.types.scalar(Scalar::Double);
                self.arith(e, d)
            }
            _ => self.promote(e),
        }
    }

    /// Whether a null pointer constant.
    pub(crate) fn is_null_constant(&self, e: &Expr) -> bool {
        let u = e.unparen();
        if self.types.is_integer(u.ty) && u.int() == Some(0) {
            return !matches!(u.kind, ExprKind::Comma { .. });
        }
        match &u.kind {
            ExprKind::Cast { expr, .. } => {
                self.types
                    .pointee(u.ty)
                    .is_some_and(|p| self.types.is_void(p) && self.types.quals(p).is_none())
                    && self.types.quals(u.ty).is_none()
                    && self.types.is_integer(expr.unparen().ty)
                    && expr.int() == Some(0)
            }
            _ => false,
        }
    }

    /// The conversion between two types of pointer-to-shared: it keeps the phase or resets it.
    fn pts_conv(&self, from: TypeId, to: TypeId) -> Conv {
        let (Some(a), Some(b)) = (self.types.pointee(from), self.types.pointee(to)) else {
            return Conv::Same;
        };
        let reset = match (self.types.pts_kind(from), self.types.pts_kind(to)) {
            (_, Some(PtsKind::Generic)) => false,
            (Some(PtsKind::Generic), Some(PtsKind::Cyclic | PtsKind::Indefinite)) => true,
            (Some(PtsKind::Generic), _) => false,
            (x, y) => {
                let elem = |t| self.types.size_of(self.types.ultimate_elem(t));
                let (s, t) = (elem(a), elem(b));
                x != y || s != t || s == Size::None
            }
        };
        Conv::PtsToPts { reset }
    }

    /// `e` converted to `to` as if by assignment.
    pub(crate) fn assign_convert(&mut self, e: Expr, to: TypeId, why: &Why) -> Expr {
        let e = self.rvalue(e);
        let to = self.types.unqualified(to);
        let from = e.ty;
        let tok = e.toks.start;
        if self.types.is_error(from) || self.types.is_error(to) {
            return e;
        }
        if self.types.is_void(from) {
            self.error(tok, format!("{} has no value: it is of type void", why.text()));
            return self.bad_expr(e.toks);
        }
        if self.types.canon(from) == self.types.canon(to) {
            return e;
        }
        if self.types.is_arithmetic(to) && self.types.is_arithmetic(from) {
            return self.arith(e, to);
        }
        let to_bool = self.types.as_scalar(to) == Some(Scalar::Bool)
            && !matches!(self.types.ckind(to), TypeKind::Enum(_));
        match (self.types.is_pointer(from), self.types.is_pointer(to)) {
            (true, true) => self.assign_pointers(e, to, why),
            (false, true) if self.is_null_constant(&e) => {
                let conv = if self.types.is_pts(to) { Conv::NullToPts } else { Conv::NullToPtr };
                self.implicit(conv, to, e)
            }
            (false, true) if self.types.is_integer(from) => {
                let (f, t) = (self.show(from), self.show(to));
                if self.types.is_pts(to) {
                    self.error(tok, format!("{} converts an integer (`{f}`) to the pointer-to-shared `{t}`; only a null pointer constant can be converted", why.text()));
                    return self.bad_expr(e.toks);
                }
                self.warn(
                    tok,
                    format!("{} makes a pointer (`{t}`) from an integer (`{f}`) without a cast", why.text()),
                );
                self.implicit(Conv::IntToPtr, to, e)
            }
            (true, false) if to_bool => {
                let conv = if self.types.is_pts(from) { Conv::PtsToBool } else { Conv::PtrToBool };
                self.implicit(conv, to, e)
            }
            (true, false) if self.types.is_integer(to) => {
                let (f, t) = (self.show(from), self.show(to));
                self.warn(
                    tok,
                    format!("{} makes an integer (`{t}`) from a pointer (`{f}`) without a cast", why.text()),
                );
                let conv = if self.types.is_pts(from) { Conv::PtsToInt } else { Conv::PtrToInt };
                self.implicit(conv, to, e)
            }
            _ => self.assign_aggregate(e, to, why),
        }
    }

    /// A value that is no number and no pointer, or assigned to what is none: a structure, a vector, an
    /// argument for a transparent union.
    fn assign_aggregate(&mut self, e: Expr, to: TypeId, why: &Why) -> Expr {
        let (from, tok) = (e.ty, e.toks.start);
        if self.types.compatible_unqualified(from, to) {
            return e;
        }
        if matches!(self.types.ckind(to), TypeKind::Vector { .. })
            && matches!(self.types.ckind(from), TypeKind::Vector { .. })
        {
            return self.implicit(Conv::Same, to, e);
        }
        if let Some(r) = self.types.record(to)
            && r.transparent
            && matches!(why, Why::Arg(..))
        {
            let members: Vec<TypeId> = r.fields.iter().map(|f| f.ty).collect();
            let fits = members.iter().any(|&m| {
                self.types.compatible_unqualified(m, from)
                    || (self.types.is_pointer(m)
                        && (self.is_null_constant(&e) || self.types.is_pointer(from)))
            });
            if fits {
                return self.implicit(Conv::ToUnion, to, e);
            }
        }
        if matches!(self.types.ckind(to), TypeKind::VaList)
            || matches!(self.types.ckind(from), TypeKind::VaList)
        {
            return e;
        }
        let (f, t) = (self.show(from), self.show(to));
        self.error(tok, format!("incompatible types in {}: expected `{t}`, found `{f}`", why.text()));
        self.bad_expr(e.toks)
    }

    fn assign_pointers(&mut self, e: Expr, to: TypeId, why: &Why) -> Expr {
        let tok = e.toks.start;
        let from = e.ty;
        let (Some(a), Some(b)) = (self.types.pointee(from), self.types.pointee(to)) else { return e };
        let (sa, sb) = (self.types.is_shared(a), self.types.is_shared(b));
        if self.is_null_constant(&e) {
            let conv = if sb { Conv::NullToPts } else { Conv::NullToPtr };
            return self.implicit(conv, to, e);
        }
        let (f, t) = (self.show(from), self.show(to));
        if sb && !sa {
            self.error(
                tok,
                format!("{} converts a private pointer (`{f}`) to a pointer-to-shared (`{t}`); a private address cannot be shared", why.text()),
            );
            return self.bad_expr(e.toks);
        }
        if sa && !sb {
            self.error(
                tok,
                format!("{} converts a pointer-to-shared (`{f}`) to a private pointer (`{t}`); if the data has affinity to this thread, cast it: `({t})`", why.text()),
            );
            return self.bad_expr(e.toks);
        }
        let (qa, qb) = (self.types.quals(a), self.types.quals(b));
        let lost = (qa.is_const && !qb.is_const)
            || (qa.is_volatile && !qb.is_volatile)
            || (qa.is_atomic != qb.is_atomic && !self.types.is_void(a) && !self.types.is_void(b));
        let conv = if sa { self.pts_conv(from, to) } else { Conv::PtrToPtr };
        let void = self.types.is_void(a) || self.types.is_void(b);
        let (ua, ub) = (self.types.unqualified(a), self.types.unqualified(b));
        if !void && !self.types.compatible(ua, ub) && !self.nearly_same(ua, ub) {
            self.warn(
                tok,
                format!("incompatible pointer types in {}: expected `{t}`, found `{f}`", why.text()),
            );
        } else if sa && !void && qa.shared != qb.shared {
            self.warn(
                tok,
                format!("incompatible pointers-to-shared in {}: expected `{t}`, found `{f}`; their block sizes differ: cast it", why.text()),
            );
        } else if lost
            && sa
            && matches!(why, Why::Arg(_, f) if f.starts_with("upc_") || f.starts_with("bupc_"))
        {
            // The library's queries take `shared void *`, whatever points there.
        } else if lost && !self.types.is_array(a) {
            self.warn(tok, format!("{} discards a qualifier: expected `{t}`, found `{f}`", why.text()));
        } else if !void && !self.types.compatible(ua, ub) {
            self.warn_all(
                tok,
                format!("pointers differ in signedness in {}: expected `{t}`, found `{f}`", why.text()),
            );
        }
        self.implicit(conv, to, e)
    }

    /// Pointees that differ in signedness only, or in qualifiers below the top.
    fn nearly_same(&self, a: TypeId, b: TypeId) -> bool {
        if self.types.compatible_unqualified(a, b) {
            return true;
        }
        match (self.types.as_scalar(a), self.types.as_scalar(b)) {
            (Some(x), Some(y)) => x.is_integer() && y.is_integer() && signless(x) == signless(y),
            _ => match (self.types.ckind(a), self.types.ckind(b)) {
                // VLA and va_list oddities.
                (TypeKind::VaList, _) | (_, TypeKind::VaList) => true,
                _ => false,
            },
        }
    }

    /// The conversion that a cast from `e` (an rvalue) to `to` makes; `None` after an error.
    pub(crate) fn cast_conv(&mut self, e: &Expr, to: TypeId, tok: TokIdx) -> Option<Conv> {
        let from = e.ty;
        if self.types.is_error(from) || self.types.is_error(to) {
            return Some(Conv::Same);
        }
        if self.types.is_void(to) {
            return Some(Conv::ToVoid);
        }
        let plain = self.types.unqualified(to);
        if self.types.canon(plain) == self.types.canon(from) {
            return Some(Conv::Same);
        }
        if self.types.is_arithmetic(from) && self.types.is_arithmetic(to) {
            return Some(Conv::Arith);
        }
        match (self.types.is_pointer(from), self.types.is_pointer(to)) {
            (true, true) => self.cast_pointer(e, to, tok),
            (false, true) if self.is_null_constant(e) => {
                Some(if self.types.is_pts(to) { Conv::NullToPts } else { Conv::NullToPtr })
            }
            (false, true) if self.types.is_integer(from) => {
                if self.types.is_pts(to) {
                    let (f, t) = (self.show(from), self.show(to));
                    self.error(tok, format!("an integer (`{f}`) cannot be cast to a pointer-to-shared (`{t}`); only a null pointer constant can"));
                    return None;
                }
                Some(Conv::IntToPtr)
            }
            (true, false) if self.types.is_integer(to) => {
                let pts = self.types.is_pts(from);
                Some(match (self.types.as_scalar(to), pts) {
                    (Some(Scalar::Bool), true) => Conv::PtsToBool,
                    (Some(Scalar::Bool), false) => Conv::PtrToBool,
                    (_, true) => Conv::PtsToInt,
                    (_, false) => Conv::PtrToInt,
                })
            }
            _ => self.cast_aggregate(from, to, tok),
        }
    }

    /// The conversion that a cast of a pointer to a pointer type makes.
    fn cast_pointer(&mut self, e: &Expr, to: TypeId, tok: TokIdx) -> Option<Conv> {
        let from = e.ty;
        let null = self.is_null_constant(e);
        match (self.types.is_pts(from), self.types.is_pts(to)) {
            (true, true) => Some(self.pts_conv(from, to)),
            (true, false) if self.types.pointee(to).is_some_and(|p| self.types.is_function(p)) => {
                let (f, t) = (self.show(from), self.show(to));
                self.error(
                    tok,
                    format!("a pointer-to-shared (`{f}`) cannot be cast to a pointer to a function (`{t}`)"),
                );
                None
            }
            (true, false) => Some(Conv::PtsToPtr),
            (false, true) if null => Some(Conv::NullToPts),
            (false, true) => {
                let (f, t) = (self.show(from), self.show(to));
                self.error(
                    tok,
                    format!("a private pointer (`{f}`) cannot be cast to a pointer-to-shared (`{t}`)"),
                );
                None
            }
            (false, false) if null => Some(Conv::NullToPtr),
            (false, false) => Some(Conv::PtrToPtr),
        }
    }

    /// The conversion that a cast makes if one side is a structure, a union, a vector or a `va_list`.
    fn cast_aggregate(&mut self, from: TypeId, to: TypeId, tok: TokIdx) -> Option<Conv> {
        if let Some(r) = self.types.record(to)
            && r.is_union
            && r.fields.iter().any(|f| self.types.compatible_unqualified(f.ty, from))
        {
            return Some(Conv::ToUnion);
        }
        if self.types.is_record(to) && self.types.compatible_unqualified(from, to) {
            return Some(Conv::Same);
        }
        let vec = |k: &TypeKind| matches!(k, TypeKind::Vector { .. });
        if vec(self.types.ckind(to)) || vec(self.types.ckind(from)) {
            return Some(Conv::Same);
        }
        if matches!(self.types.ckind(to), TypeKind::VaList)
            || matches!(self.types.ckind(from), TypeKind::VaList)
        {
            return Some(Conv::Same);
        }
        let (f, t) = (self.show(from), self.show(to));
        self.error(tok, format!("`{f}` cannot be cast to `{t}`"));
        None
    }
}

fn signless(s: Scalar) -> u64 {
    s.size()
}

/// Integer promotion.
pub(crate) fn promoted(s: Scalar) -> Scalar {
    use Scalar::*;
    match s {
        Bool | Char | SChar | UChar | Short | UShort => Int,
        s => s,
    }
}

/// The usual arithmetic conversions.
pub(crate) fn common_scalar(a: Scalar, b: Scalar) -> Scalar {
    use Scalar::*;
    fn float_rank(s: Scalar) -> u32 {
        match s {
            BFloat16 | Float16 => 1,
            Float => 2,
            Float32 => 3,
            Double => 4,
            Float32x => 5,
            Float64 => 6,
            LongDouble => 7,
            Float64x => 8,
            Float128 => 9,
            Decimal32 => 10,
            Decimal64 => 11,
            Decimal128 => 12,
            _ => 0,
        }
    }
    if a.is_float() || b.is_float() {
        return if float_rank(a) >= float_rank(b) { a } else { b };
    }
    let (a, b) = (promoted(a), promoted(b));
    if a == b {
        return a;
    }
    let rank = |s: Scalar| match s {
        Int | UInt => 1,
        Long | ULong => 2,
        LLong | ULLong => 3,
        _ => 4,
    };
    if a.is_signed() == b.is_signed() {
        return if rank(a) >= rank(b) { a } else { b };
    }
    let (s, u) = if a.is_signed() { (a, b) } else { (b, a) };
    if rank(u) >= rank(s) {
        u
    } else if s.size() > u.size() {
        s
    } else {
        match s {
            Int => UInt,
            Long => ULong,
            LLong => ULLong,
            _ => UInt128,
        }
    }
}
