//! Types in messages, written as C and UPC write them.

use crate::front::sema::Sema;
use crate::front::types::*;
use std::cell::Cell;

/// Pointers, arrays, functions and names in the text of a type; what is beyond is left out.
const MOST_PARTS: u32 = 40;

impl Sema<'_> {
    /// `ty` as text.
    pub(crate) fn show(&self, ty: TypeId) -> String {
        self.show_decl(ty, String::new(), &Cell::new(MOST_PARTS))
    }

    /// `parts` are those that are still to be shown.
    fn show_decl(&self, ty: TypeId, inner: String, parts: &Cell<u32>) -> String {
        let Some(left) = parts.get().checked_sub(1) else { return format!("...{inner}") };
        parts.set(left);
        let quals = self.types.own_quals(ty);
        match self.types.kind(ty) {
            TypeKind::Pointer(p) => {
                let mut s = String::from("*");
                let q = qual_text(quals);
                if !q.is_empty() {
                    s.push(' ');
                    s.push_str(&q);
                    if !inner.is_empty() {
                        s.push(' ');
                    }
                }
                s.push_str(&inner);
                if matches!(self.types.kind(*p), TypeKind::Array { .. } | TypeKind::Function { .. }) {
                    s = format!("({s})");
                }
                self.show_decl(*p, s, parts)
            }
            TypeKind::Array { elem, len } => {
                let n = match len {
                    ArrayLen::Incomplete => String::new(),
                    ArrayLen::Const(n) => n.to_string(),
                    ArrayLen::Threads(1) => "THREADS".to_owned(),
                    ArrayLen::Threads(n) => format!("{n}*THREADS"),
                    ArrayLen::Vla(_) | ArrayLen::Star => "*".to_owned(),
                };
                self.show_decl(*elem, format!("{inner}[{n}]"), parts)
            }
            TypeKind::Function { ret, params, variadic, proto } => {
                let mut ps: Vec<String> =
                    params.iter().map(|&p| self.show_decl(p, String::new(), parts)).collect();
                if *variadic {
                    ps.push("...".to_owned());
                }
                if ps.is_empty() && *proto {
                    ps.push("void".to_owned());
                }
                self.show_decl(*ret, format!("{inner}({})", ps.join(", ")), parts)
            }
            _ => {
                let mut s = qual_text(quals);
                if !s.is_empty() {
                    s.push(' ');
                }
                s.push_str(&self.base_text(ty, parts));
                if !inner.is_empty() {
                    if !inner.starts_with('[') {
                        s.push(' ');
                    }
                    s.push_str(&inner);
                }
                s
            }
        }
    }

    fn base_text(&self, ty: TypeId, parts: &Cell<u32>) -> String {
        match self.types.kind(ty) {
            TypeKind::Scalar(s) => s.name().to_owned(),
            TypeKind::Complex(s) => format!("_Complex {}", s.name()),
            TypeKind::Record(r) => {
                let r = &self.types.records[r.0 as usize];
                let word = if r.is_union { "union" } else { "struct" };
                match r.tag {
                    Some(t) => format!("{word} {}", self.name(t)),
                    None => format!("{word} <unnamed>"),
                }
            }
            TypeKind::Enum(e) => match self.types.enums[e.0 as usize].tag {
                Some(t) => format!("enum {}", self.name(t)),
                None => "enum <unnamed>".to_owned(),
            },
            TypeKind::Vector { elem, bytes } => {
                format!("vector of {bytes} bytes of {}", self.show_decl(*elem, String::new(), parts))
            }
            TypeKind::VaList => "va_list".to_owned(),
            TypeKind::Error => "<unknown>".to_owned(),
            TypeKind::Typedef { decl, .. } => self.name(self.decls[decl.0 as usize].name).to_owned(),
            TypeKind::Typeof { under, .. } => self.show_decl(*under, String::new(), parts),
            _ => "...".to_owned(),
        }
    }
}

fn qual_text(q: Quals) -> String {
    let mut words: Vec<String> = Vec::new();
    match q.shared {
        Some(Block::Indefinite) => words.push("shared []".to_owned()),
        Some(Block::N(1)) => words.push("shared".to_owned()),
        Some(Block::N(n)) => words.push(format!("shared [{n}]")),
        Some(Block::Star) => words.push("shared [*]".to_owned()),
        None => {}
    }
    match q.reference {
        Some(Ref::Strict) => words.push("strict".to_owned()),
        Some(Ref::Relaxed) => words.push("relaxed".to_owned()),
        None => {}
    }
    let flags = [
        (q.is_const, "const"),
        (q.is_volatile, "volatile"),
        (q.is_restrict, "restrict"),
        (q.is_atomic, "_Atomic"),
    ];
    words.extend(flags.iter().filter(|f| f.0).map(|f| f.1.to_owned()));
    words.join(" ")
}
