//! Expressions.

use super::{Block, DeclId, DeclSpec, Init};
use crate::token::{Sym, TokRange};
use crate::types::{ExprId, RecordId, TypeId, Types};

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
