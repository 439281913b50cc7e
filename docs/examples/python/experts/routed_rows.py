"""What the files beside this one share: rows in the order of their experts, and back."""

import torch


def sorted_rows(x, ids, slot_weights, experts):
    """The row of each slot by expert, where the rows of each expert end, and what slots() takes to put them back."""
    flat = ids.reshape(-1)
    valid = (flat >= 0) & (flat < experts)
    key, order = torch.where(valid, flat, experts).sort(stable=True)
    rows = x[order] if slot_weights is not None else x[order // ids.shape[1]]
    ends = torch.searchsorted(key, torch.arange(experts, device=x.device), right=True).to(torch.int32)
    return rows, ends, (order, valid, ids.shape, slot_weights)


def slots(products, back):
    """Products of sorted rows, in the order of slots or summed over those of a token; those of no expert are zero."""
    order, valid, shape, slot_weights = back
    result = torch.empty_like(products)
    result[order] = products
    if slot_weights is not None:
        result = result.float() * slot_weights.reshape(-1, 1)
    # Whatever stands in rows and weights of no expert may be no number.
    result = torch.where(valid[:, None], result, torch.zeros((), dtype=result.dtype, device=result.device))
    return result if slot_weights is None else result.view(*shape, -1).sum(1).to(products.dtype)
