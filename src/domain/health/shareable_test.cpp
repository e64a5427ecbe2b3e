#include "domain/health/shareable.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: a GPU is not published if several processes cannot use it, or if its shares cannot be
// counted. The reason names the command that changes it. MIG comes first, because nothing else
// helps then.
TEST(Shareable, Table) {
    const struct {
        GpuSetup setup;
        const char* reason;   // its beginning
        const char* command;  // its end
    } rows[] = {
        {{}, "", ""},
        {{.mig = true}, "MIG mode is on", "nvidia-smi -i GPU-a -mig 0"},
        {{.mig = true, .compute_mode = ComputeMode::exclusive, .knows_memory = false},
         "MIG mode is on",
         "nvidia-smi -i GPU-a -mig 0"},
        {{.compute_mode = ComputeMode::exclusive},
         "compute mode Exclusive_Process",
         "nvidia-smi -i GPU-a -c DEFAULT"},
        {{.compute_mode = ComputeMode::prohibited},
         "compute mode Prohibited",
         "nvidia-smi -i GPU-a -c DEFAULT"},
        {{.knows_memory = false}, "NVML does not say", "on such nodes"},
    };
    for (const auto& row : rows) {
        const std::string reason = why_not_shareable(GpuUuid("GPU-a"), row.setup);
        EXPECT_TRUE(reason.starts_with(row.reason)) << reason;
        EXPECT_TRUE(reason.ends_with(row.command)) << reason;
        EXPECT_EQ(reason.empty(), row.reason[0] == '\0') << reason;
    }
}

}  // namespace
}  // namespace tessera
