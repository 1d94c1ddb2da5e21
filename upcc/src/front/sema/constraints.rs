//! Constraints of C on declarations that are looked at when the declaration is whole.

use super::read::{Bound, Chunk, DeclContext, Declarator, Extras, Specs};
use crate::front::ast::*;
use crate::front::sema::Sema;
use crate::front::token::TokIdx;
use crate::front::types::*;

impl Sema<'_> {
    /// The enumeration constants and tags that the current scope, that of a parameter list, declares.
    pub(crate) fn scope_extras(&self) -> Extras {
        let (names, tags) = self.scope_names();
        let consts = names.iter().filter_map(|&s| {
            let d = self.lookup_here(s)?;
            (self.decls[d.0 as usize].kind == DeclKind::EnumConst).then_some((s, d))
        });
        let tags = tags.iter().filter_map(|&s| Some((s, self.lookup_tag_here(s)?)));
        Extras { consts: consts.collect(), tags: tags.collect() }
    }

    /// Makes them visible in the body of the function.
    pub(crate) fn bind_extras(&mut self, extras: Extras) {
        for (s, d) in extras.consts {
            self.bind(s, d);
        }
        for (s, t) in extras.tags {
            self.bind_tag(s, t);
        }
    }

    /// `static`, qualifiers and `*` between brackets are for parameters.
    pub(crate) fn check_array_suffixes(&mut self, d: &Declarator) {
        for c in &d.chunks {
            match c {
                Chunk::Array { only_param: true, at, .. } => {
                    self.error(*at, "`static` and qualifiers in an array bound are for parameters");
                }
                Chunk::Array { bound: Bound::Star, at, .. } => {
                    self.error(*at, "the bound `[*]` is for parameters of prototypes; write a number");
                }
                _ => {}
            }
        }
    }

    /// `_Alignas` on one declarator.
    pub(crate) fn check_alignment(&mut self, specs: &Specs, id: DeclId, ty: TypeId, tok: TokIdx) {
        let Some(&at) = specs.spec.alignas.first() else { return };
        let d = &self.decls[id.0 as usize];
        let what = match d.kind {
            DeclKind::Typedef => "a typedef",
            DeclKind::Func => "a function",
            _ if d.storage == Storage::Register => "a register variable",
            _ => {
                let least = self.types.align_of(ty);
                if specs.align.is_some_and(|a| a < least) && !self.types.is_error(ty) {
                    let t = self.show(ty);
                    self.error(
                        tok,
                        format!("`_Alignas` cannot make the alignment less than that of `{t}`, {least}"),
                    );
                }
                return;
            }
        };
        self.error(at.start, format!("`_Alignas` does not go with {what}"));
    }

    /// `inline` and `_Noreturn` are for functions, `_Thread_local` for objects.
    pub(crate) fn check_function_specifiers(&mut self, spec: &DeclSpec, id: DeclId, tok: TokIdx) {
        let func = self.decls[id.0 as usize].kind == DeclKind::Func;
        let wrong = match (func, spec.inline, spec.noreturn, spec.thread_local) {
            (false, true, ..) => "`inline` is for functions",
            (false, _, true, _) => "`_Noreturn` is for functions",
            (true, .., true) => "`_Thread_local` is for objects",
            _ => return,
        };
        self.error(tok, wrong);
    }

    /// The parameters of `main`.
    pub(crate) fn check_main(&mut self, id: DeclId, ty: TypeId, context: DeclContext) {
        let d = &self.decls[id.0 as usize];
        if context != DeclContext::File || self.name(d.name) != "main" {
            return;
        }
        let tok = d.tok;
        let Some((_, params, _, true)) = self.types.signature(ty) else { return };
        let params = params.to_vec();
        let int = self.types.int();
        let names = ["first parameter of `main` is an `int`", "other parameters of `main` are `char **`"];
        for (n, &p) in params.iter().enumerate() {
            let fits = if n == 0 {
                self.types.compatible_unqualified(p, int)
            } else {
                let inner = self.types.pointee(p).and_then(|q| self.types.pointee(q));
                inner.is_some_and(|c| self.types.const_size(c) == Some(1) && !self.types.is_shared(c))
            };
            if fits || self.types.is_error(p) {
                continue;
            }
            // Old programs say `char *argv` and get along with it, but not with what is passed in another
            // way.
            let small = self.types.const_size(p).is_some_and(|n| n < 4) || self.types.is_float(p);
            let t = self.show(p);
            let text = format!("the {}, here it is `{t}`", names[n.min(1)]);
            if small || self.types.is_record(p) {
                self.error(tok, text)
            } else {
                self.warn_all(tok, text)
            }
            return;
        }
    }

    /// A declaration in the first clause of a `for` declares automatic objects only.
    pub(crate) fn check_for_declaration(&mut self, d: &Declaration) {
        if self.is_system(d.toks.start) {
            return;
        }
        let at = d.toks.start;
        let what = match d.spec.storage {
            Storage::None | Storage::Auto | Storage::Register => None,
            Storage::Static => Some("a static object"),
            Storage::Extern => Some("an extern name"),
            Storage::Typedef => Some("a typedef"),
        };
        if let Some(what) = what {
            self.error(at, format!("the first clause of a `for` cannot declare {what}"));
        }
        for i in &d.declarators {
            if self.decls[i.decl.0 as usize].kind == DeclKind::Func {
                self.error(i.name, "the first clause of a `for` cannot declare a function");
            }
        }
        for t in &d.spec.defines {
            let tag = match t {
                TagId::Record(r) => self.types.records[r.0 as usize].tag,
                TagId::Enum(e) => self.types.enums[e.0 as usize].tag,
            };
            if let Some(s) = tag {
                let text = format!("the first clause of a `for` cannot define the tag `{}`", self.name(s));
                self.error(at, text);
            }
        }
    }
}
