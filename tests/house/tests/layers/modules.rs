//! The modules of a crate and who imports from whom, read from its sources.
//!
//! A *node* is a source file; modules written inside a file belong to it. An *import* is a path that starts
//! at `crate`, `self`, `super` or a child module, in a `use`, in code, or among the tokens of a macro call. A
//! path that goes through a re-export counts for the file that defines the name. Tests (`#[cfg(test)]`) do
//! not count, nor does a module that passes on names of its children (`pub use`).
//!
//! A call of a method of a *spine* type counts as an import of the node that defines the method, if the name
//! of the method says which that is: nothing else in the crate has a method of that name.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::Visit;

/// Number of a module of a crate.
type Id = usize;

/// Where a path leads: a module, and the name in it.
type Target = (Id, Option<String>);

/// Who imports from whom, by nodes, and which names.
pub type Imports = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

#[derive(Default)]
struct Module {
    /// The node it belongs to, by its path below `src` without `.rs`: `coll/mail`.
    node: String,
    parent: Option<Id>,
    children: BTreeMap<String, Id>,
    /// Names defined here.
    items: BTreeSet<String>,
    /// Names imported here, and the paths they stand for.
    aliases: BTreeMap<String, Vec<String>>,
    /// Paths of `use path::*`.
    globs: Vec<Vec<String>>,
    /// All paths found here that may be imports.
    paths: Vec<Vec<String>>,
    /// Paths of public imports, which may only pass on what children have.
    passed_on: Vec<Vec<String>>,
    /// Methods and associated functions defined here, each with its type.
    methods: Vec<(String, String)>,
    /// Names of methods that are called here.
    calls: BTreeSet<String>,
}

/// Names of methods that types of the standard library have, too.
const STD: &[&str] = &[
    "abort",
    "as_ptr",
    "as_slice",
    "begin",
    "borrow",
    "bytes",
    "clear",
    "compare_exchange",
    "contains",
    "end",
    "exit",
    "expect",
    "fetch_add",
    "fetch_and",
    "fetch_max",
    "fetch_min",
    "fetch_or",
    "fetch_sub",
    "fetch_xor",
    "fill",
    "finish",
    "flush",
    "get",
    "id",
    "insert",
    "is_empty",
    "is_finished",
    "iter",
    "kill",
    "len",
    "lines",
    "load",
    "local",
    "lock",
    "map",
    "name",
    "new",
    "next",
    "notify",
    "part",
    "poll",
    "pop",
    "push",
    "read",
    "remove",
    "replace",
    "reset",
    "send",
    "set",
    "size",
    "spawn",
    "split",
    "start",
    "store",
    "swap",
    "take",
    "update",
    "wait",
    "with",
    "write",
];

/// A crate, or one of its binaries.
pub struct Modules {
    modules: Vec<Module>,
}

impl Modules {
    /// Reads the modules under a root file (`lib.rs`, `main.rs`).
    pub fn read(root: &Path) -> Modules {
        let mut all = Modules { modules: Vec::new() };
        let folder = root.parent().expect("a root file is in a folder");
        let name = root.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        all.file(root, folder, name, None);
        all
    }

    /// Reads a file as a module; the files of its children are in `folder`.
    fn file(&mut self, path: &Path, folder: &Path, node: String, parent: Option<Id>) -> Id {
        let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let file = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        self.module(file.items, folder, node, parent)
    }

    fn module(&mut self, items: Vec<syn::Item>, folder: &Path, node: String, parent: Option<Id>) -> Id {
        let id = self.modules.len();
        self.modules.push(Module { node: node.clone(), parent, ..Module::default() });
        for item in items {
            if of_tests(&item) {
                continue;
            }
            if let syn::Item::Mod(inner) = item {
                // A file of another crate, whose module it is in the table.
                if inner.attrs.iter().any(|attribute| attribute.path().is_ident("path")) {
                    continue;
                }
                let name = inner.ident.to_string();
                let below = folder.join(&name);
                let child = match inner.content {
                    Some((_, items)) => self.module(items, &below, node.clone(), Some(id)),
                    None => {
                        let path: PathBuf = [folder.join(format!("{name}.rs")), below.join("mod.rs")]
                            .into_iter()
                            .find(|path| path.is_file())
                            .unwrap_or_else(|| panic!("no file for module {name} of {node}"));
                        let in_root = self.modules[id].parent.is_none();
                        let inside = if in_root { name.clone() } else { format!("{node}/{name}") };
                        self.file(&path, &below, inside, Some(id))
                    }
                };
                self.modules[id].children.insert(name, child);
                continue;
            }
            let mut found = Found { module: &mut self.modules[id] };
            found.define(&item);
            found.visit_item(&item);
        }
        id
    }

    /// The module where a path leads from a module; none if that is not in this crate.
    fn resolve(&self, from: Id, path: &[String], depth: usize) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        // Aliases may be circular where names of types and functions are alike.
        if depth > 20 {
            return None;
        }
        match first.as_str() {
            "crate" => self.walk(0, rest, depth),
            "self" => self.walk(from, rest, depth),
            "super" => self.walk(self.modules[from].parent?, rest, depth),
            name => {
                let module = &self.modules[from];
                if module.children.contains_key(name) {
                    self.walk(from, path, depth)
                } else if let Some(alias) = module.aliases.get(name) {
                    let whole = [alias.as_slice(), rest].concat();
                    (whole != path).then(|| self.resolve(from, &whole, depth + 1)).flatten()
                } else {
                    None
                }
            }
        }
    }

    fn walk(&self, at: Id, path: &[String], depth: usize) -> Option<Target> {
        let Some((first, rest)) = path.split_first() else { return Some((at, None)) };
        let module = &self.modules[at];
        if first == "super" {
            return self.walk(module.parent?, rest, depth);
        }
        if let Some(child) = module.children.get(first) {
            return self.walk(*child, rest, depth);
        }
        if module.items.contains(first) {
            return Some((at, Some(first.clone())));
        }
        if let Some(alias) = module.aliases.get(first) {
            let whole = [alias.as_slice(), rest].concat();
            // A name from another crate, passed on, is a matter of that crate.
            return self.resolve(at, &whole, depth + 1);
        }
        for glob in &module.globs {
            let whole = [glob.as_slice(), path].concat();
            if let Some(target) = self.resolve(at, &whole, depth + 1)
                && self.modules[target.0].items.contains(first)
            {
                return Some(target);
            }
        }
        Some((at, Some(first.clone())))
    }

    /// Names of methods that traits ask for.
    pub fn methods_of_traits(&self) -> BTreeSet<String> {
        let all = self.modules.iter().flat_map(|module| &module.methods);
        all.filter(|(of, _)| of.is_empty()).map(|(_, name)| name.clone()).collect()
    }

    /// Which node calls methods of the spine types that another node defines, and which methods. `elsewhere`:
    /// names of methods that traits of other crates ask for. A call of one says nothing.
    pub fn spine_calls(&self, spine: &BTreeSet<String>, elsewhere: &BTreeSet<String>) -> Imports {
        // The one node that defines a method of this name, if its type is a spine.
        let common = STD.iter().copied().chain(elsewhere.iter().map(String::as_str));
        let mut homes: BTreeMap<&str, Option<&str>> = common.map(|name| (name, None)).collect();
        for module in &self.modules {
            for (of, name) in &module.methods {
                let home = spine.contains(of).then_some(module.node.as_str());
                homes.entry(name).and_modify(|known| *known = None).or_insert(home);
            }
        }
        let mut calls = Imports::new();
        for module in &self.modules {
            for name in &module.calls {
                if let Some(home) = homes.get(name.as_str()).copied().flatten()
                    && home != module.node
                {
                    let of = calls.entry(module.node.clone()).or_default();
                    of.entry(home.to_string()).or_default().insert(format!("{name}()"));
                }
            }
        }
        calls
    }

    /// Who imports from whom. A module that is imported as a whole has the name `*`.
    pub fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for (id, module) in self.modules.iter().enumerate() {
            let own = imports.entry(module.node.clone()).or_default();
            let of_child = |target: Id| {
                let within = format!("{}/", module.node);
                module.parent.is_none() || self.modules[target].node.starts_with(&within)
            };
            let passed_on = module.passed_on.iter().filter_map(|path| self.resolve(id, path, 0));
            let passed_on = passed_on.filter(|(target, _)| !of_child(*target));
            let used = module.paths.iter().filter_map(|path| self.resolve(id, path, 0));
            for (target, name) in used.chain(passed_on) {
                let node = &self.modules[target].node;
                if *node != module.node {
                    own.entry(node.clone()).or_default().insert(name.unwrap_or_else(|| "*".to_string()));
                }
            }
        }
        imports
    }
}

fn of_tests(item: &syn::Item) -> bool {
    let attributes = match item {
        syn::Item::Mod(i) => &i.attrs,
        syn::Item::Fn(i) => &i.attrs,
        syn::Item::Use(i) => &i.attrs,
        syn::Item::Impl(i) => &i.attrs,
        syn::Item::Struct(i) => &i.attrs,
        _ => return false,
    };
    attributes.iter().any(|a| {
        let is = |text: &str| matches!(&a.meta, syn::Meta::List(l) if l.tokens.to_string() == text);
        a.path().is_ident("cfg") && (is("test") || is("all (test , not (loom))") || is("all (test , loom)"))
    })
}

/// Collects what a module defines and names.
struct Found<'a> {
    module: &'a mut Module,
}

impl Found<'_> {
    fn define(&mut self, item: &syn::Item) {
        let name = match item {
            syn::Item::Const(i) => &i.ident,
            syn::Item::Enum(i) => &i.ident,
            syn::Item::Fn(i) => &i.sig.ident,
            syn::Item::Static(i) => &i.ident,
            syn::Item::Struct(i) => &i.ident,
            syn::Item::Trait(i) => &i.ident,
            syn::Item::Type(i) => &i.ident,
            syn::Item::Union(i) => &i.ident,
            syn::Item::Macro(syn::ItemMacro { ident: Some(ident), .. }) => ident,
            _ => return,
        };
        self.module.items.insert(name.to_string());
    }

    fn tree(&mut self, prefix: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| {
            let mut path = prefix.to_vec();
            if name != "self" || path.is_empty() {
                path.push(name.to_string());
            }
            path
        };
        match tree {
            syn::UseTree::Path(p) => self.tree(&with(&p.ident), &p.tree),
            syn::UseTree::Name(n) => {
                let path = with(&n.ident);
                self.module.aliases.insert(path[path.len() - 1].clone(), path.clone());
                self.module.paths.push(path);
            }
            syn::UseTree::Rename(r) => {
                let path = with(&r.ident);
                self.module.aliases.insert(r.rename.to_string(), path.clone());
                self.module.paths.push(path);
            }
            syn::UseTree::Glob(_) => {
                self.module.globs.push(prefix.to_vec());
                self.module.paths.push(prefix.to_vec());
            }
            syn::UseTree::Group(g) => g.items.iter().for_each(|tree| self.tree(prefix, tree)),
        }
    }

    /// Paths among the tokens of a macro call, and names between a dot and what a call may go on with.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        let mut dot = false;
        let mut called: Option<String> = None;
        for token in tokens {
            let opens = match &token {
                TokenTree::Group(group) => group.delimiter() == Delimiter::Parenthesis,
                TokenTree::Punct(p) => p.as_char() == ':',
                _ => false,
            };
            self.module.calls.extend(called.take().filter(|_| opens));
            match &token {
                TokenTree::Ident(name) if dot => called = Some(name.to_string()),
                _ => {}
            }
            dot = matches!(&token, TokenTree::Punct(p) if p.as_char() == '.');
            match token {
                TokenTree::Ident(name) if path.is_empty() || colons == 2 => {
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(p) if p.as_char() == ':' && !path.is_empty() && colons < 2 => colons += 1,
                other => {
                    self.end(&mut path);
                    colons = 0;
                    match other {
                        TokenTree::Ident(name) => path.push(name.to_string()),
                        TokenTree::Group(group) => self.tokens(group.stream()),
                        _ => {}
                    }
                }
            }
        }
        self.end(&mut path);
    }

    fn end(&mut self, path: &mut Vec<String>) {
        if path.len() > 1 {
            self.module.paths.push(std::mem::take(path));
        }
        path.clear();
    }
}

impl<'ast> Visit<'ast> for Found<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_some() {
            return;
        }
        let used = self.module.paths.len();
        self.tree(&[], &item.tree);
        if matches!(item.vis, syn::Visibility::Public(_)) {
            self.module.passed_on.extend(self.module.paths.drain(used..));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() && path.segments.len() > 1 {
            let names = path.segments.iter().map(|s| s.ident.to_string()).collect();
            self.module.paths.push(names);
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
        syn::visit::visit_macro(self, call);
    }

    fn visit_item_mod(&mut self, _: &'ast syn::ItemMod) {}

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let syn::Type::Path(of) = &*item.self_ty
            && let Some(of) = of.path.segments.last()
        {
            let names = item.items.iter().filter_map(|item| match item {
                syn::ImplItem::Fn(f) => Some(f.sig.ident.to_string()),
                _ => None,
            });
            // Methods of a trait implementation are no methods of the type itself.
            let of = if item.trait_.is_some() { String::new() } else { of.ident.to_string() };
            self.module.methods.extend(names.map(|name| (of.clone(), name)));
        }
        syn::visit::visit_item_impl(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let names = item.items.iter().filter_map(|item| match item {
            syn::TraitItem::Fn(f) => Some(f.sig.ident.to_string()),
            _ => None,
        });
        self.module.methods.extend(names.map(|name| (String::new(), name)));
        syn::visit::visit_item_trait(self, item);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.module.calls.insert(call.method.to_string());
        syn::visit::visit_expr_method_call(self, call);
    }
}
