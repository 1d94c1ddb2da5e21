//! Definitions of structs, unions and enumerations.

use super::*;
use std::collections::HashSet;

impl Parser<'_> {
    /// Attributes around a tag, and the tag, if there is one.
    fn tag_head(&mut self) -> PResult<(Attrs, Option<(Sym, TokIdx)>)> {
        let mut attrs = Attrs::default();
        self.attributes(&mut attrs)?;
        let tag = match self.kind() {
            TokKind::Ident(s) if self.kw().is_none() => {
                let tok = self.bump();
                Some((s, tok))
            }
            _ => None,
        };
        self.attributes(&mut attrs)?;
        Ok((attrs, tag))
    }

    /// `struct ...` or `union ...`, the keyword being current.
    pub(crate) fn read_record_spec(&mut self, spec: &mut DeclSpec) -> PResult<TypeId> {
        let is_union = self.is_kw(Kw::Union);
        let word = if is_union { "union" } else { "struct" };
        let start = self.bump();
        let (mut attrs, tag) = self.tag_head()?;
        if !self.is(Punct::LBrace) {
            return self.record_named(spec, tag, is_union);
        }
        let id = self.record_to_define(tag, is_union);
        self.types.records[id.0 as usize].toks = TokRange::new(start, start + 1);
        self.bump();
        let (fields, has_upc) = self.member_list(start, word)?;
        self.attributes(&mut attrs)?;
        let toks = self.since(start);
        let rec = &mut self.types.records[id.0 as usize];
        rec.fields = fields;
        rec.attrs.clone_from(&attrs.ranges);
        rec.toks = toks;
        rec.has_upc = has_upc;
        rec.packed = attrs.packed;
        rec.transparent = attrs.transparent;
        rec.complete = true;
        self.flexible_member(id);
        let pack = self.pack_now;
        self.types.lay_out(id, attrs.align, pack);
        spec.record = Some(id);
        self.tag_defs.push(TagId::Record(id));
        Ok(self.types.intern(TypeKind::Record(id), Quals::NONE))
    }

    /// The struct or union of a tag without a list of members.
    fn record_named(
        &mut self,
        spec: &DeclSpec,
        tag: Option<(Sym, TokIdx)>,
        is_union: bool,
    ) -> PResult<TypeId> {
        let word = if is_union { "union" } else { "struct" };
        let Some((s, tok)) = tag else {
            let found = self.found();
            self.error_here(format!("expected a tag or `{{` after `{word}`, found {found}"));
            return Err(Bad);
        };
        let here = self.is(Punct::Semi) && spec.storage == Storage::None;
        let found = if here { self.lookup_tag_here(s) } else { self.lookup_tag(s) };
        let id = match found {
            Some(TagId::Record(r)) if self.types.records[r.0 as usize].is_union == is_union => r,
            Some(other) => {
                let kind = self.tag_word(other);
                let text = format!("`{}` is a {kind}, not a {word}", self.name(s));
                self.error(tok, text);
                return Ok(self.types.error());
            }
            None => self.new_record(Some(s), is_union),
        };
        Ok(self.types.intern(TypeKind::Record(id), Quals::NONE))
    }

    /// The record that a list of members defines: declared before by its tag, or a new one.
    fn record_to_define(&mut self, tag: Option<(Sym, TokIdx)>, is_union: bool) -> RecordId {
        let word = if is_union { "union" } else { "struct" };
        let Some((s, tok)) = tag else { return self.new_record(None, is_union) };
        match self.lookup_tag_here(s) {
            Some(TagId::Record(r)) if self.types.records[r.0 as usize].is_union == is_union => {
                let old = &self.types.records[r.0 as usize];
                if old.complete {
                    let prev = old.toks.start;
                    let text = format!("redefinition of `{word} {}`", self.name(s));
                    self.error(tok, text);
                    self.note(prev, "it is defined here before");
                } else if !old.toks.is_empty() {
                    let text = format!("`{word} {}` is defined inside its own definition", self.name(s));
                    self.error(tok, text);
                } else {
                    return r;
                }
            }
            Some(other) => {
                let kind = self.tag_word(other);
                let text = format!("`{}` is a {kind} already", self.name(s));
                self.error(tok, text);
            }
            None => return self.new_record(Some(s), is_union),
        }
        self.new_record(None, is_union)
    }

    /// The members up to the closing brace, and whether something of UPC is among them.
    fn member_list(&mut self, start: TokIdx, word: &str) -> PResult<(Vec<Field>, bool)> {
        let mut fields = Vec::new();
        let mut names = HashSet::new();
        let mut has_upc = false;
        let outer_vla = std::mem::take(&mut self.vla);
        while !self.is(Punct::RBrace) {
            self.pragmas_here();
            if self.kind() == TokKind::Eof {
                self.error(start, format!("this {word} is never closed; write `}};`"));
                return Err(Bad);
            }
            let before = self.pos();
            if self.members(&mut fields, &mut names, &mut has_upc).is_err() {
                if self.is_kw(Kw::Struct) && self.pos() == before {
                    self.bump();
                }
                self.recover();
                if self.pos() == before {
                    self.bump();
                }
            }
        }
        self.bump();
        self.vla.splice(0..0, outer_vla);
        Ok((fields, has_upc))
    }

    fn tag_word(&self, t: TagId) -> &'static str {
        match t {
            TagId::Record(r) if self.types.records[r.0 as usize].is_union => "union",
            TagId::Record(_) => "struct",
            TagId::Enum(_) => "enumeration",
        }
    }

    fn new_record(&mut self, tag: Option<Sym>, is_union: bool) -> RecordId {
        let id = RecordId(self.types.records.len() as u32);
        let scope = self.scopes.len() as u32 - 1;
        self.types.records.push(Record {
            tag,
            is_union,
            complete: false,
            fields: Vec::new(),
            size: 0,
            align: 1,
            flexible: false,
            transparent: false,
            toks: TokRange::default(),
            attrs: Vec::new(),
            has_upc: false,
            scope,
            packed: false,
            has_const: false,
            variable: false,
        });
        if let Some(s) = tag {
            self.bind_tag(s, TagId::Record(id));
        }
        id
    }

    /// One member declaration.
    fn members(
        &mut self,
        fields: &mut Vec<Field>,
        names: &mut HashSet<Sym>,
        has_upc: &mut bool,
    ) -> PResult<()> {
        if self.eat(Punct::Semi) {
            return Ok(());
        }
        if self.at_static_assert() {
            *has_upc |= self.static_assert()?;
            return Ok(());
        }
        let start = self.pos();
        let specs = self.specs(DeclContext::Member)?;
        *has_upc |= specs.spec.has_upc;
        if self.is(Punct::Semi) {
            self.bump();
            self.anonymous_member(&specs, start, fields, names);
            return Ok(());
        }
        loop {
            self.member_declarator(&specs, start, fields, names, has_upc)?;
            if !self.eat(Punct::Comma) {
                break;
            }
            let mut more = Attrs::default();
            self.attributes(&mut more)?;
        }
        if self.is(Punct::RBrace) {
            // The last semicolon may be missing in GNU C; say so all the same.
            let at = self.prev_end - 1;
            self.warn_after(at, "expected `;` at the end of this member");
            return Ok(());
        }
        self.expect(Punct::Semi, "at the end of this member")?;
        Ok(())
    }

    /// One declarator of a member declaration that begins at `start`.
    fn member_declarator(
        &mut self,
        specs: &Specs,
        start: TokIdx,
        fields: &mut Vec<Field>,
        names: &mut HashSet<Sym>,
        has_upc: &mut bool,
    ) -> PResult<()> {
        let dstart = self.pos();
        let (name, mut ty, mut attrs) = if self.is(Punct::Colon) {
            (None, specs.spec.ty, Attrs::default())
        } else {
            let d = self.declarator(false)?;
            *has_upc |= d.has_upc;
            self.check_array_suffixes(&d);
            let base = self.apply_attrs(specs.spec.ty, &d.attrs);
            let ty = self.apply_declarator(base, &d, start);
            (d.name, ty, d.attrs)
        };
        let tok = name.map_or(dstart, |n| n.1);
        let mut bits = None;
        if self.is(Punct::Colon) {
            self.bump();
            let at = self.pos();
            let e = self.bounded(Self::conditional_rvalue)?;
            *has_upc |= e.has_upc;
            bits = Some(self.bit_width(&e, ty, at, name.is_some()));
        }
        let mut late = Attrs::default();
        self.attributes(&mut late)?;
        let changes = Attrs { mode: late.mode.clone(), vector: late.vector, ..Attrs::default() };
        ty = self.apply_attrs(ty, &changes);
        attrs.merge(&late);
        attrs.merge(&specs.attrs);
        ty = self.check_member_type(ty, tok);
        if let Some((s, _)) = name
            && !names.insert(s)
        {
            let text = format!("duplicate member `{}`", self.name(s));
            self.error(tok, text);
        }
        fields.push(Field {
            name: name.map(|n| n.0),
            ty,
            bits,
            offset: 0,
            bit_offset: 0,
            toks: self.since(dstart),
            spec_toks: specs.spec.toks,
            align: specs.align.max(attrs.align),
            packed: attrs.packed,
        });
        Ok(())
    }

    fn anonymous_member(
        &mut self,
        specs: &Specs,
        start: TokIdx,
        fields: &mut Vec<Field>,
        names: &mut HashSet<Sym>,
    ) {
        let ty = specs.spec.ty;
        let TypeKind::Record(r) = *self.types.ckind(ty) else {
            if specs.spec.enumeration.is_none() {
                self.warn(start, "this member declaration declares nothing");
            }
            return;
        };
        if self.types.records[r.0 as usize].tag.is_some() {
            // `struct s { ... };` inside a struct only declares the tag.
            return;
        }
        let ty = self.check_member_type(ty, start);
        let mut inner = Vec::new();
        self.member_names(r, &mut inner);
        for s in inner {
            if !names.insert(s) {
                let text = format!("duplicate member `{}`", self.name(s));
                self.error(start, text);
            }
        }
        fields.push(Field {
            name: None,
            ty,
            bits: None,
            offset: 0,
            bit_offset: 0,
            toks: TokRange::default(),
            spec_toks: specs.spec.toks,
            align: specs.align.max(specs.attrs.align),
            packed: specs.attrs.packed,
        });
    }

    fn member_names(&self, r: RecordId, out: &mut Vec<Sym>) {
        for f in &self.types.records[r.0 as usize].fields {
            match (f.name, self.types.ckind(f.ty)) {
                (Some(s), _) => out.push(s),
                (None, TypeKind::Record(inner)) if f.bits.is_none() => self.member_names(*inner, out),
                _ => {}
            }
        }
    }

    fn bit_width(&mut self, e: &Expr, ty: TypeId, at: TokIdx, named: bool) -> u32 {
        if self.types.is_error(e.ty) || self.types.is_error(ty) {
            return 1;
        }
        let Some(s) = self.types.as_scalar(ty).filter(|s| s.is_integer()) else {
            let t = self.show(ty);
            self.error(at, format!("a bit-field must have an integer type, this is `{t}`"));
            return 1;
        };
        let Some(w) = e.int() else {
            self.error(at, "the width of a bit-field must be an integer constant expression");
            return 1;
        };
        let max = if s == Scalar::Bool { 1 } else { s.size() as i128 * 8 };
        if w < 0 || w > max {
            self.error(at, format!("the width of this bit-field must be from 0 to {max}, this is {w}"));
            return 1;
        }
        if w == 0 && named {
            self.error(at, "a bit-field of width 0 must have no name");
            return 1;
        }
        w as u32
    }

    fn check_member_type(&mut self, mut ty: TypeId, tok: TokIdx) -> TypeId {
        let shared = self.types.is_shared(ty);
        if shared {
            self.error(
                tok,
                "a member cannot be shared by itself; declare the whole object shared (a member may point to shared data)",
            );
            ty = self.types.without_shared(ty);
        }
        if self.types.is_function(ty) {
            self.error(tok, "a member cannot be a function; make it a pointer to a function");
            return self.types.error();
        }
        if matches!(self.types.ckind(ty), TypeKind::Array { len: ArrayLen::Incomplete, .. }) {
            return ty;
        }
        if self.scopes.len() <= 1 && matches!(self.types.size_of(ty), Size::Threads(_)) {
            // A shared member has an error message of its own, and one is enough.
            if !shared {
                self.error(
                    tok,
                    "the bound of an array in a struct must be a constant; THREADS is one only in the static environment (`-T N`)",
                );
            }
            return self.types.error();
        }
        if !self.types.is_complete(ty) && !self.types.is_error(ty) {
            let t = self.show(ty);
            self.error(tok, format!("this member has the incomplete type `{t}`"));
            return self.types.error();
        }
        ty
    }

    /// A member `a[]` at the end is a flexible array; anywhere else an error.
    fn flexible_member(&mut self, id: RecordId) {
        let rec = &self.types.records[id.0 as usize];
        let (n, is_union) = (rec.fields.len(), rec.is_union);
        for i in 0..n {
            let f = &self.types.records[id.0 as usize].fields[i];
            let (ty, tok) = (f.ty, f.toks.start);
            let TypeKind::Array { elem, len: ArrayLen::Incomplete } = *self.types.ckind(ty) else { continue };
            let fields = &self.types.records[id.0 as usize].fields[..i];
            let alone = fields.iter().all(|f| f.name.is_none() && f.bits.is_some());
            if is_union {
                self.error(tok, "a member of a union cannot be an array without a bound");
            } else if i + 1 != n {
                self.error(tok, "only the last member of a struct may be an array without a bound");
            } else if alone {
                self.error(tok, "an array without a bound needs another member of the struct before it");
            }
            let ty = self.types.array(elem, ArrayLen::Const(0));
            let rec = &mut self.types.records[id.0 as usize];
            rec.fields[i].ty = ty;
            rec.flexible = i + 1 == n;
        }
    }

    /// `enum ...`, the keyword being current.
    pub(crate) fn read_enum_spec(&mut self, spec: &mut DeclSpec) -> PResult<TypeId> {
        let start = self.bump();
        let (mut attrs, tag) = self.tag_head()?;
        if !self.is(Punct::LBrace) {
            return self.enum_named(tag);
        }
        let id = match tag {
            None => self.new_enum(None),
            Some((s, tok)) => match self.lookup_tag_here(s) {
                Some(TagId::Enum(e)) if !self.types.enums[e.0 as usize].complete => e,
                None => self.new_enum(Some(s)),
                Some(_) => {
                    let text = format!("redefinition of the tag `{}`", self.name(s));
                    self.error(tok, text);
                    self.new_enum(None)
                }
            },
        };
        self.bump();
        let list = self.enum_list()?;
        self.attributes(&mut attrs)?;
        let toks = self.since(start);
        let e = &mut self.types.enums[id.0 as usize];
        e.complete = true;
        e.repr = enum_repr(list.lowest, list.highest, attrs.packed);
        e.consts = list.consts;
        e.toks = toks;
        e.has_upc = list.has_upc;
        spec.enumeration = Some(id);
        self.tag_defs.push(TagId::Enum(id));
        Ok(self.types.intern(TypeKind::Enum(id), Quals::NONE))
    }

    /// The enumeration of a tag without a list of constants.
    fn enum_named(&mut self, tag: Option<(Sym, TokIdx)>) -> PResult<TypeId> {
        let Some((s, tok)) = tag else {
            let found = self.found();
            self.error_here(format!("expected a tag or `{{` after `enum`, found {found}"));
            return Err(Bad);
        };
        let id = match self.lookup_tag(s) {
            Some(TagId::Enum(e)) => e,
            Some(other) => {
                let kind = self.tag_word(other);
                let text = format!("`{}` is a {kind}, not an enumeration", self.name(s));
                self.error(tok, text);
                return Ok(self.types.error());
            }
            None => self.new_enum(Some(s)),
        };
        Ok(self.types.intern(TypeKind::Enum(id), Quals::NONE))
    }

    /// The constants up to the closing brace.
    fn enum_list(&mut self) -> PResult<EnumList> {
        if self.is(Punct::RBrace) {
            self.error_here("an enumeration needs at least one constant");
        }
        let mut list = EnumList::default();
        let mut next: i128 = 0;
        while !self.is(Punct::RBrace) {
            self.pragmas_here();
            self.enumerator(&mut next, &mut list)?;
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        if !self.is(Punct::RBrace) {
            let found = self.found();
            self.error_here(format!("expected `,` or `}}` after an enumeration constant, found {found}"));
            return Err(Bad);
        }
        self.bump();
        Ok(list)
    }

    /// One constant of an enumeration; its value is `next` unless it is written.
    fn enumerator(&mut self, next: &mut i128, list: &mut EnumList) -> PResult<()> {
        let Some(s) = self.ident() else {
            let found = self.found();
            self.error_here(format!("expected the name of an enumeration constant, found {found}"));
            return Err(Bad);
        };
        let tok = self.bump();
        let mut more = Attrs::default();
        self.attributes(&mut more)?;
        if self.eat(Punct::Eq) {
            let at = self.pos();
            let e = self.bounded(Self::conditional_rvalue)?;
            list.has_upc |= e.has_upc;
            if let Some(v) = e.int().filter(|_| self.types.is_integer(e.ty)) {
                *next = v;
            } else if !self.types.is_error(e.ty) {
                self.error(at, "the value of an enumeration constant must be an integer constant expression");
            }
        }
        if i64::try_from(*next).is_err() && u64::try_from(*next).is_err() {
            self.error(tok, "the value of this enumeration constant does not fit any integer type");
            *next = 0;
        }
        let ty = if i32::try_from(*next).is_ok() {
            self.types.int()
        } else if u32::try_from(*next).is_ok() {
            self.types.scalar(Scalar::UInt)
        } else if i64::try_from(*next).is_ok() {
            self.types.scalar(Scalar::Long)
        } else {
            self.types.scalar(Scalar::ULong)
        };
        list.lowest = list.lowest.min(*next);
        list.highest = list.highest.max(*next);
        let d = self.declare_enum_const(s, tok, ty, *next);
        list.consts.push(d);
        *next += 1;
        Ok(())
    }

    fn new_enum(&mut self, tag: Option<Sym>) -> EnumId {
        let id = EnumId(self.types.enums.len() as u32);
        let scope = self.scopes.len() as u32 - 1;
        self.types.enums.push(Enum {
            tag,
            complete: false,
            repr: Scalar::UInt,
            consts: Vec::new(),
            toks: TokRange::default(),
            has_upc: false,
            scope,
        });
        if let Some(s) = tag {
            self.bind_tag(s, TagId::Enum(id));
        }
        id
    }
}

/// The constants of an enumeration.
#[derive(Default)]
struct EnumList {
    consts: Vec<DeclId>,
    /// Least and greatest value, or 0.
    lowest: i128,
    highest: i128,
    has_upc: bool,
}

/// The type in which gcc keeps an enumeration with values from `lowest` to `highest`.
fn enum_repr(lowest: i128, highest: i128, packed: bool) -> Scalar {
    let fits = |min: i128, max: i128| lowest >= min && highest <= max;
    if packed && fits(0, 255) {
        Scalar::UChar
    } else if packed && fits(-128, 127) {
        Scalar::SChar
    } else if packed && fits(0, 65535) {
        Scalar::UShort
    } else if packed && fits(-32768, 32767) {
        Scalar::Short
    } else if fits(0, u32::MAX.into()) {
        Scalar::UInt
    } else if fits(i32::MIN.into(), i32::MAX.into()) {
        Scalar::Int
    } else if fits(0, u64::MAX.into()) {
        Scalar::ULong
    } else {
        Scalar::Long
    }
}
