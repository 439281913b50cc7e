"""Reports that "nf4bench run --json" wrote, as typed objects and as pandas frames."""

import dataclasses
import json
import os
import typing

Interval = typing.Optional[typing.Tuple[float, float]]


class NotAReport(ValueError):
    """A file is not a report that this version can read; says why."""


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A weight that was measured; shape is outputs and inputs."""

    id: str
    name: str
    shape: typing.Tuple[int, ...]
    elements: int
    blocksize: int
    nested: bool
    dtype: str
    multiplicity: int


@dataclasses.dataclass(frozen=True)
class Time:
    """Seconds of one call; ci95 is the 95 % interval of the median, if there are enough samples."""

    median: float
    mean: float
    min: float
    p05: float
    p95: float
    mad: float
    ci95: Interval


@dataclasses.dataclass(frozen=True)
class Speedup:
    """How many times as fast as the baseline."""

    baseline: str
    ratio: float
    ci95: Interval


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One variant in one cell. What a report does not have is None; raw is its JSON, with all of it."""

    tensor: Tensor
    operation: str
    variant: str
    device: str
    output_dtype: str
    cache: str
    launch: str
    tokens: typing.Optional[int]
    status: str
    reason: typing.Optional[str]
    time: typing.Optional[Time]
    speedup: typing.Optional[Speedup]
    bytes_per_s: typing.Optional[float]
    fraction_of_copy: typing.Optional[float]
    fraction_of_stream: typing.Optional[float]
    fraction_of_roof: typing.Optional[float]
    samples_s: typing.Tuple[float, ...] = dataclasses.field(repr=False)
    raw: dict = dataclasses.field(repr=False, compare=False)

    @property
    def passed(self):
        return self.status == "passed"


@dataclasses.dataclass(frozen=True, repr=False)
class Report:
    """One run. raw is the JSON, with what has no member here."""

    schema_version: str
    complete: bool
    started_at: str
    host: str
    device: str
    device_id: str
    device_uuid: typing.Optional[str]
    tensors: typing.Tuple[Tensor, ...]
    variants: typing.Tuple[str, ...]
    measurements: typing.Tuple[Measurement, ...]
    warnings: typing.Tuple[str, ...]
    raw: dict = dataclasses.field(compare=False)

    def __repr__(self):
        return (f"<Report of {self.started_at} on {self.host}, {self.device} ({self.device_id}): "
                f"{len(self.tensors)} tensors, {len(self.variants)} variants, {len(self.measurements)} measurements, "
                f"{len(self.warnings)} warnings{'' if self.complete else ', not complete'}>")

    def frame(self):
        """A pandas frame with a row for each measurement; times in seconds."""
        pandas = _pandas()
        return pandas.DataFrame([{**_row(each), **self._machine()} for each in self.measurements])

    def samples(self):
        """A pandas frame with a row for each timed sample."""
        pandas = _pandas()
        return pandas.DataFrame([{**_cell(each), "sample": number, "seconds": seconds, **self._machine()}
                                 for each in self.measurements for number, seconds in enumerate(each.samples_s)])

    def _machine(self):
        # So that frames of several machines can be joined.
        return {"host": self.host, "device_name": self.device, "device_uuid": self.device_uuid}

    def plot(self, kind="bandwidth", variant=None, dtype=None):
        """A matplotlib figure: bandwidth, speedup or tokens. variant: names with wildcards, by commas."""
        from . import plot
        return plot.figure_of([self.raw], kind, variant, dtype)


def load(path):
    """The report in a file. Raises OSError, or NotAReport for what is none."""
    with open(path, encoding="utf-8") as file:
        try:
            raw = json.load(file)
        except ValueError as error:
            raise NotAReport(f"{os.fspath(path)}: {error}") from error
    return of(raw, os.fspath(path))


def of(raw, name="this"):
    """The report in a parsed JSON document. Raises NotAReport."""
    if not isinstance(raw, dict) or raw.get("schema") != "nf4bench.report":
        raise NotAReport(f'{name} is not a report as "nf4bench run --json" writes it')
    if str(raw.get("schema_version", "")).partition(".")[0] != "1":
        raise NotAReport(f"{name} has the schema version {raw.get('schema_version')}, and this reads 1")
    try:
        tensors = {each["id"]: _tensor(each) for each in raw["tensors"]}
        return Report(
            raw["schema_version"], raw.get("complete", True), raw["started_at"], raw["host"]["name"],
            raw["device"]["name"], raw["device"]["id"], raw["device"]["uuid"], tuple(tensors.values()),
            tuple(each["name"] for each in raw["variants"]),
            tuple(_measurement(each, tensors) for each in raw["measurements"]), tuple(raw.get("warnings", ())), raw)
    except (KeyError, TypeError, AttributeError) as error:
        raise NotAReport(f"{name} lacks what every report has: {type(error).__name__} {error}") from error


def _tensor(raw):
    return Tensor(raw["id"], raw["name"], tuple(raw["shape"]), raw["elements"], raw["blocksize"], raw["nested"],
                  raw["dtype"], raw.get("multiplicity", 1))


def _interval(raw):
    return None if raw is None else tuple(raw)


def _measurement(raw, tensors):
    time, speedup = raw.get("time_s"), raw.get("speedup")
    return Measurement(
        tensor=tensors[raw["tensor"]], time=time and Time(**{**_only(Time, time), "ci95": _interval(time.get("ci95"))}),
        speedup=speedup and Speedup(speedup["baseline"], speedup["ratio"], _interval(speedup.get("ci95"))),
        samples_s=tuple(raw.get("samples_s") or ()), raw=raw,
        **{name: raw[name] for name in ("operation", "variant", "device", "output_dtype", "cache", "launch", "status")},
        **{name: raw.get(name) for name in ("tokens", "reason", "bytes_per_s", "fraction_of_copy",
                                            "fraction_of_stream", "fraction_of_roof")})


def _only(kind, raw):
    return {each.name: raw[each.name] for each in dataclasses.fields(kind) if each.name != "ci95"}


def _shape(tensor):
    return "x".join(map(str, tensor.shape))


def _cell(measurement):
    tensor = measurement.tensor
    cell = {"name": tensor.name, "shape": _shape(tensor), "blocksize": tensor.blocksize, "nested": tensor.nested}
    for each in ("operation", "variant", "device", "output_dtype", "cache", "launch", "tokens"):
        cell[each] = getattr(measurement, each)
    return cell


def _row(measurement):
    time, speedup = measurement.time, measurement.speedup
    low, high = (time and time.ci95) or (None, None)
    row = {**_cell(measurement), "status": measurement.status, "reason": measurement.reason}
    row.update(median_s=time and time.median, low_s=low, high_s=high)
    for each in ("bytes_per_s", "fraction_of_copy", "fraction_of_stream", "fraction_of_roof"):
        row[each] = getattr(measurement, each)
    row.update(speedup=speedup and speedup.ratio, baseline=speedup and speedup.baseline)
    return row


def _pandas():
    try:
        import pandas
    except ImportError as error:
        raise ImportError("frames need pandas: pip install pandas, or apt-get install python3-pandas") from error
    return pandas
