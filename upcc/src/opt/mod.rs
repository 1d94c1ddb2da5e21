//! UPC optimisations, on the [intermediate form](crate::ir). Each is a pass of its own ([`Passes`]), to be
//! switched off alone.
//!
//! | pass | what | module |
//! |---|---|---|
//! | `forall` | a `upc_forall` runs through the thread's own elements instead of testing each | `forall` |
//! | `privatise` | elements known to be the thread's own, or found near at run time, are used through plain pointers | `privatise`, `stream` |
//! | `coalesce` | runs of far elements move in bulk transfers | `stream` |
//! | `split-phase` | transfers that do not depend on each other are under way at the same time | `stream`, `ahead` |
//! | `arithmetic` | no phase where there is none, no sign where there is none | choice of the emitter, from what places say |
//! | `outline` | accesses in large loops and functions are calls of functions made for the file (not at `-O3`) | `outline` |
//! | `vector` | loops with independent iterations are written so that C compilers vectorise them | `vector` |
//! | `hoist` | one address for what is read and written, and for nested indices; one read of what stays | `rows`, `hoist` |
//!
//! A pass changes only what is provably the same: the accesses are relaxed, not volatile, and nothing that
//! happens between the old and the new place of an access can tell the difference. The page of each module
//! says what it matches, why nobody can tell, and what comes out, in the words of `upcc --dump=ir`.
//!
//! [`Optimiser`] goes through the statements of a function, asks the passes in turn, and builds the
//! [`Code`]. `facts` answers the passes' questions about loop bodies.

mod ahead;
mod directed;
mod facts;
mod forall;
mod hoist;
mod outline;
mod privatise;
mod rows;
mod same;
mod stream;
mod vector;

pub use crate::passes::Passes;
pub use stream::{BUFFER_BYTES, BUFFERS};

use crate::front::ast::{Expr, FuncDef, Stmt, StmtKind, TranslationUnit};
use crate::ir::{Code, Context, Form, LoweredProgram, Place};
use crate::lower;
use std::rc::Rc;

/// Why a loop is as it was written.
const LEFT_ALONE: &str = "such loops are left alone (-noopt or -fno-upc-...)";
/// Why accesses in a `while` or `do` loop remain.
const NO_FOR: &str = "the loop is no `for` loop that counts up by one";

/// The program to optimise, and the passes to use.
#[derive(Clone, Copy, Debug)]
pub struct Optimiser<'a> {
    u: &'a TranslationUnit,
    passes: Passes,
}

impl LoweredProgram for Optimiser<'_> {
    fn function(&self, f: &FuncDef) -> Rc<Context> {
        Optimiser::function(self, f)
    }

    fn place<'e>(&self, lv: &'e Expr) -> Place<'e> {
        self.joined(lower::place(self.u, lv))
    }

    fn pointed_to<'e>(&self, e: &'e Expr) -> Place<'e> {
        self.joined(lower::pointed(self.u, e))
    }

    fn sequence<'e>(&'e self, stmts: &'e [Stmt], around: &Rc<Context>) -> Vec<Code<'e>> {
        Optimiser::sequence(self, stmts, around)
    }
}

impl<'a> Optimiser<'a> {
    /// For a unit.
    pub fn new(u: &'a TranslationUnit, passes: Passes) -> Optimiser<'a> {
        Optimiser { u, passes }
    }

    /// The context at the start of a function.
    pub fn function(&self, f: &FuncDef) -> Rc<Context> {
        let large = outline::large(self.passes, f);
        Rc::new(Context { style: outline::style(large), large, ..Context::default() })
    }

    /// The place of a shared lvalue.
    pub fn place(&self, lv: &'a Expr) -> Place<'a> {
        self.joined(lower::place(self.u, lv))
    }

    /// The place that a pointer-to-shared points to.
    pub fn pointed_to(&self, e: &'a Expr) -> Place<'a> {
        self.joined(lower::pointed(self.u, e))
    }

    /// A place with its subscripts joined.
    pub fn joined<'e>(&self, place: Place<'e>) -> Place<'e> {
        if self.passes.hoist { rows::join(place) } else { place }
    }

    /// The code of statements that follow each other.
    pub fn sequence(&self, stmts: &'a [Stmt], around: &Rc<Context>) -> Vec<Code<'a>> {
        let mut all = Vec::with_capacity(stmts.len());
        while all.len() < stmts.len() {
            let rest = &stmts[all.len()..];
            let Some(ahead) = self.group(rest, around) else {
                all.push(self.alone(&rest[0], around));
                continue;
            };
            let (at, within) = (all.len(), with_known(around, &ahead.reads));
            all.extend(rest[..ahead.statements].iter().map(|s| self.alone(s, &within)));
            all[at].ahead = Some(ahead);
        }
        all
    }

    /// The code of a statement that is part of another.
    fn statement(&self, s: &'a Stmt, around: &Rc<Context>) -> Code<'a> {
        let group = match s.kind {
            StmtKind::Decl(_) => None,
            _ => self.group(std::slice::from_ref(s), around),
        };
        let Some(ahead) = group else { return self.alone(s, around) };
        let code = self.alone(s, &with_known(around, &ahead.reads));
        Code { ahead: Some(ahead), ..code }
    }

    /// The code of a statement after what is read ahead.
    fn alone(&self, s: &'a Stmt, around: &Rc<Context>) -> Code<'a> {
        let context = outline::around(s, around);
        let form = if s.has_upc { self.form(s, &context) } else { Form::Written(Vec::new()) };
        Code { stmt: s, context, ahead: None, form }
    }

    fn form(&self, s: &'a Stmt, context: &Rc<Context>) -> Form<'a> {
        let body = |s: &'a Stmt| self.statement(s, context);
        match &s.kind {
            StmtKind::Block(b) => Form::Written(self.sequence(&b.stmts, context)),
            StmtKind::If { then, els, .. } => {
                Form::Written([Some(then), els.as_ref()].into_iter().flatten().map(|s| body(s)).collect())
            }
            StmtKind::Switch { body: s, .. }
            | StmtKind::Case { body: s, .. }
            | StmtKind::Default { body: s }
            | StmtKind::Label { body: s, .. } => Form::Written(vec![body(s)]),
            StmtKind::While { body: s, .. } | StmtKind::DoWhile { body: s, .. } => {
                Form::Kept(NO_FOR, Box::new(body(s)))
            }
            StmtKind::For { init, cond, step, body: s } => {
                match self.stream(init, cond.as_deref(), step.as_deref(), s, context) {
                    Ok(made) => Form::Loop(Box::new(made)),
                    Err(why) => Form::Kept(why, Box::new(body(s))),
                }
            }
            StmtKind::Forall(f) => {
                let inside = Rc::new(Context { in_forall: true, ..(**context).clone() });
                match self.share(f, context, &inside) {
                    Ok(made) => Form::Share(Box::new(made)),
                    Err(why) => Form::Kept(why, Box::new(self.statement(&f.body, &inside))),
                }
            }
            StmtKind::Directed { pragmas, body: s } => {
                Form::Written(vec![self.directed(lower::demands(pragmas), s, context)])
            }
            _ => Form::Written(Vec::new()),
        }
    }
}

/// The context after these have been read.
fn with_known(around: &Context, reads: &[&Expr]) -> Rc<Context> {
    let mut within = around.clone();
    within.known.extend(reads.iter().map(|lv| lv.id));
    Rc::new(within)
}
