//! Stand-ins of shared variables for debuggers (`-g`): a *stand-in* is a private variable with the name of
//! the shared one.
//!
//! The proxy of `shared [4] double a[10*THREADS]` has neither the name nor the type of the source. Its
//! stand-in has: `union __upc_sN { const struct __upc_shvar *proxy; double *__upc_b4_10T; } a`. The script
//! for gdb (`upc-rt/gdb/upc.py`) shows such a union as the elements of the variable. No code reads it.

use super::Emitter;
use super::abi::{self, SHARED_VARIABLE};
use crate::front::ast::{DeclId, Linkage};
use crate::front::types::{ArrayLen, TypeId, TypeKind};
use std::collections::HashSet;

impl Emitter<'_> {
    /// The stand-ins of the file's variables, for its end. Those in functions are where they are declared.
    pub(super) fn stand_ins(&mut self) -> String {
        let u = self.u;
        let mut done = HashSet::new();
        let mut all = String::new();
        for n in 0..u.decls.len() as u32 {
            let d = DeclId(n);
            let decl = u.decl(d);
            if !self.is_shared_object(d) || decl.linkage == Linkage::None || decl.scope > 0 {
                continue;
            }
            let proxy = match (self.aliases.contains(&d), self.defined_here(d)) {
                (true, _) => abi::alias(u.name(decl.name)),
                (false, true) => self.proxy(d),
                (false, false) => continue,
            };
            if done.insert(decl.name) {
                all.push_str(&self.stand_in(d, &format!("&{proxy}")));
                all.push('\n');
            }
        }
        all
    }

    /// The definition of a stand-in. `proxy`: the address of the proxy.
    pub(super) fn stand_in(&mut self, d: DeclId, proxy: &str) -> String {
        let u = self.u;
        let decl = u.decl(d);
        let Some(dimensions) = self.dimensions(decl.ty) else { return String::new() };
        let block = u.types.block(decl.ty).map_or(0, |b| b.size());
        let member = abi::spread(block, &dimensions);
        let element = u.types.ultimate_elem(decl.ty);
        let element = self.ctype_plain(element, &format!("*{member}"));
        format!(
            "static const union {} {{ const {SHARED_VARIABLE} *proxy; {element}; }} {} \
             __attribute__((__used__, __unused__)) = {{ {proxy} }};",
            abi::stand_in(d.0),
            u.name(decl.name)
        )
    }

    /// `_N` or `_NT`, that is times THREADS, for each dimension; `None` if one is not known.
    fn dimensions(&self, ty: TypeId) -> Option<String> {
        let u = self.u;
        let (mut out, mut ty) = (String::new(), ty);
        while let TypeKind::Array { elem, len } = u.types.ckind(ty) {
            match len {
                ArrayLen::Const(n) => out.push_str(&format!("_{n}")),
                ArrayLen::Threads(n) => out.push_str(&format!("_{n}T")),
                _ => return None,
            }
            ty = *elem;
        }
        Some(out)
    }
}
