//! The interface of each crate that is meant for others, written down in `tests/house/api`: it changes on
//! purpose only, and `CHANGELOG.md` says what programs notice of it.
//!
//! Read from the sources: public items with their signatures and public fields, at the paths by which others
//! reach them, and the methods and traits of types. Bodies, documentation and `#[doc(hidden)]` are left out.
//! Of a macro call that defines items, nothing is seen.

use gasnet_house::workspace;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Attribute, ImplItem, Item, TraitItem, UseTree, Visibility};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A module, by its path in the crate.
#[derive(Default)]
struct Module {
    items: Vec<Item>,
}

type Names = Vec<String>;

struct Crate {
    modules: BTreeMap<Names, Module>,
    /// Names of the types and traits that the surface has.
    names: BTreeSet<String>,
}

fn is(attribute: &Attribute, name: &str) -> bool {
    attribute.path().is_ident(name)
}

/// Not for users: tests, models, what documentation hides.
fn left_out(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        let text = list.tokens.to_string();
        is(attribute, "cfg") && (text == "test" || text == "loom") || is(attribute, "doc") && text == "hidden"
    })
}

/// Attributes that users notice.
fn keep_few(attributes: &mut Vec<Attribute>) {
    let kept = ["derive", "non_exhaustive", "repr", "cfg"];
    attributes.retain(|attribute| kept.iter().any(|name| is(attribute, name)));
}

fn public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn empty() -> syn::Block {
    syn::parse_quote!({})
}

impl Crate {
    fn read(src: &Path) -> Crate {
        let mut this = Crate { modules: BTreeMap::new(), names: BTreeSet::new() };
        this.read_module(&src.join("lib.rs"), src, Vec::new());
        this
    }

    fn read_module(&mut self, file: &Path, folder: &Path, path: Names) {
        let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        self.take_items(parsed.items, folder, path);
    }

    fn take_items(&mut self, items: Vec<Item>, folder: &Path, path: Names) {
        let mut own = Vec::new();
        for item in items {
            if let Item::Mod(module) = &item
                && !left_out(&module.attrs)
            {
                let name = module.ident.to_string();
                let below = [&path[..], std::slice::from_ref(&name)].concat();
                match &module.content {
                    Some((_, items)) => self.take_items(items.clone(), &folder.join(&name), below),
                    None => {
                        let (flat, deep) = (folder.join(format!("{name}.rs")), folder.join(&name));
                        let file = if flat.is_file() { flat } else { deep.join("mod.rs") };
                        self.read_module(&file, &deep, below);
                    }
                }
            }
            own.push(item);
        }
        self.modules.insert(path, Module { items: own });
    }

    /// The module or the item that a path of a `use` leads to, from a module; `None`: outside of the crate.
    fn lookup(&self, from: &[String], path: &[String]) -> Option<(Names, Option<String>)> {
        let (first, mut rest) = path.split_first()?;
        let mut at = from.to_vec();
        match first.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => drop(at.pop()),
            child => {
                at.push(child.to_string());
                if !self.modules.contains_key(&at) {
                    return None;
                }
            }
        }
        while let Some((name, more)) = rest.split_first() {
            if name == "super" {
                at.pop();
                rest = more;
                continue;
            }
            at.push(name.clone());
            if !self.modules.contains_key(&at) {
                at.pop();
                return Some((at, Some(name.clone())));
            }
            rest = more;
        }
        Some((at, None))
    }

    /// The items of a module that users see.
    fn surface(&mut self, path: &[String]) -> Vec<Item> {
        let items = self.modules[path].items.clone();
        let mut seen = Vec::new();
        for item in items {
            match item {
                Item::Use(import) if public(&import.vis) && !left_out(&import.attrs) => {
                    let mut leaves = Vec::new();
                    collect(&import.tree, &mut Vec::new(), &mut leaves);
                    for (target, name) in leaves {
                        seen.extend(self.import(path, &target, name.as_deref()));
                    }
                }
                Item::Mod(module) if public(&module.vis) && !left_out(&module.attrs) => {
                    seen.extend(self.module(&[path, &[module.ident.to_string()]].concat(), &module.ident));
                }
                item => seen.extend(self.own(item, None)),
            }
        }
        seen
    }

    fn module(&mut self, path: &[String], name: &syn::Ident) -> Option<Item> {
        let content = sorted(self.surface(path));
        (!content.is_empty()).then(|| syn::parse_quote!(pub mod #name { #(#content)* }))
    }

    /// The items that `pub use target as name` shows; without a name: all of a module.
    fn import(&mut self, from: &[String], target: &[String], name: Option<&str>) -> Vec<Item> {
        let outside = || -> Vec<Item> {
            let text = match name {
                Some(name) if target.last().is_some_and(|last| last == name) => target.join("::"),
                Some(name) => format!("{} as {name}", target.join("::")),
                None => format!("{}::*", target.join("::")),
            };
            syn::parse_str(&format!("pub use {text};")).into_iter().collect()
        };
        match (self.lookup(from, target), name) {
            (None, _) => outside(),
            (Some((module, None)), None) => self.surface(&module),
            (Some((module, None)), Some(name)) => {
                let name = syn::Ident::new(name, proc_macro2::Span::call_site());
                self.module(&module, &name).into_iter().collect()
            }
            // The variants of an enumeration.
            (Some((_, Some(_))), None) => outside(),
            (Some((module, Some(wanted))), Some(name)) => {
                let mut found = Vec::new();
                for item in self.modules[&module].items.clone() {
                    if let Item::Use(import) = &item {
                        let mut leaves = Vec::new();
                        collect(&import.tree, &mut Vec::new(), &mut leaves);
                        for (target, leaf) in leaves {
                            match leaf {
                                Some(leaf) if leaf == wanted => {
                                    found.extend(self.import(&module, &target, Some(name)));
                                }
                                Some(_) => {}
                                None if self.lookup(&module, &target).is_some_and(|(at, _)| at != module) => {
                                    let all = self.import(&module, &target, None);
                                    found.extend(all.into_iter().filter(|item| named(item, &wanted)));
                                }
                                None => {}
                            }
                        }
                    } else if named(&item, &wanted) {
                        found.extend(self.own(item, Some(name)));
                    }
                }
                if found.is_empty() { outside() } else { found }
            }
        }
    }

    /// A public item without what users do not see, and under another name if it has one.
    fn own(&mut self, item: Item, name: Option<&str>) -> Option<Item> {
        let mut item = item;
        macro_rules! public_item {
            ($item:expr, $type_name:expr) => {{
                if !public(&$item.vis) || left_out(&$item.attrs) {
                    return None;
                }
                keep_few(&mut $item.attrs);
                if $type_name {
                    self.names.insert($item.ident.to_string());
                }
                if let Some(name) = name {
                    $item.ident = syn::Ident::new(name, $item.ident.span());
                }
            }};
        }
        match &mut item {
            Item::Const(item) => {
                public_item!(item, false);
                *item.expr = syn::parse_quote!(_);
            }
            Item::Static(item) => {
                public_item!(item, false);
                *item.expr = syn::parse_quote!(_);
            }
            Item::Enum(item) => {
                public_item!(item, true);
                for variant in &mut item.variants {
                    keep_few(&mut variant.attrs);
                    variant.fields.iter_mut().for_each(|field| keep_few(&mut field.attrs));
                }
            }
            Item::Struct(item) => {
                public_item!(item, true);
                fields(&mut item.fields);
            }
            Item::Type(item) => public_item!(item, true),
            Item::Trait(item) => {
                public_item!(item, true);
                item.items.retain_mut(|item| match item {
                    TraitItem::Fn(method) => {
                        keep_few(&mut method.attrs);
                        // Users notice whether there is a default, and not which.
                        method.default = method.default.take().map(|_| empty());
                        true
                    }
                    TraitItem::Const(item) => {
                        keep_few(&mut item.attrs);
                        item.default = None;
                        true
                    }
                    TraitItem::Type(item) => {
                        keep_few(&mut item.attrs);
                        true
                    }
                    _ => false,
                });
            }
            Item::Fn(item) => {
                if !public(&item.vis) || left_out(&item.attrs) {
                    return None;
                }
                keep_few(&mut item.attrs);
                *item.block = empty();
                if let Some(name) = name {
                    item.sig.ident = syn::Ident::new(name, item.sig.ident.span());
                }
            }
            Item::Macro(item) if item.attrs.iter().any(|attribute| is(attribute, "macro_export")) => {
                if left_out(&item.attrs) {
                    return None;
                }
                keep_few(&mut item.attrs);
                item.mac.tokens = proc_macro2::TokenStream::new();
            }
            _ => return None,
        }
        Some(item)
    }

    /// Methods and traits of the types that users see.
    fn implementations(&self) -> Vec<Item> {
        let mut found = Vec::new();
        for item in self.modules.values().flat_map(|module| &module.items) {
            let Item::Impl(block) = item else { continue };
            let mut block = block.clone();
            if left_out(&block.attrs) {
                continue;
            }
            keep_few(&mut block.attrs);
            let mine = match &*block.self_ty {
                syn::Type::Path(path) => path.path.segments.last(),
                _ => None,
            };
            let mine = mine.is_some_and(|segment| self.names.contains(&segment.ident.to_string()));
            if let Some((_, path, _)) = &block.trait_ {
                let last = path.segments.last().map(|segment| segment.ident.to_string());
                if mine || last.is_some_and(|name| self.names.contains(&name)) {
                    block.items.retain_mut(|item| match item {
                        ImplItem::Type(item) => {
                            keep_few(&mut item.attrs);
                            true
                        }
                        _ => false,
                    });
                    found.push(Item::Impl(block));
                }
                continue;
            }
            block.items.retain_mut(|item| match item {
                ImplItem::Fn(method) if public(&method.vis) && !left_out(&method.attrs) => {
                    keep_few(&mut method.attrs);
                    method.block = empty();
                    true
                }
                ImplItem::Const(item) if public(&item.vis) && !left_out(&item.attrs) => {
                    keep_few(&mut item.attrs);
                    item.expr = syn::parse_quote!(_);
                    true
                }
                _ => false,
            });
            // One block for each method: where it stands in the source does not count.
            if mine {
                for item in std::mem::take(&mut block.items) {
                    found.push(Item::Impl(syn::ItemImpl { items: vec![item], ..block.clone() }));
                }
            }
        }
        found
    }
}

/// Leaves public fields, and says if there are others.
fn fields(of: &mut syn::Fields) {
    let list = match of {
        syn::Fields::Named(fields) => &mut fields.named,
        syn::Fields::Unnamed(fields) => &mut fields.unnamed,
        syn::Fields::Unit => return,
    };
    for field in list.iter_mut() {
        keep_few(&mut field.attrs);
        if !public(&field.vis) {
            field.vis = Visibility::Inherited;
            field.ty = syn::parse_quote!(_);
            if field.ident.is_some() {
                field.ident = Some(syn::Ident::new("_private", proc_macro2::Span::call_site()));
            }
        }
    }
    // However many.
    let mut hidden = false;
    let kept = list.iter().filter(|field| public(&field.vis) || !std::mem::replace(&mut hidden, true));
    *list = kept.cloned().collect();
}

/// The paths of an import, each with its last name; without one for `*`.
fn collect(tree: &UseTree, before: &mut Names, into: &mut Vec<(Names, Option<String>)>) {
    let with = |before: &Names, name: &syn::Ident| match name == "self" {
        true => before.clone(),
        false => [&before[..], &[name.to_string()]].concat(),
    };
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            collect(&path.tree, before, into);
            before.pop();
        }
        UseTree::Name(name) => {
            let path = with(before, &name.ident);
            let last = path.last().cloned();
            into.push((path, last));
        }
        UseTree::Rename(name) if name.rename == "_" => {}
        UseTree::Rename(name) => into.push((with(before, &name.ident), Some(name.rename.to_string()))),
        UseTree::Glob(_) => into.push((before.clone(), None)),
        UseTree::Group(group) => group.items.iter().for_each(|tree| collect(tree, before, into)),
    }
}

fn named(item: &Item, name: &str) -> bool {
    match item {
        Item::Const(item) => item.ident == name,
        Item::Static(item) => item.ident == name,
        Item::Enum(item) => item.ident == name,
        Item::Struct(item) => item.ident == name,
        Item::Type(item) => item.ident == name,
        Item::Trait(item) => item.ident == name,
        Item::Fn(item) => item.sig.ident == name,
        Item::Macro(item) => item.ident.as_ref().is_some_and(|ident| ident == name),
        Item::Mod(item) => item.ident == name,
        _ => false,
    }
}

fn text(item: &Item) -> String {
    prettyplease::unparse(&syn::File { shebang: None, attrs: Vec::new(), items: vec![item.clone()] })
}

/// In an order that does not depend on that of the source.
fn sorted(items: Vec<Item>) -> Vec<Item> {
    let all: BTreeMap<String, Item> = items.into_iter().map(|item| (text(&item), item)).collect();
    all.into_values().collect()
}

/// Everything that a crate lets be used.
fn interface(src: &Path) -> String {
    let mut this = Crate::read(src);
    let items = sorted(this.surface(&[]));
    let implementations = sorted(this.implementations());
    // Trailing blanks and empty lines are the printer's own.
    let text: String = items.iter().chain(&implementations).map(text).collect();
    text.lines().filter(|line| !line.trim().is_empty()).map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The first lines in which two texts differ.
fn difference(old: &str, new: &str) -> String {
    let (before, after): (BTreeSet<_>, BTreeSet<_>) = (old.lines().collect(), new.lines().collect());
    let lost = before.difference(&after).map(|line| format!("- {}", line.trim()));
    let won = after.difference(&before).map(|line| format!("+ {}", line.trim()));
    lost.chain(won).take(20).collect::<Vec<_>>().join("\n")
}

#[test]
fn interfaces_change_on_purpose() {
    let folder = root().join("tests/house/api");
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    let (mut changed, mut crates) = (String::new(), BTreeSet::new());
    for member in workspace::members(&root()).expect("a workspace") {
        let manifest = fs::read_to_string(root().join(&member.folder).join("Cargo.toml")).expect("readable");
        if manifest.contains("\npublish = false\n") {
            continue;
        }
        let now = interface(&root().join(&member.folder).join("src"));
        let file = folder.join(format!("{}.txt", member.name));
        crates.insert(format!("{}.txt", member.name));
        let before = fs::read_to_string(&file).unwrap_or_default();
        if update {
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(&file, &now).expect("writable");
        } else if before != now {
            changed += &format!("{}:\n{}\n", member.name, difference(&before, &now));
        }
    }
    let kept = fs::read_dir(&folder).expect("a folder").flatten();
    let kept: BTreeSet<_> = kept.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    assert_eq!(kept, crates, "{} has a file for each crate that is meant for others", folder.display());
    assert!(
        changed.is_empty(),
        "what crates let be used has changed; if that is on purpose, say in CHANGELOG.md what programs notice of \
         it, and run: UPDATE_DOCS=1 cargo test -p gasnet-house --test api\n{changed}"
    );
}

/// A crate of a few files, in a folder of its own.
fn example(name: &str, files: &[(&str, &str)]) -> String {
    let folder = std::env::temp_dir().join(format!("gasnet-api-{name}-{}", std::process::id()));
    for (file, text) in files {
        let file = folder.join(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("writable");
    }
    let text = interface(&folder);
    fs::remove_dir_all(folder).expect("removable");
    text
}

#[test]
fn what_users_can_reach_is_seen() {
    let lib = "mod inner; pub mod open; pub use inner::{Kind, make as create}; pub use std::fmt::Debug;
        mod secret { pub struct Hidden; impl Hidden { pub fn unseen(&self) {} } }";
    let inner = "/// Words.
        #[derive(Clone)] pub enum Kind { /// More.
        A(u8), B }
        pub fn make(n: usize) -> Kind { Kind::B }
        pub fn not_passed_on() {}
        impl Kind { pub fn get(&self) -> u8 { 1 } fn own(&self) {} }
        impl Drop for Kind { fn drop(&mut self) {} }";
    let open =
        "pub struct Pair { pub a: u8, b: u16, c: u16 } pub(crate) fn no() {} #[doc(hidden)] pub fn nor() {}
        #[cfg(test)] mod tests { pub fn never() {} }";
    let text = example("reach", &[("lib.rs", lib), ("inner.rs", inner), ("open/mod.rs", open)]);
    for seen in [
        "#[derive(Clone)]\npub enum Kind",
        "pub fn create(n: usize) -> Kind",
        "pub use std::fmt::Debug;",
        "pub fn get(&self) -> u8",
        "impl Drop for Kind",
        "pub mod open {",
        "pub a: u8,",
        "_private: _,",
    ] {
        assert!(text.contains(seen), "no {seen} in:\n{text}");
    }
    for unseen in ["Hidden", "unseen", "not_passed_on", "own", "no(", "nor", "never", "Words", "u16"] {
        assert!(!text.contains(unseen), "{unseen} in:\n{text}");
    }
    assert_eq!(text.matches("_private").count(), 1, "{text}");
}

#[test]
fn order_and_bodies_do_not_count() {
    let one = example(
        "order",
        &[("lib.rs", "pub fn a() -> u8 { 1 }\npub struct S;\nimpl S { pub fn f(&self) {} }")],
    );
    let two = example(
        "order",
        &[("lib.rs", "pub struct S;\nimpl S { pub fn f(&self) { a(); } }\npub fn a() -> u8 { 2 }")],
    );
    let three = example(
        "order",
        &[("lib.rs", "pub struct S;\nimpl S { pub fn f(&mut self) {} }\npub fn a() -> u8 { 2 }")],
    );
    assert_eq!(one, two);
    assert_ne!(two, three);
}
