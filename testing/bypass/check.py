"""./dev check bypass: runs every attack on a real Kubernetes, and compares the results with the
table in SECURITY.md.

usage: python3 -m bypass.check [--write] [ATTACK...]

--write: writes the observed results to SECURITY.md's table, unless an attack failed.
ATTACK: runs only these attacks.
Status 1: an attack is neither caught, reported nor documented, or differs from the table.
Status 77: skipped, because the check needs root.
"""

from __future__ import annotations

import collections
import dataclasses
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from bypass import pod_attacks, rows
from bypass.attack_case import AttackCase
from bypass.rows import DOCUMENTED, FAILED, Attack, Outcome
from kube.errors import KubeError

AT_ONCE = 10
SKIPPED = 77

Run = Callable[[AttackCase], Outcome]


def program_runs() -> list[tuple[Attack, Run]]:
    """The attacks of guard/attacks, each in its own pod."""
    def run(attack: Attack) -> Run:
        return lambda case: case.run_program(attack, f"guard_attack {attack.name}")
    return [(attack, run(attack)) for attack in rows.programs() if attack.name != "raised_limits"]


def bound(attacks: list[tuple[Attack, pod_attacks.Run]]) -> list[tuple[Attack, Run]]:
    """The same attacks as functions that need only the cluster."""
    def run(attack: Attack, of_pod: pod_attacks.Run) -> Run:
        return lambda case: of_pod(case, attack)
    return [(attack, run(attack, of_pod)) for attack, of_pod in attacks]


def phases() -> list[list[tuple[Attack, Run]]]:
    """Every attack, in the table's order: those that run with the admission policies, those without
    them, and the last."""
    return [[*program_runs(), *bound(pod_attacks.VOLUMES), *bound(pod_attacks.CONTAINERS),
             *bound(pod_attacks.ANNOTATIONS)], bound(pod_attacks.WITHOUT_POLICY),
            bound(pod_attacks.LAST)]


def final_outcome(attack: Attack, outcome: Outcome) -> Outcome:
    """Turns a `documented` outcome into a failure unless docs/limits.md has the attack's words."""
    if outcome.verdict != DOCUMENTED or rows.is_documented(attack):
        return outcome
    why = (f'docs/limits.md does not say "{attack.limit}"' if attack.limit
           else "not reported in time, and not documented")
    return Outcome(FAILED, f"{outcome.detail}; {why}")


def attempt(case: AttackCase, attack: Attack, run: Run) -> Outcome:
    """Runs one attack and prints its result."""
    began = time.monotonic()
    try:
        outcome = final_outcome(attack, run(case))
    except Exception as error:  # an error in one attack does not stop the others
        outcome = Outcome(FAILED, f"{type(error).__name__}: {error}")
    other = "" if outcome.verdict in (attack.verdict, FAILED) else f" (expected {attack.verdict})"
    print(f"{attack.name:<28} {outcome.verdict:<10} {time.monotonic() - began:5.1f} s  "
          f"{outcome.detail}{other}", flush=True)
    return outcome


def run_phase(case: AttackCase, runs: list[tuple[Attack, Run]],
              beside: Callable[[], None] = lambda: None) -> list[tuple[Attack, Outcome]]:
    """Runs the attacks in parallel, and `beside` too. An error in `beside` is raised."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        other = pool.submit(beside)
        pending = [(attack, pool.submit(attempt, case, attack, run)) for attack, run in runs]
        results = [(attack, each.result()) for attack, each in pending]
        other.result()
        return results


def run_all(with_policy: list[tuple[Attack, Run]], without: list[tuple[Attack, Run]],
            last: list[tuple[Attack, Run]]) -> list[tuple[Attack, Outcome]]:
    """Runs all phases on a new cluster."""
    try:
        AttackCase.setUpClass()
        case = AttackCase()
        pod_attacks.prepare(case)
        results = run_phase(case, with_policy, case.control)
        if without:
            with case.without_policy("tessera-immutable-allocations"):
                results += run_phase(case, without)
        return results + run_phase(case, last)
    finally:
        AttackCase.doClassCleanups()


def faults(results: list[tuple[Attack, Outcome]], page: str) -> list[str]:
    """The faults of the results, compared with the table in SECURITY.md (`page`)."""
    found = []
    table = rows.published(page)
    for attack, outcome in results:
        seen = dataclasses.replace(attack, verdict=outcome.verdict)
        if outcome.verdict == FAILED:
            found.append(f"{attack.name}: {outcome.detail}")
        elif attack.verdict != outcome.verdict:
            found.append(f"{attack.name}: {outcome.verdict}, but its definition says "
                         f"{attack.verdict}")
        elif table.get(attack.name) != (seen.text, seen.verdict, seen.where):
            found.append(f"{attack.name}: SECURITY.md does not have this row; to update the table, "
                         "run: python3 -m bypass.check --write")
    return found


def main(arguments: list[str]) -> int:
    """Runs the check and returns the exit status."""
    if os.geteuid() != 0:
        print("skipped: Kubernetes nodes on this machine need root; run: sudo ./dev check bypass")
        return SKIPPED
    names = [word for word in arguments if not word.startswith("-")]
    chosen = [[(attack, run) for attack, run in phase if not names or attack.name in names]
              for phase in phases()]
    if sum(map(len, chosen)) < max(1, len(set(names))):
        print(f"bypass: no such attack among {names}", file=sys.stderr)
        return 2
    began = time.monotonic()
    results = run_all(*chosen)
    print(f"\n{len(results)} attacks in {time.monotonic() - began:.0f} s\n")
    for attack, outcome in results:
        print(f"{attack.name:<28} {outcome.verdict:<10} {attack.text}")
    counts = collections.Counter(outcome.verdict for _, outcome in results)
    print("\n" + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    page = rows.SECURITY.read_text()
    seen = [dataclasses.replace(attack, verdict=outcome.verdict) for attack, outcome in results]
    if "--write" in arguments and not names and all(o.verdict != FAILED for _, o in results):
        page = rows.with_table(page, seen)
        rows.SECURITY.write_text(page)
    wrong = faults(results, page)
    print("\n".join(["", *wrong]))
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KubeError as error:
        sys.exit(f"bypass: {error}")
