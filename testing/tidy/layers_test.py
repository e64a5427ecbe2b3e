"""Each rule of layers.py bites, and the tree itself has no fault."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import layers

ROOT = Path(__file__).resolve().parents[2]


class LayersTest(unittest.TestCase):
    def faults_of(self, name: str, text: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
            return list(layers.faults(Path(folder)))

    def assert_fault(self, name: str, text: str, sentence: str) -> None:
        found = self.faults_of(name, text)
        self.assertEqual(len(found), 1, found)
        self.assertIn(sentence, found[0])
        self.assertTrue(found[0].startswith(name + ":"), found[0])

    def test_the_tree_has_no_fault(self) -> None:
        self.assertEqual(list(layers.faults(ROOT)), [])

    def test_a_layer_includes_only_what_is_left_of_it(self) -> None:
        for name, include in [
            ("src/base/a.cpp", "domain/x.hpp"),
            ("src/domain/x/a.cpp", "wire/x.hpp"),
            ("src/wire/a.hpp", "ports/x.hpp"),
            ("src/ports/a.hpp", "wire/x.hpp"),
            ("src/app/x/a.cpp", "adapters/x.hpp"),
            ("src/adapters/x/a.cpp", "app/x.hpp"),
            ("src/app/x/a.cpp", "programs/x.hpp"),
            ("src/app/x/a_test.cpp", "adapters/x.hpp"),
        ]:
            self.assert_fault(name, f'#include "{include}"\n', "may not include")
        self.assert_fault("src/extra/a.cpp", "int x;\n", "is no layer")

    def test_what_is_left_may_be_included(self) -> None:
        for name, include in [
            ("src/domain/x/a.cpp", "domain/y.hpp"),
            ("src/wire/a.cpp", "domain/y.hpp"),
            ("src/programs/a.cpp", "adapters/y.hpp"),
            ("src/app/x/a.cpp", "ports/y.hpp"),
            ("src/app/x/a_test.cpp", "testing/fakes/y.hpp"),
        ]:
            self.assertEqual(self.faults_of(name, f'#include "{include}"\n'), [])
        self.assertEqual(self.faults_of("src/domain/x/a.cpp", '// #include "app/x.hpp"\n'), [])

    def test_product_code_includes_no_tests(self) -> None:
        self.assert_fault("src/app/x/a.cpp", '#include "testing/fakes/y.hpp"\n', "but in tests")

    def test_domain_and_wire_are_pure(self) -> None:
        for header in ["thread", "mutex", "filesystem", "fstream", "chrono", "sys/socket.h", "random"]:
            for layer in ["src/domain/x/a.cpp", "src/wire/a.cpp"]:
                self.assert_fault(layer, f"#include <{header}>\n", "is pure")
        self.assert_fault("src/domain/x/a.cpp", 'auto x = std::getenv("A");\n', "is pure")
        self.assertEqual(self.faults_of("src/app/x/a.cpp", "#include <thread>\n"), [])
        self.assertEqual(self.faults_of("src/domain/x/a_test.cpp", "#include <random>\n"), [])

    def test_locks_are_those_that_clang_checks(self) -> None:
        for lock in ["std::mutex m;", "std::scoped_lock lock(m);", "std::condition_variable c;"]:
            self.assert_fault("src/app/x/a.cpp", lock + "\n", "use Mutex and MutexLock")
            self.assertEqual(self.faults_of("src/base/mutex.hpp", lock + "\n"), [])
        self.assertEqual(self.faults_of("src/app/x/a.cpp", "std::condition_variable_any c;\n"), [])
        self.assert_fault("src/domain/a.cpp", '#include "base/mutex.hpp"\n', "is pure")

    def test_the_guard_reads_no_clock_that_a_program_can_shift(self) -> None:
        for call in ["clock_gettime(CLOCK_MONOTONIC, &now);", "now = time(nullptr);"]:
            self.assert_fault("guard/process/a.cpp", call + "\n", "use monotonic_ns()")
            self.assertEqual(self.faults_of("guard/region/clock.cpp", call + "\n"), [])
            self.assertEqual(self.faults_of("guard/process/a_test.cpp", call + "\n"), [])

    def test_the_simulator_stands_alone(self) -> None:
        for include in ['"base/quantity.hpp"', '"src/base/quantity.hpp"', "<domain/x.hpp>"]:
            self.assert_fault("gpusim/cuda/a.cpp", f"#include {include}\n", "house of its own")
        self.assertEqual(self.faults_of("gpusim/cuda/a.cpp", '#include "gpusim/state/x.hpp"\n'), [])
        state = '#include "gpusim/state/x.hpp"\n'
        self.assert_fault("src/app/x/a.cpp", state, "only adapters know a house")
        self.assertEqual(self.faults_of("src/adapters/x/a.cpp", state), [])
        self.assert_fault("guard/hooks/a.cpp", state, "guard is a house of its own")
        self.assertEqual(self.faults_of("guard/hooks/a_test.cpp", state), [])
        self.assertEqual(self.faults_of("guard/test_support/a.hpp", state), [])

    def test_no_layer_includes_the_replay_of_traces(self) -> None:
        replay = '#include "simulator/replay/replay.hpp"\n'
        self.assert_fault("src/app/x/a.cpp", replay, "nothing of simulator/")
        self.assert_fault("src/programs/x/a_test.cpp", replay, "nothing of simulator/")
        self.assert_fault("guard/hooks/a.cpp", replay, "house of its own")
        self.assertEqual(self.faults_of("testing/bench/a.cpp", replay), [])
        self.assertEqual(self.faults_of("simulator/churn/a.cpp", replay), [])
        self.assertEqual(self.faults_of("simulator/churn/a.cpp", '#include "app/cli/x.hpp"\n'), [])

    def test_lines_files_and_programs_are_short(self) -> None:
        self.assert_fault("src/base/a.cpp", "x" * 101 + "\n", "at most 100")
        self.assertEqual(self.faults_of("src/base/a.cpp", "x" * 100 + "\n"), [])
        self.assert_fault("src/base/a.hpp", "int x;\n" * 601, "at most 600")
        self.assertEqual(self.faults_of("src/base/a.hpp", "int x;\n" * 600), [])
        self.assert_fault("src/programs/agent/tessera_agent.cpp", "int x;\n" * 151, "at most 150")
        self.assertEqual(self.faults_of("src/programs/common/a.cpp", "int x;\n" * 151), [])
        self.assert_fault("simulator/program/tessera_sim.cpp", "int x;\n" * 151, "at most 150")

    def test_folders_have_one_topic_and_no_cycle(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for layer in ("domain/x", "domain/y", "domain/z"):
                (Path(folder) / "src" / layer).mkdir(parents=True)
            many = Path(folder) / "src/domain/x"
            for number in range(20):
                (many / f"a{number}.hpp").write_text("int x;\n", encoding="utf-8")
                (many / f"a{number}.cpp").write_text("int x;\n", encoding="utf-8")
            (many / "more_test.cpp").write_text("int x;\n", encoding="utf-8")
            self.assertEqual(list(layers.faults(Path(folder))), [])
            (many / "more.hpp").write_text('#include "domain/y/b.hpp"\n', encoding="utf-8")
            (Path(folder) / "src/domain/y/b.hpp").write_text(
                '#include "domain/z/c.hpp"\n', encoding="utf-8")
            found = list(layers.faults(Path(folder)))
            self.assertEqual(len(found), 1, found)
            self.assertIn("21 files", found[0])
            (many / "a0.hpp").unlink()
            (many / "a0.cpp").unlink()
            (Path(folder) / "src/domain/z/c.hpp").write_text(
                '#include "domain/x/a1.hpp"\n', encoding="utf-8")
            found = list(layers.faults(Path(folder)))
            self.assertTrue(found and all("a cycle with" in fault for fault in found), found)

    def test_functions_fit_on_a_screen(self) -> None:
        body = "    go();\n"
        long = "void f() {\n" + body * 69 + "}\n"
        self.assert_fault("src/base/a.cpp", long, "at most 70 lines")
        self.assert_fault("src/base/a.cpp", "Result<int> A::f(int a,\n    int b) const {\n" + body * 70 +
                          "}\n", "at most 70 lines")
        self.assert_fault("src/base/a.cpp", "class A {\n    void f() override {\n" + body * 70 +
                          "    }\n};\n", "at most 70 lines")
        self.assert_fault("src/base/a_test.cpp", "TEST(A, B) {\n" + body * 70 + "}\n", "at most 70")
        self.assertEqual(self.faults_of("src/base/a.cpp", "void f() {\n" + body * 68 + "}\n"), [])
        self.assertEqual(self.faults_of("src/base/a.cpp", "namespace a {\n" + body * 90 + "}\n"), [])


if __name__ == "__main__":
    unittest.main()
