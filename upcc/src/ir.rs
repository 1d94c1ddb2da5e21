//! The intermediate form of UPC code: places of shared objects, accesses to them, and loops over them.
//! `upcc --dump=ir` prints it.
//!
//! # Purpose
//!
//! The typed AST describes a program as the user wrote it, and C text describes it for a C compiler. This
//! form is between the two. It describes *where a shared object is* and *which access is made*, in terms that
//! passes can compare and change: declared objects, pointers, elements, members. [`lower`](crate::lower)
//! makes the form from the AST, the passes in [`opt`](crate::opt) change it, and [`emit`](crate::emit) writes
//! it as C. Only `emit` deals with text.
//!
//! # Vocabulary
//!
//! - A [`Place`] is where a shared object is: thread, address and phase, before anybody has computed them.
//! - A [`Spread`] is the distribution of an array over the threads: block size and element size.
//! - An [`Index`] is one subscript: a number of objects of a type.
//! - An [`Access`] is a read, a write or an update of the object at a place, strict or relaxed.
//!
//! Operands (subscripts, pointers, conditions) are expressions of the typed AST. Each of them is evaluated
//! exactly once, when the place is computed.
//!
//! # Invariants
//!
//! - The `from` of a [`Place::Element`] is counted with the spread of that element. A pointer conversion
//!   between the two changes the spread and not the place.
//! - The indices of one [`Place::Element`] are in the order of the source, rows first.
//! - Computing a place has no side effects but those of its operands.
//!
//! # An example
//!
//! ```text
//! shared [8] double g[4 * THREADS][8];          source
//! ... g[r + 1][c] ...
//!
//!
//! lowered, an element of a row:
//! element(start(element(start(g), [r + 1 of [8]shared[8] double], 8 x 8)), [c], 8 x 8)
//!
//! after `hoist`, one step from the first element of g:
//! element(start(g), [r + 1 of [8]shared[8] double, c], 8 x 8)
//!
//! emitted:
//! __upc_elb(__upc_k_g.offset, (long)(r + 1) * (long)(8) + (long)(c), 8, 8)
//! ```
//!
//! # Code
//!
//! - A [`Code`] is a statement together with the changes that passes made to it. A statement that no pass
//!   changed is [`Form::Written`] and holds the code of the statements inside of it.
//! - A [`Run`] is a series of accesses to consecutive elements, one in each iteration of a loop.
//! - A [`Loop`] is a `for` loop that accesses runs. A [`Share`] is a `upc_forall` loop in which each thread
//!   visits its own elements directly, without testing the affinity of all others.
//! - Both contain [`Iterations`]: one by one, or in [`Stretches`]. A stretch is a range of iterations in
//!   which the elements of every run are consecutive in memory.
//! - An [`Ahead`] is a set of reads that are started before a statement and awaited where it begins.
//!
//! A loop body may be emitted in several versions: one that uses C pointers, and one as written, for the rare
//! cases that the first cannot handle. Each version is a `Code` with a [`Context`] of its own. The context
//! lists the expressions whose value or address is already in a C variable, by their [`NodeId`].

use crate::front::ast::{self, DeclId, Expr, ExprKind, ForInit, FuncDef, NodeId, Stmt};
use crate::front::types::{RecordId, TypeId};
use std::collections::HashSet;
use std::rc::Rc;

/// Bytes in a page of memory. Loops touch the elements they will use this many bytes ahead.
pub const PAGE: u64 = 4096;

/// The program in this form. The emitter asks for one part after the other, so the whole is never in memory
/// at the same time. The implementation decides which passes run.
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

/// How an array is distributed over the threads, as pointer arithmetic sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Elements in a block; 0 if all elements are on one thread.
    pub block: u64,
    /// Bytes of an element. Arrays of arrays are counted in their innermost elements.
    pub size: u64,
}

/// A subscript: a step of `count` objects of type `of`.
#[derive(Clone, Debug)]
pub struct Index<'a> {
    /// The number of objects, an integer expression.
    pub count: &'a Expr,
    /// The type of the objects, which may be an array type (a row).
    pub of: TypeId,
    /// The number is known not to be negative.
    pub not_negative: bool,
}

/// Where a shared object is: an expression that gives thread, address and phase.
#[derive(Clone, Debug)]
pub enum Place<'a> {
    /// A declared object.
    Variable(DeclId),
    /// The first element of the array at a place.
    Start(Box<Place<'a>>),
    /// The object that a pointer-to-shared points to.
    Pointer(&'a Expr),
    /// The null pointer-to-shared.
    Null,
    /// An element after a place: `from[by]...` or `from + by`.
    Element {
        /// The place that is counted from.
        from: Box<Place<'a>>,
        /// The steps, one for each subscript.
        by: Vec<Index<'a>>,
        /// The distribution of the elements.
        spread: Spread,
        /// The program accesses this element, so it lies inside of its array. If `from` is the start of an
        /// array, the sum of the steps is then not negative.
        exists: bool,
    },
    /// An element before or after a place: `from - by`, or `from + by` with a negative constant.
    Moved {
        /// The place that is counted from.
        from: Box<Place<'a>>,
        /// The step.
        by: Index<'a>,
        /// The step is subtracted instead of added.
        back: bool,
        /// The distribution of the elements.
        spread: Spread,
    },
    /// A member of a structure.
    Member {
        /// The place of the structure.
        of: Box<Place<'a>>,
        /// The type of the structure.
        record: RecordId,
        /// Field numbers. There is more than one if the member is inside of members without a name.
        path: &'a [u32],
    },
    /// The real or the imaginary part of a complex number.
    Part {
        /// The place of the number.
        of: Box<Place<'a>>,
        /// Offset of the part in the number.
        bytes: u64,
    },
    /// The same thread and address with phase 0.
    NoPhase(Box<Place<'a>>),
    /// A place that is computed after the expression has been evaluated: `(expression, place)`.
    After(&'a Expr, Box<Place<'a>>),
    /// The first place if the condition is true, else the second: `condition ? first : second`.
    Either(&'a Expr, Box<Place<'a>>, Box<Place<'a>>),
    /// The first place unless it is null, else the second: `first ?: second`.
    OrElse(Box<Place<'a>>, Box<Place<'a>>),
}

/// The memory order of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In program order with all other accesses of the thread.
    Strict,
    /// Made exactly as often as the source says, and in order with other volatile accesses.
    Volatile,
    /// May be moved, combined with others or left out, as long as the thread itself cannot tell.
    Relaxed,
}

/// Kinds of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The object is read.
    Read,
    /// The object is written.
    Write,
    /// The object is read, then written: `+=`, `++` and the like.
    Update,
}

/// An access of the program to a shared object.
#[derive(Clone, Debug)]
pub struct Access<'a> {
    /// Read, write or update.
    pub action: Action,
    /// Its memory order.
    pub order: Order,
    /// The type of the object.
    pub ty: TypeId,
    /// The place of the object. For a bit-field this is the place of the structure that contains it.
    pub place: Place<'a>,
    /// The lvalue in the source.
    pub lvalue: &'a Expr,
}

/// The C type in which a scalar is passed to the runtime's functions for far accesses, and returned by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// An integer of this many bytes.
    Bytes(u8),
    /// `float`.
    Float,
    /// `double`.
    Double,
}

/// The C that accesses are emitted as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Inline code, which is fast and long. For small loops and functions.
    #[default]
    Inline,
    /// Calls of static functions that are emitted for the file.
    Outlined,
    /// Calls as in `Outlined`, and no remarks of `-explain`: this is the rarely used version of a loop body.
    Compact,
}

/// Facts about the surroundings of a piece of code.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The C that accesses are emitted as.
    pub style: Style,
    /// The function is large, so that accesses outside of its small loops are outlined.
    pub large: bool,
    /// The code is inside of a `upc_forall`.
    pub in_forall: bool,
    /// No reads are started ahead here, because the code is part of an expression or all its elements are
    /// near.
    pub in_order: bool,
    /// Elements whose address is in a C pointer.
    pub bound: HashSet<NodeId>,
    /// Shared lvalues whose value has been read into a C variable.
    pub known: HashSet<NodeId>,
}

impl Context {
    /// Whether the address of the shared lvalue is in a C pointer here.
    pub fn is_bound(&self, lv: &Expr) -> bool {
        match &lv.kind {
            ExprKind::Paren(x) | ExprKind::Member { base: x, arrow: false, .. } => self.is_bound(x),
            _ => self.bound.contains(&lv.id),
        }
    }
}

/// A statement with the changes that passes made to it.
#[derive(Clone, Debug)]
pub struct Code<'a> {
    /// The statement in the source.
    pub stmt: &'a Stmt,
    /// Its surroundings.
    pub context: Rc<Context>,
    /// Reads that are started before the statement.
    pub ahead: Option<Ahead<'a>>,
    /// The form in which the statement is emitted.
    pub form: Form<'a>,
}

/// The form in which a statement is emitted.
#[derive(Clone, Debug)]
pub enum Form<'a> {
    /// As written. Contains the code of the statements directly inside, in the order of the source.
    Written(Vec<Code<'a>>),
    /// A loop that no pass could change: the reason, for `-explain`, and the body.
    Kept(&'static str, Box<Code<'a>>),
    /// A `for` loop over runs of elements.
    Loop(Box<Loop<'a>>),
    /// A `upc_forall` loop through the thread's own elements.
    Share(Box<Share<'a>>),
}

/// Reads that are in progress at the same time.
#[derive(Clone, Debug)]
pub struct Ahead<'a> {
    /// The lvalues that are read.
    pub reads: Vec<&'a Expr>,
    /// The number of statements that use the values, counted from this one.
    pub statements: usize,
}

/// The step of a loop variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountStep {
    /// 1.
    One,
    /// THREADS.
    Threads,
}

/// A counting loop: `init; var < bound; var++`.
#[derive(Clone, Debug)]
pub struct Count<'a> {
    /// The loop variable. The body does not change it.
    pub var: DeclId,
    /// The bound. Its value is the same in all iterations.
    pub bound: &'a Expr,
    /// The comparison is `<=` instead of `<`.
    pub inclusive: bool,
    /// The type in which the condition compares.
    pub compared: TypeId,
}

/// A `for` loop over runs of elements.
#[derive(Clone, Debug)]
pub struct Loop<'a> {
    /// The first clause of the `for`.
    pub init: &'a ForInit,
    /// The loop variable and its bound.
    pub count: Count<'a>,
    /// The iterations.
    pub each: Iterations<'a>,
}

/// Iterations of a body. They begin with the current value of the loop variable.
#[derive(Clone, Debug)]
pub struct Iterations<'a> {
    /// The loop variable.
    pub var: DeclId,
    /// Its step.
    pub step: CountStep,
    /// Loop-invariant reads, which are made once before the first iteration. Expressions in the same inner
    /// list have the same value and share one read.
    pub once: Vec<Vec<&'a Expr>>,
    /// Whether iterations run one by one or in stretches.
    pub pace: Pace<'a>,
}

/// How iterations are grouped.
#[derive(Clone, Debug)]
pub enum Pace<'a> {
    /// One by one: the reason, for `-explain`, and the body.
    Single(&'static str, Box<Code<'a>>),
    /// In stretches.
    Stretches(Box<Stretches<'a>>),
}

/// Stretches of iterations: ranges in which the elements of every run are consecutive in memory.
#[derive(Clone, Debug)]
pub struct Stretches<'a> {
    /// The runs.
    pub runs: Vec<Run<'a>>,
    /// Other shared lvalues, each read once in every iteration. They are fetched before the stretch begins.
    pub gathers: Vec<&'a Expr>,
    /// `Ok`: a stretch with far elements is copied to buffers and computed there. That is valid only if none
    /// of these private pointers points to shared memory, which is tested at run time. `Err`: the reason why
    /// far elements are not copied, for `-explain`.
    pub far: Result<Vec<&'a Expr>, &'static str>,
    /// The largest number of elements of a stretch that is copied to buffers.
    pub most: u64,
    /// The body with C pointers as elements. They point to shared memory if it is near, else to buffers.
    pub body: Code<'a>,
    /// How several iterations are computed at a time, if that is possible.
    pub vectors: Option<Vectors>,
    /// The body as written, for near elements. Present if blocks are too short to make stretches worthwhile.
    pub near: Option<Code<'a>>,
    /// The body as written, for iterations whose elements cannot be copied to buffers.
    pub rare: Option<Code<'a>>,
}

/// Accesses to consecutive elements, one in each iteration.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The element of the first iteration.
    pub first: Place<'a>,
    /// The accesses in the body, which all use the same element.
    pub nodes: Vec<&'a Expr>,
    /// The distribution of the array.
    pub spread: Spread,
    /// The type of an element.
    pub ty: TypeId,
    /// Far elements are copied to the buffer before the stretch.
    pub fetched: bool,
    /// Far elements are copied back from the buffer after the stretch.
    pub written: bool,
}

/// How several iterations are computed at a time, with vector instructions.
#[derive(Clone, Debug)]
pub struct Vectors {
    /// The number of iterations of the inner loop is a multiple of this.
    pub chunk: u64,
    /// The body uses the value of the loop variable, not only the elements at its index.
    pub counted: bool,
    /// Elements in a strip. The memory of the next strip is touched while the present one is computed.
    /// `None`: no strips.
    pub strip: Option<u64>,
    /// Indices of runs whose memory is not touched ahead, because it is in the same pages as another run (or,
    /// with block size 1, in those that the next thread touches).
    pub close: Vec<usize>,
}

/// A `upc_forall` loop through the thread's own elements. It is used if no other `upc_forall` is active when
/// the loop begins, which is tested at run time where needed.
#[derive(Clone, Debug)]
pub struct Share<'a> {
    /// The loop in the source.
    pub forall: &'a ast::Forall,
    /// The loop variable and its bound.
    pub count: Count<'a>,
    /// The body contains another `upc_forall`, or calls a function that may contain one.
    pub nests: bool,
    /// The body may leave the function.
    pub returns: bool,
    /// The iterations that the thread executes.
    pub own: OwnIterations<'a>,
    /// The body as written, for a loop that runs inside of another `upc_forall`.
    pub rare: Code<'a>,
}

/// The iterations of a `upc_forall` that a thread executes.
#[derive(Clone, Debug)]
pub enum OwnIterations<'a> {
    /// Every THREADS-th iteration. The expression is the affinity, an integer.
    Turns(&'a Expr, Iterations<'a>),
    /// The affinity is an element in a row of an array, and whole rows are in one block.
    Rows {
        /// The element that the affinity names in the first iteration.
        at: Place<'a>,
        /// Elements in a row.
        row: u64,
        /// The rows, block by block.
        blocks: Blocks<'a>,
    },
    /// The affinity is an element of an array: the place of the first iteration, and the blocks.
    Blocks(Place<'a>, Blocks<'a>),
    /// As `Blocks`, and the body accesses only own elements at the loop variable. All of the thread's
    /// elements are consecutive in its memory, so one loop visits them without regard to blocks.
    Memory(Place<'a>, Box<Memory<'a>>),
}

/// The thread's own elements, block by block.
#[derive(Clone, Debug)]
pub struct Blocks<'a> {
    /// Elements (or rows) in a block.
    pub block: u64,
    /// Elements that the body uses through C pointers.
    pub elements: Vec<Owned<'a>>,
    /// The iterations of one block. If blocks have one element, the iterations of all blocks.
    pub each: Iterations<'a>,
}

/// All own elements of arrays with the same distribution.
#[derive(Clone, Debug)]
pub struct Memory<'a> {
    /// Elements in a block.
    pub block: u64,
    /// The elements that the body uses, one for each array.
    pub elements: Vec<Owned<'a>>,
    /// Elements in a strip, as in [`Vectors::strip`].
    pub strip: Option<u64>,
    /// The body with C pointers as elements.
    pub body: Code<'a>,
}

/// An element that belongs to the thread in every iteration that the thread executes.
#[derive(Clone, Debug)]
pub struct Owned<'a> {
    /// The element of the first iteration. `None`: the element that the affinity names.
    pub at: Option<Place<'a>>,
    /// The accesses to it in the body.
    pub nodes: Vec<&'a Expr>,
    /// The array, if it is declared and not reached through a pointer.
    pub array: Option<DeclId>,
    /// The type of the element.
    pub ty: TypeId,
    /// Bytes of the element.
    pub size: u64,
}
