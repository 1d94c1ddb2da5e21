/* Plain libfabric between two processes of this host: an endpoint each, one completion queue, receives
   posted one by one. The provider is the first argument, and what it offers first is taken. */
#ifndef OFI_H
#define OFI_H

#include "floor.h"
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

enum { RECEIVES = 64, ROOM = 4096 };

/* Operations of a batch. */
#ifndef OPERATIONS
#define OPERATIONS 5000
#endif

struct port {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    struct fid_mr *mr;
    fi_addr_t peer;
    struct fi_context2 context[RECEIVES + 1];
    char room[RECEIVES][ROOM];
};

/* What the processes tell each other. */
struct board {
    struct central barrier;
    char address[2][256];
    size_t length[2];
    uint64_t base[2], key[2];
};

static inline void ofi_check(const char *what, ssize_t code)
{
    if (code < 0) {
        fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-code));
        exit(1);
    }
}

static inline struct port *ofi_open(const char *provider, struct board *board, int rank, char *memory, size_t bytes)
{
    static struct port p;
    struct fi_info *hints = fi_allocinfo();
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->fabric_attr->prov_name = strdup(provider);
    ofi_check("fi_getinfo", fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &p.info));
    ofi_check("fi_fabric", fi_fabric(p.info->fabric_attr, &p.fabric, NULL));
    ofi_check("fi_domain", fi_domain(p.fabric, p.info, &p.domain, NULL));
    struct fi_av_attr av = {.type = p.info->domain_attr->av_type, .count = 2};
    ofi_check("fi_av_open", fi_av_open(p.domain, &av, &p.av, NULL));
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_UNSPEC};
    ofi_check("fi_cq_open", fi_cq_open(p.domain, &cq, &p.cq, NULL));
    ofi_check("fi_endpoint", fi_endpoint(p.domain, p.info, &p.ep, NULL));
    ofi_check("fi_ep_bind", fi_ep_bind(p.ep, &p.av->fid, 0));
    ofi_check("fi_ep_bind", fi_ep_bind(p.ep, &p.cq->fid, FI_TRANSMIT | FI_RECV));
    ofi_check("fi_enable", fi_enable(p.ep));
    const uint64_t access = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    ofi_check("fi_mr_reg", fi_mr_reg(p.domain, memory, bytes, access, 0, 1, 0, &p.mr, NULL));
    board->key[rank] = fi_mr_key(p.mr);
    board->base[rank] = p.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)memory : 0;
    board->length[rank] = sizeof board->address[rank];
    ofi_check("fi_getname", fi_getname(&p.ep->fid, board->address[rank], &board->length[rank]));
    for (int i = 0; i < RECEIVES; i++)
        ofi_check("fi_recv", fi_recv(p.ep, p.room[i], ROOM, NULL, FI_ADDR_UNSPEC, &p.context[i]));
    central_barrier(&board->barrier, 2);
    if (fi_av_insert(p.av, board->address[1 - rank], 1, &p.peer, 0, NULL) != 1) {
        fprintf(stderr, "fi_av_insert\n");
        exit(1);
    }
    return &p;
}

/* The ways to wait for a completion; whether it was a receive, which is posted again. */
enum { SPIN, YIELD, BLOCK, WAYS };
static const char *const way_names[] = {"spin", "yield", "block"};
static inline int ofi_poll(struct port *p, int way)
{
    struct fi_cq_entry entry;
    /* A wait that never ends would miss the end of the job. */
    const ssize_t n = way == BLOCK ? fi_cq_sread(p->cq, &entry, 1, NULL, 100) : fi_cq_read(p->cq, &entry, 1);
    if (n == -FI_EAGAIN || n == 0) {
        if (way == YIELD)
            sched_yield();
        return -1;
    }
    ofi_check("completion", n);
    const ptrdiff_t i = (struct fi_context2 *)entry.op_context - p->context;
    if (i == RECEIVES)
        return 0;
    ofi_check("fi_recv", fi_recv(p->ep, p->room[i], ROOM, NULL, FI_ADDR_UNSPEC, &p->context[i]));
    return 1;
}
static inline void ofi_send(struct port *p, const void *data, size_t bytes)
{
    const int small = bytes <= p->info->tx_attr->inject_size;
    for (;;) {
        const ssize_t n = small ? fi_inject(p->ep, data, bytes, p->peer)
                                : fi_send(p->ep, data, bytes, NULL, p->peer, &p->context[RECEIVES]);
        if (n != -FI_EAGAIN) {
            ofi_check("send", n);
            return;
        }
        ofi_poll(p, YIELD);
    }
}

/* Closes the endpoint, which with the provider shm has memory that has a name. */
static void ofi_close(struct port *p)
{
    fi_close(&p->ep->fid);
}

#endif
