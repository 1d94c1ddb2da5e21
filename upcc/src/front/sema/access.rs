//! Names, members, calls, the `sizeof` family, and what statements ask of expressions.

use crate::front::ast::*;
use crate::front::sema::Sema;
use crate::front::token::{Sym, TokIdx, TokRange};
use crate::front::types::Block;
use crate::front::types::*;

use super::conv::Why;

impl Sema<'_> {
    /// A use of the name at token `at`.
    pub(crate) fn name_use(&mut self, s: Sym, at: TokIdx, called: bool) -> Expr {
        let toks = TokRange::new(at, at + 1);
        let id = match self.lookup(s) {
            Some(d) => d,
            None => {
                if let Some(d) = self.builtin(s, at) {
                    d
                } else if called {
                    let name = self.name(s).to_owned();
                    if self.is_system(at)
                        || name.starts_with("__builtin_")
                        || name.starts_with("__sync_")
                        || name.starts_with("__atomic_")
                    {
                        return self.bad_expr(toks);
                    }
                    self.declare_implicit(s, at)
                } else {
                    let name = self.name(s).to_owned();
                    let text = format!("`{name}` is not declared{}", self.advice(&name));
                    self.error(at, text);
                    // One message per name and function is enough.
                    self.bind_unknown(s, at);
                    return self.bad_expr(toks);
                }
            }
        };
        let d = &mut self.decls[id.0 as usize];
        d.used = true;
        let (kind, ty, value) = (d.kind, d.ty, d.value);
        match kind {
            DeclKind::EnumConst => {
                let mut e = self.node(ExprKind::EnumConst(id), ty, Cat::Rvalue, toks, false);
                e.value = value;
                e
            }
            DeclKind::Typedef => {
                let text = format!("`{}` is a type; a value is expected here", self.name(s));
                self.error(at, text);
                self.bad_expr(toks)
            }
            _ if self.types.is_error(ty) => self.bad_expr(toks),
            _ => self.lvalue_node(ExprKind::Name(id), ty, toks, false),
        }
    }

    /// The member `s` of a record: the path to it.
    pub(crate) fn find_member(&self, r: RecordId, s: Sym) -> Option<Vec<u32>> {
        let rec = &self.types.records[r.0 as usize];
        if let Some(i) = rec.fields.iter().position(|f| f.name == Some(s)) {
            return Some(vec![i as u32]);
        }
        for (i, f) in rec.fields.iter().enumerate() {
            if f.name.is_none()
                && f.bits.is_none()
                && let TypeKind::Record(inner) = *self.types.ckind(f.ty)
                && let Some(mut p) = self.find_member(inner, s)
            {
                p.insert(0, i as u32);
                return Some(p);
            }
        }
        None
    }

    /// `e.s` or `e->s`; `at` is the operator, `name` the member's token.
    pub(crate) fn member(&mut self, at: TokIdx, name: TokIdx, arrow: bool, e: Expr, s: Sym) -> Expr {
        let toks = TokRange::new(e.toks.start, name + 1);
        let base = if arrow { self.rvalue(e) } else { e };
        if self.types.is_error(base.ty) {
            return self.bad_expr(toks);
        }
        let rec_ty = if arrow {
            match self.types.pointee(base.ty) {
                Some(t) => t,
                None => {
                    let t = self.show(base.ty);
                    let hint = if self.types.is_record(base.ty) { "; use `.`" } else { "" };
                    self.error(
                        at,
                        format!("`->` needs a pointer to a struct or union, this is of type `{t}`{hint}"),
                    );
                    return self.bad_expr(toks);
                }
            }
        } else {
            base.ty
        };
        let TypeKind::Record(r) = *self.types.ckind(rec_ty) else {
            let t = self.show(base.ty);
            let op = if arrow { "->" } else { "." };
            let hint = if !arrow && self.types.pointee(base.ty).is_some_and(|p| self.types.is_record(p)) {
                "; use `->`"
            } else {
                ""
            };
            self.error(at, format!("`{op}` needs a struct or union, this is of type `{t}`{hint}"));
            return self.bad_expr(toks);
        };
        if !self.types.records[r.0 as usize].complete {
            let t = self.show(rec_ty);
            self.error(at, format!("`{t}` is incomplete here: it is declared but not defined"));
            return self.bad_expr(toks);
        }
        let Some(path) = self.find_member(r, s) else {
            let t = self.show(rec_ty);
            let advice = self.similar_member(r, self.name(s));
            let advice = advice.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            let text = format!("`{t}` has no member `{}`{advice}", self.name(s));
            self.error(name, text);
            return self.bad_expr(toks);
        };
        let outer = self.types.quals(rec_ty);
        let mut rec = r;
        let mut ty = self.types.error();
        let mut quals = Quals { is_restrict: false, is_atomic: false, ..outer };
        for (i, &f) in path.iter().enumerate() {
            ty = self.types.records[rec.0 as usize].fields[f as usize].ty;
            if i + 1 < path.len() {
                let q = self.types.quals(ty);
                quals = quals.union(Quals { is_restrict: false, ..q });
                if let TypeKind::Record(inner) = *self.types.ckind(ty) {
                    rec = inner;
                }
            }
        }
        if quals.shared.is_some() {
            quals.shared = Some(Block::Indefinite);
        }
        ty = self.types.qualified(ty, quals);
        let lvalue = arrow || base.cat == Cat::Lvalue;
        let upc = base.has_upc;
        let kind = ExprKind::Member { base: Box::new(base), arrow, record: r, path };
        if lvalue {
            self.lvalue_node(kind, ty, toks, upc)
        } else {
            self.node(kind, ty, Cat::Rvalue, toks, upc)
        }
    }

    /// `callee(args)`
    pub(crate) fn call(&mut self, at: TokIdx, end: TokIdx, callee: Expr, args: Vec<Expr>) -> Expr {
        let toks = TokRange::new(callee.toks.start, end);
        let direct = match callee.unparen().kind {
            ExprKind::Name(d) => Some(d),
            _ => None,
        };
        if let Some(d) = direct
            && self.decls[d.0 as usize].builtin
            && let Some(e) = self.generic_builtin(d, toks, &callee, &args)
        {
            let args: Vec<Expr> = args
                .into_iter()
                .map(|a| if matches!(self.types.ckind(a.ty), TypeKind::VaList) { a } else { self.rvalue(a) })
                .collect();
            if !self.check_atomic(d, at, &args) {
                return self.bad_expr(toks);
            }
            return self.finish_call(toks, callee, args, e);
        }
        let callee = self.rvalue(callee);
        if self.types.is_error(callee.ty) {
            let args: Vec<Expr> = args.into_iter().map(|a| self.rvalue(a)).collect();
            let upc = callee.has_upc || args.iter().any(|a| a.has_upc);
            let ty = self.types.error();
            return self.node(ExprKind::Call { callee: Box::new(callee), args }, ty, Cat::Rvalue, toks, upc);
        }
        let fty =
            self.types.pointee(callee.ty).filter(|&t| self.types.is_function(t) && !self.types.is_shared(t));
        let Some((ret, params, variadic, mut proto)) =
            fty.and_then(|t| self.types.signature(t)).map(|(r, p, v, o)| (r, p.to_vec(), v, o))
        else {
            let t = self.show(callee.ty);
            self.error(callee.toks.start, format!("only a function can be called, this is of type `{t}`"));
            return self.bad_expr(toks);
        };
        let what = match direct {
            Some(d) => self.name(self.decls[d.0 as usize].name).to_owned(),
            None => "this function".to_owned(),
        };
        if proto && (args.len() < params.len() || (args.len() > params.len() && !variadic)) {
            self.wrong_number(at, &what, direct, &args, params.len(), variadic);
            // Which argument is missing is not known: none is held against its parameter.
            proto = false;
        }
        let out = self.arguments(args, if proto { &params } else { &[] }, &what);
        if !self.types.is_void(ret) && !self.types.is_complete(ret) && !self.types.is_error(ret) {
            let t = self.show(ret);
            self.error(toks.start, format!("`{what}` returns the incomplete type `{t}`"));
            return self.bad_expr(toks);
        }
        if variadic && direct.is_some() {
            self.check_format(&what, &out);
        }
        let ret = self.types.unqualified(ret);
        self.finish_call(toks, callee, out, ret)
    }

    /// A call with too few or too many arguments for its function.
    fn wrong_number(
        &mut self,
        at: TokIdx,
        what: &str,
        direct: Option<DeclId>,
        args: &[Expr],
        n: usize,
        variadic: bool,
    ) {
        let many = if args.len() < n { "few" } else { "many" };
        let least = if variadic { "at least " } else { "" };
        self.error(
            args.get(n).map_or(at, |first_too_many| first_too_many.toks.start),
            format!("too {many} arguments for `{what}`: it takes {least}{n}, here are {}", args.len()),
        );
        if let Some(d) = direct {
            let tok = self.decls[d.0 as usize].tok;
            if !self.is_system(tok) && !self.decls[d.0 as usize].builtin {
                self.note(tok, "it is declared here");
            }
        }
    }

    /// Arguments as they are passed: converted to the types of parameters, and promoted where there is none.
    fn arguments(&mut self, args: Vec<Expr>, params: &[TypeId], what: &str) -> Vec<Expr> {
        let mut out = Vec::with_capacity(args.len());
        for (i, a) in args.into_iter().enumerate() {
            let a = match params.get(i) {
                Some(&p) => self.assign_convert(a, p, &Why::Arg(i + 1, what.to_owned())),
                None => {
                    let a = self.rvalue(a);
                    if self.types.is_void(a.ty) {
                        self.error(
                            a.toks.start,
                            format!("argument {} of `{what}` has no value: it is of type void", i + 1),
                        );
                    }
                    self.default_promote(a)
                }
            };
            out.push(a);
        }
        out
    }

    fn finish_call(&mut self, toks: TokRange, callee: Expr, args: Vec<Expr>, ty: TypeId) -> Expr {
        let upc = callee.has_upc || args.iter().any(|a| a.has_upc);
        let value = self.builtin_value(&callee, &args);
        let mut e = self.node(ExprKind::Call { callee: Box::new(callee), args }, ty, Cat::Rvalue, toks, upc);
        e.value = value;
        e
    }

    /// The `sizeof` family. `ty` is the operand's type.
    pub(crate) fn size_of_op(&mut self, op: SizeOp, at: TokIdx, toks: TokRange, arg: SizeArg) -> Expr {
        let (ty, upc, bit_field) = match &arg {
            SizeArg::Type(t) => (t.ty, t.has_upc, false),
            SizeArg::Expr(e) => (e.ty, e.has_upc, e.bit_field(&self.types).is_some()),
        };
        let size_t = self.types.size_t();
        let mut e =
            self.node(ExprKind::SizeOf { op, arg }, size_t, Cat::Rvalue, toks, upc || op >= SizeOp::Local);
        if self.types.is_error(ty) {
            return e;
        }
        let word = self.toks.spelling(at).to_owned();
        let t = self.show(ty);
        if op >= SizeOp::Local && !self.types.is_shared(ty) {
            self.error(at, format!("`{word}` needs a shared object or type, this is `{t}`"));
            return self.bad_expr(toks);
        }
        if bit_field {
            self.error(at, format!("`{word}` does not go with a bit-field"));
            return self.bad_expr(toks);
        }
        let operand = match &e.kind {
            ExprKind::SizeOf { arg: SizeArg::Expr(x), .. } => Some(x.unparen()),
            _ => None,
        };
        if op == SizeOp::Size
            && let Some(ExprKind::Member { record, path, .. }) = operand.map(|x| &x.kind)
            && let [f] = path[..]
            && self.types.records[record.0 as usize].flexible
            && f as usize + 1 == self.types.records[record.0 as usize].fields.len()
        {
            self.error(at, format!("`{word}`: an array without a bound at the end of a struct has no size"));
            return self.bad_expr(toks);
        }
        let gnu =
            (self.opts.gnu_void || self.is_system(at)) && op <= SizeOp::Align && !self.types.is_shared(ty);
        let void = self.types.is_void(ty) || self.types.is_function(ty);
        if op == SizeOp::Align {
            if !self.types.is_complete(ty) && !void && !self.types.is_array(ty) {
                self.error(at, format!("`{word}` does not go with the incomplete type `{t}`"));
                return self.bad_expr(toks);
            }
            e.value = Some(ConstValue::Int(i128::from(self.object_align(&e, ty))));
            return e;
        }
        let size = match self.types.size_of(ty) {
            Size::None if gnu && void => Size::Const(1),
            Size::None => {
                let why = if self.types.is_function(ty) {
                    "a function has no size".to_owned()
                } else if self.types.is_void(ty) {
                    "void has no size".to_owned()
                } else if self.types.is_array(ty) {
                    format!("`{t}` is incomplete here: its bound is not known")
                } else {
                    format!("`{t}` is incomplete here")
                };
                self.error(at, format!("`{word}`: {why}"));
                return self.bad_expr(toks);
            }
            s => s,
        };
        let value = match op {
            SizeOp::Size => match size {
                Size::Const(n) => {
                    // In the dynamic environment the whole of a definitely blocked array is no constant even
                    // without THREADS in its bound, but its size is.
                    Some(n)
                }
                _ => None,
            },
            SizeOp::Block => self.types.block(ty).map(Block::size),
            SizeOp::Elem => self.types.const_size(self.types.ultimate_elem(ty)),
            SizeOp::Local => self.local_size(ty),
            SizeOp::Align => None,
        };
        e.value = value.map(|v| ConstValue::Int(i128::from(v)));
        e
    }

    /// `_Alignof` of an expression sees the alignment of the object named.
    fn object_align(&self, e: &Expr, ty: TypeId) -> u64 {
        let mut a = self.types.align_of(ty);
        let ExprKind::SizeOf { arg: SizeArg::Expr(x), .. } = &e.kind else { return a };
        match &x.unparen().kind {
            ExprKind::Name(d) => a = self.decls[d.0 as usize].align.unwrap_or(a),
            ExprKind::Member { record, path, .. } => {
                let mut r = *record;
                for &f in path {
                    let rec = &self.types.records[r.0 as usize];
                    let f = &rec.fields[f as usize];
                    let natural = if rec.packed || f.packed { 1 } else { self.types.align_of(f.ty) };
                    a = f.align.unwrap_or(0).max(natural);
                    if let TypeKind::Record(inner) = *self.types.ckind(f.ty) {
                        r = inner;
                    }
                }
            }
            _ => {}
        }
        a
    }

    /// `upc_localsizeof`: at least what any thread holds.
    fn local_size(&self, ty: TypeId) -> Option<u64> {
        let elem = self.types.const_size(self.types.ultimate_elem(ty))?;
        if !self.types.is_array(ty) {
            return Some(elem);
        }
        let (n, times) = self.types.total_elems(ty)?;
        let block = match self.types.block(ty)? {
            Block::N(b) => b,
            Block::Indefinite | Block::Star => return Some(n.saturating_mul(elem)),
        };
        Some(match self.opts.static_threads {
            Some(t) => {
                // Thread 0 has the most.
                let t = u64::from(t.max(1));
                let blocks = n / block;
                let (rounds, rest) = (blocks / t, blocks % t);
                let last = if rest > 0 { block } else { n - blocks * block };
                elem.saturating_mul(rounds.saturating_mul(block).saturating_add(last))
            }
            None if times => elem.saturating_mul(n.div_ceil(block).saturating_mul(block)),
            None => elem.saturating_mul(n),
        })
    }

    // ---- statements ----

    pub(crate) fn check_return(&mut self, at: TokIdx, e: Option<Expr>) -> Option<Expr> {
        let Some(f) = &self.func else { return e };
        let ret = f.ret;
        let void = self.types.is_void(ret);
        match e {
            None => {
                if !void && !self.types.is_error(ret) {
                    let t = self.show(ret);
                    self.warn(at, format!("`return` without a value in a function that returns `{t}`"));
                }
                None
            }
            Some(e) if void => {
                if !self.types.is_void(e.ty) && !self.types.is_error(e.ty) {
                    self.warn(e.toks.start, "`return` with a value in a function that returns void");
                }
                Some(e)
            }
            Some(e) => Some(self.assign_convert(e, ret, &Why::Return)),
        }
    }

    /// The value of a barrier statement, as `int`.
    pub(crate) fn barrier_value(&mut self, e: Expr, word: &str) -> Expr {
        let e = self.rvalue(e);
        let int = self.types.int();
        if self.types.is_error(e.ty) || self.types.is_arithmetic(e.ty) {
            return self.arith(e, int);
        }
        // Other compilers take a pointer in silence.
        if self.types.is_pointer(e.ty)
            && let Some(conv) = self.cast_conv(&e, int, e.toks.start)
        {
            return self.implicit(conv, int, e);
        }
        let t = self.show(e.ty);
        self.error(
            e.toks.start,
            format!("the value of `{word}` must be convertible to `int`, this is of type `{t}`"),
        );
        self.bad_expr(e.toks)
    }

    pub(crate) fn affinity(&mut self, e: Expr) -> Affinity {
        let e = self.rvalue(e);
        if self.types.is_error(e.ty) {
            return Affinity::Always;
        }
        if self.types.is_integer(e.ty) {
            return Affinity::Int(Box::new(self.promote(e)));
        }
        if self.types.is_pts(e.ty) {
            return Affinity::Pts(Box::new(e));
        }
        let t = self.show(e.ty);
        self.error(
            e.toks.start,
            format!("the affinity of `upc_forall` must be an integer, a pointer-to-shared or `continue`, this is of type `{t}`"),
        );
        Affinity::Always
    }

    pub(crate) fn switch_value(&mut self, e: Expr) -> Expr {
        let e = self.rvalue(e);
        if self.types.is_error(e.ty) {
            return e;
        }
        if !self.types.is_integer(e.ty) {
            let t = self.show(e.ty);
            self.error(
                e.toks.start,
                format!("the value of `switch` must be an integer, this is of type `{t}`"),
            );
            return self.bad_expr(e.toks);
        }
        self.promote(e)
    }

    pub(crate) fn case_label(&mut self, at: TokIdx, lo: Expr, hi: Option<Expr>) -> (Expr, Option<Expr>) {
        let ty = match self.func.as_ref().map(|f| f.switches.last().map(|s| s.ty)) {
            Some(Some(ty)) => ty,
            _ => {
                self.error(at, "`case` belongs inside a `switch`");
                return (lo, hi);
            }
        };
        let ty = ty.filter(|t| !self.types.is_error(*t));
        let check = |cx: &mut Self, e: Expr| -> (Expr, Option<i128>) {
            if cx.types.is_error(e.ty) {
                return (e, None);
            }
            if !cx.types.is_integer(e.ty) || e.int().is_none() {
                let mut text = "the value of `case` must be an integer constant expression".to_owned();
                if e.has_upc {
                    text.push_str("; what depends on THREADS is one only in the static environment (`-T N`)");
                }
                cx.error(e.toks.start, text);
                return (e, None);
            }
            let e = match ty {
                Some(t) => cx.arith(e, t),
                None => e,
            };
            let v = e.int();
            (e, v)
        };
        let (lo, a) = check(self, lo);
        let (hi, b) = match hi {
            Some(h) => {
                let (h, v) = check(self, h);
                (Some(h), v)
            }
            None => (None, a),
        };
        if let (Some(a), Some(b)) = (a, b) {
            let mut old = None;
            if let Some(s) = self.func.as_mut().and_then(|f| f.switches.last_mut()) {
                if a == b {
                    old = s
                        .seen
                        .insert(a, at)
                        .or_else(|| s.cases.iter().find(|c| c.0 <= a && a <= c.1).map(|c| c.2));
                } else {
                    old = s
                        .cases
                        .iter()
                        .find(|c| c.0 <= b && a <= c.1)
                        .map(|c| c.2)
                        .or_else(|| s.seen.iter().find(|(v, _)| a <= **v && **v <= b).map(|(_, t)| *t));
                    s.cases.push((a, b, at));
                }
            }
            if let Some(o) = old {
                self.error(at, format!("duplicate case value {a}"));
                self.note(o, "the first is here");
            }
        }
        (lo, hi)
    }
}
