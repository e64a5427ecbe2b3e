// Goal: the probe says what its process really gets. Method: gpusim's control daemon and driver,
// with the guard preloaded as in a container.
#include <gmock/gmock.h>

#include "gpusim/test_support/mps_test.hpp"
#include "guard/test_support/held_memory.hpp"

namespace tessera::guard {
namespace {

using gpusim::kGiB;
using gpusim::Variable;
using testing::HasSubstr;

class MpsProbe : public testing::Test {
  protected:
    MpsProbe() { daemon_.command("set_default_active_thread_percentage 50"); }
    [[nodiscard]] gpusim::CommandResult run(const std::string& options = "") const {
        const std::string libraries = node_.library("libcuda.so.1").parent_path();
        return gpusim::result_of(
            "LD_LIBRARY_PATH=" + libraries + " LD_PRELOAD=" + container_.guard().string() + " " +
            TESSERA_BINARY_DIR "/guard/lib/tessera-mps-probe " + options + " 2>&1");
    }

    gpusim::SimulatedNode node_{
        "gpus:\n"
        "  - {model: A, memory: 8GiB, context_overhead: 100MiB, multiprocessors: 132}\n"};
    gpusim::MpsDaemon daemon_{node_};
    GuardedContainer container_{
        node_,
        {{.gpu = 0, .memory_bytes = kGiB, .context_bytes = kContext, .most_multiprocessors = 37}}};
};

TEST_F(MpsProbe, CountsWhatItGets) {
    const Variable limited("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25");
    const auto said = run("--fill");
    EXPECT_EQ(said.status, 0);
    EXPECT_THAT(said.output, HasSubstr("\"deviceMultiprocessors\":32,\"usedMultiprocessors\":32,"));
    EXPECT_THAT(said.output, HasSubstr("\"totalBytes\":1073741824,"));
    EXPECT_THAT(said.output, HasSubstr("\"limited\":true"));
    // Of 512 units of 2 MiB, 50 are for the context.
    EXPECT_THAT(said.output, HasSubstr("\"filledBytes\":968884224}"));
}

TEST_F(MpsProbe, LowersItsOwnPercentage) {
    const Variable limited("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25");
    EXPECT_THAT(run("--threads 10").output,
                HasSubstr("\"deviceMultiprocessors\":12,\"usedMultiprocessors\":12,"));
}

// Without the guard's limit a program gets what the daemon gives, and the probe says so.
TEST_F(MpsProbe, ShowsThatALimitIsMissing) {
    EXPECT_THAT(run().output, HasSubstr("\"error\":\"cuCtxCreate: CUDA_ERROR_NOT_PERMITTED (800)"));
    EXPECT_EQ(run().status, 1);
    container_.limits().gpus[0].most_multiprocessors = 0;
    EXPECT_THAT(run().output,
                HasSubstr("\"deviceMultiprocessors\":66,\"usedMultiprocessors\":66,"));
}

TEST_F(MpsProbe, RefusesOtherArguments) {
    EXPECT_EQ(run("--threads").status, 2);
    EXPECT_THAT(run("--all").output, HasSubstr("usage: tessera-mps-probe"));
}

}  // namespace
}  // namespace tessera::guard
