"""Turns the functions of a Python file into the table of nf4bench_peer.h.

nf4bench runs this text in an interpreter inside its own process and calls start() with the address
of a Door. From then on it reaches Python through C callbacks alone. docs/peers.md says what a
function of a file looks like; this page is how that is kept.
"""

import ast
import collections
import contextlib
import ctypes
import importlib.util
import inspect
import math
import os
import signal
import sys
import threading
import traceback
import types

DEQUANTIZE, MATMUL, EXPERTS, BACKWARD = 0, 1, 2, 3
CPU, CUDA = 0, 1
TYPES = ("float16", "bfloat16", "float32")
NOTHING_SAID = 0  # launches of a function that does not say how many kernels it is
ACTIVATIONS = ("silu", "gelu_tanh", "gptoss", "relu2")
FLAG_INLINE_PTX, FLAG_CACHE_HINTS, FLAG_LAYERS = 2, 4, 8
FLAG_COMPILED = 1 << 31  # between here and python_file.hpp
MOST_KNOWN_CALLS = 4096
ABI = 2


def struct(name, fields):
    return type(name, (ctypes.Structure,), {"_fields_": fields})


Job = struct("Job", [
    ("struct_bytes", ctypes.c_uint32), ("output_type", ctypes.c_int32), ("packed", ctypes.c_void_p),
    ("absmax", ctypes.c_void_p), ("absmax_codes", ctypes.c_void_p), ("nested_absmax", ctypes.c_void_p),
    ("nested_map", ctypes.c_void_p), ("nested_offset", ctypes.c_float), ("block_shift", ctypes.c_int32),
    ("elements", ctypes.c_int64), ("blocks", ctypes.c_int64), ("output", ctypes.c_void_p),
    ("workspace", ctypes.c_void_p), ("operation", ctypes.c_int32), ("nested", ctypes.c_int32),
    ("outputs", ctypes.c_int64), ("inputs", ctypes.c_int64), ("tokens", ctypes.c_int64),
    ("input", ctypes.c_void_p), ("nested_offset_at", ctypes.c_void_p), ("experts", ctypes.c_int64),
    ("top_k", ctypes.c_int64), ("ids", ctypes.c_void_p), ("slot_weights", ctypes.c_void_p),
    ("sums_slots", ctypes.c_int32), ("activation", ctypes.c_int32), ("columns", ctypes.c_int64)])
Device = struct("Device", [
    ("struct_bytes", ctypes.c_uint32), ("kind", ctypes.c_int32), ("compute_capability", ctypes.c_int32),
    ("multiprocessors", ctypes.c_int32), ("l2_bytes", ctypes.c_int64)])
UNSUPPORTED = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Job), ctypes.POINTER(Device))
LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
TEXT = ctypes.CFUNCTYPE(ctypes.c_void_p)
Variant = struct("Variant", [
    ("name", ctypes.c_char_p), ("summary", ctypes.c_char_p), ("operation", ctypes.c_int32),
    ("device", ctypes.c_int32), ("launches", ctypes.c_int32), ("flags", ctypes.c_uint32),
    ("unsupported", UNSUPPORTED), ("workspace_bytes", ctypes.c_void_p), ("launch", LAUNCH)])
Table = struct("Table", [
    ("abi", ctypes.c_uint32), ("variant_bytes", ctypes.c_uint32), ("variant_count", ctypes.c_uint32),
    ("table_bytes", ctypes.c_uint32), ("variants", ctypes.POINTER(Variant)), ("error_text", TEXT)])
LOAD = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double)
# As PythonDoor in python_file.cpp.
Door = struct("Door", [
    ("job_bytes", ctypes.c_uint32), ("table_bytes", ctypes.c_uint32), ("codebook", ctypes.c_void_p),
    ("load", LOAD), ("error", TEXT)])

kept = []    # what C points to
tables = {}  # by path: a Table, or the text of an error
last_error = ctypes.create_string_buffer(b"")
codebook = []


class BadFile(Exception):
    """What is wrong with a file, in words of its own."""


class TookTooLong(BaseException):
    pass


# --- what is said of an exception


def where(error, folder):
    """" (file.py:7)": the last line of the user's own that the exception came through."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if os.path.dirname(f.filename) == folder]
    return f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""


def words_of(error, folder):
    if isinstance(error, BadFile):
        return str(error)
    text = "".join(traceback.format_exception_only(type(error), error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if isinstance(error, SyntaxError):
        place = f" ({os.path.basename(error.filename or '')}:{error.lineno})"
        return lines[-1] + place
    # Most libraries say first what is wrong and then what may help; Triton shows the source first.
    is_triton = type(error).__module__.startswith("triton") and str(error).strip()
    line = f"{type(error).__name__}: {str(error).strip().splitlines()[-1]}" if is_triton else lines[0]
    return line + where(error, folder)


def remember(text):
    global last_error
    last_error = ctypes.create_string_buffer(text.encode("utf-8", "replace"))
    return ctypes.addressof(last_error)


# --- arrays over the buffers of nf4bench, in the words of each library


class Bare:
    """No library: memoryviews of host memory, and objects that name device memory."""

    devices = (CPU, CUDA)
    formats = {"uint8": "B", "int64": "q", "float32": "f", "float16": "H", "bfloat16": "H"}
    typestrings = {"uint8": "|u1", "int64": "<i8", "float32": "<f4", "float16": "<f2", "bfloat16": "<u2"}
    sizes = {"uint8": 1, "int64": 8, "float32": 4, "float16": 2, "bfloat16": 2}

    def array(self, address, shape, dtype, device):
        if device == CUDA:
            return types.SimpleNamespace(__cuda_array_interface__=self.interface(address, shape, dtype))
        return memoryview(self.memory(address, shape, dtype)).cast("B").cast(self.formats[dtype], shape)

    def memory(self, address, shape, dtype):
        count = self.sizes[dtype]
        for extent in shape:
            count *= extent
        return (ctypes.c_uint8 * count).from_address(address)

    def interface(self, address, shape, dtype):
        return {"shape": tuple(shape), "typestr": self.typestrings[dtype], "data": (address, False),
                "version": 2, "strides": None}

    def constant(self, values, device):
        if device == CUDA:
            return None
        return memoryview((ctypes.c_float * len(values))(*values)).cast("B").cast("f")

    def dtype(self, name):
        return name

    def shape(self, extents):
        return tuple(extents)

    def call(self, run, stream):
        return run()

    def deliver(self, result, out):
        raise TypeError(f"returned {type(result).__name__}; without numpy, CuPy or torch it has to fill out")


class Numpy(Bare):
    devices = (CPU,)
    names = {"uint8": "uint8", "int64": "int64", "float32": "float32", "float16": "float16", "bfloat16": "uint16"}

    def __init__(self):
        import numpy
        self.arrays = numpy

    def array(self, address, shape, dtype, device):
        memory = self.memory(address, shape, dtype)
        return self.arrays.frombuffer(memory, dtype=self.names[dtype]).reshape(shape)

    def constant(self, values, device):
        return self.arrays.array(values, dtype="float32")

    def dtype(self, name):
        return self.arrays.dtype(self.names[name])

    def deliver(self, result, out):
        if not isinstance(result, self.arrays.ndarray):
            raise TypeError(f"returned {type(result).__name__}, wanted an array")
        self.check(result, out)
        if self.address(result) != self.address(out):
            out[...] = result

    def address(self, array):
        return array.ctypes.data

    def check(self, result, out):
        if tuple(result.shape) != tuple(out.shape) or result.dtype != out.dtype:
            raise TypeError(f"returned {result.dtype} {tuple(result.shape)}, "
                            f"wanted {out.dtype} {tuple(out.shape)}")


class Cupy(Numpy):
    devices = (CUDA,)

    def __init__(self):
        import cupy
        self.arrays = cupy

    def array(self, address, shape, dtype, device):
        typestring = "<u2" if dtype == "bfloat16" else self.typestrings[dtype]
        interface = dict(self.interface(address, shape, dtype), typestr=typestring)
        return self.arrays.asarray(types.SimpleNamespace(__cuda_array_interface__=interface))

    def address(self, array):
        return array.data.ptr

    def call(self, run, stream):
        with self.arrays.cuda.ExternalStream(stream):
            return run()


class Torch(Bare):
    def __init__(self):
        import torch
        self.arrays = torch
        self.streams = {}
        self.pool = None

    def array(self, address, shape, dtype, device):
        torch = self.arrays
        if device == CPU:
            flat = torch.frombuffer(self.memory(address, shape, dtype), dtype=getattr(torch, dtype))
            return flat.view(shape)
        typestring = "<i2" if dtype == "bfloat16" else self.typestrings[dtype]
        interface = dict(self.interface(address, shape, dtype), typestr=typestring)
        tensor = torch.as_tensor(types.SimpleNamespace(__cuda_array_interface__=interface))
        return tensor.view(torch.bfloat16) if dtype == "bfloat16" else tensor

    def constant(self, values, device):
        return self.arrays.tensor(values, dtype=self.arrays.float32, device="cuda" if device == CUDA else "cpu")

    def dtype(self, name):
        return getattr(self.arrays, name)

    def shape(self, extents):
        return self.arrays.Size(extents)

    def call(self, run, stream):
        if not stream:
            return run()
        torch = self.arrays
        if stream not in self.streams:
            self.streams[stream] = torch.cuda.ExternalStream(stream)
        torch.cuda.set_stream(self.streams[stream])
        if not torch.cuda.is_current_stream_capturing():
            return run()
        # What is allocated while a graph is recorded is the graph's own: blocks of a pool of their
        # own, which stay as long as the process, are given to nothing else.
        if self.pool is None:
            self.pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(self.pool):
            return run()

    def deliver(self, result, out):
        if not isinstance(result, self.arrays.Tensor):
            raise TypeError(f"returned {type(result).__name__}, wanted a tensor")
        if result.shape != out.shape or result.dtype != out.dtype or result.device != out.device:
            raise TypeError(f"returned {result.dtype} {tuple(result.shape)} on {result.device}, "
                            f"wanted {out.dtype} {tuple(out.shape)} on {out.device}")
        if result.data_ptr() != out.data_ptr() or result.stride() != out.stride():
            out.copy_(result)


LIBRARIES = {"torch": Torch, "cupy": Cupy, "numpy": Numpy, "none": Bare}
libraries = {}  # those in use, by name


def library_named(name):
    if name not in LIBRARIES:
        raise BadFile(f"arrays = {name!r}: wanted one of {', '.join(LIBRARIES)}")
    if name not in libraries:
        libraries[name] = LIBRARIES[name]()
    return libraries[name]


# --- what a function is given


class QuantState:
    """What bitsandbytes' QuantState says of a weight, with the names of its attributes."""

    quant_type = "nf4"

    def __init__(self, **facts):
        self.__dict__.update(facts)

    @property
    def nested(self):
        return self.state2 is not None


class Layer:
    """As far as a decoder looks at bitsandbytes' Linear4bit."""

    def __init__(self, weight, state):
        weight.quant_state = state
        self.weight = weight
        self.out_features, self.in_features = state.shape


codebooks = {}  # by library and device


def codebook_of(library, device):
    """Made by the first call of all, for nothing can be copied to a GPU while a graph is recorded."""
    if (library, device) not in codebooks:
        codebooks[library, device] = library.constant(codebook, device)
    return codebooks[library, device]


def weights_of(job):
    """The shapes of the weights of a job, each with the block that it begins with; a layer of experts has two."""
    sizes = (job.inputs, job.outputs) if job.operation == BACKWARD else (job.outputs, job.inputs)
    if job.operation != EXPERTS:
        return [(sizes, 0)]
    if job.columns == 0:
        return [((job.experts, *sizes), 0)]
    rows = job.columns * (1 if ACTIVATIONS[job.activation] == "relu2" else 2)
    border = job.experts * rows * job.inputs >> job.block_shift
    return [((job.experts, rows, job.inputs), 0), ((job.experts, job.outputs, job.columns), border)]


def packed_of(job, library, device, shape, first):
    begin = (first << job.block_shift) // 2
    return library.array(job.packed + begin, ((math.prod(shape) + 1) // 2, 1), "uint8", device)


def state_of(job, library, device, shape, first, tensors=True):
    def array(address, offset, sizes, dtype):
        return library.array(address + offset, sizes, dtype, device) if tensors else None

    facts = {"shape": library.shape(shape), "dtype": library.dtype(TYPES[job.output_type]),
             "blocksize": 1 << job.block_shift, "code": None, "absmax": None, "offset": None, "state2": None}
    if tensors:
        facts["code"] = codebook_of(library, device)
    blocks = -(-math.prod(shape) >> job.block_shift)  # rounded up
    if not job.nested:
        facts["absmax"] = array(job.absmax, 4 * first, (blocks,), "float32")
        return QuantState(**facts)
    groups = (blocks + 255) // 256
    facts["absmax"] = array(job.absmax_codes, first, (blocks,), "uint8")
    facts["offset"] = array(job.nested_offset_at, 0, (), "float32")
    facts["state2"] = QuantState(
        absmax=array(job.nested_absmax, first // 256 * 4, (groups,), "float32"),
        code=array(job.nested_map, 0, (256,), "float32"),
        blocksize=256, dtype=library.dtype("float32"), shape=None, offset=None, state2=None)
    return QuantState(**facts)


# --- which functions of a file are variants, and how each is called

Form = collections.namedtuple("Form", "operation takes_layer takes_out both_stacks", defaults=(False,))


def form_of(function):
    """How `function` is to be called; None when it is not one that nf4bench can call."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    by_place = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = [p.name for p in by_place]
    takes_out = any(p.name == "out" for p in parameters)
    given = {"out"}
    if names[1:2] == ["quant_state"]:
        given.update(names[:2])
        form = Form(DEQUANTIZE, False, takes_out)
    elif names[2:8] == ["quant_state", "down_weight", "down_quant_state", "ids", "slot_weights", "activation"]:
        given.update(names[:8])
        form = Form(EXPERTS, False, takes_out, both_stacks=True)
    elif names[2:5] == ["quant_state", "ids", "slot_weights"]:
        given.update(names[:5])
        form = Form(EXPERTS, False, takes_out)
    elif names[2:3] == ["quant_state"]:
        given.update(names[:3])
        form = Form(BACKWARD if names[0] == "dy" else MATMUL, False, takes_out)
    elif names[:1] == ["weight"]:
        given.add("weight")
        form = Form(DEQUANTIZE, True, takes_out)
    else:
        return None
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return form if set(needed) <= given else None


class Function:
    """A function of a file on a kind of device, as the C callbacks see it."""

    def __init__(self, function, form, library, device, folder):
        self.function, self.form, self.arrays = function, form, library
        self.device, self.folder = device, folder
        self.known = {}  # calls by the bytes of their job: making arrays takes longer than a launch

    def call_of(self, job):
        library, device, form = self.arrays, self.device, self.form
        dtype = TYPES[job.output_type]
        arguments = []
        for weight in weights_of(job):
            arguments += [packed_of(job, library, device, *weight), state_of(job, library, device, *weight)]
        rows, columns = job.outputs, job.inputs
        if form.takes_layer:
            arguments = [Layer(*arguments)]
        if form.operation in (MATMUL, BACKWARD):
            arguments.insert(0, library.array(job.input, (job.tokens, job.inputs), dtype, device))
            rows, columns = job.tokens, job.outputs
        if form.operation == EXPERTS:
            slots = job.tokens * job.top_k
            read = slots if job.sums_slots and not form.both_stacks else job.tokens
            rows, columns = job.tokens if job.sums_slots else slots, job.outputs
            arguments.insert(0, library.array(job.input, (read, job.inputs), dtype, device))
            chosen = (job.tokens, job.top_k)
            arguments.append(library.array(job.ids, chosen, "int64", device))
            arguments.append(library.array(job.slot_weights, chosen, "float32", device) if job.sums_slots else None)
        if form.both_stacks:
            arguments.append(ACTIVATIONS[job.activation])
        out = library.array(job.output, (rows, columns), dtype, device)
        return arguments, {"out": out} if form.takes_out else {}, out

    def run(self, arguments, keywords, out):
        result = self.function(*arguments, **keywords)
        if result is not None and result is not out:
            self.arrays.deliver(result, out)
        elif result is None and not self.form.takes_out:
            raise TypeError("returned nothing, and has no parameter out that it could have filled")

    def launch(self, job_address, stream):
        try:
            key = ctypes.string_at(job_address, ctypes.sizeof(Job))
            call = self.known.get(key)
            if call is None:
                if len(self.known) >= MOST_KNOWN_CALLS:
                    self.known.clear()
                call = self.known[key] = self.call_of(Job.from_address(job_address))
            self.arrays.call(lambda: self.run(*call), stream)
            return 0
        except BaseException as error:
            remember(words_of(error, self.folder))
            return 1

    def why_not(self, job, device):
        if self.form.both_stacks and job.columns == 0:
            return "does whole layers alone"
        asked = getattr(self.function, "unsupported", None)
        if asked is None:
            return None
        try:
            return asked(state_of(job, self.arrays, self.device, *weights_of(job)[0], tensors=False),
                         types.SimpleNamespace(type="cuda" if device.kind == CUDA else "cpu",
                                               compute_capability=device.compute_capability))
        except BaseException as error:
            return "its unsupported() raised " + words_of(error, self.folder)

    def unsupported(self, job, device):
        reason = self.why_not(job.contents, device.contents)
        if not reason:
            return None
        text = ctypes.create_string_buffer(str(reason).encode("utf-8", "replace"))
        kept.append(text)
        return ctypes.addressof(text)


def compiled(function):
    """`function` through torch.compile, as one graph or not at all; compiled when it is called first."""
    made = []

    def run(*arguments, **keywords):
        if not made:
            import torch
            for limit in ("recompile_limit", "cache_size_limit"):  # every type and shape is one more
                if hasattr(torch._dynamo.config, limit):
                    setattr(torch._dynamo.config, limit, 1 << 20)
            made.append(torch.compile(function, fullgraph=True))
        return made[0](*arguments, **keywords)

    if hasattr(function, "unsupported"):
        run.unsupported = function.unsupported
    return run


# --- a file


def imported_by(tree):
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


def check_names(tree):
    lines = {}
    for node in tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name.startswith("_"):
            continue
        if node.name in lines:
            raise BadFile(f"defines {node.name} in lines {lines[node.name]} and {node.lineno}, of which "
                          "Python keeps the last; rename one")
        lines[node.name] = node.lineno


@contextlib.contextmanager
def ended_after(limit_s):
    """Raises TookTooLong inside after so many seconds; a signal, because it ends a sleep as well."""
    def give_up(*_):
        raise TookTooLong

    here = threading.get_ident()
    signal.signal(signal.SIGALRM, give_up)
    timer = threading.Timer(limit_s, lambda: signal.pthread_kill(here, signal.SIGALRM))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        timer.cancel()


def import_file(path, limit_s):
    """The module, and the names of what it imports."""
    with open(path, "rb") as file:
        tree = ast.parse(file.read(), path)
    check_names(tree)
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = "nf4bench_peer_" + os.path.splitext(os.path.basename(path))[0]
    if name in sys.modules:
        name += f"_{len(tables)}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with ended_after(limit_s):
            spec.loader.exec_module(module)
    except TookTooLong:
        raise BadFile(f"is not imported after {limit_s:g} s; NF4BENCH_PYTHON_IMPORT_S allows for more") from None
    except SystemExit as error:
        raise BadFile(f"calls sys.exit({error.code!r}) while it is imported") from None
    return module, imported_by(tree)


def library_of(module, function, imports):
    said = getattr(function, "arrays", getattr(module, "arrays", None))
    if isinstance(said, str):
        return library_named(said)
    loaded = {name for name in ("torch", "cupy", "numpy") if name in sys.modules}
    for names in (imports, loaded):
        if names & {"torch", "triton"}:
            return library_named("torch")
        for name in ("cupy", "numpy"):
            if name in names:
                return library_named(name)
    return library_named("none")


def devices_of(library, imports):
    if "triton" in imports and os.environ.get("TRITON_INTERPRET", "0") != "1":
        return (CUDA,)
    return library.devices


def count_of(function):
    launches = getattr(function, "launches", NOTHING_SAID)
    if not isinstance(launches, int) or not 0 <= launches <= 1000:
        raise BadFile(f"launches of a function is {launches!r}, wanted the number of its kernels")
    return launches


def flags_of(function, form):
    return (FLAG_INLINE_PTX if getattr(function, "inline_ptx", False) else 0) | \
        (FLAG_CACHE_HINTS if getattr(function, "cache_hints", False) else 0) | (FLAG_LAYERS if form.both_stacks else 0)


def public(module):
    listed = getattr(module, "__all__", None)
    for name in list(vars(module)) if listed is None else listed:
        if not hasattr(module, name):
            raise BadFile(f"lists {name} in __all__ and does not define it")
        value = getattr(module, name)
        if callable(value) and not inspect.isclass(value) and (listed is not None or not name.startswith("_")):
            yield name, value


def variants_of(module, imports, folder):
    for name, function in public(module):
        form = form_of(function)
        if form is None:
            continue
        library = library_of(module, function, imports)
        if form.takes_layer and not isinstance(library, Torch):
            continue
        summary = (inspect.getdoc(function) or "").split("\n")[0]
        for device in devices_of(library, imports):
            common = {"operation": form.operation, "device": device, "launches": count_of(function)}
            yield Function(function, form, library, device, folder), dict(
                common, name=name, summary=summary, flags=flags_of(function, form))
            if getattr(function, "torch_compile", False):
                if not isinstance(library, Torch):
                    raise BadFile(f"{name}.torch_compile is set, and its arrays are not torch's")
                yield Function(compiled(function), form, library, device, folder), dict(
                    common, name=name + "_compiled", summary=f"{name} through torch.compile, as one graph",
                    flags=flags_of(function, form) | FLAG_COMPILED)


def table_of(path, limit_s):
    module, imports = import_file(path, limit_s)
    folder = os.path.dirname(path)
    entries = []
    for function, facts in variants_of(module, imports, folder):
        entry = Variant(name=facts.pop("name").encode(), summary=facts.pop("summary").encode(), **facts)
        entry.unsupported = UNSUPPORTED(function.unsupported)
        entry.launch = LAUNCH(function.launch)
        kept.append((function, entry.unsupported, entry.launch))
        entries.append(entry)
    if not entries:
        raise BadFile("has no function that can be called with a weight and its quant_state, as in "
                      "def dequantize(weight, quant_state, out); docs/peers.md shows what is looked for")
    array = (Variant * len(entries))(*entries)
    table = Table(abi=ABI, variant_bytes=ctypes.sizeof(Variant), variant_count=len(entries),
                  table_bytes=ctypes.sizeof(Table), variants=array, error_text=error_text)
    kept.append((array, entries, table))
    return table


def load(path, limit_s):
    path = os.path.abspath(os.fsdecode(path))
    if path not in tables:
        try:
            tables[path] = table_of(path, limit_s)
        except BaseException as error:
            tables[path] = words_of(error, os.path.dirname(path))
            if isinstance(error, ModuleNotFoundError):
                tables[path] += f"; Python is {sys.executable}, and NF4BENCH_PYTHON=/path/to/python3 names another"
    found = tables[path]
    if isinstance(found, str):
        remember(found)
        return None
    return ctypes.addressof(found)


error_text = TEXT(lambda: ctypes.addressof(last_error))
load_callback = LOAD(load)


def start(address):
    door = Door.from_address(address)
    if door.job_bytes != ctypes.sizeof(Job) or door.table_bytes != ctypes.sizeof(Table):
        raise SystemError("the structs here are not those of nf4bench_peer.h")
    codebook.extend((ctypes.c_float * 16).from_address(door.codebook))
    # stdout is for reports.
    sys.stdout = sys.__stdout__ = sys.stderr
    sys.argv = ["nf4bench"]
    door.load, door.error = load_callback, error_text
