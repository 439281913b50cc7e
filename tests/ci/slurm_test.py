"""Plays scripts/slurm on a real Slurm of one machine: four GPUs that are none, and the CPU device.

slurmctld and slurmd run as this user, in a folder of their own and on ports of their own. Whatever
they start is a descendant of this process, also when its parent has gone, and is ended with it.
"""

import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts/slurm"
PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
TIME_LIMIT_S = 80

os.environ["PATH"] += ":/usr/sbin:/sbin"
NEEDED = ("slurmctld", "slurmd", "sbatch", "srun", "scontrol", "squeue", "sinfo")
MISSING = [name for name in NEEDED if shutil.which(name) is None]
if MISSING:
    print(f"there is no {', '.join(MISSING)}: apt-get install slurmctld slurmd slurm-client", file=sys.stderr)
    sys.exit(1 if "NF4BENCH_ALL_CONSUMERS" in os.environ else 77)

# Device files that are everywhere: Slurm sets CUDA_VISIBLE_DEVICES for no others.
GPUS = ("/dev/null", "/dev/zero", "/dev/full", "/dev/urandom")

CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
AuthInfo=cred_expire=5
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ReturnToService=2
KillWait=5
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=1000 Gres=gpu:fake:4 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

# Stands for the program: notes which GPU the task got, and does to some tasks what happens to tasks.
STAND_IN = """#!/bin/bash
if [ "$1" = run ]; then
  task=${SLURM_ARRAY_TASK_ID:-$SLURM_PROCID}
  echo "$CUDA_VISIBLE_DEVICES" >> "$NOTES/gpu-$task"
  if [ "$task" = "$FAILS" ]; then echo "no such device" >&2; exit 5; fi
  if [ "$task" = "$LINGERS" ] && [ -z "$SLURM_RESTART_COUNT" ]; then
    export NF4BENCH_RUN_MAX_TIME=1 NF4BENCH_RUN_PRECISION=0
    NF4BENCH_RUN_SHAPE=$(printf "%dx64;" {64..124..2})
  fi
fi
exec "$REAL" "$@"
"""

ARGUMENTS = ("--device", "cpu", "--threads", "1", "--cache", "hot", "--no-ceilings",
             "--baseline", "none")


def free_ports(count):
    """Ports of this machine that nobody listens to."""
    listeners = [socket.socket() for _ in range(count)]
    for listener in listeners:
        listener.bind(("127.0.0.1", 0))
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


def call_prctl(option, value):
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def adopt_orphans():
    """Makes this process the parent of all descendants whose own parent ends."""
    call_prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def end_with_parent():
    call_prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def children():
    """Those of this process, with those that it adopted."""
    found = []
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has gone
        if int(fields[1]) == os.getpid():
            found.append(int(status.parent.name))
    return found


def wait_until(condition, what, limit_s=30):
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(f"waited in vain: {what}")


def end_all_children():
    """Ends and reaps them, and what they leave to this process, until there are none."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        pids = children()
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


class Cluster:
    """Slurm with one node, in a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.daemons = []
        self.host = socket.gethostname().split(".")[0]
        for name in ("state", "spool", "notes", "work"):
            (folder / name).mkdir()
        controller_port, node_port = free_ports(2)
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        (folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=self.host, user=user, folder=folder, controller_port=controller_port, node_port=node_port))
        (folder / "gres.conf").write_text("".join(
            f"Name=gpu Type=fake File={path} Flags=nvidia_gpu_env\n" for path in GPUS))
        stand_in = folder / "nf4bench"
        stand_in.write_text(STAND_IN)
        stand_in.chmod(0o755)
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "NF4BENCH_"))},
            "SLURM_CONF": str(folder / "slurm.conf"), "NF4BENCH": str(stand_in), "REAL": str(PROGRAM),
            "NOTES": str(folder / "notes"), "REPORTS": str(folder / "reports"), "NF4BENCH_LOCKS": "",
            "NF4BENCH_RUN_SHAPE": "64x64", "NF4BENCH_RUN_VARIANT": "simd", "NF4BENCH_RUN_MAX_TIME": "0.05"}

    def start(self):
        for name in ("slurmctld", "slurmd"):
            with open(self.folder / f"{name}.log", "w", encoding="utf-8") as log:
                self.daemons.append(subprocess.Popen([name, "-D"], env=self.environment, stdout=log,
                                                     stderr=subprocess.STDOUT, preexec_fn=end_with_parent))
        wait_until(lambda: self.call("sinfo", "-h", "-o", "%t", check=False).strip() == "idle", "an idle node")

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        end_all_children()

    def call(self, *words, check=True, **more):
        done = subprocess.run([str(word) for word in words], env={**self.environment, **more}, text=True,
                              capture_output=True, check=False, timeout=TIME_LIMIT_S, cwd=self.folder / "work")
        if check and done.returncode != 0:
            raise AssertionError(f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def submit(self, *words, **more):
        """Returns the number of the job."""
        return self.call("sbatch", "--parsable", f"--output={self.folder}/notes/%x-%A-%a.out", *words,
                         **more).strip()

    def states(self, job):
        """What has become of a job, or of each task of an array: "COMPLETED 0:0"."""
        text = self.call("scontrol", "--oneliner", "show", "job", job)
        return sorted(f"{state} {code}" for state, code in
                      re.findall(r"JobState=(\S+).*?ExitCode=(\S+)", text))

    def wait_for(self, job):
        wait_until(lambda: self.call("squeue", "-h", "-j", job, check=False).strip() == "",
                   f"the end of job {job}", TIME_LIMIT_S)

    def report(self, job, name):
        """A report, or {} as long as there is none."""
        try:
            return json.loads((self.folder / "reports" / job / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}

    def output(self, pattern):
        return "".join(path.read_text(encoding="utf-8") for path in (self.folder / "notes").glob(pattern))

    def logs(self):
        return "".join(f"--- {path.name}\n{path.read_text(encoding='utf-8', errors='replace')[-3000:]}"
                       for path in [*self.folder.glob("*.log"), *self.folder.glob("notes/*.out")])


class SlurmStory(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.cluster = Cluster(pathlib.Path(self.scratch.name))
        self.addCleanup(self.cluster.stop)
        self.cluster.start()

    def tearDown(self):
        if self._outcome.errors if hasattr(self._outcome, "errors") else not self._outcome.success:
            print(self.cluster.logs(), file=sys.stderr)

    def merge_after(self, job):
        return self.cluster.submit(f"--dependency=afterany:{job}", SCRIPTS / "merge.sbatch", job)

    def gpus_of(self, tasks):
        """The GPUs that tasks saw, in order."""
        return [(self.cluster.folder / f"notes/gpu-{task}").read_text().split() for task in tasks]

    def test_an_array_of_which_one_task_is_killed_and_one_fails(self):
        cluster = self.cluster
        job = cluster.submit("--array=0-3", SCRIPTS / "array.sbatch", *ARGUMENTS, FAILS="3", LINGERS="1")
        merge = self.merge_after(job)
        wait_until(lambda: cluster.report(job, "shard-1.json").get("measurements"), "a first measurement")
        self.assertFalse(cluster.report(job, "shard-1.json")["complete"])
        cluster.call("scontrol", "requeue", f"{job}_1")
        cluster.wait_for(merge)

        self.assertEqual(cluster.states(job), ["COMPLETED 0:0"] * 3 + ["FAILED 5:0"])
        self.assertEqual(len(self.gpus_of([1])[0]), 2, "it ran twice")
        names = sorted(path.name for path in (cluster.folder / "reports" / job).iterdir())
        self.assertEqual(names, ["fleet.json", "shard-0.json", "shard-1.json", "shard-2.json"])
        for task in range(3):
            report = cluster.report(job, f"shard-{task}.json")
            self.assertTrue(report["complete"])
            self.assertEqual(report["shard"], {"index": task, "count": 4, "split": False,
                                               "from": "SLURM_ARRAY_TASK_ID"})
        self.assertEqual(cluster.report(job, "shard-1.json")["settings"]["max_time_s"], 0.05)
        self.assertEqual(cluster.states(merge), ["FAILED 1:0"])
        fleet = cluster.report(job, "fleet.json")
        self.assertEqual(fleet["missing"], ["shard 3 of 4"])
        self.assertEqual(len(fleet["groups"][0]["units"]), 3)
        self.assertIn("shard 3 of 4", cluster.output(f"nf4bench-merge-{merge}-*.out"))

    def test_a_step_with_a_task_for_each_gpu(self):
        cluster = self.cluster
        job = cluster.submit("--nodes=1", "--ntasks-per-node=4", SCRIPTS / "sweep.sbatch", *ARGUMENTS)
        merge = self.merge_after(job)
        cluster.wait_for(merge)
        self.assertEqual(cluster.states(job), ["COMPLETED 0:0"])
        self.assertEqual(sorted(gpu for gpu, in self.gpus_of(range(4))), ["0", "1", "2", "3"])
        for task in range(4):
            self.assertEqual(cluster.report(job, f"shard-{task}.json")["shard"],
                             {"index": task, "count": 4, "split": False, "from": "SLURM_PROCID"})
        self.assertEqual(cluster.report(job, "shard-0.json")["settings"]["together"], 4)
        fleet = cluster.report(job, "fleet.json")
        self.assertEqual(fleet["missing"], [])
        self.assertEqual(len(fleet["groups"][0]["units"]), 4)
        self.assertEqual(cluster.states(merge), ["FAILED 6:0"], "four units get no verdict")

    def test_nothing_outlives_it(self):
        cluster = self.cluster
        job = cluster.submit("--wrap", "touch $NOTES/started; setsid sleep 1000 & srun sleep 1000")
        wait_until(lambda: (cluster.folder / "notes/started").exists(), f"the start of job {job}")
        self.assertNotEqual(processes_of(cluster.folder), [])
        cluster.stop()
        self.assertEqual(processes_of(cluster.folder), [])


def processes_of(folder):
    """All that have heard of a cluster's folder."""
    found = []
    for environment in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"SLURM_CONF={folder}/".encode() in environment.read_bytes():
                found.append(environment.parent.name)
        except OSError:
            pass  # it has gone, or is another user's
    return found


def give_up(_signal, _frame):
    raise KeyboardInterrupt


if __name__ == "__main__":
    adopt_orphans()
    signal.signal(signal.SIGTERM, give_up)
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(TIME_LIMIT_S)
    try:
        unittest.main(verbosity=2)
    finally:
        end_all_children()
