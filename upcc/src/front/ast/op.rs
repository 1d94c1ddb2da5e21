//! The parts of expressions that are not operands: operators, conversions, value categories, constants.

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

/// Which expression of the unit; the nodes of the parser's tree all differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(pub u32);

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

/// The kinds of conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conv {
    /// Load of a private lvalue: same type without qualifiers.
    Load,
    /// Load of a shared lvalue: same type without qualifiers. The lvalue says whether strict.
    SharedLoad,
    /// Private array lvalue to a PTL to its first element.
    ArrayDecay,
    /// Shared array lvalue to a PTS to its first element, same address and phase (phase 0 for a declared
    /// array).
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
    /// Same representation (qualifiers, typedef names, vector reinterpretation); for explicit casts that
    /// change nothing.
    Same,
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
