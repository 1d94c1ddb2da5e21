//! Initialisers: read as written, then matched with the type they initialise.

use super::*;
use crate::front::sema::conv::Why;

/// An initialiser as read.
pub(crate) enum RawInit {
    Expr(Expr),
    List(RawList),
}

pub(crate) struct RawList {
    toks: TokRange,
    items: Vec<RawItem>,
}

struct RawItem {
    toks: TokRange,
    designators: Vec<Designator>,
    init: RawInit,
}

enum Designator {
    Member(Sym, TokIdx),
    Index(Option<i128>, TokIdx),
    Range(Option<i128>, Option<i128>, TokIdx),
}

/// Position of an array whose elements can take nothing: past the last.
const FULL: u64 = u64::MAX;

/// Where the next initialiser without a designator goes: an aggregate and the position in it.
struct Level {
    ty: TypeId,
    next: u64,
    /// Last position of a range designator.
    last: u64,
}

impl Parser<'_> {
    /// The initialiser of the object `id` of type `ty`, after `=`. Returns the type with its bound filled in.
    pub(crate) fn initializer(&mut self, id: DeclId, ty: TypeId, auto_type: bool) -> PResult<(Init, TypeId)> {
        let at = self.pos();
        let raw = self.nested(|cx| cx.raw_init())?;
        if auto_type {
            let RawInit::Expr(e) = raw else {
                self.error(at, "`__auto_type` needs an expression");
                return Err(Bad);
            };
            let e = self.rvalue(e);
            let t = e.ty;
            self.decls[id.0 as usize].ty = t;
            return Ok((Init::Expr(Box::new(e)), t));
        }
        let d = &self.decls[id.0 as usize];
        let (is_static, is_var) = (d.is_static, d.kind == DeclKind::Var);
        if !is_var || self.types.is_error(d.ty) && !self.types.is_error(ty) {
            // An error was reported; the tree still needs a shape.
            let error = self.types.error();
            let (i, _) = self.resolve_init(error, raw);
            return Ok((i, ty));
        }
        if self.has_variable_size(ty) && !self.types.is_shared(ty) {
            self.error(at, "an array whose bound is known at run time only cannot be initialized");
        }
        let (init, ty) = self.resolve_init(ty, raw);
        if is_static {
            self.check_static_init(&init);
        }
        self.check_flexible_init(ty, &init, is_static);
        Ok((init, ty))
    }

    /// Whether an object of this type, or an element of it, has a size known at run time only.
    pub(crate) fn has_variable_size(&self, ty: TypeId) -> bool {
        let variable = |t| matches!(self.types.size_of(t), Size::Variable | Size::Threads(_));
        variable(ty) || self.types.elem(ty).is_some_and(variable)
    }

    /// An initialiser as read.
    pub(crate) fn raw_init(&mut self) -> PResult<RawInit> {
        if !self.is(Punct::LBrace) {
            return Ok(RawInit::Expr(self.bounded(Self::assignment)?));
        }
        let start = self.bump();
        let outer = self.full_expr.take();
        let r = self.raw_items();
        self.full_expr = outer;
        let items = r?;
        self.expect(Punct::RBrace, "after the initializers")?;
        Ok(RawInit::List(RawList { toks: self.since(start), items }))
    }

    fn raw_items(&mut self) -> PResult<Vec<RawItem>> {
        let mut items = Vec::new();
        while !self.is(Punct::RBrace) {
            let start = self.pos();
            let mut designators = Vec::new();
            if let Some(s) = self.ident()
                && self.ahead(1) == TokKind::Punct(Punct::Colon)
            {
                // Old GNU style: `member: value`.
                let tok = self.bump();
                self.bump();
                designators.push(Designator::Member(s, tok));
            } else {
                while self.is(Punct::Dot) || self.is(Punct::LBracket) {
                    designators.push(self.designator()?);
                }
                // `[0] value` without `=` is an old GNU form.
                if !designators.is_empty()
                    && !self.eat(Punct::Eq)
                    && !matches!(designators.last(), Some(Designator::Index(..) | Designator::Range(..)))
                {
                    self.expect(Punct::Eq, "after the designator")?;
                }
            }
            let toks = self.since(start);
            let toks = if designators.is_empty() { TokRange::default() } else { toks };
            let init = self.nested(|cx| cx.raw_init())?;
            items.push(RawItem { toks, designators, init });
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        Ok(items)
    }

    fn designator(&mut self) -> PResult<Designator> {
        let at = self.bump();
        if self.toks.tok(at).kind == TokKind::Punct(Punct::Dot) {
            let TokKind::Ident(s) = self.kind() else {
                let found = self.found();
                self.error_here(format!("expected the name of a member after `.`, found {found}"));
                return Err(Bad);
            };
            let tok = self.bump();
            return Ok(Designator::Member(s, tok));
        }
        let lo = self.const_int("as an index")?;
        let d = if self.eat(Punct::Ellipsis) {
            let hi = self.const_int("as an index")?;
            Designator::Range(lo, hi, at)
        } else {
            Designator::Index(lo, at)
        };
        self.expect(Punct::RBracket, "after the index")?;
        Ok(d)
    }

    /// Matches an initialiser with the type it initialises. Returns the type with its bound filled in.
    pub(crate) fn resolve_init(&mut self, ty: TypeId, raw: RawInit) -> (Init, TypeId) {
        match raw {
            RawInit::Expr(e) => self.resolve_expr(ty, e),
            RawInit::List(l) => self.resolve_list(ty, l),
        }
    }

    fn resolve_expr(&mut self, ty: TypeId, e: Expr) -> (Init, TypeId) {
        if let Some(elem) = self.types.elem(ty) {
            if let Some(n) = self.string_for(elem, &e) {
                let ty = self.fill_bound(ty, n);
                // A bound of 0 is that of a flexible array member, which takes any string.
                if let TypeKind::Array { len: ArrayLen::Const(m @ 1..), .. } = self.types.ckind(ty)
                    && n > m + 1
                {
                    self.warn(e.toks.start, "this string is longer than the array it initializes");
                }
                return (Init::Expr(Box::new(e)), ty);
            }
            // GNU: an array from a compound literal or `__func__`-like object of the same type.
            if matches!(e.unparen().kind, ExprKind::CompoundLit { .. }) && self.types.is_array(e.ty) {
                let t = if self.types.is_complete(ty) { ty } else { self.types.composite(ty, e.ty) };
                return (Init::Expr(Box::new(e)), t);
            }
            if !self.types.is_error(e.ty) {
                self.error(e.toks.start, "an array needs a list in braces (or a string) as its initializer");
            }
            let b = self.bad_expr(e.toks);
            return (Init::Expr(Box::new(b)), ty);
        }
        let e = self.assign_convert(e, ty, &Why::Init);
        (Init::Expr(Box::new(e)), ty)
    }

    /// If `e` is a string literal that can initialise an array of `elem`: its length with the final null.
    fn string_for(&self, elem: TypeId, e: &Expr) -> Option<u64> {
        if !matches!(e.unparen().kind, ExprKind::Str | ExprKind::FuncName) {
            return None;
        }
        let TypeKind::Array { elem: c, len: ArrayLen::Const(n) } = *self.types.ckind(e.ty) else {
            return None;
        };
        let (a, b) = (self.types.as_scalar(elem)?, self.types.as_scalar(c)?);
        let narrow = |s| matches!(s, Scalar::Char | Scalar::SChar | Scalar::UChar);
        ((narrow(a) && narrow(b)) || (!narrow(b) && a.size() == b.size() && a.is_integer())).then_some(n)
    }

    fn fill_bound(&mut self, ty: TypeId, n: u64) -> TypeId {
        match *self.types.ckind(ty) {
            TypeKind::Array { elem, len: ArrayLen::Incomplete } => self.types.array(elem, ArrayLen::Const(n)),
            _ => ty,
        }
    }

    fn resolve_list(&mut self, ty: TypeId, raw: RawList) -> (Init, TypeId) {
        let toks = raw.toks;
        if self.types.is_error(ty) {
            let items = raw.items.into_iter().map(|i| self.loose_item(i, ty)).collect::<Vec<_>>();
            let has_upc = items.iter().any(|i| i.init.has_upc());
            return (Init::List(InitList { toks, ty, items, has_upc }), ty);
        }
        // A string in braces for an array of characters.
        if let Some(elem) = self.types.elem(ty)
            && raw.items.len() == 1
            && raw.items[0].designators.is_empty()
            && let RawInit::Expr(e) = &raw.items[0].init
            && let Some(n) = self.string_for(elem, e)
        {
            let ty = self.fill_bound(ty, n);
            let mut items = Vec::new();
            for i in raw.items {
                let (init, _) = self.resolve_init(ty, i.init);
                items.push(InitItem { designator: i.toks, path: Vec::new(), ty, init });
            }
            return (Init::List(InitList { toks, ty, items, has_upc: false }), ty);
        }
        if !self.is_aggregate(ty) {
            return self.scalar_list(ty, raw);
        }
        if self.types.is_record(ty) && !self.types.is_complete(ty) {
            let error = self.types.error();
            return self.resolve_list(error, raw);
        }
        let mut levels = vec![Level { ty, next: 0, last: 0 }];
        let mut items = Vec::new();
        let mut length = 0u64;
        let mut excess = false;
        for item in raw.items {
            let at = match &item.init {
                RawInit::Expr(e) => e.toks.start,
                RawInit::List(l) => l.toks.start,
            };
            if !item.designators.is_empty() {
                levels = vec![Level { ty, next: 0, last: 0 }];
                if !self.designate(&mut levels, &item.designators) {
                    let error = self.types.error();
                    items.push(self.loose_item(item, error));
                    continue;
                }
            }
            let Some(target) = self.place(&mut levels, &item.init) else {
                if !excess {
                    self.warn(at, "excess elements in this initializer");
                    excess = true;
                }
                let error = self.types.error();
                // Evaluated by nobody: keep the shape only.
                let _ = self.loose_item(item, error);
                continue;
            };
            let path = self.path_of(&levels);
            if let Some(PathElem::Index(i) | PathElem::Range(_, i)) = path.first() {
                length = length.max(i + 1);
            }
            let (init, target) = self.resolve_init(target, item.init);
            items.push(InitItem { designator: item.toks, path, ty: target, init });
            self.advance(&mut levels);
        }
        let ty = self.fill_bound(ty, length);
        let has_upc = items.iter().any(|i| i.init.has_upc());
        (Init::List(InitList { toks, ty, items, has_upc }), ty)
    }

    /// Goes to where the next item belongs; the type there, or nothing if all is full.
    fn place(&mut self, levels: &mut Vec<Level>, item: &RawInit) -> Option<TypeId> {
        let before = levels.len();
        loop {
            // Leave aggregates that are full.
            while self.exhausted(levels.last()?) {
                // One that was entered for this item can take nothing, and nor can others of its type beside
                // it.
                let empty = levels.len() > before;
                levels.pop();
                let outer = levels.last_mut()?;
                if empty && !matches!(self.types.ckind(outer.ty), TypeKind::Record(_)) {
                    outer.next = FULL;
                } else {
                    self.advance(levels);
                }
            }
            let target = self.position_type(levels);
            match item {
                RawInit::Expr(e) if self.is_aggregate(target) && !self.whole(target, e) => {
                    levels.push(Level { ty: target, next: 0, last: 0 });
                }
                _ => return Some(target),
            }
        }
    }

    fn loose_item(&mut self, item: RawItem, error: TypeId) -> InitItem {
        let init = match item.init {
            RawInit::Expr(e) => Init::Expr(Box::new(self.rvalue(e))),
            l => self.resolve_init(error, l).0,
        };
        InitItem { designator: item.toks, path: Vec::new(), ty: error, init }
    }

    fn scalar_list(&mut self, ty: TypeId, raw: RawList) -> (Init, TypeId) {
        let toks = raw.toks;
        let mut items = Vec::new();
        if raw.items.is_empty() {
            self.error(toks.start, "a scalar needs a value between the braces");
        }
        for (n, i) in raw.items.into_iter().enumerate() {
            let at = match &i.init {
                RawInit::Expr(e) => e.toks.start,
                RawInit::List(l) => l.toks.start,
            };
            if n > 0 {
                self.warn(at, "excess elements in this initializer");
                break;
            }
            if let Some(
                Designator::Member(_, tok) | Designator::Index(_, tok) | Designator::Range(_, _, tok),
            ) = i.designators.first()
            {
                let t = self.show(ty);
                self.error(
                    *tok,
                    format!("a designator needs an array, struct or union, this is of type `{t}`"),
                );
            }
            let (init, t) = self.resolve_init(ty, i.init);
            items.push(InitItem { designator: i.toks, path: Vec::new(), ty: t, init });
        }
        let has_upc = items.iter().any(|i| i.init.has_upc());
        (Init::List(InitList { toks, ty, items, has_upc }), ty)
    }

    fn is_aggregate(&self, ty: TypeId) -> bool {
        matches!(self.types.ckind(ty), TypeKind::Array { .. } | TypeKind::Record(_) | TypeKind::Vector { .. })
    }

    /// Whether `e` initialises an aggregate `ty` as a whole.
    fn whole(&self, ty: TypeId, e: &Expr) -> bool {
        if let Some(elem) = self.types.elem(ty) {
            return self.string_for(elem, e).is_some()
                || (matches!(e.unparen().kind, ExprKind::CompoundLit { .. }) && self.types.is_array(e.ty));
        }
        if self.types.is_error(e.ty) {
            return true;
        }
        if matches!(self.types.ckind(ty), TypeKind::Vector { .. }) {
            return matches!(self.types.ckind(e.ty), TypeKind::Vector { .. });
        }
        self.types.compatible_unqualified(ty, e.ty)
    }

    /// Number of positions; `None` if unbounded.
    fn positions(&self, ty: TypeId) -> Option<u64> {
        match self.types.ckind(ty) {
            TypeKind::Array { len, .. } => match len {
                // A flexible member at the end (GNU), or an array whose bound the list gives.
                ArrayLen::Const(0) => None,
                ArrayLen::Const(n) => Some(*n),
                _ => None,
            },
            TypeKind::Vector { elem, bytes } => {
                Some(bytes / self.types.const_size(*elem).unwrap_or(1).max(1))
            }
            TypeKind::Record(r) => Some(self.types.records[r.0 as usize].fields.len() as u64),
            _ => Some(1),
        }
    }

    fn exhausted(&self, l: &Level) -> bool {
        if let TypeKind::Record(r) = *self.types.ckind(l.ty) {
            return self.next_field(r, l.next).is_none();
        }
        l.next == FULL || self.positions(l.ty).is_some_and(|n| l.next >= n)
    }

    /// The first initialisable field from `from` on; in a union only the first of all.
    fn next_field(&self, r: RecordId, from: u64) -> Option<u64> {
        let rec = &self.types.records[r.0 as usize];
        (from..rec.fields.len() as u64).find(|&i| {
            let f = &rec.fields[i as usize];
            f.name.is_some() || (f.bits.is_none() && self.types.is_record(f.ty))
        })
    }

    fn position_type(&mut self, levels: &[Level]) -> TypeId {
        let Some(l) = levels.last() else { return self.types.error() };
        match *self.types.ckind(l.ty) {
            TypeKind::Array { .. } => {
                let e = self.types.elem(l.ty);
                e.unwrap_or_else(|| self.types.error())
            }
            TypeKind::Vector { elem, .. } => elem,
            TypeKind::Record(r) => match self.next_field(r, l.next) {
                Some(i) => self.types.records[r.0 as usize].fields[i as usize].ty,
                None => self.types.error(),
            },
            _ => l.ty,
        }
    }

    fn path_of(&self, levels: &[Level]) -> Vec<PathElem> {
        levels
            .iter()
            .map(|l| match *self.types.ckind(l.ty) {
                TypeKind::Record(r) => PathElem::Field(self.next_field(r, l.next).unwrap_or(l.next) as u32),
                _ if l.last > l.next => PathElem::Range(l.next, l.last),
                _ => PathElem::Index(l.next),
            })
            .collect()
    }

    /// Goes to the next position of the innermost aggregate.
    fn advance(&mut self, levels: &mut [Level]) {
        let Some(l) = levels.last_mut() else { return };
        match *self.types.ckind(l.ty) {
            TypeKind::Record(r) => {
                let rec = &self.types.records[r.0 as usize];
                if rec.is_union {
                    l.next = rec.fields.len() as u64;
                } else {
                    let from = l.next;
                    let mut i = from;
                    while i < rec.fields.len() as u64 {
                        let f = &rec.fields[i as usize];
                        if f.name.is_some() || (f.bits.is_none() && self.types.is_record(f.ty)) {
                            break;
                        }
                        i += 1;
                    }
                    l.next = i + 1;
                }
            }
            _ => l.next = l.next.max(l.last).saturating_add(1),
        }
        l.last = l.next;
    }

    /// Follows designators from the outermost aggregate; false after an error.
    fn designate(&mut self, levels: &mut Vec<Level>, ds: &[Designator]) -> bool {
        for (n, d) in ds.iter().enumerate() {
            if n > 0 {
                let t = self.position_type(levels);
                levels.push(Level { ty: t, next: 0, last: 0 });
            }
            let Some(l) = levels.last() else { return false };
            let ty = l.ty;
            match d {
                Designator::Member(s, tok) => {
                    let TypeKind::Record(r) = *self.types.ckind(ty) else {
                        let t = self.show(ty);
                        self.error(
                            *tok,
                            format!("`.` designates a member of a struct or union, this is of type `{t}`"),
                        );
                        return false;
                    };
                    let Some(path) = self.find_member(r, *s) else {
                        let t = self.show(ty);
                        let text = format!("`{t}` has no member `{}`", self.name(*s));
                        self.error(*tok, text);
                        return false;
                    };
                    for (k, f) in path.into_iter().enumerate() {
                        if k > 0 {
                            let t = self.position_type(levels);
                            levels.push(Level { ty: t, next: 0, last: 0 });
                        }
                        if let Some(l) = levels.last_mut() {
                            l.next = u64::from(f);
                            l.last = l.next;
                        }
                    }
                }
                Designator::Index(lo, tok) | Designator::Range(lo, _, tok) => {
                    if !matches!(self.types.ckind(ty), TypeKind::Array { .. } | TypeKind::Vector { .. }) {
                        let t = self.show(ty);
                        self.error(
                            *tok,
                            format!("`[]` designates an element of an array, this is of type `{t}`"),
                        );
                        return false;
                    }
                    let hi = match d {
                        Designator::Range(_, hi, _) => hi,
                        _ => lo,
                    };
                    let (Some(lo), Some(hi)) = (*lo, *hi) else { return false };
                    let (Ok(lo), Ok(hi)) = (u64::try_from(lo), u64::try_from(hi)) else {
                        self.error(*tok, "an index must not be negative");
                        return false;
                    };
                    if hi < lo || hi >= 1 << 40 {
                        self.error(*tok, "this range of elements is not valid");
                        return false;
                    }
                    if self.positions(ty).is_some_and(|n| hi >= n) {
                        self.error(*tok, "this index is past the end of the array");
                        return false;
                    }
                    if let Some(l) = levels.last_mut() {
                        l.next = lo;
                        l.last = hi;
                    }
                }
            }
        }
        true
    }

    /// An array without a bound at the end of a struct takes an initialiser in a static object that is the
    /// struct itself.
    fn check_flexible_init(&mut self, ty: TypeId, init: &Init, is_static: bool) {
        let Init::List(list) = init else { return };
        for item in &list.items {
            let mut t = ty;
            for (depth, step) in item.path.iter().enumerate() {
                match *step {
                    PathElem::Field(f) => {
                        let TypeKind::Record(r) = *self.types.ckind(t) else { return };
                        let rec = &self.types.records[r.0 as usize];
                        let Some(field) = rec.fields.get(f as usize) else { return };
                        t = field.ty;
                        let flexible = rec.flexible && f as usize + 1 == rec.fields.len();
                        let empty = matches!(&item.init, Init::List(l) if l.items.is_empty());
                        if flexible && (depth > 0 || !is_static) && !empty {
                            let text = if is_static {
                                "an array without a bound cannot be initialized inside of another object"
                            } else {
                                "an array without a bound cannot be initialized in an automatic object"
                            };
                            self.error(item.init.toks().start, text);
                            return;
                        }
                    }
                    PathElem::Index(_) | PathElem::Range(..) => {
                        let Some(e) = self.types.elem(t) else { return };
                        t = e;
                    }
                }
            }
            // A flexible array inside an element or a member is not the end of the whole object, so it
            // cannot be initialised. A static union is an exception: it has room for its largest member.
            let in_union = self.types.record(ty).is_some_and(|r| r.is_union);
            if self.types.is_record(t) && !(in_union && is_static) {
                self.check_nested_flexible(t, &item.init);
            }
        }
    }

    fn check_nested_flexible(&mut self, ty: TypeId, init: &Init) {
        let Init::List(list) = init else { return };
        let TypeKind::Record(r) = *self.types.ckind(ty) else { return };
        let rec = &self.types.records[r.0 as usize];
        let last = rec.fields.len().checked_sub(1).filter(|_| rec.flexible);
        for item in &list.items {
            let hit = matches!(item.path[..], [PathElem::Field(f), ..] if Some(f as usize) == last);
            let empty = matches!(&item.init, Init::List(l) if l.items.is_empty());
            if hit && !empty {
                self.error(
                    item.init.toks().start,
                    "an array without a bound cannot be initialized inside of another object",
                );
                return;
            }
        }
    }

    // ---- constants ----

    /// Initialisers of objects with static storage must be constant.
    fn check_static_init(&mut self, init: &Init) {
        match init {
            Init::Expr(e) => {
                if let Some(tok) = self.not_constant(e) {
                    let mut text =
                        "the initializer of an object with static storage must be constant".to_owned();
                    if self.threads_form(e).is_some() {
                        text.push_str("; THREADS and MYTHREAD are not (THREADS is with `-T N`)");
                    }
                    self.error(tok, text);
                }
            }
            Init::List(l) => {
                for i in &l.items {
                    self.check_static_init(&i.init);
                }
            }
        }
    }

    /// The token that makes an expression surely not constant.
    fn not_constant(&self, e: &Expr) -> Option<TokIdx> {
        if e.value.is_some() || self.types.is_error(e.ty) {
            return None;
        }
        match &e.kind {
            ExprKind::Implicit { conv: Conv::Load | Conv::SharedLoad, expr } => match &expr.unparen().kind {
                // gcc folds compound literals and const objects in places.
                ExprKind::CompoundLit { .. } => None,
                ExprKind::Name(d) if self.types.is_error(self.decls[d.0 as usize].ty) => None,
                _ => Some(expr.toks.start),
            },
            // An address has no value before the program is linked: it fills a whole word only.
            ExprKind::Implicit { conv: Conv::PtrToInt, expr }
            | ExprKind::Cast { conv: Conv::PtrToInt, expr, .. }
                if self.types.const_size(e.ty) != Some(8) && self.literal_address(expr) =>
            {
                Some(expr.toks.start)
            }
            ExprKind::Implicit { expr, .. } | ExprKind::Cast { expr, .. } | ExprKind::Paren(expr) => {
                self.not_constant(expr)
            }
            ExprKind::Unary { op: UnOp::AddrOf, expr } | ExprKind::Member { base: expr, arrow: true, .. } => {
                self.not_constant_address(expr)
            }
            ExprKind::Unary { expr, .. } => self.not_constant(expr),
            ExprKind::Binary { op: BinOp::Div | BinOp::Rem, rhs, .. } if rhs.int() == Some(0) => {
                Some(rhs.toks.start)
            }
            ExprKind::Binary { lhs, rhs, .. } => self.not_constant(lhs).or_else(|| self.not_constant(rhs)),
            ExprKind::Cond { cond, then, els } => self
                .not_constant(cond)
                .or_else(|| then.as_ref().and_then(|t| self.not_constant(t)))
                .or_else(|| self.not_constant(els)),
            ExprKind::Name(_) | ExprKind::Index { .. } | ExprKind::Member { .. } => {
                self.not_constant_address(e)
            }
            ExprKind::Assign { .. } | ExprKind::CompoundAssign { .. } | ExprKind::IncDec { .. } => {
                Some(e.toks.start)
            }
            ExprKind::MyThread | ExprKind::Threads => Some(e.toks.start),
            ExprKind::Call { callee, .. } => {
                let mut c = callee.unparen();
                if let ExprKind::Implicit { expr, .. } = &c.kind {
                    c = expr.unparen();
                }
                match c.kind {
                    ExprKind::Name(d) if self.decls[d.0 as usize].builtin => None,
                    _ => Some(e.toks.start),
                }
            }
            ExprKind::Generic { chosen } | ExprKind::Choose { chosen } => self.not_constant(chosen),
            _ => None,
        }
    }

    /// Whether this is surely the address of something.
    fn literal_address(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Paren(x)
            | ExprKind::Implicit { conv: Conv::ArrayDecay | Conv::PtrToPtr | Conv::Same, expr: x }
            | ExprKind::Cast { conv: Conv::PtrToPtr | Conv::Same, expr: x, .. } => self.literal_address(x),
            ExprKind::Str | ExprKind::LabelAddr(_) => true,
            ExprKind::Name(d) => self.decls[d.0 as usize].is_static,
            ExprKind::Unary { op: UnOp::AddrOf, expr } => {
                matches!(&expr.unparen().kind, ExprKind::Name(d) if self.decls[d.0 as usize].is_static)
            }
            _ => false,
        }
    }

    /// Likewise for an lvalue whose address is wanted.
    fn not_constant_address(&self, e: &Expr) -> Option<TokIdx> {
        match &e.kind {
            ExprKind::Name(d) => {
                let d = &self.decls[d.0 as usize];
                let auto = matches!(d.kind, DeclKind::Var | DeclKind::Param)
                    && !d.is_static
                    && d.linkage == Linkage::None;
                (auto && !self.types.is_error(d.ty)).then_some(e.toks.start)
            }
            ExprKind::Paren(x) => self.not_constant_address(x),
            ExprKind::Member { base, arrow: false, .. } => self.not_constant_address(base),
            ExprKind::Member { base, .. } => self.not_constant(base),
            ExprKind::Index { base, index } => self.not_constant(base).or_else(|| self.not_constant(index)),
            ExprKind::Unary { op: UnOp::Deref, expr } => self.not_constant(expr),
            ExprKind::Implicit { expr, .. } => self.not_constant_address(expr),
            _ => None,
        }
    }
}
