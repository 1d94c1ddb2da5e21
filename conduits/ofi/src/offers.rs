//! Queries of libfabric: its providers, and the properties of the chosen one.
#![expect(unsafe_code, reason = "calls C, and reads what it made")]

use crate::checked::Checked;
use crate::choice::{Network, Offer};
use crate::ffi;
use crate::pins::MAX_PIECES;
use crate::wire::MAX_MESSAGE_BYTES;
use std::ffi::{CStr, CString, c_int};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr;

/// The registration modes that a provider may demand.
const MR_MODES: u64 = ffi::FI_MR_LOCAL
    | ffi::FI_MR_RAW
    | ffi::FI_MR_VIRT_ADDR
    | ffi::FI_MR_ALLOCATED
    | ffi::FI_MR_PROV_KEY
    | ffi::FI_MR_RMA_EVENT
    | ffi::FI_MR_ENDPOINT;
/// The other modes that it may demand.
const MODES: u64 = ffi::FI_CONTEXT | ffi::FI_CONTEXT2;

/// The properties of the chosen provider.
#[derive(Debug, Clone)]
pub(crate) struct Traits {
    pub(crate) name: String,
    /// Bytes that can be sent by inject.
    pub(crate) inject: usize,
    /// Whether the buffers of operations have to be registered.
    pub(crate) mr_local: bool,
    pub(crate) mr_virtual: bool,
    pub(crate) mr_raw: bool,
    pub(crate) mr_enable: bool,
    /// Whether one receive accepts many messages.
    pub(crate) multi: bool,
    pub(crate) rma: bool,
    pub(crate) atomics: bool,
    /// Most pieces of an operation's local memory.
    pub(crate) spans: usize,
    /// Most operations under way.
    pub(crate) depth: usize,
    /// Bytes of the largest operation.
    pub(crate) max_transfer: usize,
}

/// The features of a provider that the conduit wants to use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Use {
    pub(crate) one_sided: bool,
    pub(crate) atomics: bool,
    pub(crate) multi: bool,
}

/// A list of libfabric's offers.
pub(crate) struct Offers(*mut ffi::fi_info);

impl Drop for Offers {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: made by fi_getinfo or fi_dupinfo, and freed once.
            unsafe { ffi::fi_freeinfo(self.0) };
        }
    }
}

/// The requirements for a provider.
#[derive(Clone, Copy)]
struct Wish<'a> {
    caps: u64,
    provider: Option<&'a str>,
    domain: Option<&'a str>,
    /// Also accept providers whose demands the conduit cannot meet, in order to report them.
    any: bool,
}

fn copy_text(text: &str) -> *mut std::ffi::c_char {
    let text = CString::new(text).unwrap_or_default();
    // SAFETY: a text that ends with a zero byte.
    unsafe { libc::strdup(text.as_ptr()) }
}

/// # Safety
/// 1. Null, or a text that lives for the call (owed by the caller).
unsafe fn text(at: *const std::ffi::c_char) -> String {
    // SAFETY: (1).
    if at.is_null() { String::new() } else { unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned() }
}

impl Offers {
    fn ask(wish: Wish<'_>) -> Offers {
        let mut found = ptr::null_mut();
        // SAFETY: hints as fi_dupinfo(NULL) makes them, with texts from malloc, which fi_freeinfo frees with
        // them.
        unsafe {
            let hints = Offers(ffi::fi_dupinfo(ptr::null()));
            let Some(h) = hints.0.as_mut() else { return Offers(found) };
            h.caps = wish.caps;
            h.mode = if wish.any { u64::MAX } else { MODES };
            (*h.ep_attr).type_ = ffi::FI_EP_RDM;
            let domain = &mut *h.domain_attr;
            domain.mr_mode = if wish.any { -1 } else { MR_MODES as c_int };
            domain.threading = ffi::FI_THREAD_DOMAIN;
            domain.control_progress = ffi::FI_PROGRESS_MANUAL;
            domain.data_progress = ffi::FI_PROGRESS_MANUAL;
            domain.resource_mgmt = ffi::FI_RM_ENABLED;
            if let Some(name) = wish.domain {
                domain.name = copy_text(name);
            }
            if let Some(name) = wish.provider {
                (*h.fabric_attr).prov_name = copy_text(name);
            }
            if ffi::fi_getinfo(ffi::API_VERSION, ptr::null(), ptr::null(), 0, hints.0, &mut found) != 0 {
                found = ptr::null_mut();
            }
        }
        Offers(found)
    }

    /// The first offer.
    pub(crate) fn first(&self) -> *mut ffi::fi_info {
        self.0
    }

    fn each(&self) -> impl Iterator<Item = &ffi::fi_info> {
        // SAFETY: a list that lives as long as this value.
        std::iter::successors(unsafe { self.0.as_ref() }, |info| unsafe { info.next.as_ref() })
    }
}

fn provider_of(info: &ffi::fi_info) -> String {
    // SAFETY: attributes and names of an offer.
    unsafe { text((*info.fabric_attr).prov_name) }
}

/// The place of an endpoint of this offer.
fn network_of(info: &ffi::fi_info) -> Network {
    // SAFETY: attributes and names of an offer.
    let (domain, fabric) = unsafe { (text((*info.domain_attr).name), text((*info.fabric_attr).name)) };
    Network { domain, fabric, address: address_of(info) }
}

/// The Internet address of an offer, if it has one.
fn address_of(info: &ffi::fi_info) -> Option<IpAddr> {
    let room = info.src_addrlen;
    if info.src_addr.is_null() || room < size_of::<libc::sockaddr_in>() {
        return None;
    }
    // SAFETY: an offer has `src_addrlen` bytes at `src_addr`, and the format of an Internet address begins
    // with its family; the larger one is read only if it is all there.
    unsafe {
        let inet = matches!(info.addr_format, ffi::FI_SOCKADDR | ffi::FI_SOCKADDR_IN | ffi::FI_SOCKADDR_IN6);
        match c_int::from(info.src_addr.cast::<libc::sa_family_t>().read_unaligned()) {
            libc::AF_INET if inet => {
                let v4 = info.src_addr.cast::<libc::sockaddr_in>().read_unaligned();
                Some(IpAddr::V4(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr))))
            }
            libc::AF_INET6 if inet && room >= size_of::<libc::sockaddr_in6>() => {
                let v6 = info.src_addr.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(IpAddr::V6(Ipv6Addr::from(v6.sin6_addr.s6_addr)))
            }
            _ => None,
        }
    }
}

/// The usable offers, in libfabric's order.
pub(crate) fn usable(wanted: Option<&str>, domain: Option<&str>) -> Vec<Offer> {
    let mut all = Vec::new();
    // Asking for one by name avoids starting all others.
    let offers = Offers::ask(Wish { caps: ffi::FI_MSG, provider: wanted, domain, any: false });
    for info in offers.each() {
        // SAFETY: attributes of an offer.
        let largest = unsafe { (*info.ep_attr).max_msg_size };
        let offer = Offer { provider: provider_of(info), network: network_of(info) };
        if largest >= MAX_MESSAGE_BYTES && !all.contains(&offer) {
            all.push(offer);
        }
    }
    all
}

/// Why providers of that name, if there are any, cannot be used.
pub(crate) fn objections(wanted: Option<&str>) -> Vec<String> {
    let names = [
        (ffi::FI_MR_MMU_NOTIFY, "FI_MR_MMU_NOTIFY"),
        (ffi::FI_MR_HMEM, "FI_MR_HMEM"),
        (ffi::FI_MR_COLLECTIVE, "FI_MR_COLLECTIVE"),
    ];
    let mut all = Vec::new();
    let offers = Offers::ask(Wish { caps: ffi::FI_MSG, provider: wanted, domain: None, any: true });
    for info in offers.each() {
        // SAFETY: attributes of an offer.
        let (largest, mr) =
            unsafe { ((*info.ep_attr).max_msg_size, (*info.domain_attr).mr_mode as u32 as u64) };
        let mut why: Vec<String> = Vec::new();
        why.extend(names.iter().filter(|(bit, _)| mr & bit != 0).map(|(_, name)| format!("demands {name}")));
        if info.mode & !MODES != 0 {
            why.push(format!("demands modes {:#x}", info.mode & !MODES));
        }
        if largest < MAX_MESSAGE_BYTES {
            why.push(format!("messages of at most {largest} bytes"));
        }
        let line = format!("{}: {}", provider_of(info), why.join(", "));
        if !why.is_empty() && !all.contains(&line) {
            all.push(line);
        }
    }
    all
}

/// Combinations of features, best first: the first that a provider has is used.
fn wishes(wanted: Use) -> Vec<u64> {
    let Use { one_sided, atomics, multi } = wanted;
    let mut all = Vec::new();
    for (a, r) in [(atomics, one_sided), (false, one_sided), (false, false)] {
        for m in [multi, false] {
            let rma = if r { ffi::FI_RMA } else { 0 };
            let caps = ffi::FI_MSG
                | rma
                | if a { ffi::FI_ATOMIC } else { 0 }
                | if m { ffi::FI_MULTI_RECV } else { 0 };
            if !all.contains(&caps) {
                all.push(caps);
            }
        }
    }
    all
}

/// The offer of the named provider on this network that has most of the wanted features, and its properties.
pub(crate) fn choose(chosen: &Offer, wanted: Use) -> Result<(Offers, Traits), String> {
    let Offer { provider: name, network } = chosen;
    let domain = Some(&network.domain[..]).filter(|name| !name.is_empty());
    let (offer, caps) = wishes(wanted)
        .into_iter()
        .find_map(|caps| {
            let offers = Offers::ask(Wish { caps, provider: Some(name), domain, any: false });
            // SAFETY: an offer, copied; its attributes.
            let fits = |info: &&ffi::fi_info| unsafe {
                provider_of(info) == *name
                    && network_of(info) == *network
                    && (*info.ep_attr).max_msg_size >= MAX_MESSAGE_BYTES
            };
            let info = offers.each().find(fits).map(ptr::from_ref)?;
            // SAFETY: as above.
            let own = Offers(unsafe { ffi::fi_dupinfo(info) });
            (!own.0.is_null()).then_some((own, caps))
        })
        .ok_or_else(|| format!("{name} is gone"))?;
    // SAFETY: an offer's attributes.
    let traits = unsafe { traits(&*offer.0, caps, name) };
    Ok((offer, traits))
}

/// # Safety
/// 1. An offer from fi_getinfo (owed by the caller).
unsafe fn traits(info: &ffi::fi_info, caps: u64, name: &str) -> Traits {
    // SAFETY: (1): its attributes are there.
    unsafe {
        let (tx, ep, domain) = (&*info.tx_attr, &*info.ep_attr, &*info.domain_attr);
        let mr = domain.mr_mode as u32 as u64;
        // 1 is the old name for allocated, virtual, with the provider's keys.
        let basic = mr == 1;
        let has = |bit| mr & bit != 0;
        Traits {
            name: name.to_string(),
            inject: tx.inject_size,
            mr_local: has(ffi::FI_MR_LOCAL) || Checked::is_wanted(),
            mr_virtual: basic || has(ffi::FI_MR_VIRT_ADDR),
            mr_raw: has(ffi::FI_MR_RAW),
            mr_enable: has(ffi::FI_MR_ENDPOINT | ffi::FI_MR_RMA_EVENT),
            multi: info.caps & caps & ffi::FI_MULTI_RECV != 0,
            rma: info.caps & caps & ffi::FI_RMA != 0,
            atomics: info.caps & caps & ffi::FI_ATOMIC != 0,
            spans: tx.iov_limit.clamp(1, MAX_PIECES),
            depth: tx.size.clamp(64, 4096),
            max_transfer: ep.max_msg_size,
        }
    }
}
