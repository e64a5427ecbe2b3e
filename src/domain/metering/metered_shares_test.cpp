#include "domain/metering/metered_shares.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tessera {
namespace {

Gpu gpu(const char* uuid) {
    Gpu out;
    out.uuid = GpuUuid(uuid);
    out.model = "A100";
    out.memory = gibibytes(81);
    out.reserved = gibibytes(1);
    return out;
}

GpuShare share(const char* uuid, std::int64_t gib, int cores) {
    GpuShare out;
    out.uuid = GpuUuid(uuid);
    out.memory = gibibytes(gib);
    out.cores = Percent{cores};
    return out;
}

std::vector<std::string> texts(const std::vector<ContainerAllocation>& containers) {
    const std::vector<Gpu> gpus = {gpu("GPU-a"), gpu("GPU-b")};
    std::vector<std::string> out;
    for (const MeteredShare& s : metered_shares({.containers = containers}, gpus)) {
        EXPECT_EQ(s.model, "A100");
        EXPECT_EQ(s.capacity, gibibytes(80));
        out.push_back(s.container + " " + s.gpu.str() + " " + to_string(s.memory) + " " +
                      std::to_string(s.compute.value) + (s.whole ? " whole" : ""));
    }
    return out;
}

using Texts = std::vector<std::string>;

TEST(MeteredShares, EachContainerHasItsOwn) {
    EXPECT_EQ(texts({}), Texts());
    EXPECT_EQ(texts({{"b", ContainerKind::app, {share("GPU-b", 2, 10), share("GPU-a", 3, 25)}},
                     {"a", ContainerKind::sidecar, {share("GPU-a", 1, 5)}}}),
              (Texts{"a GPU-a 1Gi 5", "b GPU-a 3Gi 25", "b GPU-b 2Gi 10"}));
}

// Goal: two shares of a container on one GPU count twice.
TEST(MeteredShares, SharesOfOneContainerOnOneGpuAddUp) {
    EXPECT_EQ(texts({{"a", ContainerKind::app, {share("GPU-a", 2, 10), share("GPU-a", 3, 25)}}}),
              (Texts{"a GPU-a 5Gi 35"}));
}

TEST(MeteredShares, AnInitContainerCountsForWhatItNeedsBeyondTheOthers) {
    EXPECT_EQ(texts({{"i", ContainerKind::init, {share("GPU-a", 2, 10)}},
                     {"a", ContainerKind::app, {share("GPU-a", 3, 25)}}}),
              (Texts{"a GPU-a 3Gi 25"}));
    EXPECT_EQ(texts({{"i", ContainerKind::init, {share("GPU-a", 5, 10)}},
                     {"j", ContainerKind::init, {share("GPU-a", 4, 40)}},
                     {"a", ContainerKind::app, {share("GPU-a", 3, 25)}}}),
              (Texts{"a GPU-a 3Gi 25", "i GPU-a 2Gi 15"}));
    EXPECT_EQ(texts({{"i", ContainerKind::init, {share("GPU-a", 5, 10)}}}),
              (Texts{"i GPU-a 5Gi 10"}));
}

TEST(MeteredShares, AWholeGpuCountsOnce) {
    GpuShare whole = share("GPU-a", 80, 100);
    whole.whole = true;
    EXPECT_EQ(texts({{"i", ContainerKind::init, {share("GPU-a", 5, 10)}},
                     {"a", ContainerKind::app, {whole, share("GPU-b", 1, 1)}},
                     {"b", ContainerKind::app, {whole}}}),
              (Texts{"a GPU-a 0 0 whole", "a GPU-b 1Gi 1"}));
}

TEST(MeteredShares, GpusThatAreNotKnownAreLeftOut) {
    EXPECT_EQ(texts({{"a", ContainerKind::app, {share("GPU-x", 2, 10)}}}), Texts());
    Gpu broken = gpu("GPU-a");
    broken.memory = {};
    broken.reserved = {};
    EXPECT_TRUE(metered_shares({.containers = {{"a", ContainerKind::app, {share("GPU-a", 2, 10)}}}},
                               {{broken}})
                    .empty());
}

// Goal: the shares are together what the pod has reserved.
TEST(MeteredShares, RandomPodsCountForWhatTheyReserve) {
    std::mt19937 random(7);
    const auto upto = [&random](int most) {
        return std::uniform_int_distribution<>(0, most)(random);
    };
    const std::vector<Gpu> gpus = {gpu("GPU-a"), gpu("GPU-b")};
    for (int round = 0; round < 2'000; ++round) {
        Allocation allocation;
        for (int i = upto(4); i >= 0; --i) {
            allocation.containers.push_back(
                {"c" + std::to_string(i), static_cast<ContainerKind>(upto(2)), {}});
            for (int n = upto(2); n > 0; --n) {
                allocation.containers.back().gpus.push_back(
                    share(upto(1) == 0 ? "GPU-a" : "GPU-b", upto(5), upto(6)));
            }
        }
        std::map<GpuUuid, std::pair<std::int64_t, int>> sums;
        for (const MeteredShare& s : metered_shares(allocation, gpus)) {
            sums[s.gpu].first += s.memory.count;
            sums[s.gpu].second += s.compute.value;
        }
        for (const GpuAllocation& reserved : allocated_by_gpu(allocation.containers)) {
            EXPECT_EQ(sums[reserved.uuid].first, reserved.memory.count);
            EXPECT_EQ(sums[reserved.uuid].second, reserved.cores.value);
        }
    }
}

}  // namespace
}  // namespace tessera
