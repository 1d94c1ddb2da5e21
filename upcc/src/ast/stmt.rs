//! Statements.

use super::{Declaration, Expr, FuncDef};
use crate::token::{Sym, TokRange};

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
