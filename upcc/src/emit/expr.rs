//! Expressions. A *place* is C text of type `struct __upc_w`: where a shared object is. `rv` makes the C expression of a value (or
//! of a private lvalue), `place` the place of a shared lvalue, `pplace` the place that a pointer-to-shared value points to.

use super::{Emitter, out};
use crate::ast::{BinOp, Cat, ConstValue, Conv, Definition, Expr, ExprKind, SizeArg, SizeOp, UnOp};
use crate::types::{PtsKind, RecordId, Scalar, Size, TypeId, TypeKind};

/// Text of an expression and how tightly it binds (16 primary and postfix, 15 unary, 14 cast, 13 `*`, ... 3 `?:`, 2 `=`, 1 `,`).
#[derive(Clone, Debug)]
pub struct Frag {
    /// C text.
    pub s: String,
    /// Precedence.
    pub prec: u8,
}

impl Frag {
    /// As an operand that must bind at least as tightly as `min`.
    pub fn p(self, min: u8) -> String {
        if self.prec < min { format!("({})", self.s) } else { self.s }
    }
    /// As an argument of one of our macros: no comma outside parentheses.
    pub fn arg(self) -> String {
        if self.prec < 2 || self.s.contains([',', '{']) { format!("({})", self.s) } else { self.s }
    }
}

fn fr(s: impl Into<String>, prec: u8) -> Frag {
    Frag { s: s.into(), prec }
}

/// Spelling and precedence of a binary operator.
pub fn binop(op: BinOp) -> (&'static str, u8) {
    match op {
        BinOp::Mul => ("*", 13),
        BinOp::Div => ("/", 13),
        BinOp::Rem => ("%", 13),
        BinOp::Add => ("+", 12),
        BinOp::Sub => ("-", 12),
        BinOp::Shl => ("<<", 11),
        BinOp::Shr => (">>", 11),
        BinOp::Lt => ("<", 10),
        BinOp::Gt => (">", 10),
        BinOp::Le => ("<=", 10),
        BinOp::Ge => (">=", 10),
        BinOp::Eq => ("==", 9),
        BinOp::Ne => ("!=", 9),
        BinOp::BitAnd => ("&", 8),
        BinOp::BitXor => ("^", 7),
        BinOp::BitOr => ("|", 6),
        BinOp::LogAnd => ("&&", 5),
        BinOp::LogOr => ("||", 4),
    }
}

/// How a place begins that a function computes: name and arguments follow.
const OUT: &str = "__upc_u(__upc_mv";

/// Functions of upc.h that become inline code.
const INLINE: &[&str] =
    &["upc_threadof", "upc_phaseof", "upc_addrfield", "upc_resetphase", "upc_affinitysize"];

impl Emitter<'_> {
    fn is_pts(&self, t: TypeId) -> bool {
        self.u.types.is_pts(t)
    }

    /// Tokens as one line.
    pub fn verbatim(&self, r: crate::token::TokRange) -> String {
        out::flat(&self.u.tokens, r, &self.out.tags).trim().to_string()
    }

    /// An unused name.
    pub fn fresh(&mut self, stem: &str) -> String {
        let n = self.next_number();
        format!("__upc_{stem}{n}")
    }

    /// A number not used in a name yet.
    pub fn next_number(&mut self) -> u32 {
        self.counter += 1;
        self.counter
    }

    /// A scalar used as a truth value.
    pub fn cond(&mut self, e: &Expr) -> Frag {
        if self.is_pts(e.ty) {
            let w = self.pplace(e);
            return fr(format!("__upc_nonnull({w})"), 16);
        }
        self.rv(e)
    }

    /// An integer constant of type `ty`.
    fn literal(&mut self, v: i128, ty: TypeId) -> Frag {
        use Scalar::*;
        let kind = self.u.types.as_scalar(ty);
        let is_enum = matches!(self.u.types.ckind(ty), TypeKind::Enum(_));
        let (suffix, plain) = match kind {
            Some(Int) if !is_enum => ("", true),
            Some(UInt) => ("u", true),
            Some(Long) => ("l", true),
            Some(ULong) => ("ul", true),
            Some(LLong) => ("ll", true),
            Some(ULLong) => ("ull", true),
            Some(Int128 | UInt128) => {
                let t = self.ctype_plain(ty, "");
                let (hi, lo) = ((v >> 64) as u64, v as u64);
                return fr(format!("((({t}){hi}ul << 64) | {lo}ul)"), 16);
            }
            _ => ("", false),
        };
        let text = if v == i128::from(i32::MIN) && suffix.is_empty() {
            "(-2147483647 - 1)".to_string()
        } else if v == i128::from(i64::MIN) {
            format!("(-9223372036854775807{suffix} - 1)")
        } else if v < 0 {
            format!("(-{}{suffix})", -v)
        } else {
            format!("{v}{suffix}")
        };
        if plain {
            return fr(text, 16);
        }
        let t = self.ctype_plain(ty, "");
        fr(format!("({t}){text}"), 14)
    }

    /// Precedence of an expression that is emitted as read.
    fn prec_of(e: &Expr) -> u8 {
        match &e.kind {
            ExprKind::Implicit { expr, .. } => Self::prec_of(expr),
            ExprKind::Unary { .. } | ExprKind::SizeOf { .. } => 15,
            ExprKind::IncDec { prefix: true, .. } => 15,
            ExprKind::Cast { .. } => 14,
            ExprKind::Binary { op, .. } => binop(*op).1,
            ExprKind::Cond { .. } => 3,
            ExprKind::Assign { .. } | ExprKind::CompoundAssign { .. } => 2,
            ExprKind::Comma { .. } => 1,
            ExprKind::LabelAddr(_) => 15,
            ExprKind::Str => 15,
            _ => 16,
        }
    }

    /// The C expression of a value, or of a private lvalue.
    pub fn rv(&mut self, e: &Expr) -> Frag {
        if !e.has_upc && !e.toks.is_empty() {
            return fr(self.verbatim(e.toks), Self::prec_of(e));
        }
        if let (Some(ConstValue::Int(v)), true) = (e.value, self.u.types.is_integer(e.ty))
            && !matches!(e.kind, ExprKind::Threads | ExprKind::EnumConst(_) | ExprKind::Number)
        {
            return self.literal(v, e.ty);
        }
        if e.cat == Cat::Rvalue
            && self.is_pts(e.ty)
            && let Some(f) = self.pts_value(e)
        {
            return f;
        }
        match &e.kind {
            ExprKind::Name(d) => fr(self.u.name(self.u.decl(*d).name), 16),
            ExprKind::EnumConst(_) | ExprKind::Number | ExprKind::FuncName => fr(self.verbatim(e.toks), 16),
            ExprKind::Str => fr(self.verbatim(e.toks), 15),
            ExprKind::Threads => fr("__UPC_THREADS", 16),
            ExprKind::MyThread => fr("__UPC_MYTHREAD", 16),
            ExprKind::Paren(x) => {
                let f = self.rv(x);
                if f.s.starts_with('(') && f.prec == 16 && f.s.ends_with("})") {
                    f
                } else {
                    fr(format!("({})", f.s), 16)
                }
            }
            ExprKind::Unary { op, expr } => self.unary(e, *op, expr),
            ExprKind::IncDec { inc, prefix, expr } => self.inc_dec(*inc, *prefix, expr),
            ExprKind::Binary { op, lhs, rhs } => self.binary(*op, lhs, rhs),
            ExprKind::Assign { lhs, rhs } => {
                if self.u.types.is_shared(lhs.ty) {
                    let v = self.rv(rhs).arg();
                    return self.store(lhs, None, &v);
                }
                let l = self.rv(lhs).p(15);
                let r = self.rv(rhs).p(2);
                fr(format!("{l} = {r}"), 2)
            }
            ExprKind::CompoundAssign { op, lhs, rhs, compute } => self.compound(*op, lhs, rhs, *compute),
            ExprKind::Cond { cond, then, els } => match then {
                Some(t) => {
                    let c = self.cond(cond).p(4);
                    let t = self.rv(t).p(3);
                    let f = self.rv(els).p(3);
                    fr(format!("{c} ? {t} : {f}"), 3)
                }
                None => {
                    let f = self.rv(els).p(3);
                    let c = self.rv(cond).p(4);
                    fr(format!("{c} ?: {f}"), 3)
                }
            },
            ExprKind::Comma { lhs, rhs } => {
                let l = self.discard(lhs);
                let r = self.rv(rhs).p(2);
                fr(format!("{l}, {r}"), 1)
            }
            ExprKind::Index { base, index } => {
                let b = self.rv(base).p(16);
                let i = self.rv(index).s;
                fr(format!("{b}[{i}]"), 16)
            }
            ExprKind::Member { base, arrow, record, path } => {
                let b = self.rv(base).p(16);
                let m = self.member_names(*record, path);
                if m.is_empty() {
                    return fr(b, 16);
                }
                fr(format!("{b}{}{m}", if *arrow { "->" } else { "." }), 16)
            }
            ExprKind::Call { callee, args } => self.call(callee, args),
            ExprKind::Cast { to, conv, expr } => {
                if *conv == Conv::ToVoid {
                    let x = self.discard(expr);
                    return fr(format!("(void)({x})"), 14);
                }
                let t = self.type_name(to);
                match conv {
                    Conv::PtsToPtr => {
                        let w = self.pplace(expr);
                        fr(format!("({t})__upc_priv({w})"), 14)
                    }
                    Conv::PtsToInt => {
                        let w = self.pplace(expr);
                        fr(format!("({t})__upc_int({w})"), 14)
                    }
                    Conv::PtsToBool => {
                        let w = self.pplace(expr);
                        fr(format!("({t})__upc_nonnull({w})"), 14)
                    }
                    _ if self.u.types.is_record(e.ty) && *conv == Conv::Same => self.rv(expr),
                    _ => {
                        let x = self.rv(expr).p(14);
                        fr(format!("({t}){x}"), 14)
                    }
                }
            }
            ExprKind::Implicit { conv, expr } => self.implicit(e, *conv, expr),
            ExprKind::CompoundLit { to, init } => {
                let t = self.type_name_as(to, e.ty);
                let i = self.init_text(init, e.ty, None);
                fr(format!("({t}){i}"), 16)
            }
            ExprKind::SizeOf { op, arg } => self.sizeof(*op, arg),
            ExprKind::StmtExpr(b) => {
                let s = self.flat_block(b);
                fr(format!("({s})"), 16)
            }
            ExprKind::Generic { chosen } | ExprKind::Choose { chosen } => {
                let f = self.rv(chosen);
                fr(format!("({})", f.s), 16)
            }
            ExprKind::LabelAddr(s) => fr(format!("&&{}", self.u.name(*s)), 15),
            ExprKind::VaArg { list, to } => {
                let l = self.rv(list).p(2);
                let t = self.type_name(to);
                fr(format!("__builtin_va_arg({l}, {t})"), 16)
            }
            ExprKind::OffsetOf { to, member, .. } => {
                let t = self.type_name(to);
                let m = self.verbatim(*member);
                fr(format!("__builtin_offsetof({t}, {m})"), 16)
            }
            ExprKind::TypesCompatible(_) => fr("0", 16),
            ExprKind::Error => fr("0", 16),
        }
    }

    /// An expression whose value is not used.
    pub fn discard(&mut self, e: &Expr) -> String {
        if !e.has_upc {
            return self.rv(e).p(2);
        }
        if self.u.types.is_shared(e.ty) && e.cat == Cat::Lvalue {
            // Not loaded, but its operands are evaluated.
            return format!("(void){}", self.place(e));
        }
        match &e.kind {
            ExprKind::Paren(x) => self.discard(x),
            ExprKind::IncDec { inc, prefix: false, expr } => self.inc_dec(*inc, true, expr).p(2),
            ExprKind::Implicit { conv: Conv::ToVoid | Conv::Load, expr } => self.discard(expr),
            _ => self.rv(e).p(2),
        }
    }

    /// Names from a record to a member, joined by dots.
    pub fn member_names(&self, record: RecordId, path: &[u32]) -> String {
        let mut rec = record;
        let mut names = Vec::new();
        for &f in path {
            let Some(field) = self.u.types.records[rec.0 as usize].fields.get(f as usize) else { break };
            if let Some(n) = field.name {
                names.push(self.u.name(n));
            }
            if let TypeKind::Record(r) = self.u.types.ckind(field.ty) {
                rec = *r;
            }
        }
        names.join(".")
    }

    /// Byte offset of a member.
    fn member_offset(&mut self, record: RecordId, path: &[u32]) -> u64 {
        let mut rec = record;
        let mut off = 0;
        for &f in path {
            self.laid_out.insert(rec);
            let Some(field) = self.u.types.records[rec.0 as usize].fields.get(f as usize) else { break };
            off += field.offset;
            if let TypeKind::Record(r) = self.u.types.ckind(field.ty) {
                rec = *r;
            }
        }
        off
    }

    /// Values of pointer-to-shared type that are addresses: made from places. `None`: a plain C expression.
    fn pts_value(&mut self, e: &Expr) -> Option<Frag> {
        let address = match &e.kind {
            ExprKind::Unary { op: UnOp::AddrOf, .. } => true,
            ExprKind::Binary { op: BinOp::Add | BinOp::Sub, .. } => true,
            ExprKind::Implicit { conv, expr } | ExprKind::Cast { conv, expr, .. } => match conv {
                Conv::SharedDecay => true,
                Conv::PtsToPts { reset } => {
                    if !reset && !self.phase_dies(expr.ty, e.ty) {
                        // Same bits, another typedef.
                        let f = self.rv(expr);
                        return Some(f);
                    }
                    true
                }
                Conv::NullToPts => return Some(fr("__UPC_NULL", 16)),
                Conv::Same => return Some(self.rv(expr)),
                _ => false,
            },
            _ => false,
        };
        if !address {
            return None;
        }
        let w = self.pplace(e);
        Some(fr(format!("({})", self.packed(&w)), 16))
    }

    /// Whether a conversion that keeps the phase arrives at a type that has none.
    fn phase_dies(&self, from: TypeId, to: TypeId) -> bool {
        let none = |k| matches!(k, Some(PtsKind::Cyclic | PtsKind::Indefinite));
        none(self.u.types.pts_kind(to)) && !none(self.u.types.pts_kind(from))
    }

    /// The place that a pointer-to-shared points to.
    pub fn pplace(&mut self, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Paren(x) | ExprKind::Unary { op: UnOp::Extension, expr: x } => return self.pplace(x),
            ExprKind::Generic { chosen } | ExprKind::Choose { chosen } => return self.pplace(chosen),
            ExprKind::Unary { op: UnOp::AddrOf, expr } => return self.place(expr),
            ExprKind::Implicit { conv, expr } | ExprKind::Cast { conv, expr, .. } => match conv {
                Conv::SharedDecay => return self.place(expr),
                Conv::PtsToPts { reset } => {
                    let w = self.pplace(expr);
                    let drop = *reset || self.phase_dies(expr.ty, e.ty);
                    return if drop { format!("__upc_ph0({w})") } else { w };
                }
                Conv::Same if self.is_pts(expr.ty) => return self.pplace(expr),
                Conv::NullToPts => return "__UPC_NULLW".into(),
                _ => {}
            },
            ExprKind::Binary { op: op @ (BinOp::Add | BinOp::Sub), lhs, rhs } => {
                let (p, i) = if self.is_pts(lhs.ty) { (lhs, rhs) } else { (rhs, lhs) };
                if *op == BinOp::Add && i.int().is_none_or(|v| v >= 0) {
                    return self.element_place(p, i);
                }
                let w = self.pplace(p);
                let i = self.rv(i);
                return self.step(&w, i, *op == BinOp::Sub, e.ty);
            }
            ExprKind::Comma { lhs, rhs } => {
                let l = self.discard(lhs);
                let r = self.pplace(rhs);
                return format!("({l}, {r})");
            }
            ExprKind::Cond { cond, then: Some(t), els } => {
                let c = self.cond(cond).p(4);
                let t = self.pplace(t);
                let f = self.pplace(els);
                return format!("({c} ? {t} : {f})");
            }
            ExprKind::Cond { cond, then: None, els } => {
                let t = self.fresh("w");
                let c = self.pplace(cond);
                let f = self.pplace(els);
                return format!("({{ struct __upc_w {t} = {c}; __upc_nonnull({t}) ? {t} : {f}; }})");
            }
            _ => {}
        }
        let v = self.rv(e).p(2);
        format!("__upc_u({v})")
    }

    /// `w` moved by `i` elements of the pointee of `pts`.
    fn step(&mut self, w: &str, i: Frag, back: bool, pts: TypeId) -> String {
        let (b, e) = self.pts_params(pts);
        let pointee = self.u.types.pointee(pts).unwrap_or(pts);
        let k = self.count_expr(pointee);
        let minus = if back { "-" } else { "" };
        let digits = i.s.chars().all(|c| c.is_ascii_digit());
        let i = if digits { format!("{minus}{}", i.s) } else { format!("{minus}(long)({})", i.s) };
        let d = if k == "1" { i } else { format!("{i} * (long)({k})") };
        self.moved(w, &d, digits && !back, b, e)
    }

    /// `w` moved by `d` elements of `e` bytes; `up`: `d` is not negative.
    fn moved(&mut self, w: &str, d: &str, up: bool, b: u64, e: u64) -> String {
        if self.compact || self.outlined {
            self.outlines.insert(format!("{b}_{e} mv -"));
            let p = self.packed(w);
            return format!("{OUT}{b}_{e}({p}, {d}))");
        }
        if !self.passes.arithmetic {
            return format!("__upc_add({w}, {d}, {b}, {e})");
        }
        let u = if up { "u" } else { "" };
        match b {
            0 => format!("__upc_add0({w}, {d}, {e})"),
            1 => format!("__upc_add1{u}({w}, {d}, {e})"),
            _ => format!("__upc_addb{u}({w}, {d}, {b}, {e})"),
        }
    }

    /// A place as a pointer.
    fn packed(&self, w: &str) -> String {
        let inner = |start: &str| {
            let x = w.strip_prefix(start)?.strip_suffix(')')?;
            let depth = x.chars().scan(0, |d, c| {
                *d += i32::from(c == '(') - i32::from(c == ')');
                Some(*d)
            });
            depth.into_iter().all(|d| d >= 0).then_some(x)
        };
        if let Some(p) = inner("__upc_u(") {
            return p.to_string();
        }
        match inner("__UPC_VAR(") {
            Some(a) => format!("__UPC_VARP({a})"),
            None => format!("__upc_p({w})"),
        }
    }

    /// Whether the integer cannot be negative.
    fn not_negative(&self, e: &Expr) -> bool {
        if let Some(v) = e.int() {
            return v >= 0;
        }
        let t = &self.u.types;
        let narrow = matches!(t.as_scalar(e.ty), Some(s) if !s.is_signed() && s.size() < 8);
        if narrow && t.is_integer(e.ty) {
            return true;
        }
        match &e.unparen().kind {
            ExprKind::Threads | ExprKind::MyThread => true,
            ExprKind::Implicit { conv: Conv::Arith | Conv::Same, expr }
            | ExprKind::Cast { conv: Conv::Arith | Conv::Same, expr, .. } => {
                let wide = |x: TypeId| t.const_size(x).unwrap_or(0);
                t.is_integer(expr.ty) && wide(e.ty) >= wide(expr.ty) && self.not_negative(expr)
            }
            ExprKind::Binary { op: BinOp::Add | BinOp::Mul | BinOp::Div, lhs, rhs } => {
                self.not_negative(lhs) && self.not_negative(rhs)
            }
            ExprKind::Binary { op: BinOp::Rem | BinOp::Shr, lhs, .. } => self.not_negative(lhs),
            ExprKind::Binary { op: BinOp::BitAnd, lhs, rhs } => {
                self.not_negative(lhs) || self.not_negative(rhs)
            }
            _ => false,
        }
    }

    /// The place of `pointer[index]`. Indices of nested arrays make one index of ultimate elements.
    fn element_place(&mut self, pointer: &Expr, index: &Expr) -> String {
        let params = self.pts_params(pointer.ty);
        let (mut base, mut deltas, mut up) = (pointer, Vec::new(), true);
        let mut at = index;
        loop {
            let pointee = self.u.types.pointee(base.ty).unwrap_or(base.ty);
            let k = self.count_expr(pointee);
            up &= self.not_negative(at);
            let f = self.rv(at);
            let d = if f.s.chars().all(|c| c.is_ascii_digit()) { f.s } else { format!("(long)({})", f.s) };
            deltas.push(if k == "1" { d } else { format!("{d} * (long)({k})") });
            // A row of a nested array.
            let ExprKind::Implicit { conv: Conv::SharedDecay, expr } = &base.unparen().kind else { break };
            let ExprKind::Index { base: outer, index: i } = &expr.unparen().kind else { break };
            if self.pts_params(outer.ty) != params || !self.passes.hoist {
                break;
            }
            (base, at) = (outer, i);
        }
        deltas.reverse();
        let (b, e) = params;
        let zero = deltas.iter().all(|d| d == "0");
        if let Some(d) = self.declared_array(base) {
            let a = self.shared_alias(d);
            if zero {
                return format!("__UPC_VAR({a})");
            }
            let d = deltas.join(" + ");
            if self.compact || self.outlined || !self.passes.arithmetic || self.before_first && !up {
                return self.moved(&format!("__UPC_VAR({a})"), &d, up, b, e);
            }
            // No element comes before the first.
            return match b {
                0 => format!("__upc_el0({a}.offset, {d}, {e})"),
                1 => format!("__upc_el1({a}.offset, {d}, {e})"),
                _ => format!("__upc_elb({a}.offset, {d}, {b}, {e})"),
            };
        }
        let w = self.pplace(base);
        if zero {
            return w;
        }
        self.moved(&w, &deltas.join(" + "), up, b, e)
    }

    /// The shared array that a pointer expression is the start of.
    pub fn declared_array(&self, e: &Expr) -> Option<crate::ast::DeclId> {
        let ExprKind::Implicit { conv: Conv::SharedDecay, expr } = &e.unparen().kind else { return None };
        match expr.unparen().kind {
            ExprKind::Name(d) => Some(d),
            _ => None,
        }
    }

    /// The place of a shared lvalue.
    pub fn place(&mut self, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Name(d) => {
                let a = self.shared_alias(*d);
                format!("__UPC_VAR({a})")
            }
            ExprKind::Paren(x) | ExprKind::Unary { op: UnOp::Extension, expr: x } => self.place(x),
            ExprKind::Generic { chosen } | ExprKind::Choose { chosen } => self.place(chosen),
            ExprKind::Unary { op: UnOp::Deref, expr } => self.pplace(expr),
            ExprKind::Unary { op: UnOp::Real, expr } => {
                let w = self.place(expr);
                format!("__upc_off({w}, 0)")
            }
            ExprKind::Unary { op: UnOp::Imag, expr } => {
                let half = self.u.types.const_size(expr.ty).unwrap_or(0) / 2;
                let w = self.place(expr);
                format!("__upc_off({w}, {half})")
            }
            ExprKind::Index { base, index } => self.element_place(base, index),
            ExprKind::Member { base, arrow, record, path } => {
                let w = if *arrow { self.pplace(base) } else { self.place(base) };
                let off = self.member_offset(*record, path);
                format!("__upc_off({w}, {off})")
            }
            ExprKind::Implicit { conv: Conv::Same, expr } => self.place(expr),
            ExprKind::Comma { lhs, rhs } => {
                let l = self.discard(lhs);
                let r = self.place(rhs);
                format!("({l}, {r})")
            }
            _ => "__UPC_NULLW".into(),
        }
    }

    /// `S`, `V` or nothing: the kind of access to this lvalue.
    fn access(&self, lv: &Expr) -> &'static str {
        if lv.strict {
            "S"
        } else if self.u.types.quals(lv.ty).is_volatile {
            "V"
        } else {
            ""
        }
    }

    /// For a bit-field: the macro arguments `T, place, field, lo, n`, the place as given or that of the record.
    fn bit_args(&mut self, lv: &Expr, at: Option<&str>) -> Option<String> {
        lv.bit_field(&self.u.types)?;
        let ExprKind::Member { record, path, .. } = &lv.unparen().kind else { return None };
        let w = match at {
            Some(a) => a.to_string(),
            None => self.bit_base(lv)?,
        };
        let mut rec = *record;
        let mut bit = 0u64;
        let mut width = 0u64;
        for &f in path {
            self.laid_out.insert(rec);
            let field = self.u.types.records[rec.0 as usize].fields.get(f as usize)?;
            if let Some(b) = field.bits {
                bit += field.bit_offset;
                width = u64::from(b);
            } else {
                bit += field.offset * 8;
            }
            if let TypeKind::Record(r) = self.u.types.ckind(field.ty) {
                rec = *r;
            }
        }
        let (lo, hi) = (bit / 8, (bit + width).div_ceil(8));
        let t = self.record_name(*record);
        let m = self.member_names(*record, path);
        Some(format!("{t}, {w}, {m}, {lo}, {}", hi - lo))
    }

    /// The place of the record that holds a bit-field.
    fn bit_base(&mut self, lv: &Expr) -> Option<String> {
        let ExprKind::Member { base, arrow, .. } = &lv.unparen().kind else { return None };
        Some(if *arrow { self.pplace(base) } else { self.place(base) })
    }

    /// A load of the shared lvalue `lv`, from `at` if its place has been computed.
    pub fn load(&mut self, lv: &Expr, at: Option<&str>) -> Frag {
        if let Some(local) = self.privatised(lv) {
            return local;
        }
        if at.is_none()
            && let Some(there) = self.ahead.get(&(std::ptr::from_ref(lv) as usize)).cloned()
        {
            self.remark_why(lv, "read", "", Some("made at the same time as those around it"));
            return fr(there, 15);
        }
        self.remark(lv, "read");
        let a = self.access(lv);
        if let Some(args) = self.bit_args(lv, at) {
            let s = if a == "S" { "S" } else { "" };
            return fr(format!("__UPC_BFGET{s}({args})"), 16);
        }
        let w = at.map_or_else(|| self.place(lv), String::from);
        let t = self.access_type(lv.ty);
        if let ("", Some(form)) = (a, self.form(lv.ty)) {
            if let Some((name, args)) = self.outlined_access(&w, "ld", form) {
                return fr(format!("({t}){name}({args})"), 14);
            }
            let x = if self.compact { "X" } else { "" };
            return fr(format!("__UPC_LD{x}({t}, {form}, {w})"), 16);
        }
        // A variable that has read-only members cannot be assigned to.
        let k = if self.u.types.record(lv.ty).is_some_and(|r| r.has_const) { "K" } else { "" };
        fr(format!("__UPC_GET{k}{a}({t}, {w})"), 16)
    }

    /// A store of `v` to the shared lvalue `lv`; its value is the value stored.
    fn store(&mut self, lv: &Expr, at: Option<&str>, v: &str) -> Frag {
        if let Some(local) = self.privatised(lv) {
            return fr(format!("{} = {v}", local.s), 2);
        }
        self.remark(lv, "write");
        let a = self.access(lv);
        if let Some(args) = self.bit_args(lv, at) {
            let s = if a == "S" { "S" } else { "" };
            return fr(format!("__UPC_BFPUT{s}({args}, {v})"), 16);
        }
        let w = at.map_or_else(|| self.place(lv), String::from);
        let t = self.access_type(lv.ty);
        if let ("", Some(form)) = (a, self.form(lv.ty)) {
            if let Some((name, args)) = self.outlined_access(&w, "st", form) {
                return fr(format!("__UPC_STO({t}, {form}, {name}, {args}, {v})"), 16);
            }
            let x = if self.compact { "X" } else { "" };
            return fr(format!("__UPC_ST{x}({t}, {form}, {w}, {v})"), 16);
        }
        fr(format!("__UPC_PUT{a}({t}, {w}, {v})"), 16)
    }

    /// Function and arguments for an access to a place that a function computes.
    pub fn outlined_access(&mut self, w: &str, what: &str, form: &str) -> Option<(String, String)> {
        let (inner, offset) = match w.strip_prefix("__upc_off(") {
            Some(rest) => rest.strip_suffix(')')?.rsplit_once(", ")?,
            None => (w, "0"),
        };
        let (key, args) = inner.strip_prefix(OUT)?.strip_suffix("))")?.split_once('(')?;
        self.outlines.insert(format!("{key} {what} {form}"));
        Some((format!("__upc_{what}{key}_{form}"), format!("{args}, {offset}")))
    }

    /// How a scalar passes to and from the functions for remote accesses: its size, or a floating type.
    pub fn form(&self, t: TypeId) -> Option<&'static str> {
        use Scalar::*;
        match self.u.types.as_scalar(t) {
            Some(Float) => Some("f"),
            Some(Double) => Some("d"),
            Some(s) if s.is_integer() => match s.size() {
                1 => Some("1"),
                2 => Some("2"),
                4 => Some("4"),
                8 => Some("8"),
                _ => None,
            },
            Some(_) => None,
            None if !self.u.types.is_pointer(t) => None,
            None if self.is_pts(t) && self.o.pts_struct => None,
            None => Some("8"),
        }
    }

    /// Whether `lv op= v` can read and write the object in one piece.
    fn in_one_piece(&self, lv: &Expr) -> bool {
        self.access(lv).is_empty()
            && lv.bit_field(&self.u.types).is_none()
            && self.passes.hoist
            && !self.is_pts(lv.ty)
            && self.form(lv.ty).is_some()
    }

    /// `lv op= v`, `v` of type `ty`, computed in the type `cast` says. `old`: the result is the value before.
    fn update(&mut self, lv: &Expr, op: BinOp, (cast, ty, v): (&str, &str, &str), old: bool) -> Frag {
        self.remark(lv, "update");
        let place = self.place(lv);
        let t = self.access_type(lv.ty);
        let o = if old { "O" } else { "" };
        if let Some((name, args)) = self.outlined_access(&place, "ad", "8") {
            let at = format!("{name}({args}, &__upc_a, &__upc_s, sizeof(__upc_s))");
            return fr(format!("__UPC_RMWX{o}({t}, {at}, {cast}, {}, {ty}, {v})", binop(op).0), 16);
        }
        fr(format!("__UPC_RMW{o}({t}, {place}, {cast}, {}, {ty}, {v})", binop(op).0), 16)
    }

    fn unary(&mut self, e: &Expr, op: UnOp, x: &Expr) -> Frag {
        let text = match op {
            UnOp::Plus => "+",
            UnOp::Neg => "-",
            UnOp::BitNot => "~",
            UnOp::Not => {
                let c = self.cond(x).p(15);
                return fr(format!("!{c}"), 15);
            }
            UnOp::AddrOf => {
                // &*p of a private p, & of a private object or function.
                let l = self.rv(x).p(15);
                return fr(format!("&{l}"), 15);
            }
            UnOp::Deref => "*",
            UnOp::Real => "__real__ ",
            UnOp::Imag => "__imag__ ",
            UnOp::Extension => {
                let f = self.rv(x);
                return fr(format!("__extension__ {}", f.p(15)), 15);
            }
        };
        let _ = e;
        let x = self.rv(x).p(15);
        // `- -1` must not become `--1`.
        let gap = if x.starts_with(['-', '+', '&']) { " " } else { "" };
        fr(format!("{text}{gap}{x}"), 15)
    }

    /// Whether evaluating a private lvalue twice is the same as once.
    fn simple(e: &Expr) -> bool {
        match &e.unparen().kind {
            ExprKind::Name(_) => true,
            ExprKind::Member { base, arrow: false, .. } => Self::simple(base),
            ExprKind::Member { base, arrow: true, .. } => Self::simple(base),
            ExprKind::Implicit { conv: Conv::Load, expr } => Self::simple(expr),
            _ => false,
        }
    }

    fn inc_dec(&mut self, inc: bool, prefix: bool, x: &Expr) -> Frag {
        let sign = if inc { "++" } else { "--" };
        let pts = self.is_pts(x.ty);
        if !self.u.types.is_shared(x.ty) {
            if !pts {
                let l = self.rv(x).p(15);
                return if prefix { fr(format!("{sign}{l}"), 15) } else { fr(format!("{l}{sign}"), 16) };
            }
            return self.update_private_pts(x, fr("1", 16), !inc, prefix);
        }
        let local = self.privatised(x);
        if let (Some(l), false) = (local, pts) {
            let l = l.p(15);
            return if prefix { fr(format!("{sign}{l}"), 15) } else { fr(format!("{l}{sign}"), 16) };
        }
        let op = if inc { BinOp::Add } else { BinOp::Sub };
        if self.in_one_piece(x) {
            return self.update(x, op, ("", "int", "1"), !prefix);
        }
        let (w, o) = (self.fresh("w"), self.fresh("o"));
        let place = self.bit_base_or_place(x);
        let get = self.load(x, Some(&w)).s;
        let new = if pts {
            let s = self.step(&format!("__upc_u({o})"), fr("1", 16), !inc, x.ty);
            format!("__upc_p({s})")
        } else {
            format!("{o} {} 1", if inc { '+' } else { '-' })
        };
        let put = self.store(x, Some(&w), &new).s;
        let tail = if prefix { format!("{put};") } else { format!("(void){put}; {o};") };
        fr(format!("({{ const struct __upc_w {w} = {place}; const __auto_type {o} = {get}; {tail} }})"), 16)
    }

    fn bit_base_or_place(&mut self, x: &Expr) -> String {
        if x.bit_field(&self.u.types).is_some()
            && let Some(w) = self.bit_base(x)
        {
            return w;
        }
        self.place(x)
    }

    /// Notes an access that stays an access to shared memory.
    pub fn remark(&mut self, lv: &Expr, what: &str) {
        self.remark_why(lv, what, "", None);
    }

    /// The same, `when` it is one, and with a reason of its own.
    pub fn remark_why(&mut self, lv: &Expr, what: &str, when: &str, why: Option<&str>) {
        if self.compact || self.quiet || lv.toks.is_empty() {
            return;
        }
        let tb = &self.u.tokens;
        let t = tb.tok(lv.toks.start);
        let why = match (why, self.loops.last()) {
            (Some(why), _) => why,
            _ if lv.strict => "it is strict",
            _ if self.u.types.quals(lv.ty).is_volatile => "it is volatile",
            (None, None) => "it is in no loop",
            (None, Some(&"")) => "it does not run along with the loop variable",
            (None, Some(why)) => why,
        };
        let file = tb.files.get(t.file as usize).map_or("", |f| f.name.as_str());
        let text = self.verbatim(lv.toks);
        self.remarks.insert((file.to_string(), t.line, format!("{what} of `{text}`{when}: {why}")));
    }

    /// `x += n` (or `-=`) for a private `x` of pointer-to-shared type.
    fn update_private_pts(&mut self, x: &Expr, n: Frag, back: bool, prefix: bool) -> Frag {
        let lv = self.rv(x).p(15);
        if Self::simple(x) {
            if prefix {
                let s = self.step(&format!("__upc_u({lv})"), n, back, x.ty);
                return fr(format!("{lv} = __upc_p({s})"), 2);
            }
            let o = self.fresh("o");
            let s = self.step(&format!("__upc_u({o})"), n, back, x.ty);
            return fr(format!("({{ const __upc_pts {o} = {lv}; {lv} = __upc_p({s}); {o}; }})"), 16);
        }
        let (l, o) = (self.fresh("l"), self.fresh("o"));
        let s = self.step(&format!("__upc_u({o})"), n, back, x.ty);
        let tail =
            if prefix { format!("*{l} = __upc_p({s});") } else { format!("*{l} = __upc_p({s}); {o};") };
        fr(format!("({{ __upc_pts *const {l} = &{lv}; const __upc_pts {o} = *{l}; {tail} }})"), 16)
    }

    fn compound(&mut self, op: BinOp, lhs: &Expr, rhs: &Expr, compute: TypeId) -> Frag {
        let (sign, prec) = binop(op);
        let pts = self.is_pts(lhs.ty);
        if !self.u.types.is_shared(lhs.ty) {
            let r = self.rv(rhs);
            if pts {
                return self.update_private_pts(lhs, r, op == BinOp::Sub, true);
            }
            let l = self.rv(lhs).p(15);
            return fr(format!("{l} {sign}= {}", r.p(2)), 2);
        }
        if !pts && let Some(l) = self.privatised(lhs) {
            let r = self.rv(rhs).p(2);
            return fr(format!("{} {sign}= {r}", l.p(15)), 2);
        }
        let same = self.u.types.canon(compute) == self.u.types.canon(rhs.ty);
        let cast = if !pts && self.u.types.is_arithmetic(compute) && !same {
            format!("({})", self.ctype_plain(compute, ""))
        } else {
            String::new()
        };
        if self.in_one_piece(lhs) {
            let v = self.rv(rhs).arg();
            let ty = self.access_type(rhs.ty);
            return self.update(lhs, op, (&cast, &ty, &v), false);
        }
        let (w, o) = (self.fresh("w"), self.fresh("o"));
        let place = self.bit_base_or_place(lhs);
        let get = self.load(lhs, Some(&w)).s;
        let r = self.rv(rhs);
        let new = if pts {
            let s = self.step(&format!("__upc_u({o})"), r, op == BinOp::Sub, lhs.ty);
            format!("__upc_p({s})")
        } else {
            format!("({cast}{o} {sign} {})", r.p(prec + 1))
        };
        let put = self.store(lhs, Some(&w), &new).s;
        fr(format!("({{ const struct __upc_w {w} = {place}; const __auto_type {o} = {get}; {put}; }})"), 16)
    }

    fn binary(&mut self, op: BinOp, lhs: &Expr, rhs: &Expr) -> Frag {
        let (sign, prec) = binop(op);
        match op {
            BinOp::LogAnd | BinOp::LogOr => {
                let l = self.cond(lhs).p(prec);
                let r = self.cond(rhs).p(prec + 1);
                return fr(format!("{l} {sign} {r}"), prec);
            }
            _ if self.is_pts(lhs.ty) && self.is_pts(rhs.ty) => {
                let l = self.pplace(lhs);
                let r = self.pplace(rhs);
                let ty = if matches!(self.u.types.pts_kind(lhs.ty), Some(PtsKind::Generic)) {
                    rhs.ty
                } else {
                    lhs.ty
                };
                return match op {
                    BinOp::Eq => fr(format!("__upc_eq({l}, {r})"), 16),
                    BinOp::Ne => fr(format!("!__upc_eq({l}, {r})"), 15),
                    _ => {
                        let (b, e) = self.pts_params(ty);
                        let d = format!("__upc_sub({l}, {r}, {b}, {e})");
                        if op == BinOp::Sub {
                            let pointee = self.u.types.pointee(ty).unwrap_or(ty);
                            let k = self.count_expr(pointee);
                            if k == "1" { fr(d, 16) } else { fr(format!("({d} / (long)({k}))"), 16) }
                        } else {
                            fr(format!("({d} {sign} 0)"), 16)
                        }
                    }
                };
            }
            _ => {}
        }
        let l = self.rv(lhs).p(prec);
        let r = self.rv(rhs).p(prec + 1);
        fr(format!("{l} {sign} {r}"), prec)
    }

    fn call(&mut self, callee: &Expr, args: &[Expr]) -> Frag {
        let args: Vec<String> = args
            .iter()
            .map(|a| {
                let f = self.rv(a);
                if f.s.contains("__UPC_") || f.s.contains('{') { f.arg() } else { f.p(2) }
            })
            .collect();
        let args = args.join(", ");
        if let ExprKind::Name(d) = &callee_name(callee).kind {
            let decl = self.u.decl(*d);
            let name = self.u.name(decl.name).to_string();
            if self.from_own_header(*d) && decl.def != Definition::Defined && INLINE.contains(&name.as_str())
            {
                return fr(format!("__{name}({args})"), 16);
            }
            if self.o.sanitize && self.from_own_header(*d) && decl.def != Definition::Defined {
                return fr(format!("(__upc_here(__FILE__, __LINE__), {name}({args}))"), 16);
            }
            return fr(format!("{name}({args})"), 16);
        }
        let f = self.rv(callee).p(16);
        fr(format!("{f}({args})"), 16)
    }

    fn implicit(&mut self, e: &Expr, conv: Conv, x: &Expr) -> Frag {
        match conv {
            Conv::SharedLoad => self.load(x, None),
            Conv::PtsToPtr => {
                let w = self.pplace(x);
                fr(format!("__upc_priv({w})"), 16)
            }
            Conv::PtsToInt => {
                let w = self.pplace(x);
                fr(format!("__upc_int({w})"), 16)
            }
            Conv::PtsToBool => {
                let w = self.pplace(x);
                fr(format!("__upc_nonnull({w})"), 16)
            }
            Conv::PtrToBool => {
                let f = self.rv(x).p(9);
                fr(format!("{f} != 0"), 9)
            }
            Conv::ToVoid => {
                let s = self.discard(x);
                fr(format!("(void)({s})"), 14)
            }
            Conv::Arith => {
                // A statement expression does not keep the declared type of a bit-field; where the type matters, say it.
                let f = self.rv(x);
                if f.s.starts_with("__UPC_BF") {
                    let t = self.ctype_plain(e.ty, "");
                    return fr(format!("({t}){}", f.p(14)), 14);
                }
                f
            }
            _ => self.rv(x),
        }
    }

    fn sizeof(&mut self, op: SizeOp, arg: &SizeArg) -> Frag {
        let ty = match arg {
            SizeArg::Type(t) => t.ty,
            SizeArg::Expr(e) => e.ty,
        };
        match (op, self.u.types.size_of(ty)) {
            (SizeOp::Size, Size::Const(n)) => fr(format!("{n}ul"), 16),
            (SizeOp::Size, Size::Threads(n)) => fr(format!("({n}ul * __UPC_T)"), 16),
            (SizeOp::Size, _) if self.u.types.mentions_shared(ty) || self.has_threads_array(ty) => {
                let n = self.count_expr(ty);
                let e = self.elem_size(ty);
                fr(format!("({e}ul * ({n}))"), 16)
            }
            (SizeOp::Size, _) => {
                let t = match arg {
                    SizeArg::Type(t) => self.type_name(t),
                    SizeArg::Expr(e) => self.rv(e).s,
                };
                fr(format!("sizeof({t})"), 15)
            }
            (SizeOp::Align, _) => fr(format!("{}ul", self.u.types.align_of(ty)), 16),
            (SizeOp::Local, _) => {
                let n = self.count_expr(ty);
                let e = self.elem_size(ty);
                fr(format!("({e}ul * ({n}))"), 16)
            }
            (SizeOp::Block, _) => fr(format!("{}ul", self.u.types.block(ty).map_or(0, |b| b.size())), 16),
            (SizeOp::Elem, _) => fr(format!("{}ul", self.elem_size(ty)), 16),
        }
    }
}

/// The name that a callee is, if it is one.
fn callee_name(e: &Expr) -> &Expr {
    let e = e.unparen();
    match &e.kind {
        ExprKind::Implicit { conv: Conv::FuncDecay, expr } => expr.unparen(),
        _ => e,
    }
}
