//! The typed abstract syntax tree, and the entry point that makes it: [`check`].
//!
//! Vocabulary and invariants
//! - Every node carries the tokens it was read from ([`TokRange`]); nodes made by the compiler (implicit conversions) carry the
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

use crate::diag::Diagnostic;
use crate::token::{Sym, TokIdx, TokRange, TokenBuf};
pub use crate::types::ExprId;
use crate::types::{EnumId, PtsLayout, RecordId, TypeId, Types};

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

/// A checked translation unit.
#[derive(Debug)]
pub struct TranslationUnit {
    /// Tokens and text.
    pub tokens: TokenBuf,
    /// Types.
    pub types: Types,
    /// Declared entities, by [`DeclId`].
    pub decls: Vec<Decl>,
    /// Bounds of variable-length arrays, by [`ExprId`].
    pub exprs: Vec<Expr>,
    /// Everything at file scope, in order.
    pub items: Vec<Item>,
}

impl TranslationUnit {
    /// The entity.
    pub fn decl(&self, d: DeclId) -> &Decl {
        &self.decls[d.0 as usize]
    }
    /// The spelling of a name.
    pub fn name(&self, s: Sym) -> &str {
        self.tokens.name(s)
    }
}

/// Kind of entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclKind {
    /// Object with static or automatic storage.
    Var,
    /// Function.
    Func,
    /// Parameter.
    Param,
    /// Typedef name.
    Typedef,
    /// Enumeration constant; its value is [`Decl::value`].
    EnumConst,
}

/// Storage class as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "named after the keywords")]
pub enum Storage {
    #[default]
    None,
    Auto,
    Register,
    Static,
    Extern,
    Typedef,
}

/// Linkage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// Locals, parameters, typedef names, block-scope statics.
    None,
    /// `static` at file scope.
    Internal,
    /// Visible to other files.
    External,
}

/// How far an entity is defined in this unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Definition {
    /// Declared only (`extern`, function prototype).
    Declared,
    /// File-scope object without initialiser and without `extern`.
    Tentative,
    /// Definition.
    Defined,
}

/// A declared entity.
#[derive(Clone, Debug)]
pub struct Decl {
    /// Name.
    pub name: Sym,
    /// Kind.
    pub kind: DeclKind,
    /// Type; after all redeclarations the composite type. `[*]` layouts are numbers, bounds from initialisers filled in. A
    /// parameter's is the adjusted type.
    pub ty: TypeId,
    /// Storage class of the first declaration.
    pub storage: Storage,
    /// Linkage.
    pub linkage: Linkage,
    /// Has static storage duration (file scope, `static`, `extern`).
    pub is_static: bool,
    /// `_Thread_local`
    pub thread_local: bool,
    /// `inline` on some declaration.
    pub inline: bool,
    /// Declared or defined here.
    pub def: Definition,
    /// Scope depth of the first declaration: 0 file, 1 parameters, 2.. blocks.
    pub scope: u32,
    /// The function whose body declares it, if any.
    pub function: Option<DeclId>,
    /// The name token of the first declaration (of the definition once there is one).
    pub tok: TokIdx,
    /// First declared in a system header.
    pub system: bool,
    /// Its own translation differs from its tokens: the type mentions shared somewhere, or the initialiser does.
    pub has_upc: bool,
    /// Value of an enumeration constant.
    pub value: Option<ConstValue>,
    /// Named anywhere outside its own declarators.
    pub used: bool,
    /// `&` was applied to it or a part of it, or `asm` uses it.
    pub addressed: bool,
    /// Made by an implicit function declaration.
    pub implicit: bool,
    /// Known to the compiler (`__builtin_*`) rather than declared.
    pub builtin: bool,
    /// Alignment asked for by `_Alignas` or `__attribute__((aligned))`.
    pub align: Option<u64>,
    /// Assembler name given by `__asm__("name")`: the tokens.
    pub asm_label: Option<TokRange>,
}

/// Something at file scope.
#[derive(Clone, Debug)]
pub struct Item {
    /// What.
    pub kind: ItemKind,
    /// Its tokens, the `;` included.
    pub toks: TokRange,
    /// See the module documentation.
    pub has_upc: bool,
}

/// Kinds of [`Item`].
#[derive(Clone, Debug)]
pub enum ItemKind {
    /// Declaration.
    Decl(Declaration),
    /// Function definition.
    Func(Box<FuncDef>),
    /// File-scope `asm`.
    Asm,
    /// A pragma other than `#pragma upc`: one token, to be kept in place.
    Pragma,
    /// `#pragma upc ...`: handled here, emit nothing.
    UpcPragma,
    /// `_Static_assert`, already checked.
    StaticAssert,
    /// A stray `;`.
    Empty,
}

/// A declaration: specifiers and declarators.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// Tokens from the first specifier to the `;`.
    pub toks: TokRange,
    /// The specifiers.
    pub spec: DeclSpec,
    /// The declarators; none in `struct s {...};`.
    pub declarators: Vec<InitDeclarator>,
    /// See the module documentation.
    pub has_upc: bool,
}

/// Declaration specifiers.
#[derive(Clone, Debug)]
pub struct DeclSpec {
    /// Tokens, attributes among them included.
    pub toks: TokRange,
    /// Storage class.
    pub storage: Storage,
    /// `inline`
    pub inline: bool,
    /// `_Noreturn`
    pub noreturn: bool,
    /// `_Thread_local`
    pub thread_local: bool,
    /// `__extension__` before them.
    pub extension: bool,
    /// The type they name.
    pub ty: TypeId,
    /// A struct or union *defined* within them (outermost; those nested in it come first in `defines`).
    pub record: Option<RecordId>,
    /// An enumeration defined within them.
    pub enumeration: Option<EnumId>,
    /// All records and enumerations defined within them (also inside other definitions, `typeof` and so on), in order of
    /// completion.
    pub defines: Vec<TagId>,
    /// Attributes found among them (outside of record definitions).
    pub attrs: Vec<TokRange>,
    /// `_Alignas` specifiers.
    pub alignas: Vec<TokRange>,
    /// The specifiers' tokens are not valid C, or do not mean the same in C.
    pub has_upc: bool,
}

/// A record or enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "obvious")]
pub enum TagId {
    Record(RecordId),
    Enum(EnumId),
}

/// One declarator of a declaration, with its initialiser.
#[derive(Clone, Debug)]
pub struct InitDeclarator {
    /// The entity.
    pub decl: DeclId,
    /// The type this declarator gives (the entity's type may be a composite).
    pub ty: TypeId,
    /// Tokens of the declarator alone.
    pub toks: TokRange,
    /// The name token.
    pub name: TokIdx,
    /// Attributes and `asm` label after the declarator (and attributes before it).
    pub suffix: Vec<TokRange>,
    /// Initialiser.
    pub init: Option<Init>,
    /// Bounds of variable-length arrays in the type, in order of evaluation.
    pub vla: Vec<ExprId>,
    /// This is a definition, a tentative one, or a mere declaration.
    pub def: Definition,
    /// Declarator or initialiser (or specifiers) use UPC.
    pub has_upc: bool,
    /// Declarator (with the specifiers) uses UPC, initialiser aside: if false, specifier and declarator tokens stand as read.
    pub declarator_upc: bool,
}

/// An initialiser, converted to the type of what it initialises.
#[derive(Clone, Debug)]
pub enum Init {
    /// One expression, implicit conversions included. A string literal that initialises an array is the bare literal, of the
    /// array type of the literal.
    Expr(Box<Expr>),
    /// A braced list.
    List(InitList),
}

/// A braced initialiser list.
#[derive(Clone, Debug)]
pub struct InitList {
    /// Tokens, braces included.
    pub toks: TokRange,
    /// What it initialises.
    pub ty: TypeId,
    /// As written, but with every item's target resolved.
    pub items: Vec<InitItem>,
    /// See the module documentation.
    pub has_upc: bool,
}

/// One item of a braced list.
#[derive(Clone, Debug)]
pub struct InitItem {
    /// Designator tokens (`.a[3] =`, `a:`), empty if none.
    pub designator: TokRange,
    /// Where it goes, from the object of *this list*.
    pub path: Vec<PathElem>,
    /// Type of the target (the subobject).
    pub ty: TypeId,
    /// The value.
    pub init: Init,
}

/// A step into an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathElem {
    /// Array element.
    Index(u64),
    /// Elements `lo..=hi` (GNU).
    Range(u64, u64),
    /// Member, by index in [`crate::types::Record::fields`].
    Field(u32),
}

impl Init {
    /// Tokens.
    pub fn toks(&self) -> TokRange {
        match self {
            Init::Expr(e) => e.toks,
            Init::List(l) => l.toks,
        }
    }
    /// See the module documentation.
    pub fn has_upc(&self) -> bool {
        match self {
            Init::Expr(e) => e.has_upc,
            Init::List(l) => l.has_upc,
        }
    }
    /// All leaves with their full paths from the initialised object, in the order written (a later one overrides an earlier
    /// one of the same path). `ty` is the initialised type.
    pub fn leaves(&self, ty: TypeId) -> Vec<(Vec<PathElem>, TypeId, &Expr)> {
        fn go<'a>(
            i: &'a Init,
            path: &mut Vec<PathElem>,
            ty: TypeId,
            out: &mut Vec<(Vec<PathElem>, TypeId, &'a Expr)>,
        ) {
            match i {
                Init::Expr(e) => out.push((path.clone(), ty, e)),
                Init::List(l) => {
                    for it in &l.items {
                        let n = path.len();
                        path.extend_from_slice(&it.path);
                        go(&it.init, path, it.ty, out);
                        path.truncate(n);
                    }
                }
            }
        }
        let mut out = Vec::new();
        go(self, &mut Vec::new(), ty, &mut out);
        out
    }
}

/// A function definition.
#[derive(Clone, Debug)]
pub struct FuncDef {
    /// The function.
    pub decl: DeclId,
    /// Specifiers.
    pub spec: DeclSpec,
    /// Tokens of the declarator (and attributes after it).
    pub declarator: TokRange,
    /// Name token.
    pub name: TokIdx,
    /// Parameters in order (K&R ones too).
    pub params: Vec<DeclId>,
    /// Parameter declarations of a K&R definition.
    pub knr: Vec<Declaration>,
    /// Bounds of variable-length arrays in parameter types.
    pub vla: Vec<ExprId>,
    /// The body.
    pub body: Block,
    /// All tokens.
    pub toks: TokRange,
    /// Specifiers or declarator use UPC.
    pub sig_upc: bool,
    /// Anything uses UPC.
    pub has_upc: bool,
}

/// A compound statement.
#[derive(Clone, Debug)]
pub struct Block {
    /// Tokens, braces included.
    pub toks: TokRange,
    /// What it holds.
    pub stmts: Vec<Stmt>,
    /// See the module documentation.
    pub has_upc: bool,
}

/// A statement (or declaration in a block).
#[derive(Clone, Debug)]
pub struct Stmt {
    /// Kind.
    pub kind: StmtKind,
    /// Tokens.
    pub toks: TokRange,
    /// See the module documentation.
    pub has_upc: bool,
}

/// Kinds of statement.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "named after C's statements")]
pub enum StmtKind {
    /// `e;`
    Expr(Box<Expr>),
    /// `;`
    Empty,
    Decl(Box<Declaration>),
    Block(Block),
    If {
        cond: Box<Expr>,
        then: Box<Stmt>,
        els: Option<Box<Stmt>>,
    },
    While {
        cond: Box<Expr>,
        body: Box<Stmt>,
    },
    DoWhile {
        body: Box<Stmt>,
        cond: Box<Expr>,
    },
    For {
        init: ForInit,
        cond: Option<Box<Expr>>,
        step: Option<Box<Expr>>,
        body: Box<Stmt>,
    },
    Forall(Box<Forall>),
    Switch {
        value: Box<Expr>,
        body: Box<Stmt>,
    },
    /// `case lo:` or `case lo ... hi:`
    Case {
        lo: Box<Expr>,
        hi: Option<Box<Expr>>,
        body: Box<Stmt>,
    },
    Default {
        body: Box<Stmt>,
    },
    Label {
        name: Sym,
        attrs: TokRange,
        body: Box<Stmt>,
    },
    Goto(Sym),
    /// `goto *e;`
    GotoPtr(Box<Expr>),
    Continue,
    Break,
    /// Value converted to the result type.
    Return(Option<Box<Expr>>),
    Asm(Asm),
    /// `upc_notify`, value converted to `int`.
    Notify(Option<Box<Expr>>),
    Wait(Option<Box<Expr>>),
    Barrier(Option<Box<Expr>>),
    Fence,
    /// A pragma other than `#pragma upc`: one token, kept in place.
    Pragma,
    /// `#pragma upc ...`: emit nothing.
    UpcPragma,
    /// `__label__ a, b;`
    LocalLabels,
    StaticAssert,
    /// GNU nested function.
    NestedFunc(Box<FuncDef>),
    /// `__attribute__((fallthrough));`
    Attribute,
}

/// First clause of a `for`.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "obvious")]
pub enum ForInit {
    None,
    Expr(Box<Expr>),
    Decl(Box<Declaration>),
}

/// `upc_forall`
#[derive(Clone, Debug)]
pub struct Forall {
    /// First clause.
    pub init: ForInit,
    /// Condition.
    pub cond: Option<Box<Expr>>,
    /// Step.
    pub step: Option<Box<Expr>>,
    /// Affinity.
    pub affinity: Affinity,
    /// Body.
    pub body: Box<Stmt>,
}

/// Affinity of a `upc_forall`.
#[derive(Clone, Debug)]
pub enum Affinity {
    /// `continue`, or none.
    Always,
    /// Integer rvalue (its own type; a promoted type at least).
    Int(Box<Expr>),
    /// Rvalue of pointer-to-shared type.
    Pts(Box<Expr>),
}

/// An `asm` statement.
#[derive(Clone, Debug)]
pub struct Asm {
    /// All tokens, `;` included.
    pub toks: TokRange,
    /// Operands, outputs first. To emit: the tokens, each operand's token range replaced by its translation.
    pub operands: Vec<AsmOperand>,
}

/// An operand of an `asm` statement.
#[derive(Clone, Debug)]
pub struct AsmOperand {
    /// The expression between the parentheses.
    pub expr: Expr,
    /// Output operand: an lvalue that is written.
    pub output: bool,
}

/// Value category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cat {
    /// Value (of a non-function type).
    Rvalue,
    /// Designates an object.
    Lvalue,
    /// Designates a function.
    Function,
}

/// A constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConstValue {
    /// Integer, in range of its type (sign- or zero-extended).
    Int(i128),
    /// Real floating.
    Float(f64),
}

impl ConstValue {
    /// The integer, if one.
    pub fn int(self) -> Option<i128> {
        match self {
            ConstValue::Int(i) => Some(i),
            ConstValue::Float(_) => None,
        }
    }
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Kind.
    pub kind: ExprKind,
    /// Type.
    pub ty: TypeId,
    /// Category.
    pub cat: Cat,
    /// Tokens.
    pub toks: TokRange,
    /// See the module documentation.
    pub has_upc: bool,
    /// Lvalue of shared type: an access through it is strict.
    pub strict: bool,
    /// Constant value.
    pub value: Option<ConstValue>,
}

/// Unary operators that take an rvalue (but `AddrOf` an lvalue or function).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnOp {
    /// `+`
    Plus,
    /// `-`
    Neg,
    /// `~` (of a complex value: its conjugate)
    BitNot,
    /// `!`
    Not,
    /// `&`
    AddrOf,
    /// `*`; gives an lvalue or a function designator.
    Deref,
    /// `__real__`; an lvalue if the operand is.
    Real,
    /// `__imag__`
    Imag,
    /// `__extension__`; transparent.
    Extension,
}

/// Binary operators. Operands are converted to the common type already, except shifts and pointer arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "obvious")]
pub enum BinOp {
    Mul,
    Div,
    Rem,
    /// Also pointer + integer and integer + pointer.
    Add,
    /// Also pointer - integer and pointer - pointer.
    Sub,
    Shl,
    Shr,
    Lt,
    Gt,
    Le,
    Ge,
    Eq,
    Ne,
    BitAnd,
    BitXor,
    BitOr,
    LogAnd,
    LogOr,
}

/// What a conversion does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conv {
    /// Load of a private lvalue: same type without qualifiers.
    Load,
    /// Load of a shared lvalue: same type without qualifiers. The lvalue says whether strict.
    SharedLoad,
    /// Private array lvalue to a PTL to its first element.
    ArrayDecay,
    /// Shared array lvalue to a PTS to its first element, same address and phase (phase 0 for a declared array).
    SharedDecay,
    /// Function designator to pointer.
    FuncDecay,
    /// Between arithmetic types (`_Bool`, enumerations, complex included).
    Arith,
    /// Arithmetic type to `_Bool` is `Arith`; this is pointer (PTL) to `_Bool`.
    PtrToBool,
    /// PTS to `_Bool`: compare with null.
    PtsToBool,
    /// Null pointer constant to PTL.
    NullToPtr,
    /// Null pointer constant to PTS.
    NullToPts,
    /// Integer to PTL.
    IntToPtr,
    /// PTL to integer.
    PtrToInt,
    /// PTL to PTL.
    PtrToPtr,
    /// PTS to PTL: the local address; null to null.
    PtsToPtr,
    /// PTS to integer.
    PtsToInt,
    /// PTS to PTS. `reset`: the phase becomes 0, otherwise it is kept.
    PtsToPts {
        /// Phase becomes 0.
        reset: bool,
    },
    /// To `void`.
    ToVoid,
    /// To a union, from one of its members (GNU cast, transparent union argument).
    ToUnion,
    /// Same representation (qualifiers, typedef names, vector reinterpretation); for explicit casts that change nothing.
    Same,
}

/// A type name in an expression.
#[derive(Clone, Debug)]
pub struct TypeName {
    /// The type.
    pub ty: TypeId,
    /// Tokens, without parentheses.
    pub toks: TokRange,
    /// Specifiers (records may be defined in them).
    pub spec: Box<DeclSpec>,
    /// Bounds of variable-length arrays in it.
    pub vla: Vec<ExprId>,
    /// Not the same in C.
    pub has_upc: bool,
}

/// Operators of the `sizeof` family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SizeOp {
    /// `sizeof`
    Size,
    /// `_Alignof`
    Align,
    /// `upc_localsizeof`
    Local,
    /// `upc_blocksizeof`
    Block,
    /// `upc_elemsizeof`
    Elem,
}

/// Operand of the `sizeof` family.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "obvious")]
pub enum SizeArg {
    Type(TypeName),
    Expr(Box<Expr>),
}

/// Kinds of expression.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// Object or function.
    Name(DeclId),
    /// Enumeration constant.
    EnumConst(DeclId),
    /// Integer, floating, imaginary or character constant: spelled as the token; integers and reals have a `value`.
    Number,
    /// One or more string literals; an lvalue of array type.
    Str,
    /// `THREADS`
    Threads,
    /// `MYTHREAD`
    MyThread,
    /// `__func__` and relatives; an lvalue of array type.
    FuncName,
    /// `(e)`
    Paren(Box<Expr>),
    /// Unary operator.
    Unary {
        /// Operator.
        op: UnOp,
        /// Operand.
        expr: Box<Expr>,
    },
    /// `++` and `--`.
    IncDec {
        /// `++`, not `--`.
        inc: bool,
        /// Before the operand (result is the new value).
        prefix: bool,
        /// Modifiable lvalue.
        expr: Box<Expr>,
    },
    /// Binary operator.
    Binary {
        /// Operator.
        op: BinOp,
        /// Left.
        lhs: Box<Expr>,
        /// Right.
        rhs: Box<Expr>,
    },
    /// `a = b`; `b` is converted to the unqualified type of `a`, which is the result's.
    Assign {
        /// Modifiable lvalue.
        lhs: Box<Expr>,
        /// Value.
        rhs: Box<Expr>,
    },
    /// `a op= b`. Meaning: `a = (T)((compute)a op b)`, `a` evaluated once; `b` is converted already.
    CompoundAssign {
        /// Operator.
        op: BinOp,
        /// Modifiable lvalue.
        lhs: Box<Expr>,
        /// Value.
        rhs: Box<Expr>,
        /// Type of the operation (the pointer type itself for pointers).
        compute: TypeId,
    },
    /// `c ? t : e`; `then` is absent in `c ?: e`, where the result is `c` converted to the result's type.
    Cond {
        /// Scalar rvalue.
        cond: Box<Expr>,
        /// Value if true.
        then: Option<Box<Expr>>,
        /// Value if false.
        els: Box<Expr>,
    },
    /// `a, b`
    Comma {
        /// Any type.
        lhs: Box<Expr>,
        /// The value.
        rhs: Box<Expr>,
    },
    /// `a[i]`: an lvalue. `base` is the pointer (after decay) and `index` the integer, in whatever order they were written.
    Index {
        /// Pointer rvalue.
        base: Box<Expr>,
        /// Integer rvalue.
        index: Box<Expr>,
    },
    /// `a.m` or `p->m`. Through a shared object the type is `shared [] M`.
    Member {
        /// Record (lvalue or value), or pointer rvalue if `arrow`.
        base: Box<Expr>,
        /// `->`
        arrow: bool,
        /// The record that `path` starts in.
        record: RecordId,
        /// Field indices; more than one step where anonymous members are crossed.
        path: Vec<u32>,
    },
    /// Call. Arguments are converted (to the parameter types, or promoted).
    Call {
        /// Pointer-to-function rvalue, or the name of a builtin.
        callee: Box<Expr>,
        /// Arguments.
        args: Vec<Expr>,
    },
    /// `(T)e`
    Cast {
        /// Type as written.
        to: TypeName,
        /// What it does.
        conv: Conv,
        /// Rvalue (but for `ToVoid`: anything).
        expr: Box<Expr>,
    },
    /// A conversion nobody wrote; the type is the result's.
    Implicit {
        /// What it does.
        conv: Conv,
        /// Operand.
        expr: Box<Expr>,
    },
    /// `(T){...}`; an lvalue.
    CompoundLit {
        /// Type as written; the expression's type has the bound filled in.
        to: TypeName,
        /// Initialiser.
        init: Box<Init>,
    },
    /// The `sizeof` family. `value` is set where the result is a constant; otherwise the operand's type is of run-time size
    /// (variable length, or a multiple of THREADS).
    SizeOf {
        /// Which.
        op: SizeOp,
        /// Operand.
        arg: SizeArg,
    },
    /// `({ ... })`; the type is that of the last expression statement.
    StmtExpr(Block),
    /// `_Generic`; `chosen` is the selected expression.
    Generic {
        /// Selected branch.
        chosen: Box<Expr>,
    },
    /// `__builtin_choose_expr`; likewise.
    Choose {
        /// Selected branch.
        chosen: Box<Expr>,
    },
    /// `&&label`
    LabelAddr(Sym),
    /// `__builtin_va_arg(list, T)`
    VaArg {
        /// The list.
        list: Box<Expr>,
        /// The type.
        to: TypeName,
    },
    /// `__builtin_offsetof(T, a.b[i])`
    OffsetOf {
        /// The type.
        to: TypeName,
        /// Tokens of the member designator.
        member: TokRange,
        /// Run-time index expressions, if any.
        index: Vec<Expr>,
    },
    /// `__builtin_types_compatible_p(A, B)`; has a value.
    TypesCompatible(Box<(TypeName, TypeName)>),
    /// After an error.
    Error,
}

impl Expr {
    /// The variable that the lvalue is, or is a member of.
    pub fn variable(&self) -> Option<DeclId> {
        match &self.unparen().kind {
            ExprKind::Name(d) => Some(*d),
            ExprKind::Member { base, arrow: false, .. } => base.variable(),
            ExprKind::Unary { op: UnOp::Real | UnOp::Imag, expr } => expr.variable(),
            _ => None,
        }
    }
    /// The expression without parentheses and `__extension__` around it.
    pub fn unparen(&self) -> &Expr {
        let mut e = self;
        loop {
            match &e.kind {
                ExprKind::Paren(x) | ExprKind::Unary { op: UnOp::Extension, expr: x } => e = x,
                ExprKind::Generic { chosen } | ExprKind::Choose { chosen } => e = chosen,
                _ => return e,
            }
        }
    }
    /// The integer value, if constant.
    pub fn int(&self) -> Option<i128> {
        self.value.and_then(ConstValue::int)
    }
    /// If this lvalue is a bit-field: its record and field index.
    pub fn bit_field(&self, types: &Types) -> Option<(RecordId, u32)> {
        let ExprKind::Member { record, path, .. } = &self.unparen().kind else { return None };
        let mut rec = *record;
        for (i, &f) in path.iter().enumerate() {
            let field = types.records.get(rec.0 as usize)?.fields.get(f as usize)?;
            if i + 1 == path.len() {
                return field.bits.map(|_| (rec, f));
            }
            match types.ckind(field.ty) {
                crate::types::TypeKind::Record(r) => rec = *r,
                _ => return None,
            }
        }
        None
    }
}
