"""The names of episodes: short enough for a command line, and all that it takes to replay one."""

from retry_guard_sandbox._episode import Spec
from retry_guard_sandbox._grid import GridError
from retry_guard_sandbox.evaluation._plan import Plan

FORM = "TASK/CONTRACT/FAULT/ATTEMPTS_HIT/READS_HIT/OPERATOR/SEED"
_PARTS = FORM.count("/") + 1


def name_of(spec: Spec) -> str:
    """Return the name of an episode."""
    parts = (
        spec.task,
        spec.contract,
        spec.fault,
        spec.attempts_hit,
        spec.reads_hit,
        spec.operator,
        str(spec.seed),
    )
    return "/".join(parts)


def plan_of(name: str) -> Plan:
    """Return the plan of that one episode; raises `GridError` where there is no such."""
    parts = name.split("/")
    if len(parts) != _PARTS or not parts[-1].removeprefix("-").isdecimal():
        raise GridError(f"{name} is no name of an episode: give {FORM}")
    task, contract, fault, hits, reads, operator, seed = parts
    return Plan(
        contracts=(contract,),
        faults=(fault,),
        attempts_hit=(hits,),
        reads_hit=(reads,),
        tasks=(task,),
        seeds=(int(seed),),
        operator=operator,
    )
