//! Accesses to shared objects, and remarks on those that remain.

use super::Emitter;
use super::expr::{Frag, binop, fr};
use super::place::OUT;
use crate::ast::{BinOp, Expr, ExprKind};
use crate::types::{Scalar, TypeId, TypeKind};

impl Emitter<'_> {
    /// `S`, `V` or nothing: the kind of access to this lvalue.
    pub(super) fn access(&self, lv: &Expr) -> &'static str {
        if lv.strict {
            "S"
        } else if self.u.types.quals(lv.ty).is_volatile {
            "V"
        } else {
            ""
        }
    }

    /// For a bit-field: the macro arguments `T, place, field, lo, n`, the place as given or that of the record.
    pub(super) fn bit_args(&mut self, lv: &Expr, at: Option<&str>) -> Option<String> {
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
    pub(super) fn bit_base(&mut self, lv: &Expr) -> Option<String> {
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
    pub(super) fn store(&mut self, lv: &Expr, at: Option<&str>, v: &str) -> Frag {
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
            let at = format!("{name}({args}, &__upc_a, &__upc_s, sizeof(__upc_s))");
            return fr(format!("__UPC_RMWX{o}({t}, {at}, {cast}, {}, {ty}, {v})", binop(op).0), 16);
        }
        fr(format!("__UPC_RMW{o}({t}, {place}, {cast}, {}, {ty}, {v})", binop(op).0), 16)
    }

    pub(super) fn bit_base_or_place(&mut self, x: &Expr) -> String {
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
}
