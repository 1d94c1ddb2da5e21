//! Declarators, declarations and function definitions.

use super::spec::QualList;
use super::*;
use crate::front::types::Block;

impl Parser<'_> {
    /// A declarator; the name may be missing if `abstract_ok`.
    pub(crate) fn declarator(&mut self, abstract_ok: bool) -> PResult<Declarator> {
        let start = self.pos();
        let mut d = Declarator::default();
        self.declarator_into(&mut d, abstract_ok)?;
        if d.chunks.len() > 1000 {
            self.error(start, "this declarator is too complex");
            return Err(Bad);
        }
        d.toks = self.since(start);
        Ok(d)
    }

    fn declarator_into(&mut self, d: &mut Declarator, abstract_ok: bool) -> PResult<()> {
        self.attributes(&mut d.attrs)?;
        while self.is(Punct::Star) {
            let at = self.bump();
            let mut q = QualList::default();
            loop {
                if self.is_attribute() {
                    self.attributes(&mut d.attrs)?;
                } else if !self.qualifier(&mut q)? {
                    break;
                }
            }
            d.has_upc |= q.has_upc;
            d.chunks.push(Chunk::Pointer { quals: q.quals, reference: q.reference, at });
        }
        // The inner declarator applies last.
        let mut inner = None;
        if let Some(s) = self.ident() {
            let tok = self.bump();
            d.name = Some((s, tok));
            self.standard_attributes(&mut d.attrs)?;
        } else if self.is(Punct::LParen) && self.paren_is_declarator(abstract_ok) {
            self.bump();
            let mut i = Declarator::default();
            self.nested(|cx| cx.declarator_into(&mut i, abstract_ok))?;
            self.expect(Punct::RParen, "after the declarator")?;
            inner = Some(i);
        } else if !abstract_ok {
            let found = self.found();
            self.error_here(format!("expected a name, found {found}"));
            return Err(Bad);
        }
        let first_suffix = d.chunks.len();
        loop {
            if self.is(Punct::LBracket) {
                self.array_suffix(d)?;
            } else if self.is(Punct::LParen) {
                self.function_suffix(d)?;
            } else {
                break;
            }
            self.standard_attributes(&mut d.attrs)?;
        }
        d.chunks[first_suffix..].reverse();
        if let Some(i) = inner {
            d.name = i.name;
            d.chunks.extend(i.chunks);
            d.attrs.merge(&i.attrs);
            d.has_upc |= i.has_upc;
        }
        Ok(())
    }

    /// With `(` current: whether it groups a declarator rather than beginning a parameter list.
    fn paren_is_declarator(&self, abstract_ok: bool) -> bool {
        if !abstract_ok {
            return true;
        }
        match self.ahead(1) {
            TokKind::Punct(Punct::Star | Punct::LParen | Punct::LBracket) => true,
            TokKind::Punct(_) => false,
            TokKind::Ident(_) => {
                let i = self.ahead_idx(1);
                match self.kw_at(i) {
                    Some(Kw::Attribute) => true,
                    Some(_) => false,
                    None => !self.starts_type(i),
                }
            }
            _ => false,
        }
    }

    fn array_suffix(&mut self, d: &mut Declarator) -> PResult<()> {
        let at = self.bump();
        let mut q = QualList::default();
        let mut only_param = false;
        while self.eat_kw(Kw::Static) || self.qualifier(&mut q)? {
            only_param = true;
        }
        d.has_upc |= q.has_upc;
        let bound = if self.is(Punct::RBracket) {
            Bound::None
        } else if self.is(Punct::Star) && self.ahead(1) == TokKind::Punct(Punct::RBracket) {
            self.bump();
            Bound::Star
        } else {
            let e = self.nested(|cx| cx.bounded(Self::assignment_rvalue))?;
            d.has_upc |= e.has_upc;
            Bound::Expr(Box::new(e))
        };
        self.expect(Punct::RBracket, "after the array bound")?;
        d.chunks.push(Chunk::Array { bound, quals: q.quals, only_param, at });
        Ok(())
    }

    fn function_suffix(&mut self, d: &mut Declarator) -> PResult<()> {
        let at = self.bump();
        let outer_vla = std::mem::take(&mut self.vla);
        self.push_scope();
        let r = self.nested(|cx| cx.parameters(d, at));
        self.pop_scope();
        self.vla = outer_vla;
        r
    }

    fn parameters(&mut self, d: &mut Declarator, at: TokIdx) -> PResult<()> {
        let mut params = Vec::new();
        let mut knr = Vec::new();
        let (mut variadic, mut proto) = (false, true);
        let start = self.pos();
        if self.is(Punct::RParen) {
            proto = false;
        } else if self.is_kw(Kw::Void) && self.ahead(1) == TokKind::Punct(Punct::RParen) {
            self.bump();
        } else if self.ident().is_some_and(|s| !self.is_typedef(s))
            && matches!(self.ahead(1), TokKind::Punct(Punct::Comma | Punct::RParen))
        {
            proto = false;
            loop {
                let Some(s) = self.ident() else {
                    let found = self.found();
                    self.error_here(format!("expected the name of a parameter, found {found}"));
                    return Err(Bad);
                };
                let tok = self.bump();
                knr.push((s, tok));
                if !self.eat(Punct::Comma) {
                    break;
                }
            }
        } else {
            loop {
                if self.eat(Punct::Ellipsis) {
                    if params.is_empty() {
                        self.error(start, "`...` needs a parameter with a name before it");
                    }
                    variadic = true;
                    break;
                }
                self.parameter(d, &mut params)?;
                if !self.eat(Punct::Comma) {
                    break;
                }
            }
        }
        self.expect(Punct::RParen, "after the parameters")?;
        let extras = self.scope_extras();
        let vla = std::mem::take(&mut self.vla);
        d.chunks.push(Chunk::Func { params, variadic, proto, knr, extras, vla, at });
        Ok(())
    }

    fn parameter(&mut self, d: &mut Declarator, params: &mut Vec<Param>) -> PResult<()> {
        let start = self.pos();
        if let Some(s) = self.ident()
            && self.lookup(s).is_none()
            && matches!(self.ahead(1), TokKind::Ident(_) | TokKind::Punct(Punct::Star))
        {
            let text = format!("unknown type name `{}`", self.name(s));
            self.error(start, text);
            return Err(Bad);
        }
        let specs = self.specs(DeclContext::Param)?;
        let p = self.declarator(true)?;
        let mut attrs = Attrs::default();
        self.attributes(&mut attrs)?;
        if specs.implicit_int {
            if p.name.is_none() && p.chunks.is_empty() {
                let found = self.found();
                self.error_here(format!("expected a parameter, found {found}"));
                return Err(Bad);
            }
            if specs.spec.toks.is_empty() {
                let text = match p.name {
                    Some((s, _)) => format!("the parameter `{}` has no type", self.name(s)),
                    None => "this parameter has no type".to_owned(),
                };
                self.error(start, text);
            } else {
                self.warn_since_c99(start, "this parameter has no type; `int` is taken");
            }
        }
        if !matches!(specs.spec.storage, Storage::None | Storage::Register) {
            self.error(start, "a parameter takes no storage class but `register`");
        }
        d.has_upc |= specs.spec.has_upc | p.has_upc;
        let base = self.apply_attrs(specs.spec.ty, &p.attrs);
        let ty = self.apply_declarator(base, &p, start);
        let ty = self.apply_attrs(ty, &attrs);
        let tok = p.name.map_or(start, |(_, t)| t);
        self.check_threads_type(ty, tok);
        let ty = self.adjust_param(ty, &p);
        self.check_param_type(ty, tok);
        let name = match p.name {
            Some((s, _)) => s,
            None => self.toks.syms.intern(""),
        };
        let decl = self.declare_param(name, ty, tok, &specs.spec, p.name.is_some());
        self.decls[decl.0 as usize].has_upc |= specs.spec.has_upc | p.has_upc;
        params.push(Param { decl, ty, tok });
        Ok(())
    }

    /// The type that `d` makes of `base`.
    pub(crate) fn read_apply_declarator(&mut self, base: TypeId, d: &Declarator, start: TokIdx) -> TypeId {
        let mut ty = base;
        let name_tok = d.name.map_or(start, |(_, t)| t);
        for c in &d.chunks {
            ty = match c {
                Chunk::Pointer { quals, reference, at } => {
                    let pointee = self.check_pointee(ty, *at);
                    let p = self.types.pointer(pointee);
                    let q = QualList { quals: *quals, reference: *reference, ..QualList::default() };
                    self.apply_quals(p, &q, *at)
                }
                Chunk::Array { bound, at, .. } => self.array_of(ty, bound, *at, name_tok),
                Chunk::Func { params, variadic, proto, at, .. } => {
                    if self.types.is_function(ty) {
                        self.error(name_tok, "a function cannot return a function; return a pointer to it");
                        ty = self.types.error();
                    } else if self.types.is_array(ty) {
                        self.error(
                            name_tok,
                            "a function cannot return an array; return a pointer to its element",
                        );
                        ty = self.types.error();
                    } else if self.types.is_shared(ty) {
                        self.error(
                            name_tok,
                            "a function cannot return a shared type; return a pointer-to-shared or a plain value",
                        );
                        ty = self.types.without_shared(ty);
                    }
                    let _ = at;
                    let params = params.iter().map(|p| p.ty).collect();
                    // Qualifiers of a result mean nothing.
                    let ret = self.types.unqualified(ty);
                    self.types.intern(
                        TypeKind::Function { ret, params, variadic: *variadic, proto: *proto },
                        Quals::NONE,
                    )
                }
            };
        }
        ty
    }

    fn check_pointee(&mut self, ty: TypeId, at: TokIdx) -> TypeId {
        match self.types.block(ty) {
            Some(Block::Star) => {
                self.error(
                    at,
                    "the layout `[*]` is for the declaration of an array object only, not for what a pointer points to; write a number",
                );
                self.set_block(ty, Block::N(1))
            }
            Some(b) if b != Block::N(1) && self.types.is_void(ty) => {
                self.error(at, "a pointer to shared void takes no layout; write `shared void *`");
                self.set_block(ty, Block::N(1))
            }
            _ => {
                self.check_threads_type(ty, at);
                ty
            }
        }
    }

    fn array_of(&mut self, elem: TypeId, bound: &Bound, at: TokIdx, name_tok: TokIdx) -> TypeId {
        let mut elem = elem;
        if self.types.is_function(elem) {
            self.error(
                name_tok,
                "an array of functions is not possible; make it an array of pointers to functions",
            );
            elem = self.types.error();
        } else if !self.types.is_complete(elem) && !self.types.is_error(elem) {
            let t = self.show(elem);
            let why = if self.types.is_array(elem) {
                "only the first bound of an array may be left out"
            } else if self.types.is_void(elem) {
                "void has no objects"
            } else {
                "it is declared but not defined here"
            };
            self.error(
                name_tok,
                format!("an array cannot have elements of the incomplete type `{t}`: {why}"),
            );
            elem = self.types.error();
        } else if let Some(size) = self.types.const_size(elem)
            && size % self.types.align_of(elem) != 0
            && !self.types.is_array(elem)
        {
            let a = self.types.align_of(elem);
            self.error(
                name_tok,
                format!(
                    "elements of {size} bytes cannot be aligned to {a} bytes; give the attribute to the array"
                ),
            );
        }
        let len = match bound {
            Bound::None => ArrayLen::Incomplete,
            Bound::Star => ArrayLen::Star,
            Bound::Expr(e) => self.bound_len(e, elem, at),
        };
        self.types.array(elem, len)
    }

    fn bound_len(&mut self, e: &Expr, elem: TypeId, at: TokIdx) -> ArrayLen {
        let tok = e.toks.start;
        if self.types.is_error(e.ty) {
            // Nobody knows whether it was to be a multiple of THREADS.
            let maybe_threads = self.types.is_shared(elem) && self.opts.static_threads.is_none();
            return if maybe_threads { ArrayLen::Threads(1) } else { ArrayLen::Const(1) };
        }
        if !self.types.is_integer(e.ty) {
            let t = self.show(e.ty);
            self.error(tok, format!("an array bound must be an integer, this is of type `{t}`"));
            return ArrayLen::Const(1);
        }
        if let Some(v) = e.int() {
            return match u64::try_from(v) {
                Ok(n) if n > 1 << 62 => {
                    self.error(tok, "this array is too large");
                    ArrayLen::Const(1)
                }
                Ok(n) => {
                    let size = self.types.const_size(elem).unwrap_or(1);
                    if n.checked_mul(size).is_none_or(|b| b >= 1 << 63) {
                        self.error(tok, "this array is too large");
                        return ArrayLen::Const(1);
                    }
                    ArrayLen::Const(n)
                }
                Err(_) => {
                    self.error(tok, format!("an array bound must not be negative, this is {v}"));
                    ArrayLen::Const(1)
                }
            };
        }
        let form = self.threads_form(e);
        match form {
            Some(Some(n)) if n > 0 => return ArrayLen::Threads(n as u64),
            Some(Some(_)) => {
                self.error(tok, "THREADS must be multiplied by a positive constant in an array bound");
                return ArrayLen::Threads(1);
            }
            Some(None) if self.types.is_shared(elem) && self.scopes.len() <= 1 => {
                self.error(
                    tok,
                    "with dynamic THREADS a shared array bound must be THREADS times a constant; compile with `-T N` to use any other form",
                );
                return ArrayLen::Threads(1);
            }
            _ => {}
        }
        if self.scopes.len() <= 1 && !self.is_system(at) {
            self.error(tok, "the bound of an array at file scope must be an integer constant expression");
            return ArrayLen::Const(1);
        }
        let id = ExprId(self.exprs.len() as u32);
        self.exprs.push(e.clone());
        self.vla.push(id);
        ArrayLen::Vla(id)
    }

    // ---- declarations ----

    /// A declaration in a block, or in the first clause of a `for`.
    pub(crate) fn block_declaration(&mut self) -> PResult<StmtKind> {
        match self.nested(|cx| cx.declaration(DeclContext::Block))? {
            ItemKind::Decl(d) => Ok(StmtKind::Decl(Box::new(d))),
            ItemKind::Func(f) => Ok(StmtKind::NestedFunc(f)),
            ItemKind::StaticAssert => Ok(StmtKind::StaticAssert),
            _ => Ok(StmtKind::Empty),
        }
    }

    /// A declaration or function definition.
    pub(crate) fn declaration(&mut self, context: DeclContext) -> PResult<ItemKind> {
        let start = self.pos();
        if self.at_static_assert() {
            self.static_assert()?;
            return Ok(ItemKind::StaticAssert);
        }
        let outer_vla = std::mem::take(&mut self.vla);
        let r = self.declaration_inner(context, start);
        self.vla = outer_vla;
        r
    }

    fn declaration_inner(&mut self, context: DeclContext, start: TokIdx) -> PResult<ItemKind> {
        let specs = self.specs(context)?;
        if specs.implicit_int && !self.implicit_int_ok(&specs, start)? {
            return Err(Bad);
        }
        let mut out = Vec::new();
        let mut has_upc = specs.spec.has_upc;
        if self.is(Punct::Semi) {
            self.bump();
            self.check_empty_declaration(&specs, start);
            let spec = specs.spec;
            return Ok(ItemKind::Decl(Declaration {
                toks: self.since(start),
                spec,
                declarators: out,
                has_upc,
            }));
        }
        loop {
            let spec_vla: Vec<ExprId> = std::mem::take(&mut self.vla);
            let mut d = self.declarator(false)?;
            let is_func = matches!(d.chunks.last(), Some(Chunk::Func { .. }));
            let mut suffix: Vec<TokRange> = Vec::new();
            let mut asm_label = None;
            let mut attrs = Attrs::default();
            if self.is_kw(Kw::Asm) {
                let at = self.bump();
                self.expect_group()?;
                let r = self.since(at);
                suffix.push(r);
                asm_label = Some(r);
            }
            self.attributes(&mut attrs)?;
            suffix.extend_from_slice(&attrs.ranges);
            if is_func && out.is_empty() && self.at_function_body(&d) {
                if specs.implicit_int && !self.is_system(start) {
                    self.warn_since_c99(start, "this function has no result type; `int` is taken");
                }
                if let Some(r) = attrs.ranges.first() {
                    self.error(r.start, "attributes of a function definition stand before its declarator");
                }
                return Ok(ItemKind::Func(Box::new(self.function(specs, d, start, context)?)));
            }
            if specs.implicit_int && out.is_empty() {
                self.warn_since_c99(start, "this declaration names no type; `int` is taken");
            }
            let mut all = specs.attrs.clone();
            all.merge(&d.attrs);
            all.merge(&attrs);
            self.check_array_suffixes(&d);
            if let Some(Chunk::Func { knr, at, .. }) = d.chunks.last()
                && !knr.is_empty()
            {
                self.warn(*at, "names of parameters without types are for the definition of a function");
            }
            let id = self.init_declarator(&specs, &mut d, &all, suffix, asm_label, context, spec_vla)?;
            self.check_alignment(&specs, id.decl, id.ty, id.name);
            self.check_function_specifiers(&specs.spec, id.decl, id.name);
            if context == DeclContext::Block && self.types.is_variably_modified(id.ty) {
                self.enter_region(Region::Sized(id.name));
            }
            has_upc |= id.has_upc;
            out.push(id);
            if !self.eat(Punct::Comma) {
                break;
            }
            let mut more = Attrs::default();
            self.attributes(&mut more)?;
        }
        self.expect(Punct::Semi, "at the end of this declaration")?;
        Ok(ItemKind::Decl(Declaration {
            toks: self.since(start),
            spec: specs.spec,
            declarators: out,
            has_upc,
        }))
    }

    /// A balanced parenthesised group.
    pub(crate) fn expect_group(&mut self) -> PResult<()> {
        if !self.is(Punct::LParen) {
            self.expect(Punct::LParen, "here")?;
        }
        self.skip_group()
    }

    /// No type was named: whether this can be a declaration with implicit `int`. Reports if not.
    fn implicit_int_ok(&mut self, specs: &Specs, start: TokIdx) -> PResult<bool> {
        let Some(s) = self.ident() else {
            if specs.spec.toks.is_empty() || self.is(Punct::RBrace) {
                let found = self.found();
                self.error_here(format!("expected a declaration, found {found}"));
                return Ok(false);
            }
            let declarator = self.is(Punct::Star) || self.is(Punct::LParen) || self.is(Punct::Semi);
            if !declarator {
                let found = self.found();
                self.error_here(format!("expected a type or a name, found {found}"));
            }
            return Ok(declarator);
        };
        if self.unknown_type() {
            return Ok(false);
        }
        match self.ahead(1) {
            // `name(` may be an old-style function, or a call that strayed out of a function.
            TokKind::Punct(Punct::LParen) => Ok(true),
            TokKind::Ident(_) | TokKind::Punct(Punct::Star) => {
                let text = format!("unknown type name `{}`", self.name(s));
                self.error_here(text);
                Ok(false)
            }
            TokKind::Punct(Punct::Semi | Punct::Comma | Punct::Eq | Punct::LBracket)
                if start != self.pos() =>
            {
                Ok(true)
            }
            _ => {
                let text = format!("expected a declaration; `{}` is no type", self.name(s));
                self.error_here(text);
                Ok(false)
            }
        }
    }

    fn at_function_body(&self, d: &Declarator) -> bool {
        if self.is(Punct::LBrace) {
            return true;
        }
        // K&R parameter declarations.
        matches!(d.chunks.last(), Some(Chunk::Func { knr, .. }) if !knr.is_empty())
            && !self.is(Punct::Semi)
            && !self.is(Punct::Comma)
            && (self.starts_type(self.pos()) || self.is_kw(Kw::Register))
    }

    #[expect(clippy::too_many_arguments, reason = "one step of a loop")]
    fn init_declarator(
        &mut self,
        specs: &Specs,
        d: &mut Declarator,
        attrs: &Attrs,
        suffix: Vec<TokRange>,
        asm_label: Option<TokRange>,
        context: DeclContext,
        spec_vla: Vec<ExprId>,
    ) -> PResult<InitDeclarator> {
        let (name, tok) = d.name.unwrap_or_else(|| (self.toks.syms.intern(""), d.toks.start));
        let base = self.apply_attrs(specs.spec.ty, &d.attrs);
        let ty = self.apply_declarator(base, d, specs.spec.toks.start);
        let late = Attrs { mode: attrs.mode.clone(), vector: attrs.vector, ..Attrs::default() };
        let mut ty = if specs.attrs.mode.is_some() || specs.attrs.vector.is_some() || d.attrs.vector.is_some()
        {
            ty
        } else {
            self.apply_attrs_at_base(ty, &late)
        };
        if attrs.transparent
            && let TypeKind::Record(r) = *self.types.ckind(ty)
        {
            self.types.records[r.0 as usize].transparent = true;
        }
        let mut vla = spec_vla;
        vla.append(&mut self.vla);
        let has_init = self.is(Punct::Eq);
        let declarator_upc = specs.spec.has_upc || d.has_upc;
        let align = specs.align.max(attrs.align);
        let id = self.declare(name, tok, ty, &specs.spec, specs.auto_type, context, has_init, align);
        if let Some(l) = asm_label {
            self.decls[id.0 as usize].asm_label = Some(l);
        }
        if specs.spec.storage == Storage::Typedef
            && let Some(a) = align
        {
            self.types.typedef_align.insert(id, a);
        }
        let mut init = None;
        if has_init {
            self.bump();
            let at = self.pos();
            let (i, filled) = self.initializer(id, ty, specs.auto_type)?;
            ty = filled;
            if specs.spec.storage == Storage::Typedef {
                self.error(at, "a typedef takes no initializer");
            } else if self.types.is_function(ty) {
                self.error(at, "a function takes no initializer");
            }
            init = Some(i);
        }
        ty = self.finish_object(id, ty, tok, has_init, &specs.spec, context);
        let init_upc = init.as_ref().is_some_and(Init::has_upc);
        let dd = &mut self.decls[id.0 as usize];
        dd.has_upc |= declarator_upc || init_upc;
        let mentions = self.types.mentions_shared(ty);
        let dd = &mut self.decls[id.0 as usize];
        dd.has_upc |= mentions;
        let def = if has_init { Definition::Defined } else { self.definition_kind(id, &specs.spec, context) };
        let has_upc = declarator_upc || init_upc || self.types.is_shared(ty);
        Ok(InitDeclarator {
            decl: id,
            ty,
            toks: d.toks,
            name: tok,
            suffix,
            init,
            vla,
            def,
            has_upc,
            declarator_upc,
        })
    }

    /// `mode` and `vector_size` after a declarator change the innermost type.
    fn apply_attrs_at_base(&mut self, ty: TypeId, attrs: &Attrs) -> TypeId {
        if attrs.mode.is_none() && attrs.vector.is_none() {
            return ty;
        }
        match self.types.kind(ty).clone() {
            TypeKind::Pointer(p) => {
                let q = self.types.own_quals(ty);
                let p = self.apply_attrs_at_base(p, attrs);
                self.types.intern(TypeKind::Pointer(p), q)
            }
            TypeKind::Array { elem, len } => {
                let elem = self.apply_attrs_at_base(elem, attrs);
                self.types.array(elem, len)
            }
            TypeKind::Function { ret, params, variadic, proto } => {
                let ret = self.apply_attrs_at_base(ret, attrs);
                self.types.intern(TypeKind::Function { ret, params, variadic, proto }, Quals::NONE)
            }
            _ => self.apply_attrs(ty, attrs),
        }
    }

    // ---- functions ----

    fn function(
        &mut self,
        specs: Specs,
        d: Declarator,
        start: TokIdx,
        context: DeclContext,
    ) -> PResult<FuncDef> {
        let (name, tok) = d.name.unwrap_or_else(|| (self.toks.syms.intern(""), d.toks.start));
        let base = self.apply_attrs(specs.spec.ty, &d.attrs);
        let ty = self.apply_declarator(base, &d, start);
        let mut bounds = std::mem::take(&mut self.vla);
        let sig_upc = specs.spec.has_upc || d.has_upc;
        if specs.spec.storage == Storage::Typedef {
            self.error(tok, "a typedef cannot have a body");
        }
        self.check_array_suffixes(&d);
        let before = self.linked.get(&name).map(|o| &self.decls[o.0 as usize]);
        let before = before.filter(|o| !o.implicit && !o.builtin).map(|o| o.ty);
        let id = self.declare(name, tok, ty, &specs.spec, false, context, true, None);
        self.check_main(id, ty, context);
        self.decls[id.0 as usize].has_upc |= sig_upc || self.types.mentions_shared(ty);
        let Some(Chunk::Func { params, knr, proto, extras, vla, .. }) = d.chunks.into_iter().last() else {
            return Err(Bad);
        };
        bounds.extend(vla);
        let outer = self.func.take();
        self.push_scope();
        let mut param_ids: Vec<DeclId> = params.iter().map(|p| p.decl).collect();
        for p in &params {
            if self.name(self.decls[p.decl.0 as usize].name).is_empty() {
                self.warn(p.tok, "a parameter of a function definition needs a name");
            }
            self.bind_param(p, id);
        }
        self.bind_extras(extras);
        let mut knr_decls = Vec::new();
        let r = if knr.is_empty() {
            Ok(())
        } else {
            self.knr_parameters(id, &knr, &mut param_ids, &mut knr_decls)
        };
        if let Some(before) = before.filter(|_| !proto) {
            self.match_prototype(before, &param_ids, tok);
        }
        let ret = self.types.signature(ty).map_or(ty, |s| s.0);
        let void = self.types.is_void(ret);
        if !void && !self.types.is_complete(ret) && !self.types.is_error(ret) {
            let t = self.show(ret);
            self.error(tok, format!("this function returns the incomplete type `{t}`"));
        }
        self.func = Some(FuncState::new(id, ret, outer.is_some()));
        let body = match r {
            Ok(()) => self.nested(|cx| cx.function_body()),
            Err(Bad) => Err(Bad),
        };
        self.check_labels();
        self.func = outer;
        self.pop_scope();
        let body = body?;
        let has_upc = sig_upc
            || body.has_upc
            || knr_decls.iter().any(|k| k.has_upc)
            || param_ids.iter().any(|p| self.decls[p.0 as usize].has_upc);
        Ok(FuncDef {
            decl: id,
            spec: specs.spec,
            declarator: d.toks,
            name: tok,
            params: param_ids,
            knr: knr_decls,
            vla: bounds,
            body,
            toks: self.since(start),
            sig_upc,
            has_upc,
        })
    }

    /// `_Static_assert (condition, "text");`
    /// Returns whether UPC is used in it.
    pub(crate) fn read_static_assert(&mut self) -> PResult<bool> {
        let at = self.bump();
        self.expect(Punct::LParen, "after `_Static_assert`")?;
        let e = self.conditional_rvalue()?;
        let (has_upc, cond) = (e.has_upc, e.int().filter(|_| self.types.is_integer(e.ty)));
        if cond.is_none() && !self.types.is_error(e.ty) {
            self.error(e.toks.start, "an integer constant expression is needed as the condition");
        }
        let mut text = String::new();
        if self.eat(Punct::Comma) {
            while self.kind() == TokKind::Str {
                let i = self.bump();
                text.push_str(self.toks.spelling(i).trim_matches('"'));
            }
        }
        self.expect(Punct::RParen, "after the condition")?;
        self.expect(Punct::Semi, "after `_Static_assert`")?;
        if cond == Some(0) {
            self.error(at, format!("static assertion failed: {text}"));
        }
        Ok(has_upc)
    }
}
