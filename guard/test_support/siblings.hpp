// One process of a container under the facade, in slot 0. Its siblings exist only as entries that a
// test writes in the accounts.
#pragma once

#include <gtest/gtest.h>

#include "gpusim/test_support/worker.hpp"
#include "guard/test_support/guarded_container.hpp"

namespace tessera::guard {

class Siblings : public testing::Test {
  protected:
    gpusim::SimulatedNode node_{"gpus:\n  - {model: A, memory: 8GiB}\n"};
    GuardedContainer container_{node_, {{0, gpusim::kGiB, 0, kWhole / 2, kWhole}}};

    [[nodiscard]] Accounts& accounts() const { return container_.region().accounts(); }
    [[nodiscard]] std::int64_t waited_ns() const { return accounts().times[0][0].waited_ns.load(); }
    // `body` gets the worker, and a function that launches a kernel of that many ns and waits for
    // it. Before that, two kernels of `first_ns` have run.
    template <typename Body>
    void in_worker(std::uint64_t first_ns, Body body) const {
        gpusim::in_child([&] {
            const gpusim::Worker worker(container_.facade());
            const auto launch_and_wait = [&](std::uint64_t ns) {
                EXPECT_EQ(worker.launch(ns), CUDA_SUCCESS);
                EXPECT_EQ(worker.wait(), CUDA_SUCCESS);
            };
            launch_and_wait(first_ns);
            launch_and_wait(first_ns);
            body(worker, launch_and_wait);
        });
    }
};

}  // namespace tessera::guard
