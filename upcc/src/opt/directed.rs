//! Statements with a pragma about them: no pass puts anything between the two, nor changes what the pragma
//! needs as it is.
//!
//! **Matches** statements after pragmas of OpenMP, OpenACC and of compilers about loops. A loop that such a
//! pragma is about stays a `for` of one variable; of nested ones, as many as the pragma says. Reads are not
//! started before the pragma, since the statement may run later, by another thread, or holding a lock. Inside
//! of the statement all passes do their work, since what the runtime keeps for transfers under way it keeps
//! for each thread of the operating system.

use super::Optimiser;
use super::outline;
use crate::front::ast::{Demands, Stmt, StmtKind};
use crate::ir::{Code, Context, Form};
use crate::lower;
use std::rc::Rc;

/// Why a loop stays as it is.
const PRAGMA: &str = "a pragma is about the loop";

impl<'a> Optimiser<'a> {
    /// The code of a statement that pragmas ask this of.
    pub(super) fn directed(&self, asked: Demands, s: &'a Stmt, around: &Rc<Context>) -> Code<'a> {
        if !(s.has_upc || asked.threads && lower::may_nest(s, self.u)) {
            return self.alone(s, around);
        }
        let context = outline::around(s, around);
        let inner = |s: &'a Stmt, context: &Rc<Context>| match asked.loops {
            0 | 1 => self.statement(s, context),
            n => self.directed(Demands { loops: n - 1, ..Demands::default() }, s, context),
        };
        let form = match &s.kind {
            StmtKind::For { body, .. } if asked.loops > 0 => {
                Form::Kept(PRAGMA, Box::new(inner(body, &context)))
            }
            StmtKind::Forall(f) if asked.loops > 0 => {
                let inside = Rc::new(Context { in_forall: true, ..(*context).clone() });
                Form::Kept(PRAGMA, Box::new(inner(&f.body, &inside)))
            }
            // Braces around the next loop.
            StmtKind::Block(b) if asked.loops > 0 => {
                Form::Written(b.stmts.iter().map(|s| self.directed(asked, s, &context)).collect())
            }
            StmtKind::Block(b) if asked.sections => {
                Form::Written(b.stmts.iter().map(|s| self.statement(s, &context)).collect())
            }
            // A loop below a pragma of its own.
            StmtKind::Directed { pragmas, body } => {
                let own = lower::demands(pragmas);
                let loops = own.loops.max(asked.loops);
                Form::Written(vec![self.directed(Demands { loops, ..own }, body, &context)])
            }
            _ => return self.alone(s, around),
        };
        Code { stmt: s, context, ahead: None, form }
    }
}
