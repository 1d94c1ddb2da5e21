//! The intermediate form: what UPC adds to C, as data. `upcc --dump=ir` prints it.
//!
//! # What it is for
//!
//! The typed AST says what a program means; C text says how a machine does it. In between stands this form,
//! which says *where a shared object is* and *what is done to it*, in terms that passes can compare and
//! change: declared objects, pointers, elements, members. [`lower`](crate::lower) makes it of the AST and
//! knows no text, passes of [`opt`](crate::opt) change it, and [`emit`](crate::emit) is the only one that
//! spells it in C.
//!
//! # Vocabulary
//!
//! - A [`Place`] is where a shared object is: thread, address and phase, before anybody has computed them.
//! - A [`Spread`] is how the elements that a pointer-to-shared counts are dealt out: block size and element
//!   size.
//! - An [`Index`] is one subscript: how many objects of which type to move on.
//! - An [`Access`] is what a program does to the object at a place: read, write or update, and in which order
//!   with others.
//!
//! Operands (subscripts, pointers, conditions) are expressions of the typed AST. They are evaluated when the
//! place is, each once.
//!
//! # Invariants
//!
//! - `from` of an [`Place::Element`] has the spread of the element: a conversion in between is a change of
//!   the spread, not of the place.
//! - The indices of one [`Place::Element`] are in the order of the source, rows first.
//! - A place has no effect but those of its operands.
//!
//! # An example
//!
//! ```text
//! shared [8] double g[4 * THREADS][8];          source
//! ... g[r + 1][c] ...
//!
//! element(start(element(start(g), [r + 1 of [8]shared[8] double], 8 x 8)), [c], 8 x 8)       lowered: an
//! element of a row element(start(g), [r + 1 of [8]shared[8] double, c], 8 x 8)             after `hoist`:
//! one walk from the first element __upc_elb(__upc_k_g.offset, (long)(r + 1) * (long)(8) + (long)(c), 8, 8)
//! emitted
//! ```
//!
//! # Code
//!
//! - [`Code`] is a statement with what passes made of it. Statements that no pass changed are
//!   [`Form::Written`], and hold the code of the statements in them.
//! - A [`Loop`] is a `for` that accesses *runs*, elements that follow each other; a [`Share`] is a
//!   `upc_forall` that goes through the thread's own elements.
//! - Both are made of [`Iterations`]: one by one, or in [`Stretches`], which are cut so that in each all runs
//!   are consecutive memory.
//! - An [`Ahead`] is a set of reads that are started before a statement.
//!
//! A body may be there in several versions: over pointers, as written for what is rare. Each is a `Code` of
//! its own, with the [`Context`] that it was made for; expressions whose value or address the context has are
//! known by their [`NodeId`].

use crate::front::ast::{self, DeclId, Expr, ExprKind, ForInit, FuncDef, NodeId, Stmt};
use crate::front::types::{RecordId, TypeId};
use std::collections::HashSet;
use std::rc::Rc;

/// Bytes in a page of memory, as far ahead as loops touch what they will use.
pub const PAGE: u64 = 4096;

/// The program in this form, as the emitter asks for it part by part: what is nowhere else at the same time
/// need not be kept. Whoever makes it decides which passes see it.
pub trait LoweredProgram {
    /// The context of a function's statements.
    fn function(&self, f: &FuncDef) -> Rc<Context>;
    /// The place of a shared lvalue.
    fn place<'e>(&self, lv: &'e Expr) -> Place<'e>;
    /// The place that a pointer-to-shared points to.
    fn pointed_to<'e>(&self, e: &'e Expr) -> Place<'e>;
    /// The code of statements that follow each other.
    fn sequence<'e>(&'e self, stmts: &'e [Stmt], around: &Rc<Context>) -> Vec<Code<'e>>;

    /// The code of the statements of a statement expression.
    fn inside_expression<'e>(&'e self, stmts: &'e [Stmt], around: &Context) -> Vec<Code<'e>> {
        self.sequence(stmts, &Rc::new(Context { in_order: true, ..around.clone() }))
    }
}

/// How the elements that a pointer-to-shared counts are dealt out to the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Elements in a block; 0: all on one thread.
    pub block: u64,
    /// Bytes of an element that is no array.
    pub size: u64,
}

/// A subscript.
#[derive(Clone, Debug)]
pub struct Index<'a> {
    /// How many.
    pub count: &'a Expr,
    /// Objects of this type, maybe an array.
    pub of: TypeId,
    /// The count cannot be negative.
    pub not_negative: bool,
}

/// Where a shared object is.
#[derive(Clone, Debug)]
pub enum Place<'a> {
    /// A declared object.
    Variable(DeclId),
    /// The first element of the array at a place.
    Start(Box<Place<'a>>),
    /// What the value of a pointer-to-shared points to.
    Pointer(&'a Expr),
    /// Where null points.
    Null,
    /// So many elements on from a place: a subscript, or a sum.
    Element {
        /// From here.
        from: Box<Place<'a>>,
        /// On by these.
        by: Vec<Index<'a>>,
        /// Counted so.
        spread: Spread,
        /// The element exists, so that none of an array comes before its first.
        exists: bool,
    },
    /// The same of a difference, or of a constant below zero.
    Moved {
        /// From here.
        from: Box<Place<'a>>,
        /// On by this many.
        by: Index<'a>,
        /// Back by as many.
        back: bool,
        /// Counted so.
        spread: Spread,
    },
    /// A member of a structure.
    Member {
        /// The structure.
        of: Box<Place<'a>>,
        /// Its type.
        record: RecordId,
        /// Fields, through members without a name.
        path: &'a [u32],
    },
    /// A part of a complex number.
    Part {
        /// The number.
        of: Box<Place<'a>>,
        /// Offset.
        bytes: u64,
    },
    /// The same place, counted from there on as phase 0.
    NoPhase(Box<Place<'a>>),
    /// A place that is computed after something else has been evaluated.
    After(&'a Expr, Box<Place<'a>>),
    /// One of two.
    Either(&'a Expr, Box<Place<'a>>, Box<Place<'a>>),
    /// The first unless it is null, else the second.
    OrElse(Box<Place<'a>>, Box<Place<'a>>),
}

/// The order of an access with those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In order with all accesses.
    Strict,
    /// As often as written, in order with those of its kind.
    Volatile,
    /// As it comes.
    Relaxed,
}

/// What is done to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Its value is read.
    Read,
    /// It is written.
    Write,
    /// Its value is read and a new one written.
    Update,
}

/// What a program does to a shared object.
#[derive(Clone, Debug)]
pub struct Access<'a> {
    /// What.
    pub action: Action,
    /// In which order.
    pub order: Order,
    /// The type of the object.
    pub ty: TypeId,
    /// Where it is; of a bit-field the structure that holds it.
    pub place: Place<'a>,
    /// The lvalue as written.
    pub lvalue: &'a Expr,
}

/// How a scalar passes to and from the functions for far accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// As an integer of so many bytes.
    Bytes(u8),
    /// As a `float`.
    Float,
    /// As a `double`.
    Double,
}

/// How accesses are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Inline code: for small loops and functions.
    #[default]
    Inline,
    /// Calls of functions that are made for the file.
    Outlined,
    /// Calls, and nothing is remarked upon: another version of this code is the one that usually runs.
    Compact,
}

/// What holds around a piece of code.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// How accesses are written.
    pub style: Style,
    /// Large enough a function that accesses outside of small loops are outlined.
    pub large: bool,
    /// Inside of a `upc_forall`.
    pub in_forall: bool,
    /// No reads are started ahead here: the code is part of an expression, or runs where all is near.
    pub in_order: bool,
    /// Elements that are used through a pointer.
    pub bound: HashSet<NodeId>,
    /// Shared lvalues that have been read.
    pub known: HashSet<NodeId>,
}

impl Context {
    /// Whether the shared lvalue is used through a pointer here.
    pub fn is_bound(&self, lv: &Expr) -> bool {
        match &lv.kind {
            ExprKind::Paren(x) | ExprKind::Member { base: x, arrow: false, .. } => self.is_bound(x),
            _ => self.bound.contains(&lv.id),
        }
    }
}

/// A statement, and what passes made of it.
#[derive(Clone, Debug)]
pub struct Code<'a> {
    /// As it was written.
    pub stmt: &'a Stmt,
    /// What holds around it.
    pub context: Rc<Context>,
    /// Reads that are started before it.
    pub ahead: Option<Ahead<'a>>,
    /// What it has become.
    pub form: Form<'a>,
}

/// What a statement has become.
#[derive(Clone, Debug)]
pub enum Form<'a> {
    /// The same; the code of the statements directly in it, in the order of the source.
    Written(Vec<Code<'a>>),
    /// The same loop: why its accesses stay, and its body.
    Kept(&'static str, Box<Code<'a>>),
    /// A `for` over runs of elements.
    Loop(Box<Loop<'a>>),
    /// A `upc_forall` through the thread's own elements.
    Share(Box<Share<'a>>),
}

/// Reads that are under way at the same time.
#[derive(Clone, Debug)]
pub struct Ahead<'a> {
    /// The objects.
    pub reads: Vec<&'a Expr>,
    /// How many statements, from this one on, use what was read.
    pub statements: usize,
}

/// How the variable of a loop moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountStep {
    /// By one.
    One,
    /// By THREADS.
    Threads,
}

/// A counting loop: `init; var < bound; var++`.
#[derive(Clone, Debug)]
pub struct Count<'a> {
    /// The variable. Nothing else changes it.
    pub var: DeclId,
    /// The bound, which does not change.
    pub bound: &'a Expr,
    /// `<=`
    pub inclusive: bool,
    /// The type in which the condition compares.
    pub compared: TypeId,
}

/// A `for` over runs of elements.
#[derive(Clone, Debug)]
pub struct Loop<'a> {
    /// First clause.
    pub init: &'a ForInit,
    /// How it counts.
    pub count: Count<'a>,
    /// What it does.
    pub each: Iterations<'a>,
}

/// Iterations of a body, from the present value of a variable on.
#[derive(Clone, Debug)]
pub struct Iterations<'a> {
    /// The variable.
    pub var: DeclId,
    /// How it moves.
    pub step: CountStep,
    /// Reads that are made once, before the first; those in one list are written alike.
    pub once: Vec<Vec<&'a Expr>>,
    /// In which order the others are made.
    pub pace: Pace<'a>,
}

/// How iterations follow each other.
#[derive(Clone, Debug)]
pub enum Pace<'a> {
    /// One by one; why.
    Single(&'static str, Box<Code<'a>>),
    /// In stretches.
    Stretches(Box<Stretches<'a>>),
}

/// Stretches of iterations in which all runs are consecutive memory.
#[derive(Clone, Debug)]
pub struct Stretches<'a> {
    /// The runs.
    pub runs: Vec<Run<'a>>,
    /// Other reads, one in each iteration, that are made before the stretch.
    pub gathers: Vec<&'a Expr>,
    /// A stretch whose elements are far is brought into buffers, unless one of these private pointers is to
    /// shared memory. Or why it is not.
    pub far: Result<Vec<&'a Expr>, &'static str>,
    /// Most elements of a stretch that is brought.
    pub most: u64,
    /// The body over pointers: into memory where that is near, else into buffers.
    pub body: Code<'a>,
    /// How it is computed in vectors.
    pub vectors: Option<Vectors>,
    /// The body as written, where blocks are so short that near elements are not used in place.
    pub near: Option<Code<'a>>,
    /// The body as written, for iterations that cannot be brought.
    pub rare: Option<Code<'a>>,
}

/// Accesses to elements that follow each other.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The first of them.
    pub first: Place<'a>,
    /// The accesses.
    pub nodes: Vec<&'a Expr>,
    /// How the array is dealt out.
    pub spread: Spread,
    /// Type of an element.
    pub ty: TypeId,
    /// Elements are to be fetched.
    pub fetched: bool,
    /// Elements are to be taken back.
    pub written: bool,
}

/// How iterations are computed several at a time.
#[derive(Clone, Debug)]
pub struct Vectors {
    /// A multiple of so many.
    pub chunk: u64,
    /// The loop variable is used as such, not only to find the elements.
    pub counted: bool,
    /// In strips of so many elements, each fetched while the one before is computed.
    pub strip: Option<u64>,
    /// Runs so close to another that they are in its pages, or with block size 1 in those of the next thread:
    /// touching these too costs more than it brings.
    pub close: Vec<usize>,
}

/// A `upc_forall` through the thread's own elements, for the case that none encloses it as the program runs.
#[derive(Clone, Debug)]
pub struct Share<'a> {
    /// As it was written.
    pub forall: &'a ast::Forall,
    /// How it counts.
    pub count: Count<'a>,
    /// It holds another, or calls something that may.
    pub nests: bool,
    /// Its body may leave the function.
    pub returns: bool,
    /// The iterations that are the thread's own.
    pub own: OwnIterations<'a>,
    /// The body of the loop as written.
    pub rare: Code<'a>,
}

/// Which iterations are the thread's own.
#[derive(Clone, Debug)]
pub enum OwnIterations<'a> {
    /// Every THREADS-th, counted from the one with this number.
    Turns(&'a Expr, Iterations<'a>),
    /// Those of rows of an array: a place in the first, the elements in a row, and in a block so many rows.
    Rows {
        /// The place.
        at: Place<'a>,
        /// Elements in a row.
        row: u64,
        /// Rows in a block.
        blocks: Blocks<'a>,
    },
    /// Those of elements of an array, block by block.
    Blocks(Place<'a>, Blocks<'a>),
    /// Those of elements of an array, which follow each other in the thread's memory; nothing else is
    /// accessed.
    Memory(Place<'a>, Box<Memory<'a>>),
}

/// Own elements block by block.
#[derive(Clone, Debug)]
pub struct Blocks<'a> {
    /// Elements (or rows) in a block.
    pub block: u64,
    /// Those used through pointers.
    pub elements: Vec<Owned<'a>>,
    /// The iterations of a block; of all, if blocks have one element.
    pub each: Iterations<'a>,
}

/// All own elements of arrays that are dealt out alike.
#[derive(Clone, Debug)]
pub struct Memory<'a> {
    /// Elements in a block.
    pub block: u64,
    /// The arrays.
    pub elements: Vec<Owned<'a>>,
    /// Fetched strip by strip, of so many elements.
    pub strip: Option<u64>,
    /// The body over pointers.
    pub body: Code<'a>,
}

/// An element of the thread's own in every iteration.
#[derive(Clone, Debug)]
pub struct Owned<'a> {
    /// The first; `None`: where the iterations are counted from.
    pub at: Option<Place<'a>>,
    /// The accesses.
    pub nodes: Vec<&'a Expr>,
    /// The array, if it is a declared one.
    pub array: Option<DeclId>,
    /// Its type.
    pub ty: TypeId,
    /// Bytes.
    pub size: u64,
}
