//! `__attribute__`: read for what changes types and layouts; everything else is only kept as tokens.

use super::*;

impl Parser<'_> {
    /// Whether an attribute begins here: `__attribute__`, or two brackets, which begin nothing else (but a
    /// layout after `shared`).
    pub(crate) fn is_attribute(&self) -> bool {
        self.is_kw(Kw::Attribute)
            || self.is(Punct::LBracket) && self.ahead(1) == TokKind::Punct(Punct::LBracket)
    }

    /// Zero or more `[[...]]`: those with the prefix `gnu` mean what they mean to `__attribute__`.
    pub(crate) fn standard_attributes(&mut self, out: &mut Attrs) -> PResult<()> {
        while self.is(Punct::LBracket) && self.is_attribute() {
            self.bump();
            self.bump();
            while !self.is(Punct::RBracket) {
                if self.eat(Punct::Comma) {
                    continue;
                }
                let mut name = self.attribute_name()?;
                let gnu = name == "gnu";
                if self.eat(Punct::ColonColon) {
                    name = self.attribute_name()?;
                }
                if gnu {
                    self.attribute(&name, out)?;
                } else if self.is(Punct::LParen) {
                    self.skip_group()?;
                }
            }
            self.bump();
            self.expect(Punct::RBracket, "at the end of the attributes")?;
        }
        Ok(())
    }

    fn attribute_name(&mut self) -> PResult<String> {
        let TokKind::Ident(s) = self.kind() else {
            let found = self.found();
            self.error_here(format!("expected the name of an attribute, found {found}"));
            return Err(Bad);
        };
        self.bump();
        Ok(self.name(s).trim_matches('_').to_owned())
    }

    /// Zero or more attributes.
    pub(crate) fn attributes(&mut self, out: &mut Attrs) -> PResult<()> {
        self.standard_attributes(out)?;
        while self.is_kw(Kw::Attribute) {
            let start = self.bump();
            self.expect(Punct::LParen, "after `__attribute__`")?;
            self.expect(Punct::LParen, "after `__attribute__(`")?;
            while !self.is(Punct::RParen) {
                if self.eat(Punct::Comma) {
                    continue;
                }
                let before = self.prev_end - 1;
                if before > start + 2 && self.toks.tok(before).kind != TokKind::Punct(Punct::Comma) {
                    let found = self.found();
                    self.error_here(format!("expected `,` or `)` after an attribute, found {found}"));
                    return Err(Bad);
                }
                let name = self.attribute_name()?;
                if self.eat(Punct::ColonColon) {
                    self.bump();
                }
                self.attribute(&name, out)?;
            }
            self.bump();
            self.expect(Punct::RParen, "at the end of `__attribute__`")?;
            out.ranges.push(self.since(start));
            self.standard_attributes(out)?;
        }
        Ok(())
    }

    /// The arguments of one attribute, whose name has been read.
    fn attribute(&mut self, name: &str, out: &mut Attrs) -> PResult<()> {
        let args = self.is(Punct::LParen);
        match name {
            "packed" => out.packed = true,
            "transparent_union" => out.transparent = true,
            "aligned" if !args => out.align = out.align.max(Some(16)),
            "aligned" => {
                self.bump();
                let at = self.pos();
                let v = self.const_int("as an alignment")?;
                if let Some(v) = v {
                    match u64::try_from(v).ok().filter(|v| v.is_power_of_two() && *v <= 1 << 28) {
                        Some(v) => out.align = out.align.max(Some(v)),
                        None => self.error(at, "an alignment must be a positive power of two"),
                    }
                }
                self.expect(Punct::RParen, "after the alignment")?;
                return Ok(());
            }
            "vector_size" if args => {
                self.bump();
                let at = self.pos();
                let v = self.const_int("as a vector size")?;
                match v.and_then(|v| u64::try_from(v).ok()).filter(|v| *v > 0 && *v <= 1 << 20) {
                    Some(v) => out.vector = Some(v),
                    None => self.error(at, "a vector size must be a positive number of bytes"),
                }
                self.expect(Punct::RParen, "after the vector size")?;
                return Ok(());
            }
            "mode" if args => {
                self.bump();
                if let TokKind::Ident(s) = self.kind() {
                    out.mode = Some(self.name(s).trim_matches('_').to_owned());
                    self.bump();
                }
                self.expect(Punct::RParen, "after the mode")?;
                return Ok(());
            }
            _ => {}
        }
        if args {
            self.skip_group()?;
        }
        Ok(())
    }

    /// `ty` as the attributes of its declaration change it.
    pub(crate) fn apply_attrs(&mut self, ty: TypeId, attrs: &Attrs) -> TypeId {
        let mut ty = ty;
        if let Some(mode) = &attrs.mode {
            let quals = self.types.quals(ty);
            let signed = self.types.as_scalar(ty).is_none_or(|s| s.is_signed() || s.is_float());
            use Scalar::*;
            let s = match (mode.as_str(), signed) {
                ("QI" | "byte", true) => SChar,
                ("QI" | "byte", false) => UChar,
                ("HI", true) => Short,
                ("HI", false) => UShort,
                ("SI", true) => Int,
                ("SI", false) => UInt,
                ("DI" | "word" | "pointer" | "unwind_word", true) => Long,
                ("DI" | "word" | "pointer" | "unwind_word", false) => ULong,
                ("TI", true) => Int128,
                ("TI", false) => UInt128,
                ("HF", _) => Float16,
                ("SF", _) => Float,
                ("DF", _) => Double,
                ("XF", _) => LongDouble,
                ("TF", _) => Float128,
                ("SC", _) => return self.types.intern(TypeKind::Complex(Float), quals),
                ("DC", _) => return self.types.intern(TypeKind::Complex(Double), quals),
                ("XC", _) => return self.types.intern(TypeKind::Complex(LongDouble), quals),
                ("TC", _) => return self.types.intern(TypeKind::Complex(Float128), quals),
                _ => return ty,
            };
            if !self.types.is_pointer(ty) {
                ty = self.types.intern(TypeKind::Scalar(s), quals);
            }
        }
        if let Some(bytes) = attrs.vector
            && self.types.is_arithmetic(ty)
        {
            let quals = self.types.quals(ty);
            let elem = self.types.unqualified(ty);
            ty = self.types.intern(TypeKind::Vector { elem, bytes }, quals);
        }
        ty
    }
}
