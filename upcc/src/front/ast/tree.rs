//! The nodes: the unit, declarations, statements, expressions. They hold each other, so they are in one file.

use super::entity::{Decl, DeclSpec, Definition, PathElem};
use super::op::{BinOp, Cat, ConstValue, Conv, NodeId, SizeOp, UnOp};
use crate::front::token::{Sym, TokIdx, TokRange, TokenBuf};
use crate::front::types::{DeclId, ExprId, RecordId, TypeId, TypeKind, Types};

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

/// Something at file scope.
#[derive(Clone, Debug)]
pub struct Item {
    /// The kind of the item.
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
    /// Declarator (with the specifiers) uses UPC, initialiser aside: if false, specifier and declarator
    /// tokens stand as read.
    pub declarator_upc: bool,
}

/// An initialiser, converted to the type of what it initialises.
#[derive(Clone, Debug)]
pub enum Init {
    /// One expression, implicit conversions included. A string literal that initialises an array is the bare
    /// literal, of the array type of the literal.
    Expr(Box<Expr>),
    /// A braced list.
    List(InitList),
}

/// A braced initialiser list.
#[derive(Clone, Debug)]
pub struct InitList {
    /// Tokens, braces included.
    pub toks: TokRange,
    /// The type of the initialised object.
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
    /// All leaves with their full paths from the initialised object, in the order written (a later one
    /// overrides an earlier one of the same path). `ty` is the initialised type.
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
    /// The statements inside the braces.
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
    /// A pragma that says nothing about the next statement alone: one token, kept in place.
    Pragma,
    /// `#pragma upc ...`: emit nothing.
    UpcPragma,
    /// A statement, and the pragmas that are about it.
    Directed {
        pragmas: Vec<Directive>,
        body: Box<Stmt>,
    },
    /// `__label__ a, b;`
    LocalLabels,
    StaticAssert,
    /// GNU nested function.
    NestedFunc(Box<FuncDef>),
    /// `__attribute__((fallthrough));`
    Attribute,
}

/// A pragma about the statement after it, as of OpenMP.
#[derive(Clone, Debug)]
pub struct Directive {
    /// Its token.
    pub tok: TokIdx,
    /// Its demands on the statement after it.
    pub demands: Demands,
    /// Bytes of its text that are not C, and what they name; in order.
    pub names: Vec<(std::ops::Range<usize>, DirectiveName)>,
}

/// Demands of a pragma on the code that is emitted for the statement after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// This many nested loops, each directly in the one before, have to be emitted as `for` loops that the
    /// C compiler recognises.
    pub loops: u32,
    /// A block of statements with pragmas of their own.
    pub sections: bool,
    /// Other threads of the operating system may run the statement.
    pub threads: bool,
    /// The statement is one access.
    pub atomic: bool,
}

/// The meaning of a name in a pragma.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectiveName {
    /// A shared variable.
    Shared(DeclId),
    /// THREADS
    Threads,
    /// MYTHREAD
    MyThread,
    /// `default(none)`, which is about the variables of the source.
    DefaultNone,
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

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// By which other stages refer to it. A copy (the bound of a variable-length array has one) is the same
    /// expression.
    pub id: NodeId,
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
    /// Integer, floating, imaginary or character constant: spelled as the token; integers and reals have a
    /// `value`.
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
    /// `a[i]`: an lvalue. `base` is the pointer (after decay) and `index` the integer, in whatever order they
    /// were written.
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
        /// The conversion that the cast makes.
        conv: Conv,
        /// Rvalue (but for `ToVoid`: anything).
        expr: Box<Expr>,
    },
    /// A conversion nobody wrote; the type is the result's.
    Implicit {
        /// The kind of the conversion.
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
    /// The `sizeof` family. `value` is set where the result is a constant; otherwise the operand's type is of
    /// run-time size (variable length, or a multiple of THREADS).
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
        to: Box<TypeName>,
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

// Parsing moves nodes by value: beyond 128 bytes each move is a call.
const _: () = assert!(std::mem::size_of::<Expr>() <= 128);

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
                TypeKind::Record(r) => rec = *r,
                _ => return None,
            }
        }
        None
    }
}
