"""Medians of interleaved measurements, with intervals."""

import statistics
import time

import torch

import nf4bench.torch

BOTH = (("bitsandbytes", False), ("nf4bench", True))


def synchronize():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def switch(ours):
    (nf4bench.torch.activate if ours else nf4bench.torch.deactivate)()


def summary(samples, unit):
    """The median, and its 95 % interval by order statistics (the whole range below 6 samples)."""
    ordered = sorted(samples)
    count = len(ordered)
    margin = int(0.98 * count**0.5 + 1)
    low, high = max(0, count // 2 - margin), min(count - 1, (count - 1) // 2 + margin)
    return {"median": statistics.median(ordered), "low": ordered[low], "high": ordered[high], "samples": count,
            "unit": unit}


def interleaved(works, rounds, unit="ms"):
    """works: name -> function that measures once and returns a number. In turn, each `rounds` times."""
    samples = {name: [] for name in works}
    for turn in range(rounds):
        for name in (list(works) if turn % 2 == 0 else list(works)[::-1]):
            samples[name].append(works[name]())
    return {name: summary(each, unit) for name, each in samples.items()}


def both(measure, rounds, unit="ms"):
    """Measures with bitsandbytes' own code and with the drop-in, in turn."""
    def under(ours):
        def once():
            switch(ours)
            return measure()
        return once
    for ours in (False, True):
        under(ours)()  # the first call of each pays for what is loaded and compiled
    return interleaved({"bitsandbytes": under(False), "nf4bench": under(True)}, rounds, unit)


def host_us(work, calls=200):
    """Microseconds of the host for one call, with nothing waiting for the device."""
    synchronize()
    begin = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - begin) / calls * 1e6


def graphed_us(work, replays=100):
    """What measures microseconds of the GPU for `work`, recorded into a CUDA graph; its data stay in the cache."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        work()
    synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()

    def measure():
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(replays):
            graph.replay()
        end.record()
        synchronize()
        return begin.elapsed_time(end) * 1e3 / replays
    return measure
