//! Function definitions in the old style (K&R).

use super::*;

impl Parser<'_> {
    /// The parameter declarations between the declarator and the body of an old-style definition.
    pub(super) fn knr_parameters(
        &mut self,
        func: DeclId,
        names: &[(Sym, TokIdx)],
        ids: &mut Vec<DeclId>,
        decls: &mut Vec<Declaration>,
    ) -> PResult<()> {
        while !self.is(Punct::LBrace) && self.kind() != TokKind::Eof {
            let start = self.pos();
            let specs = self.specs(DeclContext::Param)?;
            if specs.implicit_int && specs.spec.toks.is_empty() {
                let found = self.found();
                self.error_here(format!("expected a parameter's declaration, found {found}"));
                return Err(Bad);
            }
            if self.eat(Punct::Semi) {
                self.check_empty_declaration(&specs, start);
                continue;
            }
            let mut has_upc = specs.spec.has_upc;
            let mut out = Vec::new();
            loop {
                let d = self.declarator(false)?;
                let mut attrs = Attrs::default();
                self.attributes(&mut attrs)?;
                let Some((s, tok)) = d.name else { return Err(Bad) };
                let ty = self.apply_declarator(specs.spec.ty, &d, start);
                let ty = self.adjust_param(ty, &d);
                self.check_param_type(ty, tok);
                if !names.iter().any(|n| n.0 == s) {
                    let text = format!("`{}` is not one of the parameters", self.name(s));
                    self.error(tok, text);
                }
                let id = self.declare_param(s, ty, tok, &specs.spec, true);
                self.decls[id.0 as usize].function = Some(func);
                let upc = specs.spec.has_upc || d.has_upc;
                self.decls[id.0 as usize].has_upc |= upc;
                has_upc |= upc;
                out.push(InitDeclarator {
                    decl: id,
                    ty,
                    toks: d.toks,
                    name: tok,
                    suffix: attrs.ranges,
                    init: None,
                    vla: std::mem::take(&mut self.vla),
                    def: Definition::Defined,
                    has_upc: upc,
                    declarator_upc: upc,
                });
                if !self.eat(Punct::Comma) {
                    break;
                }
            }
            self.expect(Punct::Semi, "after a parameter's declaration")?;
            decls.push(Declaration { toks: self.since(start), spec: specs.spec, declarators: out, has_upc });
        }
        let int = self.types.int();
        for &(s, tok) in names {
            let id = match self.lookup_here(s) {
                Some(d) => d,
                None => {
                    let spec = self.plain_spec(int);
                    let id = self.declare_param(s, int, tok, &spec, true);
                    self.decls[id.0 as usize].function = Some(func);
                    id
                }
            };
            ids.push(id);
        }
        Ok(())
    }

    /// An old-style definition of a function that has a prototype: as many parameters, of types that agree.
    pub(super) fn match_prototype(&mut self, proto: TypeId, ids: &[DeclId], tok: TokIdx) {
        let Some((_, params, variadic, true)) = self.types.signature(proto) else { return };
        let params = params.to_vec();
        if params.len() != ids.len() {
            let (n, m) = (ids.len(), params.len());
            self.error(tok, format!("this definition has {n} parameters, the prototype before it {m}"));
            return;
        }
        if variadic {
            self.error(tok, "this function has a prototype with `...`; its definition needs one, too");
            return;
        }
        for (&id, &want) in ids.iter().zip(&params) {
            let d = &self.decls[id.0 as usize];
            let (ty, at) = (d.ty, d.tok);
            if self.types.compatible_unqualified(ty, want) || self.types.is_error(ty) {
                continue;
            }
            // Arguments come promoted: gcc and its programs take a prototype with the type as written, too.
            let promoted = match self.types.as_scalar(ty) {
                Some(Scalar::Float) => Some(Scalar::Double),
                Some(s) if s.is_integer() => Some(crate::front::sema::conv::promoted(s)),
                _ => None,
            };
            if promoted.is_some() && promoted == self.types.as_scalar(want) {
                continue;
            }
            let (t, w) = (self.show(ty), self.show(want));
            self.error(at, format!("this parameter has type `{t}`, in the prototype it is `{w}`"));
        }
    }
}
