//! Accesses to shared objects, and remarks on those that remain.

use super::Emitter;
use super::abi::{
    GET, GET_BITS, LOAD, PUT, PUT_BITS, STORE, STORE_OUTLINED, UPDATE, UPDATE_OUTLINED, UPDATE_VARIABLES,
    accessing,
};
use super::at::{At, Outline};
use super::expr::{Frag, TextShape, binop, fr};
use crate::front::ast::{BinOp, Expr, ExprKind};
use crate::front::types::{TypeId, TypeKind};
use crate::ir::{Carrier, Order};
use crate::lower;

impl Emitter<'_> {
    /// `S`, `V` or nothing: what macros for accesses to this lvalue have in their names.
    pub(super) fn access(&self, lv: &Expr) -> &'static str {
        match lower::order(self.u, lv) {
            Order::Strict => "S",
            Order::Volatile => "V",
            Order::Relaxed => "",
        }
    }

    /// For a bit-field: the macro arguments `T, place, field, lo, n`, the place as given or that of the
    /// record.
    pub(super) fn bit_args(&mut self, lv: &Expr, at: Option<&At>) -> Option<String> {
        lv.bit_field(&self.u.types)?;
        let ExprKind::Member { record, path, .. } = &lv.unparen().kind else { return None };
        let w = match at {
            Some(a) => a.clone(),
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
    pub(super) fn bit_base(&mut self, lv: &Expr) -> Option<At> {
        let ExprKind::Member { base, arrow, .. } = &lv.unparen().kind else { return None };
        Some(if *arrow { self.pplace(base) } else { self.place(base) })
    }

    /// The private C lvalue of a shared lvalue that is used through a pointer here.
    pub(super) fn privatised(&mut self, lv: &Expr) -> Option<Frag> {
        if lv.strict {
            return None;
        }
        match &lv.kind {
            ExprKind::Paren(x) => self.privatised(x),
            ExprKind::Member { base, arrow: false, record, path } => {
                let b = self.privatised(base)?;
                let m = self.member_names(*record, path);
                Some(fr(if m.is_empty() { b.s } else { format!("{}.{m}", b.s) }, 16))
            }
            ExprKind::Index { .. } => {
                let (pointer, index) = self.pointers.get(lv)?;
                Some(fr(format!("{pointer}[{index}]"), 16))
            }
            _ => None,
        }
    }

    /// A load of the shared lvalue `lv`, from `at` if its place has been computed.
    pub fn load(&mut self, lv: &Expr, at: Option<&At>) -> Frag {
        if let Some(local) = self.privatised(lv) {
            return local;
        }
        if at.is_none()
            && let Some(there) = self.known.get(&lv.id).cloned()
        {
            self.remark_why(lv, "read", "", Some(there.why));
            return there.lvalue;
        }
        self.remark(lv, "read");
        let a = self.access(lv);
        if let Some(args) = self.bit_args(lv, at) {
            let s = if a == "S" { "S" } else { "" };
            return Frag { shape: TextShape::BitField, ..fr(format!("{GET_BITS}{s}({args})"), 16) };
        }
        let w = at.map_or_else(|| self.place(lv), At::clone);
        let t = self.access_type(lv.ty);
        if let ("", Some(form)) = (a, self.form(lv.ty)) {
            if let Some((name, args)) = self.outlined_access(&w, "ld", form) {
                return fr(format!("({t}){name}({args})"), 14);
            }
            let x = if self.compact() { "X" } else { "" };
            return fr(format!("{LOAD}{x}({t}, {form}, {w})"), 16);
        }
        // A variable that has read-only members cannot be assigned to.
        let k = if self.u.types.record(lv.ty).is_some_and(|r| r.has_const) { "K" } else { "" };
        fr(format!("{GET}{k}{a}({t}, {w})"), 16)
    }

    /// A store of `v` to the shared lvalue `lv`; its value is the value stored.
    pub(super) fn store(&mut self, lv: &Expr, at: Option<&At>, v: &str) -> Frag {
        if let Some(local) = self.privatised(lv) {
            return fr(format!("{} = {v}", local.s), 2);
        }
        self.remark(lv, "write");
        let a = self.access(lv);
        if let Some(args) = self.bit_args(lv, at) {
            let s = if a == "S" { "S" } else { "" };
            return Frag { shape: TextShape::BitField, ..fr(format!("{PUT_BITS}{s}({args}, {v})"), 16) };
        }
        let w = at.map_or_else(|| self.place(lv), At::clone);
        let t = self.access_type(lv.ty);
        if let ("", Some(form)) = (a, self.form(lv.ty)) {
            if let Some((name, args)) = self.outlined_access(&w, "st", form) {
                return fr(format!("{STORE_OUTLINED}({t}, {form}, {name}, {args}, {v})"), 16);
            }
            let x = if self.compact() { "X" } else { "" };
            return fr(format!("{STORE}{x}({t}, {form}, {w}, {v})"), 16);
        }
        fr(format!("{PUT}{a}({t}, {w}, {v})"), 16)
    }

    /// Function and arguments for an access to a place that a function computes.
    pub fn outlined_access(
        &mut self,
        w: &At,
        what: &'static str,
        form: &'static str,
    ) -> Option<(String, String)> {
        let (place, offset) = match w {
            At::Offset(from, bytes) => (&**from, *bytes),
            _ => (w, 0),
        };
        let At::Outlined { spread, args } = place else { return None };
        let outline = Outline::new(*spread, what, form);
        let name = accessing(what, &outline.key, form);
        self.outlines.insert(outline);
        Some((name, format!("{args}, {offset}")))
    }

    /// How a scalar passes to and from the functions for far accesses, as their names have it.
    pub(super) fn form(&self, t: TypeId) -> Option<&'static str> {
        Some(match lower::carrier(self.u, t)? {
            Carrier::Float => "f",
            Carrier::Double => "d",
            Carrier::Bytes(1) => "1",
            Carrier::Bytes(2) => "2",
            Carrier::Bytes(4) => "4",
            Carrier::Bytes(_) => "8",
        })
    }

    /// Whether `lv op= v` can read and write the object in one piece.
    pub(super) fn in_one_piece(&self, lv: &Expr) -> bool {
        self.access(lv).is_empty()
            && lv.bit_field(&self.u.types).is_none()
            && self.passes.hoist
            && !self.is_pts(lv.ty)
            && self.form(lv.ty).is_some()
    }

    /// `lv op= v`, `v` of type `ty`, computed in the type `cast` says. `old`: the result is the value before.
    pub(super) fn update(
        &mut self,
        lv: &Expr,
        op: BinOp,
        (cast, ty, v): (&str, &str, &str),
        old: bool,
    ) -> Frag {
        self.remark(lv, "update");
        let place = self.place(lv);
        let t = self.access_type(lv.ty);
        let o = if old { "O" } else { "" };
        if let Some((name, args)) = self.outlined_access(&place, "ad", "8") {
            let at = format!("{name}({args}, {UPDATE_VARIABLES})");
            return fr(format!("{UPDATE_OUTLINED}{o}({t}, {at}, {cast}, {}, {ty}, {v})", binop(op).0), 16);
        }
        fr(format!("{UPDATE}{o}({t}, {place}, {cast}, {}, {ty}, {v})", binop(op).0), 16)
    }

    pub(super) fn bit_base_or_place(&mut self, x: &Expr) -> At {
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
        if self.compact() || self.quiet || lv.toks.is_empty() {
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
}
