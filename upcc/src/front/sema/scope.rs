//! Scopes and the declarations in them.

use super::read::{DeclContext, Param};
use crate::front::ast::*;
use crate::front::sema::Sema;
use crate::front::token::{Sym, TokIdx};
use crate::front::types::Block;
use crate::front::types::*;

/// The names and tags that a scope binds. They are unbound at its end.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    names: Vec<Sym>,
    tags: Vec<Sym>,
}

impl Sema<'_> {
    /// The implicitly declared function `old` is declared at `tok` with type `ty`.
    pub(super) fn declared_late(&mut self, old: DeclId, tok: TokIdx, ty: TypeId, spec: &DeclSpec) {
        let o = &self.decls[old.0 as usize];
        let (oty, otok, name) = (o.ty, o.tok, self.name(o.name).to_owned());
        let same = self.types.compatible(oty, ty) || self.types.is_error(oty);
        if same && spec.storage != Storage::Static {
            return;
        }
        // As with a C compiler, a result that nobody can have used does no harm.
        let harmless = match (self.types.ckind(oty), self.types.ckind(ty)) {
            (TypeKind::Function { ret: r, .. }, TypeKind::Function { ret: s, .. }) => {
                self.types.is_void(*s) && self.types.as_scalar(*r) == Some(Scalar::Int)
            }
            _ => false,
        };
        let text = format!(
            "`{name}` was called before this declaration as if it were `extern int {name}()`; declare it first"
        );
        if harmless && spec.storage != Storage::Static {
            self.warn(tok, text);
        } else {
            self.error(tok, text);
            self.note(otok, "it is called here");
        }
    }

    fn depth(&self) -> u32 {
        self.scopes.len() as u32 - 1
    }

    pub(crate) fn push_scope(&mut self) {
        self.scopes.push(Scope::default());
    }

    pub(crate) fn pop_scope(&mut self) {
        let Some(s) = self.scopes.pop() else { return };
        for n in s.names {
            if let Some(v) = self.names.get_mut(n.0 as usize) {
                v.pop();
            }
        }
        for t in s.tags {
            if let Some(v) = self.tags.get_mut(&t) {
                v.pop();
            }
        }
    }

    /// Names and tags that the current scope binds.
    pub(super) fn scope_names(&self) -> (&[Sym], &[Sym]) {
        self.scopes.last().map_or((&[], &[]), |s| (&s.names, &s.tags))
    }

    pub(crate) fn lookup(&self, s: Sym) -> Option<DeclId> {
        self.names.get(s.0 as usize)?.last().map(|b| b.1)
    }
    /// In the current scope only.
    pub(crate) fn lookup_here(&self, s: Sym) -> Option<DeclId> {
        let b = self.names.get(s.0 as usize)?.last()?;
        (b.0 == self.depth()).then_some(b.1)
    }
    pub(crate) fn lookup_tag(&self, s: Sym) -> Option<TagId> {
        self.tags.get(&s)?.last().map(|b| b.1)
    }
    pub(crate) fn lookup_tag_here(&self, s: Sym) -> Option<TagId> {
        let b = self.tags.get(&s)?.last()?;
        (b.0 == self.depth()).then_some(b.1)
    }

    pub(crate) fn bind(&mut self, s: Sym, d: DeclId) {
        let i = s.0 as usize;
        if self.names.len() <= i {
            self.names.resize_with(i + 1, Vec::new);
        }
        let depth = self.depth();
        if let Some(b) = self.names[i].last_mut()
            && b.0 == depth
        {
            b.1 = d;
            return;
        }
        self.names[i].push((depth, d));
        if let Some(sc) = self.scopes.last_mut() {
            sc.names.push(s);
        }
    }

    pub(crate) fn bind_tag(&mut self, s: Sym, t: TagId) {
        let depth = self.depth();
        let v = self.tags.entry(s).or_default();
        if let Some(b) = v.last_mut()
            && b.0 == depth
        {
            b.1 = t;
            return;
        }
        v.push((depth, t));
        if let Some(sc) = self.scopes.last_mut() {
            sc.tags.push(s);
        }
    }

    pub(crate) fn new_decl(&mut self, name: Sym, kind: DeclKind, ty: TypeId, tok: TokIdx) -> DeclId {
        let id = DeclId(self.decls.len() as u32);
        let scope = self.depth();
        let system = self.is_system(tok);
        self.decls.push(Decl {
            name,
            kind,
            ty,
            storage: Storage::None,
            linkage: Linkage::None,
            is_static: false,
            thread_local: false,
            inline: false,
            def: Definition::Defined,
            scope,
            function: self.func.as_ref().map(|f| f.decl),
            tok,
            system,
            has_upc: false,
            value: None,
            used: false,
            addressed: false,
            implicit: false,
            builtin: false,
            align: None,
            asm_label: None,
        });
        id
    }

    pub(crate) fn declare_param(
        &mut self,
        name: Sym,
        ty: TypeId,
        tok: TokIdx,
        spec: &DeclSpec,
        named: bool,
    ) -> DeclId {
        let id = self.new_decl(name, DeclKind::Param, ty, tok);
        self.decls[id.0 as usize].storage = spec.storage;
        self.decls[id.0 as usize].has_upc = self.types.mentions_shared(ty);
        if named {
            if self.lookup_here(name).is_some() {
                let text = format!("two parameters are named `{}`", self.name(name));
                self.error(tok, text);
            }
            self.bind(name, id);
        }
        id
    }

    /// Opens a function's body for a parameter of its declarator.
    pub(crate) fn bind_param(&mut self, p: &Param, func: DeclId) {
        let name = self.decls[p.decl.0 as usize].name;
        self.decls[p.decl.0 as usize].function = Some(func);
        if !self.name(name).is_empty() {
            self.bind(name, p.decl);
        }
        if !self.types.is_complete(p.ty) && !self.types.is_error(p.ty) {
            let t = self.show(p.ty);
            self.error(p.tok, format!("this parameter has the incomplete type `{t}`"));
        }
    }

    pub(crate) fn declare_enum_const(&mut self, name: Sym, tok: TokIdx, ty: TypeId, value: i128) -> DeclId {
        if let Some(old) = self.lookup_here(name) {
            let o = &self.decls[old.0 as usize];
            let (otok, same) =
                (o.tok, o.kind == DeclKind::EnumConst && o.value == Some(ConstValue::Int(value)));
            if !same || !self.is_system(tok) {
                let text = format!("redefinition of `{}`", self.name(name));
                self.error(tok, text);
                self.note(otok, "it is declared here before");
            }
        }
        let id = self.new_decl(name, DeclKind::EnumConst, ty, tok);
        self.decls[id.0 as usize].value = Some(ConstValue::Int(value));
        self.bind(name, id);
        id
    }

    /// Whether this declarator, without an initialiser, defines.
    pub(crate) fn definition_kind(&self, id: DeclId, spec: &DeclSpec, context: DeclContext) -> Definition {
        match self.decls[id.0 as usize].kind {
            DeclKind::Func => Definition::Declared,
            DeclKind::Var if spec.storage == Storage::Extern => Definition::Declared,
            DeclKind::Var if context == DeclContext::File => Definition::Tentative,
            _ => Definition::Defined,
        }
    }

    /// Declares the entity of one declarator (before its initialiser is read). `defines`: a body or an
    /// initialiser follows.
    #[expect(clippy::too_many_arguments, reason = "all that a declaration says")]
    pub(crate) fn declare(
        &mut self,
        name: Sym,
        tok: TokIdx,
        ty: TypeId,
        spec: &DeclSpec,
        auto_type: bool,
        context: DeclContext,
        defines: bool,
        align: Option<u64>,
    ) -> DeclId {
        let file = context == DeclContext::File;
        let is_func = self.types.is_function(ty);
        if spec.storage == Storage::Typedef {
            return self.declare_typedef(name, tok, ty);
        }
        self.check_storage(tok, spec, is_func, context, defines, align);
        let ty = self.check_object_type(name, tok, ty, spec, auto_type, file, is_func);
        let static_storage = file || matches!(spec.storage, Storage::Static | Storage::Extern);
        let nested_func = is_func && !file && defines;
        let linked = !nested_func
            && spec.storage != Storage::Auto
            && (file || spec.storage == Storage::Extern || (is_func && spec.storage != Storage::Static));
        let kind = if is_func { DeclKind::Func } else { DeclKind::Var };
        let def = if defines {
            Definition::Defined
        } else if is_func || spec.storage == Storage::Extern {
            Definition::Declared
        } else if file {
            Definition::Tentative
        } else {
            Definition::Defined
        };
        // A name whose type was unknown may be declared again: all has been said.
        let known = |d: &DeclId| !self.types.is_error(self.decls[d.0 as usize].ty);
        let here = self.lookup_here(name).filter(known);
        if let Some(old) = here {
            let o = &self.decls[old.0 as usize];
            let (okind, olink, otok) = (o.kind, o.linkage, o.tok);
            if okind != kind || (olink == Linkage::None || !linked) {
                let auto_fwd = nested_func || (okind == kind && is_func && !file);
                if !auto_fwd {
                    let what =
                        if okind == kind { "redefinition of" } else { "redeclaration as something else of" };
                    let text = format!("{what} `{}`", self.name(name));
                    self.error(tok, text);
                    self.note(otok, "it is declared here before");
                }
            } else {
                return self.redeclare(old, tok, ty, spec, def, align);
            }
        } else if linked {
            // A block-scope declaration continues a visible one with linkage, and in any case one of the same
            // name.
            if let Some(&old) = self.linked.get(&name)
                && self.decls[old.0 as usize].kind == kind
            {
                let id = self.redeclare(old, tok, ty, spec, def, align);
                self.bind(name, id);
                return id;
            }
        }
        let id = self.new_decl(name, kind, ty, tok);
        let d = &mut self.decls[id.0 as usize];
        d.storage = spec.storage;
        d.thread_local = spec.thread_local;
        d.inline = spec.inline;
        d.align = align;
        d.def = def;
        d.is_static = static_storage && !is_func;
        d.linkage = match (linked, spec.storage) {
            (false, _) => Linkage::None,
            (true, Storage::Static) => Linkage::Internal,
            (true, _) => Linkage::External,
        };
        if linked {
            self.linked.insert(name, id);
        }
        self.bind(name, id);
        id
    }

    /// Whether the storage class may be given here.
    fn check_storage(
        &mut self,
        tok: TokIdx,
        spec: &DeclSpec,
        is_func: bool,
        context: DeclContext,
        defines: bool,
        align: Option<u64>,
    ) {
        match (spec.storage, context == DeclContext::File) {
            (Storage::Auto, true) if !self.is_system(tok) => {
                self.error(tok, "`auto` has no meaning at file scope");
            }
            (Storage::Register, true) if !self.is_system(tok) => {
                if is_func {
                    self.error(tok, "`register` has no meaning for a function");
                } else if align.is_none() {
                    self.register_at_file_scope(tok);
                }
            }
            (Storage::Static, false) if is_func && !defines => {
                self.error(tok, "a function cannot be declared `static` in a block");
            }
            (Storage::Extern, false) if defines && !is_func => {
                self.error(tok, "an extern declaration in a block takes no initializer");
            }
            _ => {}
        }
    }

    /// Whether `new` is the old-style definition of a function with the prototype `old`.
    fn old_style_of(&self, old: TypeId, new: TypeId) -> bool {
        match (self.types.signature(old), self.types.signature(new)) {
            (Some((r, _, _, true)), Some((s, _, _, false))) => self.types.compatible(r, s),
            _ => false,
        }
    }

    /// `register long r asm("rsp");` at file scope is a GNU extension; without the register it is an error.
    fn register_at_file_scope(&mut self, tok: TokIdx) {
        let mut i = tok + 1;
        while matches!(
            self.toks.tok(i).kind,
            crate::front::token::TokKind::Punct(crate::front::token::Punct::RParen)
        ) {
            i += 1;
        }
        if self.kw_at(i) != Some(crate::front::keyword::Kw::Asm) {
            self.error(tok, "`register` at file scope needs the name of a register: `asm(\"name\")`");
        }
    }

    fn declare_typedef(&mut self, name: Sym, tok: TokIdx, ty: TypeId) -> DeclId {
        let mut ty = ty;
        if self.types.block(ty) == Some(Block::Star) {
            self.error(tok, "the layout `[*]` is for the declaration of an array object only, not for a typedef; write a number");
            ty = self.set_block(ty, Block::N(1));
        }
        self.check_threads_type(ty, tok);
        self.check_private_bounds(ty, tok);
        if let Some(old) = self.lookup_here(name) {
            let o = &self.decls[old.0 as usize];
            let (oty, otok, okind) = (o.ty, o.tok, o.kind);
            if okind == DeclKind::Typedef && self.types.compatible(oty, ty) {
                return old;
            }
            let text = if okind == DeclKind::Typedef {
                format!(
                    "the typedef `{}` is redefined with another type, `{}`",
                    self.name(name),
                    self.show(ty)
                )
            } else {
                format!("redeclaration as something else of `{}`", self.name(name))
            };
            self.error(tok, text);
            self.note(otok, "it is declared here before");
        }
        let id = self.new_decl(name, DeclKind::Typedef, ty, tok);
        self.decls[id.0 as usize].storage = Storage::Typedef;
        self.bind(name, id);
        id
    }

    /// Constraints on the type of an object or function.
    #[expect(clippy::too_many_arguments, reason = "all that a declaration says")]
    fn check_object_type(
        &mut self,
        name: Sym,
        tok: TokIdx,
        ty: TypeId,
        spec: &DeclSpec,
        auto_type: bool,
        file: bool,
        is_func: bool,
    ) -> TypeId {
        if is_func || auto_type || self.types.is_error(ty) {
            return ty;
        }
        if self.types.is_void(ty) && (spec.storage != Storage::Extern || self.types.is_shared(ty)) {
            let t = self.show(ty);
            let made = if t == "upc_lock_t" {
                "; declare a pointer, and let upc_all_lock_alloc make the lock"
            } else {
                ""
            };
            let text = format!(
                "`{}` has the incomplete type `{t}`: there are no such objects{made}",
                self.name(name)
            );
            self.error(tok, text);
            return self.types.error();
        }
        if self.types.is_shared(ty) {
            let static_storage = file || matches!(spec.storage, Storage::Static | Storage::Extern);
            if !static_storage {
                let text = format!(
                    "`{}` is shared but has automatic storage; declare it `static`, or outside of the function",
                    self.name(name)
                );
                self.error(tok, text);
                return self.types.without_shared(ty);
            }
            if spec.thread_local {
                self.error(tok, "a shared object cannot be thread-local");
            }
        }
        if self.types.is_shared(ty) {
            // Looked at when the layout is known.
        } else if !file
            && matches!(spec.storage, Storage::Static | Storage::Extern)
            && matches!(self.types.size_of(ty), Size::Variable | Size::Threads(_))
        {
            let word = if spec.storage == Storage::Static { "a static" } else { "an extern" };
            let mut text = format!("the bound of {word} array must be an integer constant expression");
            if matches!(self.types.size_of(ty), Size::Threads(_)) {
                text.push_str("; THREADS is one only in the static environment (`-T N`)");
            }
            self.error(tok, text);
        } else if spec.storage == Storage::Extern && self.types.is_variably_modified(ty) {
            self.error(tok, "a type with a bound that is known at run time only cannot have linkage");
        }
        if file {
            self.check_private_bounds(ty, tok);
        }
        ty
    }

    /// At file scope the bounds of private arrays are constants: THREADS is none in the dynamic environment.
    fn check_private_bounds(&mut self, ty: TypeId, tok: TokIdx) {
        let mut t = ty;
        while let Some(p) = self.types.pointee(t) {
            t = p;
        }
        if self.depth() == 0
            && !self.types.is_shared(t)
            && self.types.is_array(t)
            && matches!(self.types.size_of(t), Size::Threads(_) | Size::Variable)
            && !self.is_system(tok)
        {
            self.error(
                tok,
                "THREADS is no constant here: a private array type outside of a function needs a constant bound; compile with `-T N`, or make the array shared",
            );
        }
    }

    /// A further declaration of `old`.
    fn redeclare(
        &mut self,
        old: DeclId,
        tok: TokIdx,
        ty: TypeId,
        spec: &DeclSpec,
        def: Definition,
        align: Option<u64>,
    ) -> DeclId {
        let o = &self.decls[old.0 as usize];
        let (otok, odef, olink, name) = (o.tok, o.def, o.linkage, o.name);
        let (implicit, builtin, osystem, oinline, is_func) =
            (o.implicit, o.builtin, o.system, o.inline, o.kind == DeclKind::Func);
        if implicit {
            self.declared_late(old, tok, ty, spec);
        }
        let new_ty = if implicit || builtin { Some(ty) } else { self.redeclared_type(old, tok, ty, def) };
        if def == Definition::Defined && odef == Definition::Defined {
            // An inline definition of GNU C is replaced by the real one.
            let replaceable =
                is_func && (osystem || oinline && self.decls[old.0 as usize].storage == Storage::Extern);
            if !replaceable {
                let text = format!("redefinition of `{}`", self.name(name));
                self.error(tok, text);
                self.note(otok, "it is defined here before");
            }
        }
        if spec.storage == Storage::Static && olink == Linkage::External && !implicit && !builtin {
            if self.depth() == 0 && !osystem {
                let text =
                    format!("`{}` is declared `static` after it was declared without", self.name(name));
                self.error(tok, text);
                self.note(otok, "the previous declaration is here");
            }
        } else if !is_func
            && spec.storage == Storage::None
            && self.depth() == 0
            && olink == Linkage::Internal
            && !self.is_system(tok)
        {
            let text =
                format!("`{}` is declared without `static` after it was declared `static`", self.name(name));
            self.error(tok, text);
            self.note(otok, "the previous declaration is here");
        }
        let system = self.is_system(tok);
        let d = &mut self.decls[old.0 as usize];
        if let Some(t) = new_ty {
            d.ty = t;
        }
        d.implicit = false;
        if builtin {
            d.builtin = false;
            d.tok = tok;
            d.system = system;
        }
        if implicit && spec.storage == Storage::Static {
            d.linkage = Linkage::Internal;
        }
        d.inline |= spec.inline;
        d.align = d.align.max(align);
        if def > d.def {
            d.def = def;
            if def == Definition::Defined {
                d.tok = tok;
                d.system &= system;
            }
        }
        old
    }

    /// The type of `old` after a further declaration with the type `ty`; none if it stays as it is for now.
    fn redeclared_type(&mut self, old: DeclId, tok: TokIdx, ty: TypeId, def: Definition) -> Option<TypeId> {
        let o = &self.decls[old.0 as usize];
        let (oty, otok, osystem, name) = (o.ty, o.tok, o.system, o.name);
        if self.types.block(ty) == Some(Block::Star) {
            // The number is not known yet: see `finish_object`.
            return None;
        }
        if self.types.compatible(oty, ty) {
            return Some(self.types.composite(oty, ty));
        }
        if def == Definition::Defined && self.old_style_of(oty, ty) {
            // The parameters are compared when their declarations are read.
            return Some(oty);
        }
        if !(osystem && self.is_system(tok)) {
            let text = format!(
                "conflicting types for `{}`: `{}` here, `{}` before",
                self.name(name),
                self.show(ty),
                self.show(oty)
            );
            self.error(tok, text);
            self.note(otok, "the previous declaration is here");
        }
        Some(ty)
    }

    /// After the initialiser: fills in what the type left open, checks completeness. Returns the declarator's
    /// type.
    pub(crate) fn finish_object(
        &mut self,
        id: DeclId,
        ty: TypeId,
        tok: TokIdx,
        has_init: bool,
        spec: &DeclSpec,
        context: DeclContext,
    ) -> TypeId {
        if self.decls[id.0 as usize].kind != DeclKind::Var {
            return ty;
        }
        let mut ty = ty;
        let star = self.types.block(ty) == Some(Block::Star);
        if star {
            ty = self.resolve_star(ty, tok);
        }
        let old = self.decls[id.0 as usize].ty;
        let merged = if self.types.block(old) == Some(Block::Star) {
            ty
        } else if self.types.compatible(old, ty) {
            self.types.composite(old, ty)
        } else if star {
            let text = format!("conflicting types: `{}` here, `{}` before", self.show(ty), self.show(old));
            self.error(tok, text);
            ty
        } else {
            // Reported already.
            ty = old;
            old
        };
        self.decls[id.0 as usize].ty = merged;
        if self.types.is_shared(ty) {
            self.check_shared_object(ty, tok);
        }
        if !self.types.is_complete(merged) && spec.storage != Storage::Extern && !self.types.is_error(merged)
        {
            if context == DeclContext::File && !has_init {
                self.tentative.push((id, tok));
            } else {
                self.incomplete_object(id, tok);
                self.decls[id.0 as usize].ty = self.types.error();
            }
        }
        ty
    }

    fn incomplete_object(&mut self, id: DeclId, tok: TokIdx) {
        let d = &self.decls[id.0 as usize];
        let (name, ty) = (d.name, d.ty);
        let t = self.show(ty);
        let why = if self.types.is_array(ty) {
            "its bound is missing"
        } else {
            "this type is declared but not defined"
        };
        let text = format!("`{}` has the incomplete type `{t}`: {why}", self.name(name));
        self.error(tok, text);
    }

    /// At the end of the unit: tentative definitions must have become complete.
    pub(crate) fn finish_tentative(&mut self) {
        for (id, tok) in std::mem::take(&mut self.tentative) {
            let ty = self.decls[id.0 as usize].ty;
            if self.types.is_complete(ty) || self.types.is_error(ty) {
                continue;
            }
            if let TypeKind::Array { elem, len: ArrayLen::Incomplete } = *self.types.ckind(ty)
                && self.types.is_complete(elem)
                && !self.types.is_shared(ty)
            {
                let text = format!(
                    "the array `{}` has no bound; one element is taken",
                    self.name(self.decls[id.0 as usize].name)
                );
                self.warn(tok, text);
                self.decls[id.0 as usize].ty = self.types.array(elem, ArrayLen::Const(1));
                continue;
            }
            self.incomplete_object(id, tok);
        }
    }

    pub(crate) fn check_param_type(&mut self, ty: TypeId, tok: TokIdx) {
        if self.types.is_shared(ty) {
            self.error(tok, "a parameter cannot be shared; pass a value, or a pointer-to-shared");
        } else if self.types.is_void(ty) {
            self.error(tok, "a parameter cannot have type void");
        }
    }

    /// Binds at file scope, under whatever inner scopes bind.
    pub(crate) fn bind_outermost(&mut self, s: Sym, d: DeclId) {
        let i = s.0 as usize;
        if self.names.len() <= i {
            self.names.resize_with(i + 1, Vec::new);
        }
        self.names[i].insert(0, (0, d));
        if let Some(sc) = self.scopes.first_mut() {
            sc.names.push(s);
        }
    }
}
