//! Data that the parser hands to the checks: specifiers, declarators, the state of the function being read.

use crate::front::ast::*;
use crate::front::token::*;
use crate::front::types::*;
use rustc_hash::FxHashMap;

/// State of the function body being read.
pub(crate) struct FuncState {
    pub(crate) decl: DeclId,
    pub(crate) ret: TypeId,
    pub(crate) labels: FxHashMap<Sym, TokIdx>,
    pub(crate) gotos: Vec<Goto>,
    /// Regions around the current place that control should not jump into.
    pub(crate) regions: Vec<Region>,
    /// Those that enclose the labels.
    pub(crate) label_regions: FxHashMap<Sym, Vec<Region>>,
    pub(crate) loops: u32,
    /// Statements around the current place that `break` leaves, the innermost last: true for a `upc_forall`
    /// with an affinity.
    pub(crate) breaks: Vec<bool>,
    pub(crate) switches: Vec<SwitchState>,
    /// Nested function: labels of the enclosing function are visible.
    pub(crate) nested: bool,
}

impl FuncState {
    /// At the start of the body of `decl`, which returns `ret`.
    pub(crate) fn new(decl: DeclId, ret: TypeId, nested: bool) -> FuncState {
        FuncState {
            decl,
            ret,
            labels: FxHashMap::default(),
            gotos: Vec::new(),
            regions: Vec::new(),
            label_regions: FxHashMap::default(),
            loops: 0,
            breaks: Vec::new(),
            switches: Vec::new(),
            nested,
        }
    }
}

/// The use of a label.
pub(crate) struct Goto {
    pub(crate) label: Sym,
    pub(crate) at: TokIdx,
    /// Regions around the use that control should not jump into; `None` if only the label's address is
    /// taken.
    pub(crate) regions: Option<Vec<Region>>,
}

/// Something that control should not jump into, by its first token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Region {
    /// The scope of a name whose type has bounds known at run time only.
    Sized(TokIdx),
    /// A statement expression.
    StmtExpr(TokIdx),
    /// The body of a `upc_forall` with an affinity, which control should not jump out of either.
    Forall(TokIdx),
}

#[derive(Default)]
pub(crate) struct SwitchState {
    /// How many regions enclose the statement.
    pub(crate) regions: usize,

    pub(crate) cases: Vec<(i128, i128, TokIdx)>,
    pub(crate) seen: FxHashMap<i128, TokIdx>,
    pub(crate) default: Option<TokIdx>,
    pub(crate) ty: Option<TypeId>,
}

/// One layer of a declarator.
#[derive(Debug)]
pub(crate) enum Chunk {
    Pointer {
        quals: Quals,
        reference: Option<TokIdx>,
        at: TokIdx,
    },
    /// `only_param`: with `static` or qualifiers, which only parameters take.
    Array {
        bound: Bound,
        quals: Quals,
        only_param: bool,
        at: TokIdx,
    },
    Func {
        params: Vec<Param>,
        variadic: bool,
        proto: bool,
        knr: Vec<(Sym, TokIdx)>,
        extras: Extras,
        /// Bounds that are known at run time only. They are evaluated where the function is entered, if it is
        /// defined here.
        vla: Vec<ExprId>,
        at: TokIdx,
    },
}

/// An array bound as read.
#[derive(Debug)]
pub(crate) enum Bound {
    None,
    Star,
    Expr(Box<Expr>),
}

/// A parameter of a function declarator.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) decl: DeclId,
    pub(crate) ty: TypeId,
    pub(crate) tok: TokIdx,
}

/// Enumeration constants and tags that a parameter list declares. They are visible in the function's body
/// too.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    pub(crate) consts: Vec<(Sym, DeclId)>,
    pub(crate) tags: Vec<(Sym, TagId)>,
}

/// A declarator: its layers in the order they apply to the type of the specifiers.
#[derive(Debug, Default)]
pub(crate) struct Declarator {
    pub(crate) name: Option<(Sym, TokIdx)>,
    pub(crate) toks: TokRange,
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) attrs: Attrs,
    pub(crate) has_upc: bool,
}

/// The attributes of one place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attrs {
    pub(crate) ranges: Vec<TokRange>,
    pub(crate) packed: bool,
    pub(crate) align: Option<u64>,
    pub(crate) mode: Option<String>,
    pub(crate) vector: Option<u64>,
    pub(crate) transparent: bool,
}

impl Attrs {
    pub(crate) fn merge(&mut self, o: &Attrs) {
        self.ranges.extend_from_slice(&o.ranges);
        self.packed |= o.packed;
        self.align = self.align.max(o.align);
        if o.mode.is_some() {
            self.mode.clone_from(&o.mode);
        }
        self.vector = self.vector.or(o.vector);
        self.transparent |= o.transparent;
    }
    pub(crate) fn range(&self) -> TokRange {
        self.ranges.iter().fold(TokRange::default(), |a, &b| a.to(b))
    }
}

/// Where a declaration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeclContext {
    File,
    Block,
    Param,
    Member,
    TypeName,
}

/// Specifiers as read.
pub(crate) struct Specs {
    pub(crate) spec: DeclSpec,
    pub(crate) attrs: Attrs,
    pub(crate) align: Option<u64>,
    pub(crate) auto_type: bool,
    /// No type was named (it is then `int`).
    pub(crate) implicit_int: bool,
}
