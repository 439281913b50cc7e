"""Where a step of QLoRA training spends its time: kernels by kind, from a trace of torch.profiler.

A span is (name, begin, end, scope): one kernel in us, and what it was called by, from the inside out. An operator is
in a scope by its name and, behind a space, the shapes of what it was given.
"""

import collections
import contextlib
import functools
import re

import torch
from measure import BOTH, both, switch, synchronize
from table import KINDS

LAYER = "a layer of the model"  # everything outside of it is no part of what is computed in it
_PRODUCTS = re.compile(r"aten::(_?addmm\w*|mm|bmm|baddbmm|linear|matmul|mkldnn_\w+) \[")
_ATTENTION = re.compile(r"scaled_?dot_?product|flash_?att|fmha|fused_attention", re.IGNORECASE)
# Of bitsandbytes and of libnf4; those that decode and multiply at once are products.
_DECODE = re.compile(r"kDequantize|dequantize_(4bit|blockwise)|\b(decode_(weight|absmax)|add_offset|persistent|"
                     r"fused_(tile|wide|planes)|stream_(tile|ahead))\b")
_BACKWARD = "autograd::engine::evaluate_function"


def _numbers(text):
    return {int(each) for each in re.findall(r"\d+", text)}


def _of_base(name, scope, product, kind):
    """A span inside a product with an NF4 weight: that product, or what it is prepared by."""
    # bitsandbytes adds the offset of nested scales by an operator of PyTorch.
    is_scale = not product and scope[0].startswith("aten::")
    return "decode" if is_scale or (not product and _DECODE.search(name)) else kind


def kind_of(name, scope, rank, vocabulary):
    """One of KINDS; `rank` is LoRA's, and no size of the model may equal it."""
    product = ""
    for each in scope:
        word = each.partition(" ")[0]
        product = product or (each if _PRODUCTS.match(each) else "")
        if word == "MatMul4BitBackward":
            return _of_base(name, scope, product, "backward")
        if word in ("MatMul4Bit", "bitsandbytes::gemm_4bit"):
            again = any(outer.startswith(_BACKWARD) for outer in scope)
            return _of_base(name, scope, product, "recompute" if again else "forward")
        if _ATTENTION.search(word):
            return "attention"
        if word.startswith("Optimizer.step"):
            return "optimizer"
        if each == LAYER:
            break
    if product:
        sizes = _numbers(product.partition(" ")[2])
        return "lora" if rank in sizes else "head" if vocabulary in sizes else "rest"
    return "decode" if _DECODE.search(name) else "attention" if _ATTENTION.search(name) else "rest"


def union_us(spans):
    """How long at least one of them runs."""
    total, until = 0.0, float("-inf")
    for _, begin, end, _ in sorted(spans, key=lambda each: each[1]):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def totals(spans, rank, vocabulary):
    """{kind: ms}, and the kernels that take most: name, kind, calls, ms."""
    kinds, kernels = dict.fromkeys(KINDS, 0.0), collections.defaultdict(lambda: [0, 0.0])
    for name, begin, end, scope in spans:
        kind = kind_of(name, scope, rank, vocabulary)
        kinds[kind] += (end - begin) / 1e3
        each = kernels[name[:120], kind]
        each[0], each[1] = each[0] + 1, each[1] + (end - begin) / 1e3
    most = sorted(kernels.items(), key=lambda each: -each[1][1])[:30]
    return kinds, [{"name": name, "kind": kind, "calls": calls, "ms": ms} for (name, kind), (calls, ms) in most]


def _label(event):
    shapes = getattr(event, "input_shapes", None)
    return f"{event.name} {shapes}" if shapes and any(shapes) else event.name


def _scope(event):
    found = []
    while event is not None:
        found.append(_label(event))
        event = getattr(event, "cpu_parent", None)
    return tuple(found)


def _own_spans(event):
    """An operator of a CPU, less the operators that it calls."""
    scope, begin = _scope(event), event.time_range.start
    for each in sorted(event.cpu_children, key=lambda each: each.time_range.start):
        yield event.name, begin, each.time_range.start, scope
        begin = each.time_range.end
    yield event.name, begin, event.time_range.end, scope


def spans_of(events, has_gpu):
    """Of the events of a profiler: kernels of a GPU, or operators where there is none."""
    host = [each for each in events if str(each.device_type).endswith("CPU")]
    if not has_gpu:
        return [span for each in host if each.name.startswith(("aten::", "bitsandbytes::"))
                for span in _own_spans(each)]
    # A kernel has the number of the call that launched it, and that call is inside an operator.
    launches = {each.id: each for each in host if each.name.startswith("cu")}
    operators = {each.id: each for each in host if not each.name.startswith("cu")}
    names = {each.name for each in host}  # ranges of the host are shown on the GPU as well
    found = []
    for each in events:
        if str(each.device_type).endswith("CUDA") and each.name not in names:
            launch = launches.get(each.id)
            caller = launch.cpu_parent if launch else operators.get(getattr(each, "linked_correlation_id", 0))
            found.append((each.name, each.time_range.start, each.time_range.end, _scope(caller)))
    if not found:
        raise RuntimeError("the profiler saw no kernel")
    return found


@contextlib.contextmanager
def marked_layers(model):
    """Names each forward of a layer of the model in traces, also one that a checkpoint computes again."""
    layers = [each for each in model.modules() if type(each).__name__.endswith("DecoderLayer")]

    def marked(forward, *arguments, **named):
        with torch.profiler.record_function(LAYER):
            return forward(*arguments, **named)

    for each in layers:
        each.forward = functools.partial(marked, each.forward)
    try:
        yield
    finally:
        for each in layers:
            del each.forward


def traced(model, work):
    """The spans of one call."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    has_gpu = torch.cuda.is_available()
    if has_gpu:
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with marked_layers(model), torch.profiler.profile(activities=activities, record_shapes=True) as profiler:
        work()
        synchronize()
    return spans_of(profiler.events(), has_gpu)


def by_kind(model, step, ms, rank, vocabulary):
    """{field: {who: ms}} of one step: busy, idle, each kind and what no operator is known for, and largest kernels."""
    fields, largest = collections.defaultdict(dict), {}
    for who, ours in BOTH:
        switch(ours)
        step()
        spans = traced(model, step)
        kinds, largest[who] = totals(spans, rank, vocabulary)
        kinds["busy"] = union_us(spans) / 1e3
        # A profiler slows the host down, so idle is what kernels leave of a step that nothing looked at.
        kinds["idle"] = max(0.0, ms[who]["median"] - kinds["busy"])
        kinds["unknown"] = sum(end - begin for _, begin, end, scope in spans if not scope) / 1e3
        for kind, value in kinds.items():
            fields[f"{kind}_ms"][who] = value
            fields[f"{kind}_share"][who] = value / ms[who]["median"]
    return fields, largest


def measure_trace(model, step, batches, device, milliseconds, rounds=8):
    """Yields, for each batch and length, the ms of a step and of what is in it."""
    config = model.config
    for length in (each for each in (512, 2048) if each <= config.max_position_embeddings):
        for batch in batches:
            tokens = torch.randint(0, config.vocab_size, (batch, length), device=device)
            once = functools.partial(step, tokens)
            ms = both(lambda once=once: milliseconds(once), rounds)
            rank = model.peft_config["default"].r
            fields, largest = by_kind(model, once, ms, rank, config.vocab_size)
            yield f"{batch} x {length}", {"tokens": batch * length, "rank": rank, "ms": ms, **fields,
                                          "kernels": largest}
