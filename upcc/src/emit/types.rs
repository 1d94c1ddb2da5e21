//! Types as C spells them: `shared` is left out, a pointer-to-shared is a typedef name that tells element and
//! block size.

use super::Emitter;
use super::abi::{self, PTS_VOID, THREADS, THREADS_LONG};
use crate::front::ast::{DeclId, DeclKind};
use crate::front::types::{ArrayLen, ExprId, Quals, RecordId, TypeId, TypeKind};

/// Qualifiers of C, with a blank after each.
pub fn quals(q: Quals) -> String {
    let mut s = String::new();
    for (on, name) in [
        (q.is_const, "const "),
        (q.is_volatile, "volatile "),
        (q.is_restrict, "__restrict "),
        (q.is_atomic, "_Atomic "),
    ] {
        if on {
            s.push_str(name);
        }
    }
    s
}

impl Emitter<'_> {
    /// The typedef name of the pointer-to-shared with this pointee.
    pub fn pts_name(&mut self, pointee: TypeId) -> String {
        let t = &self.u.types;
        let b = t.block(pointee).map_or(1, |b| b.size());
        let name = if t.is_void(pointee) {
            PTS_VOID.to_string()
        } else {
            let mut s = abi::pts_prefix(b);
            self.mangle(pointee, &mut s);
            s
        };
        if !self.pts_names.contains(&name) {
            self.pts_names.insert(name.clone());
        }
        name
    }

    fn mangle(&self, t: TypeId, s: &mut String) {
        let word = |n: &str| n.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        match self.u.types.kind(t) {
            TypeKind::Scalar(k) => s.push_str(&word(k.name())),
            TypeKind::Complex(k) => s.push_str(&format!("complex_{}", word(k.name()))),
            TypeKind::Pointer(p) => {
                if self.u.types.is_shared(*p) {
                    let b = self.u.types.block(*p).map_or(1, |b| b.size());
                    s.push_str(&format!("p{b}_"));
                } else {
                    s.push_str("ptr_");
                }
                self.mangle(*p, s);
            }
            TypeKind::Array { elem, len } => {
                match len {
                    ArrayLen::Const(n) => s.push_str(&format!("a{n}_")),
                    ArrayLen::Threads(n) => s.push_str(&format!("a{n}T_")),
                    _ => s.push_str("a_"),
                }
                self.mangle(*elem, s);
            }
            TypeKind::Function { .. } => s.push_str("func"),
            TypeKind::Record(r) => {
                let rec = &self.u.types.records[r.0 as usize];
                match (rec.tag, self.record_typedef.get(r)) {
                    (Some(tag), _) => s.push_str(&word(self.u.name(tag))),
                    (None, Some(d)) => s.push_str(&word(self.u.name(self.u.decl(*d).name))),
                    _ => s.push_str(&format!("anon{}", r.0)),
                }
            }
            TypeKind::Enum(e) => match self.u.types.enums[e.0 as usize].tag {
                Some(tag) => s.push_str(&word(self.u.name(tag))),
                None => s.push_str("enum"),
            },
            TypeKind::Vector { bytes, .. } => s.push_str(&format!("vec{bytes}")),
            TypeKind::VaList => s.push_str("va_list"),
            TypeKind::Error => s.push_str("error"),
            TypeKind::Typedef { decl, .. } => s.push_str(&word(self.u.name(self.u.decl(*decl).name))),
            TypeKind::Typeof { under, .. } => self.mangle(*under, s),
        }
    }

    /// Whether the typedef exists in the emitted C.
    pub fn typedef_usable(&self, d: DeclId) -> bool {
        let d = self.u.decl(d);
        d.kind == DeclKind::Typedef
            && !self.u.types.is_shared(d.ty)
            && (d.scope > 0 || !self.has_threads_array(d.ty))
    }

    /// Whether text made anew can name the type by the typedef, wherever that text stands.
    fn typedef_named(&self, d: DeclId) -> bool {
        self.typedef_usable(d) && !self.shadowed.contains(&self.u.decl(d).name)
    }

    /// Whether a type is spelled by the name of the typedef: with qualifiers of its own or without (`keep`).
    fn spelled_as_typedef(&self, d: DeclId, under: TypeId, keep: bool) -> bool {
        // Qualifiers inside the typedef cannot be taken off it, and `va_list` and such print by name.
        self.typedef_named(d) && (keep || quals(self.u.types.quals(under)).is_empty())
    }

    /// An array of `n * THREADS` elements somewhere: at file scope not a type of C.
    pub fn has_threads_array(&self, t: TypeId) -> bool {
        match self.u.types.ckind(t) {
            TypeKind::Array { elem, len } => {
                matches!(len, ArrayLen::Threads(_)) || self.has_threads_array(*elem)
            }
            TypeKind::Pointer(p) if !self.u.types.is_shared(*p) => self.has_threads_array(*p),
            _ => false,
        }
    }

    /// `t` as the type of `name` (empty for a type name).
    pub fn ctype(&mut self, t: TypeId, name: &str) -> String {
        self.ctype_q(t, name, true)
    }

    /// The same, without qualifiers of the object itself.
    pub fn ctype_plain(&mut self, t: TypeId, name: &str) -> String {
        self.ctype_q(t, name, false)
    }

    fn ctype_q(&mut self, t: TypeId, name: &str, keep: bool) -> String {
        let q = if keep { quals(self.u.types.own_quals(t)) } else { String::new() };
        let sep = if name.is_empty() { "" } else { " " };
        match self.u.types.kind(t).clone() {
            TypeKind::Typedef { decl, under } => {
                let d = self.u.decl(decl);
                if self.spelled_as_typedef(decl, under, keep) {
                    return format!("{q}{}{sep}{name}", self.u.name(d.name));
                }
                let inner = if q.is_empty() { name.to_string() } else { format!("{q}{name}") };
                let inner = inner.trim_end().to_string();
                if self.u.types.is_array(under) || q.is_empty() {
                    self.ctype_q(under, &inner, keep)
                } else {
                    // Qualifiers stand before a non-pointer and after a pointer: both may be written after
                    // the base.
                    self.ctype_q(under, &inner, keep)
                }
            }
            TypeKind::Typeof { under, .. } => {
                let inner = format!("{q}{name}").trim_end().to_string();
                self.ctype_q(under, &inner, keep)
            }
            TypeKind::Scalar(s) => format!("{q}{}{sep}{name}", s.name()),
            TypeKind::Complex(s) => format!("{q}_Complex {}{sep}{name}", s.name()),
            TypeKind::VaList => format!("{q}__builtin_va_list{sep}{name}"),
            TypeKind::Error => format!("{q}int{sep}{name}"),
            TypeKind::Record(r) => {
                let tag = self.record_name(r);
                format!("{q}{tag}{sep}{name}")
            }
            TypeKind::Enum(e) => {
                let en = &self.u.types.enums[e.0 as usize];
                match en.tag {
                    Some(tag) if !self.shadowed_tags.contains(&tag) => {
                        format!("{q}enum {}{sep}{name}", self.u.name(tag))
                    }
                    _ => format!("{q}{}{sep}{name}", en.repr.name()),
                }
            }
            TypeKind::Vector { elem, bytes } => {
                let e = self.ctype(elem, "");
                format!("{q}__typeof__({e} __attribute__((__vector_size__({bytes})))){sep}{name}")
            }
            TypeKind::Pointer(p) => {
                if self.u.types.is_shared(p) {
                    let n = self.pts_name(p);
                    // To C it is no pointer.
                    let own = Quals { is_restrict: false, ..self.u.types.own_quals(t) };
                    let q = if keep { quals(own) } else { q };
                    return format!("{q}{n}{sep}{name}");
                }
                let direct =
                    matches!(self.u.types.kind(p), TypeKind::Array { .. } | TypeKind::Function { .. })
                        || self.expands_to_derived(p);
                let inner = format!("*{q}{name}");
                let inner = inner.trim_end();
                let inner = if direct { format!("({inner})") } else { inner.to_string() };
                self.ctype_q(p, &inner, true)
            }
            TypeKind::Array { elem, len } => {
                let n = self.array_len(len);
                self.ctype_q(elem, &format!("{name}[{n}]"), keep)
            }
            TypeKind::Function { ret, params, variadic, proto } => {
                let list = self.param_list(&params, variadic, proto);
                self.ctype_q(ret, &format!("{name}({list})"), true)
            }
        }
    }

    /// A typedef or `typeof` that prints as an array or function after all.
    fn expands_to_derived(&self, t: TypeId) -> bool {
        match self.u.types.kind(t) {
            TypeKind::Typedef { decl, under } if !self.typedef_named(*decl) => {
                matches!(self.u.types.ckind(*under), TypeKind::Array { .. } | TypeKind::Function { .. })
            }
            TypeKind::Typeof { under, .. } => {
                matches!(self.u.types.ckind(*under), TypeKind::Array { .. } | TypeKind::Function { .. })
            }
            _ => false,
        }
    }

    fn array_len(&mut self, len: ArrayLen) -> String {
        match len {
            ArrayLen::Incomplete => String::new(),
            ArrayLen::Const(n) => n.to_string(),
            ArrayLen::Threads(1) => THREADS.into(),
            ArrayLen::Threads(n) => format!("{n} * {THREADS}"),
            // The names of the parameters that it may depend on are not there.
            ArrayLen::Vla(e) if self.in_prototype && !self.vla_vars.contains_key(&e) => "*".into(),
            ArrayLen::Vla(e) => self.vla_len(e),
            ArrayLen::Star => "*".into(),
        }
    }

    /// The bound of a variable-length array: the variable that holds it, if it was evaluated at a
    /// declaration.
    pub fn vla_len(&mut self, e: ExprId) -> String {
        if let Some(v) = self.vla_vars.get(&e) {
            return v.clone();
        }
        let u = self.u;
        match u.exprs.get(e.0 as usize) {
            Some(x) => self.rv(x).p(2),
            None => String::new(),
        }
    }

    /// Parameter types of a prototype.
    pub fn param_list(&mut self, params: &[TypeId], variadic: bool, proto: bool) -> String {
        if !proto {
            return String::new();
        }
        let outer = std::mem::replace(&mut self.in_prototype, true);
        let mut v: Vec<String> = params.iter().map(|&p| self.ctype(p, "")).collect();
        self.in_prototype = outer;
        if variadic {
            v.push("...".into());
        }
        if v.is_empty() { "void".into() } else { v.join(", ") }
    }

    /// `struct tag`, or a name for a record without a tag.
    pub fn record_name(&mut self, r: RecordId) -> String {
        let rec = &self.u.types.records[r.0 as usize];
        let key = if rec.is_union { "union" } else { "struct" };
        if let Some(tag) = rec.tag {
            if rec.scope == 0 && self.shadowed_tags.contains(&tag) {
                self.tag_aliases.insert(r);
                return abi::tag_alias(r.0);
            }
            return format!("{key} {}", self.u.name(tag));
        }
        if let Some(d) = self.record_typedef.get(&r) {
            return self.u.name(self.u.decl(*d).name).to_string();
        }
        self.need_tags.insert(r);
        format!("{key} {}", abi::tag(r.0))
    }

    /// The type of an access: unqualified, usable as `T x` and `T *`.
    pub fn access_type(&mut self, t: TypeId) -> String {
        let s = self.ctype_plain(t, "");
        if self.encloses_name(t, false) { format!("__typeof__({s})") } else { s }
    }

    /// Whether a part of the type, spelled with qualifiers of its own or without (`keep`), comes behind the
    /// name of what has it.
    fn encloses_name(&self, t: TypeId, keep: bool) -> bool {
        match self.u.types.kind(t) {
            TypeKind::Typedef { decl, under } => {
                !self.spelled_as_typedef(*decl, *under, keep) && self.encloses_name(*under, keep)
            }
            TypeKind::Typeof { under, .. } => self.encloses_name(*under, keep),
            TypeKind::Array { .. } | TypeKind::Function { .. } => true,
            TypeKind::Pointer(p) => !self.u.types.is_shared(*p) && self.encloses_name(*p, true),
            // The attribute does, where no pointer to the vector comes between.
            TypeKind::Vector { .. } => !keep,
            _ => false,
        }
    }

    /// Number of ultimate elements in an object of type `t`, as C.
    pub fn count_expr(&mut self, t: TypeId) -> String {
        self.several(t).unwrap_or_else(|| "1".into())
    }

    /// Number of ultimate elements in an object of type `t`, if it is not seen to be one.
    pub(super) fn several(&mut self, t: TypeId) -> Option<String> {
        let mut n = 1u64;
        let mut factors = Vec::new();
        let mut t = self.u.types.canon(t);
        while let TypeKind::Array { elem, len } = self.u.types.kind(t).clone() {
            match len {
                ArrayLen::Const(c) => n = n.saturating_mul(c),
                ArrayLen::Threads(c) => {
                    n = n.saturating_mul(c);
                    factors.push(THREADS_LONG.to_string());
                }
                ArrayLen::Vla(e) => {
                    let v = self.vla_len(e);
                    factors.push(format!("(unsigned long)({v})"));
                }
                ArrayLen::Incomplete | ArrayLen::Star => {}
            }
            t = elem;
        }
        if factors.is_empty() {
            return (n != 1).then(|| n.to_string());
        }
        if n != 1 {
            factors.push(format!("{n}ul"));
        }
        Some(factors.join(" * "))
    }

    /// Bytes of an ultimate element of `t`.
    pub fn elem_size(&self, t: TypeId) -> u64 {
        crate::lower::element_size(self.u, t)
    }

    /// Block size and ultimate element size for arithmetic on a pointer-to-shared type.
    pub fn pts_params(&self, pts: TypeId) -> (u64, u64) {
        let crate::ir::Spread { block, size } = crate::lower::spread(self.u, pts);
        (block, size)
    }
}
