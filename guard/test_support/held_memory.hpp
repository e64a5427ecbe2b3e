// Fixture for tests of allocated memory: a container with 1 GiB of a GPU. Each of its processes is
// a fork.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "api/nvidia/cuda.h"
#include "gpusim/test_support/child_process.hpp"
#include "gpusim/test_support/cuda_program.hpp"
#include "guard/region/account.hpp"
#include "guard/test_support/guarded_container.hpp"

namespace tessera::guard {

// The memory that a context takes of the first GPU.
inline constexpr std::uint64_t kContext = 100 * gpusim::kMiB;

class HeldMemory : public testing::Test {
  protected:
    // The container has no share of the second GPU.
    gpusim::SimulatedNode node_{
        "gpus:\n"
        "  - {model: A, memory: 8GiB, context_overhead: 100MiB}\n"
        "  - {model: B, memory: 8GiB}\n"};
    GuardedContainer container_{node_, {{0, gpusim::kGiB, kContext}}};

    // Memory of the container, by its accounts.
    [[nodiscard]] std::uint64_t held_bytes() const {
        return held(container_.region().accounts(), 0) * kAllocationUnitBytes;
    }
    // Expects that value in the accounts and in the driver.
    void expect_held(std::uint64_t bytes) const {
        EXPECT_EQ(held_bytes(), bytes);
        EXPECT_EQ(node_.used(0), bytes) << "as the driver says";
    }
    // Runs `body` in a process of the container.
    template <typename Body>
    void in_tenant(Body body) const {
        gpusim::in_child([&] {
            gpusim::CudaProgram tenant(container_.facade());
            body(tenant);
        });
    }
    // A process of the container that holds that many bytes.
    std::unique_ptr<gpusim::ChildProcess> holder(std::uint64_t bytes) const {
        return gpusim::start_holder(container_.facade(), bytes);
    }
};

}  // namespace tessera::guard
