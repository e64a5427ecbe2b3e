#include "domain/health/excluded_gpus.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

std::string error_of(const std::vector<std::string>& entries) {
    const auto parsed = ExcludedGpus::parse(entries);
    return parsed ? "" : parsed.error().text;
}

// Goal: a GPU is excluded by its index or by its UUID, and no other is.
TEST(ExcludedGpus, ByIndexOrUuid) {
    const std::vector<std::string> entries = {"1", "GPU-aaa-0"};
    const auto excluded = ExcludedGpus::parse(entries);
    ASSERT_TRUE(excluded) << excluded.error().text;
    EXPECT_TRUE(excluded->contains(1, GpuUuid("GPU-b")));
    EXPECT_TRUE(excluded->contains(0, GpuUuid("GPU-aaa-0")));
    EXPECT_FALSE(excluded->contains(0, GpuUuid("GPU-b")));
    EXPECT_FALSE(ExcludedGpus::parse({})->contains(0, GpuUuid("GPU-b")));
}

// Goal: a wrong entry is named, with what to write instead.
TEST(ExcludedGpus, WrongEntries) {
    for (const char* entry : {"-1", "1x", "x", "", "GPU-", "GPU-a b", "99999999999", "+1", "0x1"}) {
        EXPECT_NE(
            error_of({entry}).find("excluded_gpus: \"" + std::string(entry) + "\" is neither"),
            std::string::npos)
            << entry;
    }
    EXPECT_EQ(error_of({"1", "GPU-a", "GPU-a"}),
              "excluded_gpus: \"GPU-a\" appears twice; remove one of them");
    EXPECT_EQ(error_of({"1", "01"}), "excluded_gpus: \"01\" appears twice; remove one of them");
}

// Goal: an index that the node does not have is an error, because the administrator meant some GPU
// by it. A UUID may be of another node with the same configuration.
TEST(ExcludedGpus, GpusThatTheNodeDoesNotHave) {
    const std::vector<std::string> entries = {"2", "GPU-of-another-node"};
    auto excluded = ExcludedGpus::parse(entries);
    ASSERT_TRUE(excluded);
    std::map<int, GpuUuid> gpus{{0, GpuUuid("GPU-a")}, {1, GpuUuid("GPU-b")}};
    EXPECT_EQ(excluded->resolve(gpus).error().text,
              "excluded_gpus: there is no GPU 2 on this node: the driver lists 0, 1; correct the "
              "index, or name the GPU by its UUID");
    EXPECT_NE(excluded->resolve({}).error().text.find("the driver lists no GPU"),
              std::string::npos);
    gpus.emplace(2, GpuUuid("GPU-c"));
    EXPECT_TRUE(excluded->resolve(gpus));
}

// Goal: an index excludes the GPU that had it first. It excludes no other one that gets the index.
TEST(ExcludedGpus, AnIndexMeansOneGpu) {
    const std::vector<std::string> entries = {"1"};
    auto excluded = ExcludedGpus::parse(entries);
    ASSERT_TRUE(excluded);
    ASSERT_TRUE(excluded->resolve({{0, GpuUuid("GPU-a")}, {1, GpuUuid("GPU-b")}}));
    EXPECT_TRUE(excluded->contains(0, GpuUuid("GPU-b")));
    EXPECT_FALSE(excluded->contains(1, GpuUuid("GPU-c")));
}

}  // namespace
}  // namespace tessera
