//! Expressions.

use super::*;
use crate::front::consteval;

/// Precedence (higher binds tighter) of the binary operator that `p` spells.
fn binary_op(p: Punct) -> Option<(u8, BinOp)> {
    Some(match p {
        Punct::PipePipe => (1, BinOp::LogOr),
        Punct::AmpAmp => (2, BinOp::LogAnd),
        Punct::Pipe => (3, BinOp::BitOr),
        Punct::Caret => (4, BinOp::BitXor),
        Punct::Amp => (5, BinOp::BitAnd),
        Punct::EqEq => (6, BinOp::Eq),
        Punct::Ne => (6, BinOp::Ne),
        Punct::Lt => (7, BinOp::Lt),
        Punct::Gt => (7, BinOp::Gt),
        Punct::Le => (7, BinOp::Le),
        Punct::Ge => (7, BinOp::Ge),
        Punct::Shl => (8, BinOp::Shl),
        Punct::Shr => (8, BinOp::Shr),
        Punct::Plus => (9, BinOp::Add),
        Punct::Minus => (9, BinOp::Sub),
        Punct::Star => (10, BinOp::Mul),
        Punct::Slash => (10, BinOp::Div),
        Punct::Percent => (10, BinOp::Rem),
        _ => return None,
    })
}

fn assign_op(p: Punct) -> Option<Option<BinOp>> {
    Some(match p {
        Punct::Eq => None,
        Punct::StarEq => Some(BinOp::Mul),
        Punct::SlashEq => Some(BinOp::Div),
        Punct::PercentEq => Some(BinOp::Rem),
        Punct::PlusEq => Some(BinOp::Add),
        Punct::MinusEq => Some(BinOp::Sub),
        Punct::ShlEq => Some(BinOp::Shl),
        Punct::ShrEq => Some(BinOp::Shr),
        Punct::AmpEq => Some(BinOp::BitAnd),
        Punct::CaretEq => Some(BinOp::BitXor),
        Punct::PipeEq => Some(BinOp::BitOr),
        _ => return None,
    })
}

impl Parser<'_> {
    /// A full expression, as read (perhaps an lvalue).
    pub(crate) fn expression(&mut self) -> PResult<Expr> {
        self.bounded(|cx| {
            let mut e = cx.assignment()?;
            while cx.is(Punct::Comma) {
                cx.bump();
                cx.check_expr_size()?;
                let r = cx.assignment()?;
                e = cx.comma(e, r);
            }
            Ok(e)
        })
    }
    pub(crate) fn expression_rvalue(&mut self) -> PResult<Expr> {
        let e = self.expression()?;
        Ok(self.rvalue(e))
    }
    pub(crate) fn assignment_rvalue(&mut self) -> PResult<Expr> {
        let e = self.assignment()?;
        Ok(self.rvalue(e))
    }
    pub(crate) fn conditional_rvalue(&mut self) -> PResult<Expr> {
        self.bounded(|cx| {
            let e = cx.conditional_expr()?;
            Ok(cx.rvalue(e))
        })
    }
    /// An integer constant expression; `what` completes the sentence of the error.
    pub(crate) fn read_const_int(&mut self, what: &str) -> PResult<Option<i128>> {
        let at = self.pos();
        let e = self.conditional_rvalue()?;
        if self.types.is_error(e.ty) {
            return Ok(None);
        }
        let v = e.int().filter(|_| self.types.is_integer(e.ty));
        if v.is_none() {
            self.error(at, format!("an integer constant expression is needed {what}"));
        }
        Ok(v)
    }

    pub(crate) fn assignment(&mut self) -> PResult<Expr> {
        self.nested(|cx| {
            let l = cx.conditional_expr()?;
            let TokKind::Punct(p) = cx.kind() else { return Ok(l) };
            let Some(op) = assign_op(p) else { return Ok(l) };
            let at = cx.bump();
            let r = cx.assignment()?;
            Ok(match op {
                None => cx.assign(at, l, r),
                Some(op) => cx.compound_assign(op, at, l, r),
            })
        })
    }

    pub(crate) fn conditional_expr(&mut self) -> PResult<Expr> {
        self.nested(|cx| {
            let c = cx.binary_expr(1)?;
            if !cx.is(Punct::Question) {
                return Ok(c);
            }
            let at = cx.bump();
            let t = if cx.is(Punct::Colon) { None } else { Some(cx.expression()?) };
            cx.expect(Punct::Colon, "between the two values of `?:`")?;
            let f = cx.chained(Self::conditional_expr)?;
            Ok(cx.conditional(at, c, t, f))
        })
    }

    fn binary_expr(&mut self, min: u8) -> PResult<Expr> {
        let mut l = self.cast_expr()?;
        loop {
            let TokKind::Punct(p) = self.kind() else { return Ok(l) };
            let Some((prec, op)) = binary_op(p) else { return Ok(l) };
            if prec < min {
                return Ok(l);
            }
            let at = self.bump();
            self.check_expr_size()?;
            let r = self.binary_expr(prec + 1)?;
            l = self.binary(op, at, l, r);
        }
    }

    fn cast_expr(&mut self) -> PResult<Expr> {
        if self.is(Punct::LParen) && self.type_follows() {
            return self.nested(|cx| {
                let start = cx.bump();
                let to = cx.type_name()?;
                cx.expect(Punct::RParen, "after the type")?;
                if cx.is(Punct::LBrace) {
                    let e = cx.compound_literal(start, to)?;
                    return cx.postfix(e);
                }
                let e = cx.cast_expr()?;
                Ok(cx.cast(start, to, e))
            });
        }
        self.unary_expr()
    }

    /// With `(` current: whether a type name follows, perhaps after attributes.
    fn type_follows(&self) -> bool {
        self.starts_type(self.past_attributes(self.ahead_idx(1)))
    }

    fn cast(&mut self, start: TokIdx, to: TypeName, e: Expr) -> Expr {
        let toks = TokRange::new(start, start + 1).to(e.toks);
        let void = self.types.is_void(to.ty);
        if self.types.is_shared(to.ty) && !self.types.is_array(to.ty) {
            self.warn(start, "`shared` has no effect in this cast: its result is a value, which is no object in shared memory");
        }
        let e = if void && (self.types.is_void(e.ty) || !self.types.is_complete(e.ty)) {
            e
        } else {
            self.rvalue(e)
        };
        if self.types.is_void(e.ty) && !void {
            let t = self.show(to.ty);
            self.error(start, format!("a value of type void cannot be cast to `{t}`"));
            return self.bad_expr(toks);
        }
        let Some(conv) = self.cast_conv(&e, to.ty, start) else { return self.bad_expr(toks) };
        let ty = self.types.unqualified(to.ty);
        let value = match conv {
            Conv::Arith => e.value.and_then(|v| consteval::convert(&self.types, v, ty)),
            Conv::Same => e.value,
            Conv::PtrToInt => self
                .constant_address(&e)
                .and_then(|a| consteval::convert(&self.types, ConstValue::Int(a), ty)),
            _ => None,
        };
        let upc = to.has_upc || e.has_upc;
        let mut n = self.node(ExprKind::Cast { to, conv, expr: Box::new(e) }, ty, Cat::Rvalue, toks, upc);
        n.value = value;
        n
    }

    /// The number that a private pointer expression stands for, if it is built on integers alone (`&((T
    /// *)0)->m`).
    fn constant_address(&self, e: &Expr) -> Option<i128> {
        match &e.kind {
            ExprKind::Paren(x)
            | ExprKind::Implicit { conv: Conv::PtrToPtr | Conv::Same | Conv::ArrayDecay, expr: x }
            | ExprKind::Cast { conv: Conv::PtrToPtr | Conv::Same, expr: x, .. }
            | ExprKind::Unary { op: UnOp::Extension, expr: x } => self.constant_address(x),
            ExprKind::Implicit { conv: Conv::NullToPtr, .. }
            | ExprKind::Cast { conv: Conv::NullToPtr, .. } => Some(0),
            ExprKind::Implicit { conv: Conv::IntToPtr, expr }
            | ExprKind::Cast { conv: Conv::IntToPtr, expr, .. } => expr.int(),
            ExprKind::Unary { op: UnOp::AddrOf | UnOp::Deref, expr } => self.constant_address(expr),
            ExprKind::Member { base, record, path, .. } => {
                let mut a = self.constant_address(base)?;
                let mut r = *record;
                for &f in path {
                    let f = &self.types.records[r.0 as usize].fields[f as usize];
                    a += i128::from(f.offset);
                    if let TypeKind::Record(inner) = *self.types.ckind(f.ty) {
                        r = inner;
                    }
                }
                Some(a)
            }
            ExprKind::Index { base, index } => {
                let a = self.constant_address(base)?;
                let size = self.types.const_size(e.ty)?;
                a.checked_add(index.int()?.checked_mul(i128::from(size))?)
            }
            ExprKind::Binary { op: BinOp::Add, lhs, rhs } if self.types.is_pointer(lhs.ty) => {
                let size = self.types.const_size(self.types.pointee(lhs.ty)?)?;
                self.constant_address(lhs)?.checked_add(rhs.int()?.checked_mul(i128::from(size))?)
            }
            _ => None,
        }
    }

    fn compound_literal(&mut self, start: TokIdx, to: TypeName) -> PResult<Expr> {
        let at = self.pos();
        let raw = self.nested(|cx| cx.raw_init())?;
        let mut ty = to.ty;
        if self.types.is_shared(ty) {
            self.error(start, "a compound literal cannot be shared");
            ty = self.types.without_shared(ty);
        }
        if self.types.is_void(ty) || self.types.is_function(ty) {
            self.error(start, "a compound literal needs an object type");
            let t = self.since(at);
            return Ok(self.bad_expr(t));
        }
        if self.types.is_record(ty) && !self.types.is_complete(ty) {
            let t = self.show(ty);
            self.error(start, format!("a compound literal cannot have the incomplete type `{t}`"));
            ty = self.types.error();
        }
        if self.types.is_array(ty) && self.has_variable_size(ty) {
            self.error(start, "a compound literal cannot have bounds that are known at run time only");
        }
        let (init, ty) = self.resolve_init(ty, raw);
        let upc = to.has_upc || init.has_upc();
        let toks = self.since(start);
        Ok(self.lvalue_node(ExprKind::CompoundLit { to, init: Box::new(init) }, ty, toks, upc))
    }

    fn unary_expr(&mut self) -> PResult<Expr> {
        self.nested(Self::unary_inner)
    }

    fn unary_inner(&mut self) -> PResult<Expr> {
        let at = self.pos();
        if let TokKind::Punct(p) = self.kind() {
            match p {
                Punct::PlusPlus | Punct::MinusMinus => {
                    self.bump();
                    let e = self.unary_expr()?;
                    return Ok(self.inc_dec(at, p == Punct::PlusPlus, true, e));
                }
                Punct::Amp => {
                    self.bump();
                    let e = self.cast_expr()?;
                    return Ok(self.address_of(at, e));
                }
                Punct::Star => {
                    self.bump();
                    let e = self.cast_expr()?;
                    return Ok(self.deref(at, e));
                }
                Punct::Plus | Punct::Minus | Punct::Tilde | Punct::Bang => {
                    self.bump();
                    let e = self.cast_expr()?;
                    let op = match p {
                        Punct::Plus => UnOp::Plus,
                        Punct::Minus => UnOp::Neg,
                        Punct::Tilde => UnOp::BitNot,
                        _ => UnOp::Not,
                    };
                    return Ok(self.unary(op, at, e));
                }
                Punct::AmpAmp => {
                    self.bump();
                    let TokKind::Ident(s) = self.kind() else {
                        let found = self.found();
                        self.error_here(format!("expected a label after `&&`, found {found}"));
                        return Err(Bad);
                    };
                    let tok = self.bump();
                    if self.func.is_none() {
                        self.error(tok, "the address of a label can be taken inside of its function only");
                    }
                    self.add_label_address(s, tok);
                    let void = self.types.scalar(Scalar::Void);
                    let ty = self.types.pointer(void);
                    let toks = self.since(at);
                    return Ok(self.node(ExprKind::LabelAddr(s), ty, Cat::Rvalue, toks, false));
                }
                _ => {}
            }
        }
        match self.kw() {
            Some(Kw::Sizeof) => self.size_expr(SizeOp::Size),
            Some(Kw::Alignof) => self.size_expr(SizeOp::Align),
            Some(Kw::Localsizeof) => self.size_expr(SizeOp::Local),
            Some(Kw::Blocksizeof) => self.size_expr(SizeOp::Block),
            Some(Kw::Elemsizeof) => self.size_expr(SizeOp::Elem),
            Some(k @ (Kw::Extension | Kw::Real | Kw::Imag)) => {
                self.bump();
                let e = self.cast_expr()?;
                let op = match k {
                    Kw::Extension => UnOp::Extension,
                    Kw::Real => UnOp::Real,
                    _ => UnOp::Imag,
                };
                Ok(self.unary(op, at, e))
            }
            _ => {
                let e = self.primary()?;
                self.postfix(e)
            }
        }
    }

    fn size_expr(&mut self, op: SizeOp) -> PResult<Expr> {
        let at = self.bump();
        let arg = if self.is(Punct::LParen) && self.type_follows() {
            let start = self.bump();
            let to = self.type_name()?;
            self.expect(Punct::RParen, "after the type")?;
            if self.is(Punct::LBrace) {
                self.unevaluated += 1;
                let e = self.compound_literal(start, to).and_then(|e| self.postfix(e));
                self.unevaluated -= 1;
                SizeArg::Expr(Box::new(e?))
            } else {
                SizeArg::Type(to)
            }
        } else {
            self.unevaluated += 1;
            let e = self.unary_expr();
            self.unevaluated -= 1;
            SizeArg::Expr(Box::new(e?))
        };
        let toks = self.since(at);
        Ok(self.size_of_op(op, at, toks, arg))
    }

    fn postfix(&mut self, mut e: Expr) -> PResult<Expr> {
        loop {
            let at = self.pos();
            let TokKind::Punct(p) = self.kind() else { return Ok(e) };
            match p {
                Punct::LBracket => {
                    self.bump();
                    let i = self.nested(|cx| cx.expression())?;
                    let end = self.expect(Punct::RBracket, "after the index")?;
                    e = self.index(at, end + 1, e, i);
                }
                Punct::LParen => {
                    self.bump();
                    let mut args = Vec::new();
                    if !self.is(Punct::RParen) {
                        loop {
                            args.push(self.assignment()?);
                            if !self.eat(Punct::Comma) {
                                break;
                            }
                        }
                    }
                    let end = self.expect(Punct::RParen, "after the arguments")?;
                    e = self.call(at, end + 1, e, args);
                }
                Punct::Dot | Punct::Arrow => {
                    self.bump();
                    // A member may be named like a UPC keyword in C text only; a C keyword never.
                    let TokKind::Ident(s) = self.kind() else {
                        let found = self.found();
                        self.error_here(format!(
                            "expected the name of a member after `{}`, found {found}",
                            p.text()
                        ));
                        return Err(Bad);
                    };
                    let name = self.bump();
                    e = self.member(at, name, p == Punct::Arrow, e, s);
                }
                Punct::PlusPlus | Punct::MinusMinus => {
                    self.bump();
                    let start = e.toks.start;
                    e = self.inc_dec(at, p == Punct::PlusPlus, false, e);
                    e.toks = TokRange::new(start, at + 1);
                }
                _ => return Ok(e),
            }
            self.check_expr_size()?;
        }
    }

    fn primary(&mut self) -> PResult<Expr> {
        let at = self.pos();
        let toks = TokRange::new(at, at + 1);
        match self.kind() {
            TokKind::Number => {
                self.bump();
                Ok(self.number(at, toks))
            }
            TokKind::Char => {
                self.bump();
                Ok(self.char_constant(at, toks))
            }
            TokKind::Str => Ok(self.string()),
            TokKind::Punct(Punct::LParen) => {
                self.bump();
                if self.is(Punct::LBrace) {
                    return self.statement_expr(at);
                }
                let e = self.nested(|cx| cx.expression())?;
                self.expect(Punct::RParen, "to close the `(`")?;
                let toks = self.since(at);
                let (ty, cat, upc, strict, value) = (e.ty, e.cat, e.has_upc, e.strict, e.value);
                let mut n = self.node(ExprKind::Paren(Box::new(e)), ty, cat, toks, upc);
                n.strict = strict;
                n.value = value;
                Ok(n)
            }
            TokKind::Ident(s) => match self.kw() {
                None => {
                    self.bump();
                    let called = self.is(Punct::LParen);
                    if called && self.is_old_forall(s, at) {
                        return Ok(self.old_forall(at));
                    }
                    Ok(self.name_use(s, at, called))
                }
                Some(k) => self.keyword_primary(k, at, toks),
            },
            _ => self.not_an_expression(),
        }
    }

    /// Whether a name that is not declared was meant as the statement, as it was written before UPC 1.1.
    fn is_old_forall(&self, s: Sym, at: TokIdx) -> bool {
        self.name(s) == "forall" && self.lookup(s).is_none() && !self.is_system(at)
    }

    fn old_forall(&mut self, at: TokIdx) -> Expr {
        self.error(at, "`forall` is not declared; since UPC 1.1 the statement is written `upc_forall`");
        // Its clauses would only draw more errors.
        let _ = self.skip_group();
        self.bad_expr(TokRange::new(at, at + 1))
    }

    fn not_an_expression(&mut self) -> PResult<Expr> {
        let found = self.found();
        self.error_here(format!("expected an expression, found {found}"));
        Err(Bad)
    }

    fn keyword_primary(&mut self, k: Kw, at: TokIdx, toks: TokRange) -> PResult<Expr> {
        match k {
            Kw::Threads | Kw::Mythread => {
                self.bump();
                let ty = self.types.int();
                let kind = if k == Kw::Threads { ExprKind::Threads } else { ExprKind::MyThread };
                let mut e = self.node(kind, ty, Cat::Rvalue, toks, true);
                if k == Kw::Threads {
                    e.value = self.opts.static_threads.map(|t| ConstValue::Int(i128::from(t)));
                }
                Ok(e)
            }
            Kw::MaxBlock => {
                self.bump();
                let ty = self.types.scalar(Scalar::Long);
                let mut e = self.node(ExprKind::Number, ty, Cat::Rvalue, toks, true);
                e.value = Some(ConstValue::Int(i128::from(self.opts.max_block)));
                Ok(e)
            }
            Kw::FuncName => {
                self.bump();
                let name = self.func.as_ref().map(|f| self.decls[f.decl.0 as usize].name);
                let n = name.map_or(0, |n| self.name(n).len());
                let c = self.types.scalar(Scalar::Char);
                let c = self.types.qualified(c, Quals { is_const: true, ..Quals::NONE });
                let ty = self.types.array(c, ArrayLen::Const(n as u64 + 1));
                Ok(self.node(ExprKind::FuncName, ty, Cat::Lvalue, toks, false))
            }
            Kw::Generic => self.generic(at),
            Kw::VaArg => self.va_arg(at),
            Kw::Offsetof => self.offset_of(at),
            Kw::TypesCompatible => self.types_compatible(at),
            Kw::ChooseExpr => self.choose_expr(at),
            Kw::Tgmath => self.tgmath(at),
            Kw::ConvertVector => {
                let (_, to) = self.value_and_type("after `__builtin_convertvector`", "after the vector")?;
                let toks = self.since(at);
                Ok(self.node(ExprKind::Number, to.ty, Cat::Rvalue, toks, false))
            }
            _ => self.not_an_expression(),
        }
    }

    /// `name(expression, type)`. The words tell of a parenthesis and a comma that are missing.
    fn value_and_type(&mut self, paren: &str, comma: &str) -> PResult<(Expr, TypeName)> {
        self.bump();
        self.expect(Punct::LParen, paren)?;
        let value = self.assignment()?;
        self.expect(Punct::Comma, comma)?;
        let to = self.type_name()?;
        self.expect(Punct::RParen, "after the type")?;
        Ok((value, to))
    }

    /// `__builtin_va_arg(list, type)`
    fn va_arg(&mut self, at: TokIdx) -> PResult<Expr> {
        let (list, to) = self.value_and_type("after `__builtin_va_arg`", "after the list")?;
        let toks = self.since(at);
        if !self.types.is_complete(to.ty) && !self.types.is_error(to.ty) {
            let t = self.show(to.ty);
            self.error(at, format!("`va_arg` cannot give the incomplete type `{t}`"));
            return Ok(self.bad_expr(toks));
        }
        let ty = self.types.unqualified(to.ty);
        let upc = to.has_upc || list.has_upc;
        Ok(self.node(ExprKind::VaArg { list: Box::new(list), to }, ty, Cat::Rvalue, toks, upc))
    }

    /// `__builtin_types_compatible_p(type, type)`
    fn types_compatible(&mut self, at: TokIdx) -> PResult<Expr> {
        self.bump();
        self.expect(Punct::LParen, "after `__builtin_types_compatible_p`")?;
        let a = self.type_name()?;
        self.expect(Punct::Comma, "between the types")?;
        let b = self.type_name()?;
        self.expect(Punct::RParen, "after the types")?;
        let (x, y) = (self.types.unqualified(a.ty), self.types.unqualified(b.ty));
        let same = self.types.compatible(x, y);
        let int = self.types.int();
        let upc = a.has_upc || b.has_upc;
        let toks = self.since(at);
        let mut e = self.node(ExprKind::TypesCompatible(Box::new((a, b))), int, Cat::Rvalue, toks, upc);
        e.value = Some(ConstValue::Int(i128::from(same)));
        Ok(e)
    }

    /// `__builtin_choose_expr(condition, expression, expression)`
    fn choose_expr(&mut self, at: TokIdx) -> PResult<Expr> {
        self.bump();
        self.expect(Punct::LParen, "after `__builtin_choose_expr`")?;
        let c = self.const_int("as the condition")?;
        self.expect(Punct::Comma, "after the condition")?;
        let a = self.assignment()?;
        self.expect(Punct::Comma, "between the expressions")?;
        let b = self.assignment()?;
        self.expect(Punct::RParen, "after the expressions")?;
        let chosen = if c == Some(0) { b } else { a };
        Ok(self.chosen(at, chosen, |e| ExprKind::Choose { chosen: e }))
    }

    fn chosen(&mut self, at: TokIdx, chosen: Expr, kind: impl FnOnce(Box<Expr>) -> ExprKind) -> Expr {
        let toks = self.since(at);
        let (ty, cat, upc, strict, value) =
            (chosen.ty, chosen.cat, chosen.has_upc, chosen.strict, chosen.value);
        let mut n = self.node(kind(Box::new(chosen)), ty, cat, toks, upc);
        n.strict = strict;
        n.value = value;
        n
    }

    fn number(&mut self, at: TokIdx, toks: TokRange) -> Expr {
        let text = self.toks.spelling(at).to_owned();
        match consteval::number(&text) {
            Ok(l) => {
                let ty = if l.imaginary {
                    self.types.intern(TypeKind::Complex(l.scalar), Quals::NONE)
                } else {
                    self.types.scalar(l.scalar)
                };
                let mut e = self.node(ExprKind::Number, ty, Cat::Rvalue, toks, false);
                e.value = l.value.and_then(|v| consteval::convert(&self.types, v, ty));
                e
            }
            Err(m) => {
                self.error(at, m);
                self.bad_expr(toks)
            }
        }
    }

    fn char_constant(&mut self, at: TokIdx, toks: TokRange) -> Expr {
        let text = self.toks.spelling(at).to_owned();
        let scalar = match text.as_bytes()[0] {
            b'L' => Scalar::Int,
            b'u' if !text.starts_with("u8") => Scalar::UShort,
            b'U' => Scalar::UInt,
            _ => Scalar::Int,
        };
        let wide = !text.starts_with('\'') && !text.starts_with("u8");
        let ty = self.types.scalar(scalar);
        let units = match consteval::unescape(&text, wide) {
            Ok(u) => u,
            Err(m) => {
                self.error(at, m);
                return self.bad_expr(toks);
            }
        };
        if units.is_empty() {
            self.error(at, "a character constant needs a character");
            return self.bad_expr(toks);
        }
        let v = if wide {
            consteval::wrap(i128::from(*units.last().unwrap_or(&0)), scalar)
        } else if units.len() == 1 {
            i128::from(units[0] as u8 as i8)
        } else {
            consteval::wrap(
                units.iter().fold(0i128, |a, &u| (a << 8 | i128::from(u & 0xff)) & 0xffff_ffff),
                Scalar::Int,
            )
        };
        let mut e = self.node(ExprKind::Number, ty, Cat::Rvalue, toks, false);
        e.value = Some(ConstValue::Int(v));
        e
    }

    /// Adjacent string literals.
    fn string(&mut self) -> Expr {
        let start = self.pos();
        let mut parts = Vec::new();
        while self.kind() == TokKind::Str {
            parts.push(self.bump());
        }
        let mut scalar = Scalar::Char;
        let mut has_u8 = false;
        for &p in &parts {
            let kind = match self.toks.spelling(p).as_bytes()[0] {
                b'L' => Scalar::Int,
                b'U' => Scalar::UInt,
                b'u' if !self.toks.spelling(p).starts_with("u8") => Scalar::UShort,
                b'u' => Scalar::Char,
                _ => continue,
            };
            let u8 = kind == Scalar::Char;
            has_u8 |= u8;
            if u8 && scalar == Scalar::Char {
                continue;
            }
            if scalar != Scalar::Char && scalar != kind || has_u8 {
                self.error(p, "string literals of different widths cannot be joined");
            }
            scalar = kind;
        }
        let wide = scalar != Scalar::Char;
        let mut n = 1u64;
        for &p in &parts {
            let text = self.toks.spelling(p).to_owned();
            match consteval::unescape(&text, wide) {
                Ok(u) => {
                    let pairs =
                        if scalar == Scalar::UShort { u.iter().filter(|c| **c > 0xffff).count() } else { 0 };
                    n += (u.len() + pairs) as u64;
                }
                Err(m) => self.error(p, m),
            }
        }
        let c = self.types.scalar(scalar);
        let ty = self.types.array(c, ArrayLen::Const(n));
        let toks = self.since(start);
        self.node(ExprKind::Str, ty, Cat::Lvalue, toks, false)
    }

    /// `({ ... })`, the parenthesis having been read.
    fn statement_expr(&mut self, at: TokIdx) -> PResult<Expr> {
        let outer = self.full_expr.take();
        if self.func.is_none() {
            self.error(at, "a statement expression is possible inside of functions only");
        }
        let regions = self.regions();
        self.enter_region(Region::StmtExpr(at));
        let r = self.nested(|cx| cx.block());
        self.leave_regions(regions);
        self.full_expr = outer;
        let mut b = r?;
        self.expect(Punct::RParen, "after the statement expression")?;
        let toks = self.since(at);
        let void = self.types.scalar(Scalar::Void);
        let mut last = b.stmts.last_mut();
        // The value may stand behind labels.
        while let Some(Stmt { kind: StmtKind::Label { body, .. }, .. }) = last {
            last = Some(&mut **body);
        }
        let mut ty = void;
        if let Some(Stmt { kind: StmtKind::Expr(e), .. }) = last {
            let taken = std::mem::replace(&mut **e, self.bad_expr(TokRange::default()));
            **e = self.rvalue(taken);
            ty = e.ty;
        }
        let upc = b.has_upc;
        Ok(self.node(ExprKind::StmtExpr(b), ty, Cat::Rvalue, toks, upc))
    }

    fn generic(&mut self, at: TokIdx) -> PResult<Expr> {
        self.bump();
        self.expect(Punct::LParen, "after `_Generic`")?;
        self.unevaluated += 1;
        let c = self.assignment_rvalue();
        self.unevaluated -= 1;
        let c = c?;
        // Types may be written with UPC's qualifiers: then only the choice can be emitted.
        let mut upc = c.has_upc;
        let cty = self.types.unqualified(c.ty);
        let (mut default, mut chosen) = (None, None);
        let mut types: Vec<TypeId> = Vec::new();
        while self.eat(Punct::Comma) {
            let start = self.pos();
            if self.eat_kw(Kw::Default) {
                if default.is_some() {
                    self.error(start, "this `_Generic` has a `default` already");
                }
                self.expect(Punct::Colon, "after `default`")?;
                default = Some(self.assignment()?);
                continue;
            }
            let t = self.type_name()?;
            upc |= t.has_upc;
            self.expect(Punct::Colon, "after the type")?;
            if let Some(&other) = types.iter().find(|&&o| self.types.compatible(o, t.ty)) {
                let o = self.show(other);
                self.error(start, format!("this type of a `_Generic` is compatible with `{o}` before it"));
            } else if !self.types.is_complete(t.ty) && !self.types.is_error(t.ty) {
                self.error(start, "a `_Generic` chooses among complete object types");
            }
            types.push(t.ty);
            let hit = chosen.is_none() && self.types.compatible(t.ty, cty);
            let e = self.assignment()?;
            if hit {
                chosen = Some(e);
            }
        }
        self.expect(Punct::RParen, "after the choices of `_Generic`")?;
        let Some(e) = chosen.or(default) else {
            let t = self.show(cty);
            self.error(at, format!("no choice of this `_Generic` fits the type `{t}`"));
            let toks = self.since(at);
            return Ok(self.bad_expr(toks));
        };
        let mut n = self.chosen(at, e, |e| ExprKind::Generic { chosen: e });
        n.has_upc |= upc;
        Ok(n)
    }

    fn offset_of(&mut self, at: TokIdx) -> PResult<Expr> {
        self.bump();
        self.expect(Punct::LParen, "after `__builtin_offsetof`")?;
        let to = self.type_name()?;
        self.expect(Punct::Comma, "after the type")?;
        let mstart = self.pos();
        let mut ty = to.ty;
        let mut offset = Some(0i128);
        let mut index = Vec::new();
        let mut first = true;
        let mut failed = false;
        loop {
            if first || self.is(Punct::Dot) || self.is(Punct::Arrow) {
                if !first {
                    self.bump();
                }
                first = false;
                let TokKind::Ident(s) = self.kind() else {
                    let found = self.found();
                    self.error_here(format!("expected the name of a member, found {found}"));
                    return Err(Bad);
                };
                let tok = self.bump();
                if failed {
                    continue;
                }
                let member = match *self.types.ckind(ty) {
                    TypeKind::Record(r) => self.find_member(r, s).map(|p| (r, p)),
                    _ => None,
                };
                let Some((mut r, path)) = member else {
                    if !self.types.is_error(ty) {
                        let t = self.show(ty);
                        let text = format!("`{t}` has no member `{}`", self.name(s));
                        self.error(tok, text);
                    }
                    failed = true;
                    continue;
                };
                for f in path {
                    let f = &self.types.records[r.0 as usize].fields[f as usize];
                    offset = offset.map(|o| o + i128::from(f.offset));
                    ty = f.ty;
                    if let TypeKind::Record(inner) = *self.types.ckind(ty) {
                        r = inner;
                    }
                }
            } else if self.is(Punct::LBracket) {
                self.bump();
                let e = self.expression_rvalue()?;
                self.expect(Punct::RBracket, "after the index")?;
                if let Some(elem) = self.types.elem(ty) {
                    ty = elem;
                }
                let size = self.types.const_size(ty).map(i128::from);
                offset = match (offset, e.int(), size) {
                    (Some(o), Some(i), Some(s)) => i.checked_mul(s).and_then(|d| o.checked_add(d)),
                    _ => None,
                };
                index.push(e);
            } else {
                break;
            }
        }
        let member = self.since(mstart);
        self.expect(Punct::RParen, "after the member")?;
        let toks = self.since(at);
        if failed {
            return Ok(self.bad_expr(toks));
        }
        let size_t = self.types.size_t();
        let upc = to.has_upc || index.iter().any(|i: &Expr| i.has_upc);
        let mut e =
            self.node(ExprKind::OffsetOf { to: Box::new(to), member, index }, size_t, Cat::Rvalue, toks, upc);
        e.value = offset.map(ConstValue::Int);
        Ok(e)
    }

    /// `__builtin_tgmath (functions..., arguments...)`: the function whose parameter fits the arguments'
    /// common type.
    fn tgmath(&mut self, at: TokIdx) -> PResult<Expr> {
        let TokKind::Ident(sym) = self.kind() else { return Err(Bad) };
        self.bump();
        self.expect(Punct::LParen, "after `__builtin_tgmath`")?;
        let mut args = Vec::new();
        loop {
            args.push(self.assignment()?);
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.expect(Punct::RParen, "after the arguments")?;
        let toks = self.since(at);
        let double = self.types.scalar(Scalar::Double);
        let mut common: Option<TypeId> = None;
        let mut funcs = Vec::new();
        let mut out = Vec::new();
        for a in args {
            if self.types.is_function(a.ty) {
                funcs.push(a.ty);
                out.push(a);
                continue;
            }
            let a = self.rvalue(a);
            if self.types.is_arithmetic(a.ty) {
                let t = if self.types.is_integer(a.ty) { double } else { a.ty };
                common = Some(match common {
                    Some(c) => self.common_type(c, t),
                    None => t,
                });
            }
            out.push(a);
        }
        let common = common.unwrap_or(double);
        let fits = |cx: &Self, f: TypeId| {
            cx.types
                .signature(f)
                .is_some_and(|s| s.1.iter().any(|&p| cx.types.compatible_unqualified(p, common)))
        };
        let func = funcs.iter().copied().find(|&f| fits(self, f)).or(funcs.first().copied());
        let ty = match func.and_then(|f| self.types.signature(f)) {
            Some(s) => s.0,
            None => self.types.error(),
        };
        let id = match self.lookup(sym) {
            Some(d) => d,
            None => {
                let err = self.types.error();
                let d = self.new_decl(sym, DeclKind::Func, err, at);
                self.decls[d.0 as usize].builtin = true;
                self.bind_outermost(sym, d);
                d
            }
        };
        let err = self.types.error();
        let callee = self.node(ExprKind::Name(id), err, Cat::Function, TokRange::new(at, at + 1), false);
        let upc = out.iter().any(|a| a.has_upc && !self.types.is_function(a.ty));
        Ok(self.node(ExprKind::Call { callee: Box::new(callee), args: out }, ty, Cat::Rvalue, toks, upc))
    }
}
