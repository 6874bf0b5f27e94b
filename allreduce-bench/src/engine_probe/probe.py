"""One rank of a serving engine's own all-reduce, inside the engine's own Python environment.

It answers the requests of a rank of this program (messages.rs); a message is the byte 0x1e, JSON, a line end. It measures nothing
but the all-reduce of the engine's tensor parallel group, and nothing of the environment leaves it. Works from Python 3.9 on.
"""

import sys

# What lies where the program was started, such as a checkout of the engine or a types.py, must not hide what is installed.
if sys.path and sys.path[0] == "":
    del sys.path[0]

import contextlib  # noqa: E402
import ctypes  # noqa: E402
import gc  # noqa: E402
import inspect  # noqa: E402
import json  # noqa: E402
import logging  # noqa: E402
import os  # noqa: E402
import signal  # noqa: E402
import socket  # noqa: E402
import time  # noqa: E402

MARK = "\x1e"
# Whole numbers up to this are exact in bfloat16, and so is each partial sum.
LARGEST = 256
# What no sum is, since nothing negative is added up.
SPOILT = -1
DTYPES = {"bf16": ("bfloat16", 2), "f16": ("float16", 2), "f32": ("float32", 4)}
# For so long nothing is said while samples are taken: the parent wakes up to hear it, on CPUs that the ranks may need.
QUIET_S = 0.25


class Refused(Exception):
    """Something that the parent is told in words."""


# --- the pipe --------------------------------------------------------------------------------------------------------------


def die_with_parent():
    """Asks the kernel to end this process with its parent, as ranks of this program do."""
    parent = int(os.environ.get("TPLENS_PARENT_PID", "0"))
    try:
        # PR_SET_PDEATHSIG of prctl(2).
        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)
    except (OSError, AttributeError):
        return
    if parent and os.getppid() != parent:
        sys.exit(0)


class Line:
    """The pipes to the parent. Engines print on standard output and start processes that read standard input: both get others."""

    def __init__(self):
        self.out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        self.into = os.fdopen(os.dup(0), "r", encoding="utf-8")
        os.dup2(2, 1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)

    def requests(self):
        for line in self.into:
            yield json.loads(line.rsplit(MARK, 1)[-1])

    def send(self, **reply):
        if isinstance(reply.get("reason"), str):
            kind = "unsupported" if reply["is"] == "not_there" else "internal"
            reply["reason"] = {"kind": kind, "detail": reply["reason"]}
        self.out.write(MARK + json.dumps(reply) + "\n")
        self.out.flush()

    def doing(self, what):
        self.send(**{"is": "doing", "doing": what})


def one_line(error):
    """An exception on one line."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}"[:600]


# --- engines ---------------------------------------------------------------------------------------------------------------


class Vllm:
    """vLLM, also with a plugin for another vendor's GPUs such as vLLM-metax."""

    name = "vllm"

    def __init__(self):
        import vllm
        from vllm.distributed import parallel_state

        with contextlib.suppress(ImportError):
            # Its workers load the kernels so; without them its CPU groups do not find their shared memory.
            import vllm._custom_ops  # noqa: F401
        self.state = parallel_state
        self.version = getattr(vllm, "__version__", None)
        self.context = contextlib.ExitStack()

    def join(self, device, local, init, ranks, rank):
        # Its CPU workers name their shared memory after this.
        os.environ["VLLM_DIST_IDENT"] = init.rsplit(":", 1)[-1]
        self.configure()
        self.state.init_distributed_environment(
            world_size=ranks,
            rank=rank,
            distributed_init_method=init,
            local_rank=local,
            backend="gloo" if device.type == "cpu" else "nccl",
        )
        self.make_groups(ranks)

    def configure(self):
        """Newer versions ask for a configuration while groups are made and calls go on; older ones have none to set."""
        try:
            from vllm.config import VllmConfig, set_current_vllm_config
        except ImportError:
            return
        self.context.enter_context(set_current_vllm_config(VllmConfig()))

    def make_groups(self, ranks):
        self.state.initialize_model_parallel(tensor_model_parallel_size=ranks)

    def group(self):
        return self.state.get_tp_group()

    def all_reduce(self, tensor):
        return self.group().all_reduce(tensor)

    def capture(self, device):
        return self.state.graph_capture(device=device)

    def holder(self):
        """Who has the group's communicators as attributes."""
        return getattr(self.group(), "device_communicator", None) or self.group()

    def leave(self):
        for name in ("destroy_model_parallel", "destroy_distributed_environment"):
            getattr(self.state, name, lambda: None)()


class Sglang(Vllm):
    """SGLang, whose distributed module began as vLLM's."""

    name = "sglang"

    def __init__(self):
        import sglang
        from sglang.srt.distributed import parallel_state

        self.state = parallel_state
        self.version = getattr(sglang, "__version__", None)

    def configure(self):
        """Its groups need none."""

    def make_groups(self, ranks):
        make = self.state.initialize_model_parallel
        if "tensor_model_parallel_size" not in inspect.signature(make).parameters:
            self.publish(ranks)
            make()
            return
        make(tensor_model_parallel_size=ranks)

    @staticmethod
    def publish(ranks):
        """Versions from 0.5.2x on read the widths of all groups from a context: one tensor parallel group and nothing else."""
        from sglang.srt.runtime_context import get_parallel

        whole = {"tp_size": ranks, "attn_tp_size": ranks, "moe_tp_size": ranks, "shared_experts_tp_size": None}
        single = ("pp_size", "attn_dp_size", "attn_cp_size", "attn_dcp_size", "moe_ep_size", "moe_dp_size")
        get_parallel().override_permanently(**whole, **{name: 1 for name in single})

    def capture(self, device):
        return self.state.graph_capture()

    def holder(self):
        return self.group()


ENGINES = {"vllm": Vllm, "sglang": Sglang}


def open_engine(wanted):
    """The engine that was asked for, in this environment."""
    try:
        return ENGINES[wanted]()
    except ImportError as error:
        raise Refused(
            f"{wanted} cannot be imported by {sys.executable} ({one_line(error)}); "
            "name the Python that runs the engine with --engine-python, or another engine with --engine"
        ) from error


# --- who does it -----------------------------------------------------------------------------------------------------------

CALLS = ("all_reduce", "custom_all_reduce", "quick_all_reduce", "outplace_all_reduce", "pcie_ipc_all_reduce")


def communicators(engine):
    """Every part of the engine's group that can do all-reduces, whatever the engine's version calls it."""
    parts = vars(engine.holder()).values()
    return [part for part in parts if any(callable(getattr(type(part), call, None)) for call in CALLS)]


class Watch:
    """Sees which of the engine's communicators does the calls that are made meanwhile."""

    def __init__(self, torch, engine):
        self.torch = torch
        self.parts = communicators(engine)
        self.took = None
        self.placed = []
        self.fallback = None

    def __enter__(self):
        for part in self.parts:
            for call in CALLS:
                inner = getattr(part, call, None)
                if not callable(inner):
                    continue
                try:
                    setattr(part, call, self.seen(part, call, inner))
                    self.placed.append((part, call))
                except AttributeError:
                    continue
        self.fallback = getattr(self.torch.distributed, "all_reduce", None)
        if self.fallback is not None:
            self.torch.distributed.all_reduce = self.fell_back
        return self

    def seen(self, part, name, inner):
        def call(*arguments, **named):
            # Of several the innermost one did it, of several one after another the last.
            self.took = None
            result = inner(*arguments, **named)
            # Who gives nothing stepped back, but for those of SGLang, which put the sum where the input was.
            in_place = name == "all_reduce" and not getattr(part, "disabled", False)
            did_it = result is not None or in_place
            self.took = (self.took or type(part).__name__.lstrip("_")) if did_it else None
            return result

        return call

    def fell_back(self, *arguments, **named):
        """torch's own, which engines call after a communicator stepped back."""
        self.took = None
        return self.fallback(*arguments, **named)

    def __exit__(self, *_):
        for part, call in self.placed:
            delattr(part, call)
        if self.fallback is not None:
            self.torch.distributed.all_reduce = self.fallback
        return False

    def word(self, engine):
        if self.took is not None:
            return self.took
        try:
            return f"torch.distributed {self.torch.distributed.get_backend(engine.group().device_group)}"
        except Exception:  # noqa: BLE001 - a word less, whatever the version's reason is
            return "torch.distributed"


class Heard(logging.Handler):
    """What the engine warns of all-reduces, such as why a kernel of its own is off."""

    def __init__(self, engine):
        super().__init__(level=logging.WARNING)
        self.lines = []
        logging.getLogger(engine).addHandler(self)

    def emit(self, record):
        line = " ".join(record.getMessage().split())[:300]
        of_it = "reduce" in line.lower()
        if of_it and line not in self.lines and len(self.lines) < 8:
            self.lines.append(line)


# --- clocks ----------------------------------------------------------------------------------------------------------------


class OnGpu:
    """Times by the device's events."""

    source = "device_event"

    def __init__(self, torch):
        self.torch = torch

    def wait(self):
        self.torch.cuda.synchronize()

    def between_marks(self, begin, work):
        """Microseconds of what `work` queues.

        What `begin` queues ends when all ranks have come to it, and the first mark is queued behind it at once: on an idle GPU
        the mark would stand before the way of the first call to the GPU, and before whatever the ranks are apart.
        """
        start = self.torch.cuda.Event(enable_timing=True)
        end = self.torch.cuda.Event(enable_timing=True)
        begin()
        start.record()
        work()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e3


class OnCpu:
    """Times by the host's clock: calls are done when they return."""

    source = "host_monotonic"

    def wait(self):
        pass

    @staticmethod
    def between_marks(begin, work):
        begin()
        start = time.perf_counter_ns()
        work()
        return (time.perf_counter_ns() - start) / 1e3


class Gap:
    """Work of a wanted length between two calls: products of a row with weights, which take memory and caches as a layer does."""

    ROW = 1024
    # 256 MiB of weights; longer work is the same product several times.
    MOST_COLUMNS = 1 << 17
    TIMED = 20

    def __init__(self, torch, device, clock, wanted_us):
        self.torch = torch
        self.times = 1
        columns = 64
        took = self.made(device, clock, columns)
        while took < wanted_us and columns < self.MOST_COLUMNS:
            columns *= 2
            took = self.made(device, clock, columns)
        if took > wanted_us:
            took = self.made(device, clock, max(16, int(columns * wanted_us / took)))
        self.times = max(1, round(wanted_us / max(took, 1e-3)))

    def made(self, device, clock, columns):
        """Microseconds of one product with so many columns."""

        def ones(rows, columns):
            return self.torch.ones((rows, columns), dtype=self.torch.bfloat16, device=device)

        self.row, self.weights, self.result = ones(1, self.ROW), ones(self.ROW, columns), ones(1, columns)

        def several():
            for _ in range(self.TIMED):
                self()

        return clock.between_marks(self, several) / self.TIMED

    def __call__(self):
        for _ in range(self.times):
            self.torch.matmul(self.row, self.weights, out=self.result)


def own_cpus(torch, ranks, rank):
    """Gives this rank its share of the CPUs, as engines do: threads of all ranks on all CPUs wait for each other."""
    cpus = sorted(os.sched_getaffinity(0))
    share = cpus[rank * len(cpus) // ranks : (rank + 1) * len(cpus) // ranks] or [cpus[rank % len(cpus)]]
    os.sched_setaffinity(0, share)
    torch.set_num_threads(len(share))
    return f"rank {rank} on CPUs {','.join(map(str, share))}"


# --- the rank --------------------------------------------------------------------------------------------------------------


class Rank:
    """What is open, joined and prepared."""

    def __init__(self, engine, local, backend, say):
        say("importing torch")
        try:
            import torch
        except ImportError as error:
            raise Refused(
                f"torch cannot be imported by {sys.executable} ({one_line(error)}); "
                "name the Python that runs the engine with --engine-python"
            ) from error
        self.torch = torch
        is_gpu = torch.cuda.is_available()
        if backend != "host" and not is_gpu:
            raise Refused(
                f"torch of {sys.executable} sees no GPU where the driver shows some; "
                "name a Python whose torch is built for them with --engine-python, or use --backend host"
            )
        say(f"importing {engine}")
        self.heard = Heard(engine)
        self.engine = open_engine(engine)
        self.local = local
        if is_gpu:
            self.device = torch.device("cuda", local)
            torch.cuda.set_device(self.device)
            self.clock = OnGpu(torch)
        else:
            self.device = torch.device("cpu")
            self.clock = OnCpu()
        self.ranks = self.rank = self.job = self.result = self.gap = None
        self.meeting = None
        self.graphs = {}
        self.notes = []
        self.by = {}
        self.mode = None
        self.verify = False

    def opened(self, makes_id):
        facts = {"name": self.engine.name, "version": self.engine.version, "file": None, "transport": None}
        made = self.make_id() if makes_id else None
        return {"is": "opened", "library": facts, "soft_box": None, "events": self.clock.source, "id": made}

    def make_id(self):
        """Where the ranks meet: a port of this host, held until they do, as hexadecimal digits."""
        self.meeting = socket.socket()
        self.meeting.bind(("127.0.0.1", 0))
        port = self.meeting.getsockname()[1]
        return f"tcp://127.0.0.1:{port}".encode().hex()

    def join(self, meeting, ranks, rank):
        if self.device.type == "cpu":
            self.notes.append(own_cpus(self.torch, ranks, rank))
        if self.meeting is not None:
            self.meeting.close()
        self.engine.join(self.device, self.local, bytes.fromhex(meeting).decode(), ranks, rank)
        there = getattr(self.engine.group(), "device", self.device)
        if there.type != self.device.type:
            raise Refused(f"the engine's tensors are on {there.type}, which is not timed yet; torch shows {self.device.type} here")
        self.ranks, self.rank = ranks, rank
        # A small call ends when all ranks have come to it.
        self.engine.all_reduce(self.torch.zeros(8, dtype=self.torch.float32, device=self.device))
        self.clock.wait()
        self.release()

    def release(self):
        """Takes the name from shared memory that all ranks have open now, so that it goes with them however they end."""
        queue = getattr(self.engine.group(), "mq_broadcaster", None)
        memory = getattr(getattr(queue, "buffer", None), "shared_memory", None)
        if self.rank == 0 and memory is not None:
            with contextlib.suppress(OSError):
                memory.unlink()

    def numbers(self, rank, count):
        """What a rank contributes at each position, as whole numbers."""
        places = self.torch.arange(count, dtype=self.torch.int64)
        return (places * 7 + places // 61 + rank * 5) % (LARGEST // self.ranks + 1)

    def prepare(self, job, verify, say):
        self.verify = verify
        if job["kind"] != "all_reduce" or job["element"] not in DTYPES:
            return {"is": "not_there", "reason": f"the engine's {job['kind']} of {job['element']} is not timed"}
        name, width = DTYPES[job["element"]]
        if self.job != job:
            say("filling")
            count = job["bytes_per_rank"] // width
            self.graphs, self.result = {}, None
            self.mine = self.numbers(self.rank, count).to(getattr(self.torch, name)).to(self.device)
            self.tensor = self.mine.clone()
            self.exact = sum(self.numbers(rank, count) for rank in range(self.ranks)).to(self.tensor.dtype)
            self.job = job
            self.by = {}
        self.mode = None
        say("the first call")
        with Watch(self.torch, self.engine) as watch:
            self.call()
        self.clock.wait()
        self.by["eager"] = watch.word(self.engine)
        return self.result_compared(say)

    def call(self):
        self.result = self.engine.all_reduce(self.tensor)

    def result_compared(self, say):
        """Whether the last result is right, and who did it."""
        verification = self.check(say)
        return {"is": "compared", "verification": verification, "by": self.described()}

    def check(self, say):
        """Compares the last result where it lies apart from what was sent, and that of one more call as it was timed."""
        if not self.verify:
            return {"is": "not_asked"}
        say("comparing the result")
        self.clock.wait()
        is_apart = self.result.data_ptr() != self.tensor.data_ptr()
        wrong = self.compared(self.result) if is_apart else None
        # All ranks make this call, also one whose last result was wrong: the others would wait for it.
        again = self.replayed(is_apart) if self.mode == "graph" else self.called(is_apart)
        self.clock.wait()
        return wrong or self.compared(again) or {"is": "passed"}

    def called(self, is_apart):
        """The result of one more call."""
        if is_apart:
            # The memory of the last one may be given to the next, and must not pass for its result.
            self.result.fill_(SPOILT)
        self.tensor.copy_(self.mine)
        self.call()
        return self.result

    def replayed(self, is_apart):
        """The result of one more replay of the graph that was timed.

        Where sums take the place of what was sent, each call of it would add up again: that is a graph of one call then.
        """
        graph = self.captured("calls", next(iter(self.graphs))[1] if is_apart else 1)
        if is_apart:
            self.result.fill_(SPOILT)
        self.tensor.copy_(self.mine)
        graph.replay()
        return self.result

    def compared(self, result):
        result = result.cpu()
        wrong = (result != self.exact).nonzero()
        if wrong.numel() == 0:
            return None
        at = int(wrong[0])
        seen = f"element {at} of {self.exact.numel()} is {float(result[at])} where {float(self.exact[at])} is exact"
        return {"is": "wrong_data", "seen": seen}

    def queue(self, series, calls):
        """Queues calls, gaps, or one after the other."""
        for _ in range(calls):
            if series != "calls":
                self.gap()
            if series != "gaps":
                self.call()

    def captured(self, series, calls):
        """A graph of a series, which is kept with others of as many calls."""
        if (series, calls) not in self.graphs:
            # Their memory first.
            self.graphs = {key: made for key, made in self.graphs.items() if key[1] == calls}
            self.clock.wait()
            graph = self.torch.cuda.CUDAGraph()
            with Watch(self.torch, self.engine) as watch, self.engine.capture(self.device) as context:
                with self.torch.cuda.graph(graph, stream=context.stream):
                    self.queue(series, calls)
            if series != "gaps":
                self.by["graph"] = watch.word(self.engine)
            self.graphs[series, calls] = (graph, self.result)
        graph, result = self.graphs[series, calls]
        if series != "gaps":
            self.result = result
        return graph

    def is_in_graph(self):
        """Whether the mode's calls are in a graph; interleaved ones are where there are graphs."""
        return self.mode == "graph" or (self.mode == "interleaved" and self.device.type == "cuda")

    def time(self, mode, calls, samples, gap_us, say):
        """Microseconds of each sample, and of its gaps where there are some."""
        if mode != self.mode:
            self.mode, self.graphs, self.gap = mode, {}, None
        if mode == "interleaved" and self.gap is None:
            say(f"making work of {gap_us} us")
            self.gap = Gap(self.torch, self.device, self.clock, gap_us)
        took, gaps, said = [], [], time.monotonic()
        gc.collect()
        gc.disable()
        try:
            for sample in range(samples):
                if sample == 0 or time.monotonic() - said >= QUIET_S:
                    say(f"sample {sample + 1} of {samples} in mode {mode}")
                    said = time.monotonic()
                if mode != "interleaved":
                    took.append(self.sample(mode, calls))
                    continue
                # In turn, so that what drifts does not favour one.
                for series in ("gaps", "both") if sample % 2 == 0 else ("both", "gaps"):
                    (gaps if series == "gaps" else took).append(self.batch(series, calls))
        finally:
            gc.enable()
        return took, gaps

    def sample(self, mode, calls):
        if mode != "host_synced":
            return self.batch("calls", calls)
        self.renew()
        self.call()
        self.clock.wait()
        begin = time.perf_counter_ns()
        self.call()
        self.clock.wait()
        return (time.perf_counter_ns() - begin) / 1e3

    def renew(self):
        # Some communicators put the sum where the input was, which soon grows past what the type holds.
        self.tensor.copy_(self.mine)

    def batch(self, series, calls):
        """Microseconds of each of the calls of a series."""
        self.renew()
        if self.is_in_graph():
            # A replay that is not timed keeps the GPU busy until the one that is has been queued.
            replay = self.captured(series, calls).replay
            return self.clock.between_marks(replay, replay) / calls
        return self.clock.between_marks(self.call, lambda: self.queue(series, calls)) / calls

    def not_there(self, mode):
        """Why the engine has no such mode here."""
        if mode == "graph" and self.device.type != "cuda":
            return "the engine's tensors are on the CPU, which has no graphs"
        return None

    def described(self):
        how = self.by.get("graph" if self.is_in_graph() else "eager", "?")
        state = {True: "off", False: "on", None: "there"}
        parts = [(type(part).__name__.lstrip("_"), getattr(part, "disabled", None)) for part in communicators(self.engine)]
        notes = [f"{name} is {state.get(off, 'there')}" for name, off in parts]
        return {"by": how, "device": self.device.type, "notes": [*notes, *self.heard.lines, *self.notes]}

    def leave(self):
        with contextlib.suppress(Exception):
            self.engine.leave()


def answer(rank, request, say):
    """The reply to a request."""
    ask = request["ask"]
    if ask == "join":
        rank.join(request["id"], request["ranks"], request["rank"])
        return {"is": "joined"}
    if ask == "prepare":
        return rank.prepare(request["job"], request["verify"], say)
    if ask == "time":
        reason = rank.not_there(request["mode"])
        if reason is not None:
            return {"is": "not_there", "reason": reason}
        took, gaps = rank.time(request["mode"], request["calls"], request["samples"], request["gap_us"], say)
        return {"is": "timed", "microseconds": took, "gap_microseconds": gaps, "gate": "none"}
    if ask == "check":
        return rank.result_compared(say)
    raise Refused(f"`{ask}` is not known here")


def main():
    die_with_parent()
    engine, local = sys.argv[1], int(sys.argv[2])
    line = Line()
    rank = None
    for request in line.requests():
        try:
            if request["ask"] == "open":
                rank = Rank(engine, local, request["backend"], line.doing)
                reply = rank.opened(request["makes_id"])
            else:
                reply = answer(rank, request, line.doing)
        except Refused as refused:
            reply = {"is": "failed", "reason": str(refused)}
        except Exception as error:  # noqa: BLE001 - whatever an engine raises is told and not lost
            reply = {"is": "failed", "reason": one_line(error)}
        line.send(**reply)
    if rank is not None:
        rank.leave()
    # Libraries that wait for threads of theirs at the end would keep this process.
    os._exit(0)


if __name__ == "__main__":
    main()
