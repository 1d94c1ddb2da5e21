//! The typed abstract syntax tree, and the entry point that makes it: [`check`].
//!
//! Vocabulary and invariants
//! - Every node carries the tokens it was read from ([`TokRange`](crate::token::TokRange)); nodes made by the compiler (implicit conversions) carry the
//!   tokens of what they wrap.
//! - `has_upc` on a node: its translation to C can differ from its tokens, because it, or something in it, uses a UPC
//!   construct or a (pointer-to-)shared type. Where it is false the tokens can be emitted as they stand, up to renamed entities.
//!   It is conservative: true does not promise a difference.
//! - Every expression has a type and a [`Cat`]; every conversion C or UPC make silently is an [`ExprKind::Implicit`] node. So a
//!   load of a shared object is exactly `Implicit { conv: Conv::SharedLoad, .. }`, a store exactly an `Assign`, `CompoundAssign`
//!   or `IncDec` whose left operand has a shared type, and an address computation anything else.
//! - `strict` on an expression: if it is an lvalue of a shared type, whether an access through it is strict (qualifier of the
//!   referenced type first, then the state of `#pragma upc` at this place).
//! - `value` of an expression is its constant value if it has one; an expression with an integer value and an integer type is
//!   usable wherever C asks for an integer constant expression. In the dynamic environment THREADS has no value.
//! - Names are entities: every declared object, function, typedef name, enumeration constant has one [`DeclId`], the same for all
//!   its redeclarations (a block-scope `extern` names the same entity as the file-scope declaration).

mod decl;
mod expr;
mod stmt;

pub use crate::types::ExprId;
pub use decl::*;
pub use expr::*;
pub use stmt::*;

use crate::diag::Diagnostic;
use crate::types::PtsLayout;

/// A declared entity: index into [`TranslationUnit::decls`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeclId(pub u32);

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
    /// Explicit `-std=gnu*`: arithmetic on `void *` and `sizeof(void)` have the GNU meaning instead of being errors.
    pub gnu_void: bool,
    /// C of 1989: a function may be called undeclared, a missing type is `int`.
    pub c89: bool,
    /// Directory that relative file names of line markers start from (for showing source lines); empty is the current one.
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
            dir: std::path::PathBuf::new(),
        }
    }
}

/// What [`check`] returns. The unit is complete (usable for emission) only if no diagnostic is an error.
#[derive(Debug)]
pub struct FrontResult {
    /// The program.
    pub unit: TranslationUnit,
    /// Errors and warnings, in source order; `Diagnostic` displays as `file:line:col: error: ...`, source line, caret.
    pub diagnostics: Vec<Diagnostic>,
    /// Errors in tokens.
    pub lex_errors: usize,
    /// How often something was skipped after a syntax error.
    pub syntax_errors: usize,
}

impl FrontResult {
    /// Whether the program is rejected.
    pub fn failed(&self) -> bool {
        self.diagnostics.iter().any(|d| d.is_error())
    }
}

/// Reads and checks one preprocessed translation unit (`cc -E` output with line markers).
///
/// Works on a thread of its own with a large stack; the passes that follow should do the same ([`on_big_stack`]), since
/// expressions may be nested thousands of levels deep.
pub fn check(preprocessed: &str, opts: &FrontOptions) -> FrontResult {
    on_big_stack(|| crate::sema::check(preprocessed, opts))
}

/// The same on the stack of the caller, which is large enough ([`on_big_stack`]): for many small units in a row.
pub fn check_here(preprocessed: &str, opts: &FrontOptions) -> FrontResult {
    crate::sema::check(preprocessed, opts)
}

/// Runs `f` on a thread with a stack large enough for every recursion over an AST that [`check`] returns, its drop included.
pub fn on_big_stack<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|s| {
        let t =
            std::thread::Builder::new().stack_size(STACK).spawn_scoped(s, f).expect("cannot start a thread");
        match t.join() {
            Ok(v) => v,
            Err(p) => std::panic::resume_unwind(p),
        }
    })
}

/// Address space only: pages are touched as needed.
const STACK: usize = 1 << 30;
