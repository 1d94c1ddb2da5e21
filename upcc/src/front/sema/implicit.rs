//! Functions that are called without a declaration.
//!
//! Old programs call functions of the C library without their headers, and their own functions before the
//! definitions. Since C99 that wants a diagnostic; both are common and work, so it is a warning, one for each
//! function.

use crate::front::ast::*;
use crate::front::sema::Sema;
use crate::front::token::{Sym, TokIdx};
use crate::front::types::*;

/// Builtin functions that exist under the name `__builtin_...` only, by the starts of their names.
const PREFIXED_ONLY: &[&str] = &[
    "LINE",
    "FILE",
    "FUNCTION",
    "alloca_with",
    "assume_",
    "bswap",
    "clrsb",
    "clz",
    "cpu_",
    "ctz",
    "dynamic_",
    "eh_",
    "expect",
    "extract_",
    "frame_",
    "huge_val",
    "ia32_",
    "inf",
    "nans",
    "object_size",
    "parity",
    "popcount",
    "powi",
    "prefetch",
    "return_",
    "trap",
    "unreachable",
    "unwind_",
    "va_arg_pack",
    "setjmp",
    "longjmp",
];

impl Sema<'_> {
    /// The function `name`, called without a declaration at `tok`.
    pub(crate) fn declare_implicit(&mut self, name: Sym, tok: TokIdx) -> DeclId {
        if let Some(&d) = self.linked.get(&name) {
            return d;
        }
        let ty = self.implicit_type(name);
        let id = self.new_decl(name, DeclKind::Func, ty, tok);
        let d = &mut self.decls[id.0 as usize];
        d.linkage = Linkage::External;
        d.def = Definition::Declared;
        d.implicit = true;
        d.scope = 0;
        self.linked.insert(name, id);
        self.bind_outermost(name, id);
        let name = self.name(name);
        let macro_like =
            name.chars().any(|c| c.is_ascii_uppercase()) && !name.chars().any(|c| c.is_ascii_lowercase());
        let advice = match self.similar_name(name) {
            Some(near) => format!("did you mean `{near}`?"),
            None if macro_like => {
                let header = if let "MAX" | "MIN" = name { ", as <sys/param.h> does" } else { "" };
                format!(
                    "it looks like a macro that nothing defines here: define it{header}, or the linker finds no such function"
                )
            }
            None => {
                let header = self.header_of(name).map_or("its header".to_owned(), |h| format!("<{h}>"));
                format!("include {header} or declare it")
            }
        };
        // The first words are the C compiler's, for which scripts look.
        let text = format!("implicit declaration of function '{name}'; {advice}");
        self.warn_since_c99(tok, text);
        id
    }

    /// The type of an undeclared function.
    fn implicit_type(&mut self, name: Sym) -> TypeId {
        let text = self.name(name).to_owned();
        // The C compiler gives the builtin ones their real types, too.
        if !text.starts_with('_')
            && !PREFIXED_ONLY.iter().any(|p| text.starts_with(p))
            && let Some(t) = self.builtin_type(&text)
        {
            return t;
        }
        let ret = self.types.int();
        let kind = TypeKind::Function { ret, params: Vec::new(), variadic: false, proto: false };
        self.types.intern(kind, Quals::NONE)
    }
}
