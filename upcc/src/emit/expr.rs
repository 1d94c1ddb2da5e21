//! Expressions. A *place* is C text of type `struct __upc_w`: where a shared object is. `rv` makes the C
//! expression of a value (or of a private lvalue), `place` the place of a shared lvalue, `pplace` the place
//! that a pointer-to-shared value points to.

use super::abi::{
    self, DISTANCE, EQUAL, HERE, INTEGER, MYTHREAD, NOT_NULL, PACK, PLACE, PRIVATE, PTS, THREADS,
    THREADS_LONG, local,
};
use super::at::{At, By};
use super::{Emitter, out};
use crate::front::ast::{
    BinOp, Cat, ConstValue, Conv, Definition, Expr, ExprKind, NodeId, SizeArg, SizeOp, TypeName, UnOp, walk,
};
use crate::front::types::{PtsKind, RecordId, Scalar, Size, TypeId, TypeKind};
use std::collections::HashSet;

/// The expressions that hold a compound literal. An expression is searched once: the result is kept for the
/// expressions inside of it.
#[derive(Debug, Default)]
pub(super) struct Literals {
    seen: HashSet<NodeId>,
    around: HashSet<NodeId>,
}

impl Literals {
    /// Whether the expression holds one.
    fn within(&mut self, e: &Expr) -> bool {
        if !self.seen.contains(&e.id) {
            // Those around the present expression that are not known to hold one.
            let mut open: Vec<NodeId> = Vec::new();
            walk::around(e, &mut |x, before| {
                if before {
                    self.seen.insert(x.id);
                    open.push(x.id);
                    if matches!(x.kind, ExprKind::CompoundLit { .. }) {
                        self.around.extend(open.drain(..));
                    }
                } else if open.last() == Some(&x.id) {
                    open.pop();
                }
            });
        }
        self.around.contains(&e.id)
    }
}

/// Text of an expression and how tightly it binds (16 primary and postfix, 15 unary, 14 cast, 13 `*`, ... 3
/// `?:`, 2 `=`, 1 `,`).
#[derive(Clone, Debug)]
pub struct Frag {
    /// C text.
    pub s: String,
    /// Precedence.
    pub prec: u8,
    /// The form of the text, where it matters.
    pub(super) shape: TextShape,
}

/// Forms of text that need special care where they are put into a larger expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextShape {
    /// A statement expression, in its parentheses.
    Statements,
    /// An access to a bit-field of a shared object.
    BitField,
    /// It begins with a `-`, `+` or `&` of its own.
    Signed,
    /// Nothing.
    Other,
}

impl Frag {
    /// As an operand that must bind at least as tightly as `min`.
    pub fn p(self, min: u8) -> String {
        if self.prec < min { format!("({})", self.s) } else { self.s }
    }
}

pub(super) fn fr(s: impl Into<String>, prec: u8) -> Frag {
    Frag { s: s.into(), prec, shape: TextShape::Other }
}

/// A statement expression.
fn statements(s: &str) -> Frag {
    Frag { s: format!("({{ {s} }})"), prec: 16, shape: TextShape::Statements }
}

/// An operand that begins with a sign.
fn signed(s: String) -> Frag {
    Frag { s, prec: 15, shape: TextShape::Signed }
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

/// Functions of upc.h that become inline code.
const INLINE: &[&str] =
    &["upc_threadof", "upc_phaseof", "upc_addrfield", "upc_resetphase", "upc_affinitysize"];

impl Emitter<'_> {
    pub(super) fn is_pts(&self, t: TypeId) -> bool {
        self.u.types.is_pts(t)
    }

    /// Tokens as one line.
    pub fn verbatim(&self, r: crate::front::token::TokRange) -> String {
        out::flat(&self.u.tokens, r, &self.out.tags).trim().to_string()
    }

    /// An unused name.
    pub fn fresh(&mut self, stem: &str) -> String {
        let n = self.next_number();
        local(stem, n)
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
            return fr(format!("{NOT_NULL}({w})"), 16);
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

    /// Whether an expression that is emitted as read, and binds as tightly as an operand, begins with a sign.
    fn begins_signed(e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Implicit { expr, .. } => Self::begins_signed(expr),
            ExprKind::Unary { op, .. } => matches!(op, UnOp::Plus | UnOp::Neg | UnOp::AddrOf),
            ExprKind::IncDec { prefix, .. } => *prefix,
            ExprKind::LabelAddr(_) => true,
            _ => false,
        }
    }

    /// The C expression of a value, or of a private lvalue.
    pub fn rv(&mut self, e: &Expr) -> Frag {
        if !e.has_upc && !e.toks.is_empty() {
            let shape = if Self::begins_signed(e) { TextShape::Signed } else { TextShape::Other };
            return Frag { shape, ..fr(self.verbatim(e.toks), Self::prec_of(e)) };
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
            ExprKind::Threads => fr(THREADS, 16),
            ExprKind::MyThread => fr(MYTHREAD, 16),
            ExprKind::Paren(x) => {
                let f = self.rv(x);
                if f.shape == TextShape::Statements { f } else { fr(format!("({})", f.s), 16) }
            }
            ExprKind::Unary { op, expr } => self.unary(e, *op, expr),
            ExprKind::IncDec { inc, prefix, expr } => self.inc_dec(*inc, *prefix, expr),
            ExprKind::Binary { op, lhs, rhs } => self.binary(*op, lhs, rhs),
            ExprKind::Assign { lhs, rhs } => self.assign(lhs, rhs),
            ExprKind::CompoundAssign { op, lhs, rhs, compute } => self.compound(*op, lhs, rhs, *compute),
            ExprKind::Cond { cond, then, els } => self.choice(cond, then.as_deref(), els),
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
            ExprKind::Cast { to, conv, expr } => self.cast(e, to, *conv, expr),
            ExprKind::Implicit { conv, expr } => self.implicit(e, *conv, expr),
            ExprKind::CompoundLit { to, init } => {
                let t = self.type_name_as(to, e.ty);
                let i = self.init_text(init, e.ty, None);
                fr(format!("({t}){i}"), 16)
            }
            ExprKind::SizeOf { op, arg } => self.sizeof(*op, arg),
            ExprKind::StmtExpr(b) => {
                let s = self.flat_block(b);
                Frag { s: format!("({s})"), prec: 16, shape: TextShape::Statements }
            }
            ExprKind::Generic { chosen } | ExprKind::Choose { chosen } => {
                let f = self.rv(chosen);
                fr(format!("({})", f.s), 16)
            }
            ExprKind::LabelAddr(s) => signed(format!("&&{}", self.u.name(*s))),
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

    fn assign(&mut self, lhs: &Expr, rhs: &Expr) -> Frag {
        if self.u.types.is_shared(lhs.ty) {
            let v = self.argument(rhs);
            return self.store(lhs, None, &v);
        }
        let l = self.rv(lhs).p(15);
        let r = self.rv(rhs).p(2);
        fr(format!("{l} = {r}"), 2)
    }

    /// `cond ? then : els`, or `cond ?: els`.
    fn choice(&mut self, cond: &Expr, then: Option<&Expr>, els: &Expr) -> Frag {
        match then {
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
        }
    }

    /// `e` is the cast of `expr` to `to`.
    fn cast(&mut self, e: &Expr, to: &TypeName, conv: Conv, expr: &Expr) -> Frag {
        if conv == Conv::ToVoid {
            let x = self.discard(expr);
            return fr(format!("(void)({x})"), 14);
        }
        let t = self.type_name(to);
        let of_shared = match conv {
            Conv::PtsToPtr => PRIVATE,
            Conv::PtsToInt => INTEGER,
            Conv::PtsToBool => NOT_NULL,
            Conv::Same if self.u.types.is_record(e.ty) => return self.rv(expr),
            _ => {
                let x = self.rv(expr).p(14);
                return fr(format!("({t}){x}"), 14);
            }
        };
        let w = self.pplace(expr);
        fr(format!("({t}){of_shared}({w})"), 14)
    }

    /// A value as an argument of a function that may be a macro of ours: no comma outside of parentheses,
    /// such as compound literals have.
    fn argument(&mut self, e: &Expr) -> String {
        let literal = self.literals.within(e);
        let f = self.rv(e);
        if literal { format!("({})", f.s) } else { f.p(2) }
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
                return signed(format!("&{l}"));
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
        let x = self.rv(x);
        // `- -1` must not become `--1`.
        let gap = if x.prec >= 15 && x.shape == TextShape::Signed { " " } else { "" };
        let all = format!("{text}{gap}{}", x.p(15));
        if matches!(op, UnOp::Plus | UnOp::Neg) { signed(all) } else { fr(all, 15) }
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
                return if prefix { signed(format!("{sign}{l}")) } else { fr(format!("{l}{sign}"), 16) };
            }
            return self.update_private_pts(x, &By::one(!inc), prefix);
        }
        let local = self.privatised(x);
        if let (Some(l), false) = (local, pts) {
            let l = l.p(15);
            return if prefix { signed(format!("{sign}{l}")) } else { fr(format!("{l}{sign}"), 16) };
        }
        let op = if inc { BinOp::Add } else { BinOp::Sub };
        if self.in_one_piece(x) {
            return self.update(x, op, ("", "int", "1"), !prefix);
        }
        let (w, o) = (self.fresh("w"), self.fresh("o"));
        let place = self.bit_base_or_place(x);
        let get = self.load(x, Some(&At::held(&w))).s;
        let new = if pts {
            let s = self.step_from(&o, &By::one(!inc), x.ty);
            format!("{PACK}({s})")
        } else {
            format!("{o} {} 1", if inc { '+' } else { '-' })
        };
        let put = self.store(x, Some(&At::held(&w)), &new).s;
        let tail = if prefix { format!("{put};") } else { format!("(void){put}; {o};") };
        statements(&format!("const {PLACE} {w} = {place}; const __auto_type {o} = {get}; {tail}"))
    }

    /// `x += n` (or `-=`) for a private `x` of pointer-to-shared type.
    fn update_private_pts(&mut self, x: &Expr, by: &By, prefix: bool) -> Frag {
        let lv = self.rv(x).p(15);
        if Self::simple(x) {
            if prefix {
                let s = self.step_from(&lv, by, x.ty);
                return fr(format!("{lv} = {PACK}({s})"), 2);
            }
            let o = self.fresh("o");
            let s = self.step_from(&o, by, x.ty);
            return statements(&format!("const {PTS} {o} = {lv}; {lv} = {PACK}({s}); {o};"));
        }
        let (l, o) = (self.fresh("l"), self.fresh("o"));
        let s = self.step_from(&o, by, x.ty);
        let tail = if prefix { format!("*{l} = {PACK}({s});") } else { format!("*{l} = {PACK}({s}); {o};") };
        statements(&format!("{PTS} *const {l} = &{lv}; const {PTS} {o} = *{l}; {tail}"))
    }

    fn compound(&mut self, op: BinOp, lhs: &Expr, rhs: &Expr, compute: TypeId) -> Frag {
        let (sign, prec) = binop(op);
        let pts = self.is_pts(lhs.ty);
        if !self.u.types.is_shared(lhs.ty) {
            if pts {
                let by = self.by(rhs, op == BinOp::Sub);
                return self.update_private_pts(lhs, &by, true);
            }
            let r = self.rv(rhs);
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
            let v = self.argument(rhs);
            let ty = self.access_type(rhs.ty);
            return self.update(lhs, op, (&cast, &ty, &v), false);
        }
        let (w, o) = (self.fresh("w"), self.fresh("o"));
        let place = self.bit_base_or_place(lhs);
        let get = self.load(lhs, Some(&At::held(&w))).s;
        let new = if pts {
            let by = self.by(rhs, op == BinOp::Sub);
            let s = self.step_from(&o, &by, lhs.ty);
            format!("{PACK}({s})")
        } else {
            format!("({cast}{o} {sign} {})", self.rv(rhs).p(prec + 1))
        };
        let put = self.store(lhs, Some(&At::held(&w)), &new).s;
        statements(&format!("const {PLACE} {w} = {place}; const __auto_type {o} = {get}; {put};"))
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
                    BinOp::Eq => fr(format!("{EQUAL}({l}, {r})"), 16),
                    BinOp::Ne => fr(format!("!{EQUAL}({l}, {r})"), 15),
                    _ => {
                        let (b, e) = self.pts_params(ty);
                        let d = format!("{DISTANCE}({l}, {r}, {b}, {e})");
                        if op == BinOp::Sub {
                            let pointee = self.u.types.pointee(ty).unwrap_or(ty);
                            match self.several(pointee) {
                                Some(k) => fr(format!("({d} / (long)({k}))"), 16),
                                None => fr(d, 16),
                            }
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
        let args: Vec<String> = args.iter().map(|a| self.argument(a)).collect();
        let args = args.join(", ");
        if let ExprKind::Name(d) = &callee_name(callee).kind {
            let decl = self.u.decl(*d);
            let name = self.u.name(decl.name).to_string();
            if self.from_own_header(*d) && decl.def != Definition::Defined && INLINE.contains(&name.as_str())
            {
                return fr(format!("{}({args})", abi::inline(&name)), 16);
            }
            if self.o.sanitize && self.from_own_header(*d) && decl.def != Definition::Defined {
                return fr(format!("({HERE}(__FILE__, __LINE__), {name}({args}))"), 16);
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
                fr(format!("{PRIVATE}({w})"), 16)
            }
            Conv::PtsToInt => {
                let w = self.pplace(x);
                fr(format!("{INTEGER}({w})"), 16)
            }
            Conv::PtsToBool => {
                let w = self.pplace(x);
                fr(format!("{NOT_NULL}({w})"), 16)
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
                // A statement expression does not keep the declared type of a bit-field; where the type
                // matters, say it.
                let f = self.rv(x);
                if f.shape == TextShape::BitField {
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
            (SizeOp::Size, Size::Threads(n)) => fr(format!("({n}ul * {THREADS_LONG})"), 16),
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
