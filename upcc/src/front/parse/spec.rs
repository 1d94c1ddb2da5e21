//! Declaration specifiers, qualifier lists, layout qualifiers, type names.

use super::*;
use crate::front::types::Block;

/// Qualifiers being collected from one list.
#[derive(Default)]
pub(crate) struct QualList {
    pub(crate) quals: Quals,
    /// Token of `strict` or `relaxed`.
    pub(crate) reference: Option<TokIdx>,
    /// Token of a `shared` with a layout.
    pub(crate) layout: Option<TokIdx>,
    pub(crate) has_upc: bool,
}

#[derive(Default)]
struct Words {
    void: bool,
    bool: bool,
    char: bool,
    short: bool,
    int: bool,
    long: u8,
    float: bool,
    double: bool,
    signed: bool,
    unsigned: bool,
    complex: bool,
    int128: bool,
    scalar: Option<Scalar>,
}

impl Words {
    /// Adds a word. Tells whether it contradicts those before it, or nothing if it is no word of a scalar
    /// type.
    fn add(&mut self, k: Kw) -> Option<bool> {
        let set = |slot: &mut bool| std::mem::replace(slot, true);
        Some(match k {
            Kw::Void => set(&mut self.void),
            Kw::Bool => set(&mut self.bool),
            Kw::Char => set(&mut self.char),
            Kw::Short => set(&mut self.short),
            Kw::Int => set(&mut self.int),
            Kw::Float => set(&mut self.float),
            Kw::Double => set(&mut self.double),
            Kw::Signed => {
                self.signed = true;
                self.unsigned
            }
            Kw::Unsigned => {
                self.unsigned = true;
                self.signed
            }
            Kw::Complex => set(&mut self.complex),
            Kw::Int128 => set(&mut self.int128),
            Kw::Long => {
                self.long += 1;
                self.long > 2
            }
            Kw::Imaginary => false,
            _ => self.scalar.replace(whole_scalar(k)?).is_some(),
        })
    }
}

/// The scalar type that a word names by itself.
fn whole_scalar(k: Kw) -> Option<Scalar> {
    Some(match k {
        Kw::Int128T => Scalar::Int128,
        Kw::UInt128T => Scalar::UInt128,
        Kw::BFloat16 => Scalar::BFloat16,
        Kw::Float16 => Scalar::Float16,
        Kw::Float32 => Scalar::Float32,
        Kw::Float64 => Scalar::Float64,
        Kw::Float32x => Scalar::Float32x,
        Kw::Float64x => Scalar::Float64x,
        Kw::Float128 => Scalar::Float128,
        Kw::Float80 => Scalar::LongDouble,
        Kw::Decimal32 => Scalar::Decimal32,
        Kw::Decimal64 => Scalar::Decimal64,
        Kw::Decimal128 => Scalar::Decimal128,
        _ => return None,
    })
}

/// The declaration specifiers read so far.
struct SpecList {
    spec: DeclSpec,
    attrs: Attrs,
    quals: QualList,
    words: Words,
    /// There is a word of a scalar type.
    any: bool,
    /// The type, if no words of scalar types name it.
    other: Option<TypeId>,
    auto_type: bool,
    align: Option<u64>,
}

impl Parser<'_> {
    pub(crate) fn plain_spec(&self, ty: TypeId) -> DeclSpec {
        DeclSpec {
            toks: TokRange::default(),
            storage: Storage::None,
            inline: false,
            noreturn: false,
            thread_local: false,
            extension: false,
            ty,
            record: None,
            enumeration: None,
            defines: Vec::new(),
            attrs: Vec::new(),
            alignas: Vec::new(),
            has_upc: false,
        }
    }

    /// Arrays and functions become pointers.
    pub(crate) fn adjust_param(&mut self, ty: TypeId, d: &Declarator) -> TypeId {
        if let Some(elem) = self.types.elem(ty) {
            let mut elem = elem;
            if self.types.block(elem) == Some(Block::Star) {
                let at = d.name.map_or(d.toks.start, |(_, t)| t);
                self.error(
                    at,
                    "the layout `[*]` is for the declaration of an array object only; write a number",
                );
                elem = self.set_block(elem, Block::N(1));
            }
            let p = self.types.pointer(elem);
            // `a[const]` qualifies the pointer.
            return match d.chunks.last() {
                Some(Chunk::Array { quals, .. }) => self.types.qualified(p, quals.private()),
                _ => p,
            };
        }
        if self.types.is_function(ty) {
            return self.types.pointer(ty);
        }
        ty
    }

    pub(crate) fn check_empty_declaration(&mut self, specs: &Specs, start: TokIdx) {
        let s = &specs.spec;
        let tag = matches!(self.types.kind(s.ty), TypeKind::Record(_) | TypeKind::Enum(_) | TypeKind::Error);
        if !tag {
            self.warn(start, "this declaration declares nothing");
        }
    }

    /// If a declaration begins here whose type is not declared, as `name *p = ...;` or `name int x;`: reports
    /// that, and makes what it declares known.
    pub(crate) fn unknown_type(&mut self) -> bool {
        let Some(s) = self.ident() else { return false };
        if self.lookup(s).is_some() {
            return false;
        }
        let star = |cx: &Self, n| cx.ahead(n) == TokKind::Punct(Punct::Star);
        let mut n = 1;
        while self.starts_type(self.ahead_idx(n)) || star(self, n) {
            n += 1;
        }
        let first = n;
        let ends = |k| matches!(k, TokKind::Punct(Punct::Semi | Punct::Comma | Punct::Eq | Punct::LBracket));
        if self.ident_at(self.ahead_idx(n)).is_none() || !ends(self.ahead(n + 1)) {
            return false;
        }
        let name = self.name(s).to_owned();
        let text = format!("unknown type name `{name}`{}", self.advice(&name));
        self.error_here(text);
        let mut depth = 0;
        // Looking ahead counts tokens anew each time: far enough for what people write.
        while n < 200 && depth >= 0 {
            let at = self.ahead_idx(n);
            if depth == 0
                && let Some(declared) = self.ident_at(at)
                && (n == first || star(self, n - 1) || self.ahead(n - 1) == TokKind::Punct(Punct::Comma))
            {
                self.bind_unknown(declared, at);
            }
            match self.ahead(n) {
                TokKind::Eof | TokKind::Punct(Punct::Semi) => break,
                TokKind::Punct(Punct::LParen | Punct::LBracket | Punct::LBrace) => depth += 1,
                TokKind::Punct(Punct::RParen | Punct::RBracket | Punct::RBrace) => depth -= 1,
                _ => {}
            }
            n += 1;
        }
        true
    }

    pub(crate) fn is_typedef(&self, s: Sym) -> bool {
        self.lookup(s).is_some_and(|d| self.decls[d.0 as usize].kind == DeclKind::Typedef)
    }

    /// Whether the current token begins a declaration in a block or at file scope.
    pub(crate) fn starts_decl(&self) -> bool {
        use Kw::*;
        match self.kw() {
            Some(Auto | Extern | Inline | Register | Static | Typedef | Alignas | Noreturn | ThreadLocal) => {
                true
            }
            _ if self.is_attribute() => {
                // Before a label or statement it would be `__attribute__((fallthrough));`.
                let i = self.after_attributes();
                if self.is(Punct::LBracket) {
                    // They may stand before any statement.
                    return self.starts_type(i)
                        || self
                            .kw_at(i)
                            .is_some_and(|k| storage(k).is_some() || k == Inline || k == Extension);
                }
                !matches!(self.toks.tok(i).kind, TokKind::Punct(Punct::Semi))
            }
            Some(Extension) => {
                let mut n = 1;
                while self.kw_ahead(n) == Some(Extension) {
                    n += 1;
                }
                let i = self.ahead_idx(n);
                self.starts_type(i)
                    || matches!(
                        self.kw_at(i),
                        Some(
                            Auto | Extern
                                | Inline
                                | Register
                                | Static
                                | Typedef
                                | Alignas
                                | Noreturn
                                | ThreadLocal
                                | Attribute
                        )
                    )
            }
            Some(_) => self.starts_type(self.pos()),
            None => {
                // `name :` is a label even if the name is a typedef's.
                self.starts_type(self.pos()) && self.ahead(1) != TokKind::Punct(Punct::Colon)
            }
        }
    }

    fn after_attributes(&self) -> TokIdx {
        self.past_attributes(self.pos())
    }

    /// One type qualifier, if the current token is one.
    pub(crate) fn qualifier(&mut self, q: &mut QualList) -> PResult<bool> {
        let at = self.pos();
        match self.kw() {
            Some(Kw::Const) => q.quals.is_const = true,
            Some(Kw::Volatile) => q.quals.is_volatile = true,
            Some(Kw::Restrict) => q.quals.is_restrict = true,
            Some(Kw::Atomic) if self.ahead(1) != TokKind::Punct(Punct::LParen) => q.quals.is_atomic = true,
            Some(k @ (Kw::Strict | Kw::Relaxed)) => {
                let r = if k == Kw::Strict { Ref::Strict } else { Ref::Relaxed };
                if q.quals.reference.is_some_and(|o| o != r) {
                    self.error(at, "`strict` and `relaxed` exclude each other; keep one of them");
                }
                q.quals.reference = Some(r);
                q.reference = Some(at);
                q.has_upc = true;
            }
            Some(Kw::Shared) => {
                self.bump();
                if self.is(Punct::LBracket) {
                    q.layout = Some(at);
                }
                let block = self.layout()?;
                q.has_upc = true;
                match q.quals.shared {
                    Some(old) if old != block => {
                        self.error(
                            at,
                            format!(
                                "two different layouts in one declaration: {} and {}; keep one of them",
                                layout_text(old),
                                layout_text(block)
                            ),
                        );
                    }
                    _ => q.quals.shared = Some(block),
                }
                return Ok(true);
            }
            _ => return Ok(false),
        }
        self.bump();
        Ok(true)
    }

    /// The layout qualifier after `shared`, if any.
    fn layout(&mut self) -> PResult<Block> {
        if !self.is(Punct::LBracket) {
            return Ok(Block::N(1));
        }
        self.bump();
        if self.eat(Punct::RBracket) {
            return Ok(Block::Indefinite);
        }
        if self.is(Punct::Star) && self.ahead(1) == TokKind::Punct(Punct::RBracket) {
            self.bump();
            self.bump();
            return Ok(Block::Star);
        }
        let at = self.pos();
        let e = self.conditional_rvalue()?;
        if !self.is(Punct::RBracket) {
            let found = self.found();
            self.error_here(format!("expected `]` after the block size, found {found}"));
            return Err(Bad);
        }
        self.bump();
        if self.types.is_error(e.ty) {
            return Ok(Block::N(1));
        }
        let value = if self.types.is_integer(e.ty) { e.int() } else { None };
        Ok(match value {
            Some(0) => Block::Indefinite,
            Some(n) if n < 0 => {
                self.error(at, format!("a block size must not be negative, this is {n}"));
                Block::N(1)
            }
            Some(n) if n > i128::from(self.opts.max_block) => {
                self.error(at, self.block_too_big(n));
                Block::N(1)
            }
            Some(n) => Block::N(n as u64),
            None if !self.types.is_integer(e.ty) => {
                let t = self.show(e.ty);
                self.error(at, format!("a block size must be an integer constant, this is of type `{t}`"));
                Block::N(1)
            }
            None => {
                let mut text = "a block size must be an integer constant expression".to_owned();
                if self.threads_form(&e).is_some() {
                    text.push_str("; THREADS is one only in the static environment (`-T N`)");
                }
                self.error(at, text);
                Block::N(1)
            }
        })
    }

    /// Adds the qualifiers of a list to the type they apply to, checking what one list may not say.
    pub(crate) fn apply_quals(&mut self, ty: TypeId, q: &QualList, at: TokIdx) -> TypeId {
        let old = self.types.quals(ty);
        let mut quals = q.quals;
        if quals.is_restrict && !self.is_system(at) {
            let inner = self.types.ultimate_elem(ty);
            let object = self.types.pointee(inner).is_some_and(|p| !self.types.is_function(p));
            if !object && !self.types.is_error(inner) {
                self.error(at, "`restrict` qualifies pointers to objects only");
                quals.is_restrict = false;
            }
        }
        if let Some(tok) = q.layout
            && self.types.is_void(ty)
        {
            self.error(tok, "a pointer to shared void takes no layout; write `shared void *`");
            quals.shared = Some(Block::N(1));
        }
        if quals.shared.is_some() && self.types.is_function(ty) {
            self.error(at, "a function cannot be shared");
            quals.shared = None;
            quals.reference = None;
        }
        if let (Some(a), Some(b)) = (old.shared, quals.shared)
            && a != b
        {
            self.error(
                at,
                format!(
                    "two different layouts in one declaration: {} of the type `{}` and {}; keep one of them",
                    layout_text(a),
                    self.show(ty),
                    layout_text(b)
                ),
            );
            quals.shared = old.shared;
        }
        if let Some(r) = quals.reference {
            let tok = q.reference.unwrap_or(at);
            if quals.shared.is_none() && old.shared.is_none() {
                let w = if r == Ref::Strict { "strict" } else { "relaxed" };
                self.error(tok, format!("`{w}` qualifies shared types only; add `shared`"));
                quals.reference = None;
            } else if old.reference.is_some_and(|o| o != r) {
                self.error(
                    tok,
                    "`strict` and `relaxed` exclude each other; one of them comes with the typedef",
                );
                quals.reference = None;
            }
        }
        self.types.qualified(ty, quals)
    }

    /// Declaration specifiers.
    pub(crate) fn specs(&mut self, context: DeclContext) -> PResult<Specs> {
        let start = self.pos();
        let outer_defs = std::mem::take(&mut self.tag_defs);
        let err = self.types.error();
        let mut list = SpecList {
            spec: self.plain_spec(err),
            attrs: Attrs::default(),
            quals: QualList::default(),
            words: Words::default(),
            any: false,
            other: None,
            auto_type: false,
            align: None,
        };
        while self.specifier(context, &mut list)? {}
        let implicit_int = list.other.is_none() && !list.auto_type && !list.any;
        let Ok(mut ty) = self.specified_type(context, &list, start) else {
            self.tag_defs.splice(0..0, outer_defs);
            return Err(Bad);
        };
        let SpecList { mut spec, attrs, quals, auto_type, align, .. } = list;
        if attrs.mode.is_some() || attrs.vector.is_some() {
            ty = self.apply_attrs(ty, &attrs);
        }
        ty = self.apply_quals(ty, &quals, start);
        spec.has_upc |= quals.has_upc;
        spec.ty = ty;
        spec.toks = self.since(start);
        spec.attrs.clone_from(&attrs.ranges);
        spec.defines = std::mem::replace(&mut self.tag_defs, outer_defs);
        for d in &spec.defines {
            spec.has_upc |= match d {
                TagId::Record(r) => self.types.records[r.0 as usize].has_upc,
                TagId::Enum(e) => self.types.enums[e.0 as usize].has_upc,
            };
        }
        // Whoever encloses these specifiers (a member list, a typeof) defines what they define.
        let defines = spec.defines.clone();
        self.tag_defs.extend(defines);
        Ok(Specs { spec, attrs, align, auto_type, implicit_int })
    }

    /// One declaration specifier; false if there is none here.
    fn specifier(&mut self, context: DeclContext, list: &mut SpecList) -> PResult<bool> {
        let at = self.pos();
        if self.qualifier(&mut list.quals)? {
            return Ok(true);
        }
        if self.is_attribute() {
            self.attributes(&mut list.attrs)?;
            return Ok(true);
        }
        let Some(k) = self.kw() else { return Ok(self.typedef_name(list)) };
        if let Some(st) = storage(k) {
            if !matches!(context, DeclContext::File | DeclContext::Block | DeclContext::Param) {
                self.error(at, format!("`{}` is not allowed here", self.toks.spelling(at)));
            } else if list.spec.storage != Storage::None && list.spec.storage != st {
                self.error(at, "a declaration takes one storage class only");
            }
            list.spec.storage = st;
            self.bump();
            return Ok(true);
        }
        let flag = match k {
            Kw::Inline => &mut list.spec.inline,
            Kw::Noreturn => &mut list.spec.noreturn,
            Kw::ThreadLocal => &mut list.spec.thread_local,
            Kw::Extension => &mut list.spec.extension,
            Kw::Alignas => {
                self.alignas(list)?;
                return Ok(true);
            }
            _ => return self.type_word(k, list),
        };
        *flag = true;
        self.bump();
        Ok(true)
    }

    /// The name of a typedef, if it can be the type of these specifiers.
    fn typedef_name(&mut self, list: &mut SpecList) -> bool {
        let Some(s) = self.ident() else { return false };
        if list.any || list.other.is_some() {
            return false;
        }
        let Some(d) = self.lookup(s) else { return false };
        let decl = &mut self.decls[d.0 as usize];
        if decl.kind != DeclKind::Typedef {
            return false;
        }
        let under = decl.ty;
        decl.used = true;
        list.spec.has_upc |= self.types.is_shared(under);
        list.other = Some(self.types.intern(TypeKind::Typedef { decl: d, under }, Quals::NONE));
        self.bump();
        true
    }

    fn alignas(&mut self, list: &mut SpecList) -> PResult<()> {
        let at = self.bump();
        self.expect(Punct::LParen, "after `_Alignas`")?;
        let v = if self.starts_type(self.pos()) {
            let t = self.type_name()?;
            Some(self.types.align_of(t.ty))
        } else {
            self.const_int("as an alignment")?.map(|v| u64::try_from(v).unwrap_or(u64::MAX))
        };
        self.expect(Punct::RParen, "after the alignment")?;
        if v.is_some_and(|v| v != 0 && (!v.is_power_of_two() || v > 1 << 28)) {
            self.error(at, "an alignment must be a power of two, or 0");
        }
        list.align = list.align.max(v.filter(|v| v.is_power_of_two() && *v <= 1 << 28));
        list.spec.alignas.push(self.since(at));
        Ok(())
    }

    /// The type that specifiers name, without their qualifiers; `int` where they name none and need not.
    fn specified_type(&mut self, context: DeclContext, list: &SpecList, start: TokIdx) -> PResult<TypeId> {
        if let Some(t) = list.other {
            return Ok(t);
        }
        if list.auto_type {
            return Ok(self.types.error());
        }
        if list.any {
            return Ok(self.words_type(&list.words, start));
        }
        if matches!(context, DeclContext::TypeName | DeclContext::Member) && list.quals.quals.is_none() {
            let found = self.found();
            let what = match self.ident() {
                Some(_) => format!("unknown type name {found}"),
                None => format!("expected a type, found {found}"),
            };
            self.error_here(what);
            return Err(Bad);
        }
        Ok(self.types.int())
    }

    /// One word of a type specifier, or a specifier that is a type as a whole; false if `k` begins none.
    fn type_word(&mut self, k: Kw, list: &mut SpecList) -> PResult<bool> {
        let at = self.pos();
        match k {
            Kw::Struct | Kw::Union | Kw::Enum | Kw::Typeof => {
                let ty = match k {
                    Kw::Enum => self.enum_spec(&mut list.spec)?,
                    Kw::Typeof => self.typeof_spec(&mut list.spec)?,
                    _ => self.nested(|cx| cx.record_spec(&mut list.spec))?,
                };
                if list.any || list.other.is_some() {
                    self.two_types(at);
                } else {
                    list.other = Some(ty);
                }
            }
            Kw::Atomic => {
                self.bump();
                self.expect(Punct::LParen, "after `_Atomic`")?;
                let t = self.type_name()?;
                self.expect(Punct::RParen, "after the type")?;
                list.spec.has_upc |= t.has_upc;
                list.other = Some(self.types.qualified(t.ty, Quals { is_atomic: true, ..Quals::NONE }));
            }
            Kw::AutoType => {
                list.auto_type = true;
                self.bump();
            }
            Kw::VaListT => {
                list.other = Some(self.types.intern(TypeKind::VaList, Quals::NONE));
                self.bump();
            }
            _ => return Ok(self.scalar_word(k, list)),
        }
        Ok(true)
    }

    /// A word of the name of a scalar type, such as `unsigned`; false if `k` is none.
    fn scalar_word(&mut self, k: Kw, list: &mut SpecList) -> bool {
        let Some(contradicts) = list.words.add(k) else { return false };
        let at = self.bump();
        if k == Kw::Imaginary {
            self.error(at, "`_Imaginary` types are not supported");
        }
        if contradicts && matches!(k, Kw::Signed | Kw::Unsigned) {
            self.error(at, "`signed` and `unsigned` exclude each other");
        } else if contradicts {
            self.error(at, format!("`{}` is one word too many in this type", self.toks.spelling(at)));
        } else if list.other.is_some() {
            self.two_types(at);
        }
        list.any = true;
        true
    }

    fn two_types(&mut self, at: TokIdx) {
        self.error(at, "this declaration names two types; is a `;` missing before it?");
    }

    fn words_type(&mut self, w: &Words, at: TokIdx) -> TypeId {
        use Scalar::*;
        let bases = [w.void, w.bool, w.char, w.float, w.double, w.int128, w.scalar.is_some()];
        let n = bases.iter().filter(|b| **b).count();
        let sign = w.signed || w.unsigned;
        let bad = n > 1
            || (n == 1 && w.int)
            || (n == 1 && w.short)
            || (w.long > 0 && ((n == 1 && !(w.double && w.long == 1)) || w.short))
            || (sign && (w.void || w.bool || w.float || w.double || w.scalar.is_some_and(Scalar::is_float)));
        if bad {
            self.error(at, "these words do not name a type together");
        }
        let u = w.unsigned;
        let s = if w.void {
            Void
        } else if w.bool {
            Bool
        } else if w.char {
            match (w.signed, u) {
                (_, true) => UChar,
                (true, _) => SChar,
                _ => Char,
            }
        } else if w.float {
            Float
        } else if w.double {
            if w.long > 0 { LongDouble } else { Double }
        } else if w.int128 {
            if u { UInt128 } else { Int128 }
        } else if let Some(s) = w.scalar {
            match (s, u) {
                (Int128, true) => UInt128,
                _ => s,
            }
        } else if w.short {
            if u { UShort } else { Short }
        } else if w.long >= 2 {
            if u { ULLong } else { LLong }
        } else if w.long == 1 {
            if u { ULong } else { Long }
        } else if w.complex && !w.int && !sign {
            Double
        } else if u {
            UInt
        } else {
            Int
        };
        if w.complex {
            if s == Void || s == Bool {
                self.error(at, "`_Complex` goes with an arithmetic type");
            }
            return self.types.intern(TypeKind::Complex(s), Quals::NONE);
        }
        self.types.scalar(s)
    }

    /// `typeof (expression or type)`
    fn typeof_spec(&mut self, spec: &mut DeclSpec) -> PResult<TypeId> {
        let start = self.bump();
        self.expect(Punct::LParen, "after `typeof`")?;
        let under = if self.starts_type(self.pos()) {
            let t = self.type_name()?;
            spec.has_upc |= t.has_upc;
            t.ty
        } else {
            self.unevaluated += 1;
            let e = self.expression();
            self.unevaluated -= 1;
            let e = e?;
            spec.has_upc |= e.has_upc;
            if e.bit_field(&self.types).is_some() {
                self.error(e.toks.start, "`typeof` does not go with a bit-field");
            }
            e.ty
        };
        self.expect(Punct::RParen, "after the operand of `typeof`")?;
        let toks = self.since(start);
        Ok(self.types.intern(TypeKind::Typeof { toks, under }, Quals::NONE))
    }

    /// A type name, as in a cast (without the parentheses).
    pub(crate) fn type_name(&mut self) -> PResult<TypeName> {
        let start = self.pos();
        let outer_vla = std::mem::take(&mut self.vla);
        let specs = self.specs(DeclContext::TypeName)?;
        let d = self.declarator(true)?;
        if let Some((_, tok)) = d.name {
            self.error(tok, "a name is not expected in a type name");
        }
        let mut attrs = Attrs::default();
        self.attributes(&mut attrs)?;
        let base = self.apply_attrs(specs.spec.ty, &d.attrs);
        let ty = self.apply_declarator(base, &d, start);
        let mut ty = self.apply_attrs(ty, &attrs);
        if self.types.block(ty) == Some(Block::Star) {
            if !self.types.is_array(ty) {
                self.error(start, "the layout `[*]` divides the elements of an array: this type is none");
            }
            ty = self.resolve_star(ty, start);
        }
        self.check_threads_type(ty, start);
        let vla = std::mem::replace(&mut self.vla, outer_vla);
        // An enclosing declaration evaluates these bounds too.
        self.vla.extend_from_slice(&vla);
        let has_upc = specs.spec.has_upc || d.has_upc;
        Ok(TypeName { ty, toks: self.since(start), spec: Box::new(specs.spec), vla, has_upc })
    }
}

fn storage(k: Kw) -> Option<Storage> {
    Some(match k {
        Kw::Auto => Storage::Auto,
        Kw::Register => Storage::Register,
        Kw::Static => Storage::Static,
        Kw::Extern => Storage::Extern,
        Kw::Typedef => Storage::Typedef,
        _ => return None,
    })
}

/// A layout qualifier for a message.
pub(crate) fn layout_text(b: Block) -> String {
    match b {
        Block::Indefinite => "`shared []`".to_owned(),
        Block::N(1) => "`shared` (block size 1)".to_owned(),
        Block::N(n) => format!("`shared [{n}]`"),
        Block::Star => "`shared [*]`".to_owned(),
    }
}
