//! The typed abstract syntax tree.
//!
//! Vocabulary and invariants
//! - Every node carries the tokens it was read from ([`TokRange`](crate::front::token::TokRange)); nodes made
//!   by the compiler (implicit conversions) carry the tokens of what they wrap.
//! - `has_upc` on a node: its translation to C can differ from its tokens, because it, or something in it,
//!   uses a UPC construct or a (pointer-to-)shared type. Where it is false the tokens can be emitted as they
//!   stand, up to renamed entities. It is conservative: true does not promise a difference.
//! - Every expression has a type and a [`Cat`]; every conversion C or UPC make silently is an
//!   [`ExprKind::Implicit`] node. So a load of a shared object is exactly `Implicit { conv: Conv::SharedLoad,
//!   .. }`, a store exactly an `Assign`, `CompoundAssign` or `IncDec` whose left operand has a shared type,
//!   and an address computation anything else.
//! - `strict` on an expression: if it is an lvalue of a shared type, whether an access through it is strict
//!   (qualifier of the referenced type first, then the state of `#pragma upc` at this place).
//! - `value` of an expression is its constant value if it has one; an expression with an integer value and an
//!   integer type is usable wherever C asks for an integer constant expression. In the dynamic environment
//!   THREADS has no value.
//! - Names are entities: every declared object, function, typedef name, enumeration constant has one
//!   [`DeclId`], the same for all its redeclarations (a block-scope `extern` names the same entity as the
//!   file-scope declaration).

mod entity;
mod op;
mod spin;
mod tree;
pub mod walk;

pub use crate::front::types::{DeclId, ExprId};
pub use entity::*;
pub use op::*;
pub use spin::{is_empty, looked_at};
pub use tree::*;

use crate::diag::Diagnostic;
use crate::front::keyword::keyword;
use crate::front::token::TokKind;
use crate::front::types::PtsLayout;
use std::collections::{BTreeSet, HashMap};

/// Warnings asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Warnings {
    /// `-Wall`
    pub all: bool,
    /// `-Wupc`
    pub upc: bool,
    /// `-w`: none at all.
    pub none: bool,
    /// `-Werror`: warnings count as errors.
    pub error: bool,
}

/// Settings of the front end.
#[derive(Clone, Debug)]
pub struct FrontOptions {
    /// `-T N`; `None` is the dynamic THREADS environment.
    pub static_threads: Option<u32>,
    /// `UPC_MAX_BLOCK_SIZE`.
    pub max_block: u64,
    /// Storage of pointers-to-shared.
    pub pts: PtsLayout,
    /// Warnings.
    pub warn: Warnings,
    /// Explicit `-std=gnu*`: arithmetic on `void *` and `sizeof(void)` have the GNU meaning instead of being
    /// errors.
    pub gnu_void: bool,
    /// C of 1989: a function may be called undeclared, a missing type is `int`.
    pub c89: bool,
    /// C of 2023: digits may be separated.
    pub c23: bool,
    /// `-fupc-aggregate`, which means relaxed accesses only.
    pub aggregate: bool,
    /// The C compiler obeys pragmas of OpenMP.
    pub openmp: bool,
    /// Directory that relative file names of line markers start from (for showing source lines); empty is the
    /// current one.
    pub dir: std::path::PathBuf,
}

impl Default for FrontOptions {
    fn default() -> Self {
        FrontOptions {
            static_threads: None,
            max_block: 1 << 20,
            pts: PtsLayout::Packed,
            warn: Warnings::default(),
            gnu_void: false,
            c89: false,
            c23: false,
            aggregate: false,
            openmp: false,
            dir: std::path::PathBuf::new(),
        }
    }
}

/// The result of [`check`](super::check). The unit is complete (usable for emission) only if no diagnostic
/// is an error.
#[derive(Debug)]
pub struct FrontResult {
    /// The program.
    pub unit: TranslationUnit,
    /// Errors and warnings, in source order; `Diagnostic` displays as `file:line:col: error: ...`, source
    /// line, caret.
    pub diagnostics: Vec<Diagnostic>,
    /// Errors in tokens.
    pub lex_errors: usize,
    /// How often something was skipped after a syntax error.
    pub syntax_errors: usize,
}

impl FrontResult {
    /// The names of UPC's libraries that the program uses and nothing declares.
    pub fn undeclared(&self) -> BTreeSet<String> {
        let u = &self.unit;
        if !self.failed() && !u.decls.iter().any(|d| d.implicit) {
            return BTreeSet::new();
        }
        // Where each is first declared.
        let mut known = HashMap::new();
        for d in u.decls.iter().filter(|d| !d.implicit && !u.types.is_error(d.ty)) {
            let at = known.entry(d.name).or_insert(d.tok);
            *at = d.tok.min(*at);
        }
        let names = u.tokens.toks.iter().zip(0..).filter_map(|(t, at)| match t.kind {
            TokKind::Ident(s) if keyword(s).is_none() && known.get(&s).is_none_or(|first| at < *first) => {
                Some(u.name(s))
            }
            _ => None,
        });
        let prefixes = ["upc_", "UPC_", "pupc_", "PUPC_"];
        names.filter(|n| prefixes.iter().any(|p| n.starts_with(p))).map(str::to_owned).collect()
    }

    /// Whether the program is rejected.
    pub fn failed(&self) -> bool {
        self.diagnostics.iter().any(|d| d.is_error())
    }
}
