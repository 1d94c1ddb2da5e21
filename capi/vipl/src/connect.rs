//! Connections.
#![expect(unsafe_code, reason = "exported to C by name")]

use crate::handle::{Handle, HandleKind};
use crate::results::{INVALID_PARAMETER, INVALID_STATE, NOT_DONE, Return, answer, code};
use crate::state::{nic, owner, provider};
use crate::types::{CViAttributes, NetAddress, Out, limit};
use core::ffi::c_ulong;
use gasnet_via::{Nic, RequestId, ViId, ViState};
use std::sync::Arc;

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipConnectWait(
    handle: Handle,
    local: NetAddress,
    timeout: c_ulong,
    remote: NetAddress,
    attributes: Out<CViAttributes>,
    connection: Out<Handle>,
) -> Return {
    answer(|| {
        let (nic, local) = (nic(handle)?, local.get()?);
        remote.check().and(attributes.check()).and(connection.check())?;
        if local.rank != nic.agent().rank().id().0 {
            return Err(INVALID_PARAMETER);
        }
        let listener = nic.listen(&local.discriminator).map_err(code)?;
        let request = nic.next_request(listener, limit(timeout));
        nic.unlisten(listener);
        let request = request.map_err(code)?;
        remote.set(&request.from);
        attributes.set((&request.attributes).into());
        connection.set(provider()?.enter(HandleKind::Connection, request.id.number(), &nic));
        Ok(())
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipConnectAccept(connection: Handle, vi: Handle) -> Return {
    answer(|| {
        let (nic, request) = owner(connection, HandleKind::Connection)?;
        let (own, number) = owner(vi, HandleKind::Vi)?;
        if !Arc::ptr_eq(&nic, &own) {
            return Err(INVALID_PARAMETER);
        }
        nic.accept(RequestId::of(request), ViId::of(number)).map_err(code)?;
        provider()?.forget(connection);
        Ok(())
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipConnectReject(connection: Handle) -> Return {
    answer(|| {
        let (nic, request) = owner(connection, HandleKind::Connection)?;
        provider()?.forget(connection);
        nic.reject(RequestId::of(request)).map_err(code)
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipConnectRequest(
    vi: Handle,
    local: NetAddress,
    remote: NetAddress,
    timeout: c_ulong,
    attributes: Out<CViAttributes>,
) -> Return {
    answer(|| {
        let (nic, number) = owner(vi, HandleKind::Vi)?;
        let (local, remote) = (local.get()?, remote.get()?);
        attributes.check()?;
        let theirs = nic.connect(ViId::of(number), local, remote, limit(timeout)).map_err(code)?;
        attributes.set((&theirs).into());
        Ok(())
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipConnectPeerRequest(
    vi: Handle,
    local: NetAddress,
    remote: NetAddress,
    timeout: c_ulong,
) -> Return {
    answer(|| {
        let (nic, number) = owner(vi, HandleKind::Vi)?;
        nic.connect_peer(ViId::of(number), local.get()?, remote.get()?, limit(timeout)).map_err(code)
    })
}

/// A VI that has asked for a connection.
fn asker(handle: Handle) -> Result<(Arc<Nic>, ViId), Return> {
    let (nic, number) = owner(handle, HandleKind::Vi)?;
    let vi = ViId::of(number);
    // In this order: an attempt that ends in between has an outcome.
    let idle = nic.query_vi(vi).map_err(code)?.state == ViState::Idle;
    if idle && nic.peer_connected(vi).map_err(code)?.is_none() {
        return Err(INVALID_STATE);
    }
    Ok((nic, vi))
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipConnectPeerDone(vi: Handle, attributes: Out<CViAttributes>) -> Return {
    answer(|| {
        attributes.check()?;
        let (nic, vi) = asker(vi)?;
        let theirs = nic.peer_connected(vi).map_err(code)?.ok_or(NOT_DONE)?.map_err(code)?;
        attributes.set((&theirs).into());
        Ok(())
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipConnectPeerWait(vi: Handle, attributes: Out<CViAttributes>) -> Return {
    answer(|| {
        attributes.check()?;
        let (nic, vi) = asker(vi)?;
        attributes.set((&nic.wait_peer(vi).map_err(code)?).into());
        Ok(())
    })
}

/// See `vipl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn VipDisconnect(vi: Handle) -> Return {
    answer(|| {
        let (nic, number) = owner(vi, HandleKind::Vi)?;
        nic.disconnect(ViId::of(number)).map_err(code)
    })
}
