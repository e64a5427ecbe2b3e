#include "domain/placement/fit_error.hpp"

#include <gtest/gtest.h>

#include "domain/placement/place.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

using build::container;

const std::string kMem(resource::kAliyunMem);
const std::string kPercentage(resource::kAliyunCores);

FitError explain(const std::vector<ContainerSpec>& containers, std::span<const GpuState> on) {
    const ContainerRequests request = build::request(containers);
    const NodeInfo node = build::node_info(on);
    EXPECT_EQ(Placer(request).try_node(node.node_gpus()), nullptr);
    return Explainer(request).explain(node.node_gpus());
}

struct Reason {
    const char* what;
    std::vector<ContainerSpec> containers;
    std::vector<GpuState> on;
    bool never;
    std::vector<std::string> parts;  // of the text
};

// Goal: amounts are readable, and a request that is larger also reads as larger. Method: a request
// of one byte too much.
TEST(Explain, OddAmounts) {
    const std::vector<GpuState> states = {
        GpuState{.capacity = Bytes{5'590'000'000}, .usable = true}};
    EXPECT_EQ(explain(build::native(Bytes{5'590'000'001}), states).message,
              "Insufficient GPU Memory in one device: asked 5332Mi, the largest of 1 GPUs has "
              "5331Mi, 0 are large enough");
}

// Goal: a user reads the reason with numbers: what was requested, what exists, how many GPUs, how
// many are out of use. Method: a table. gpushare's sentence stays in front, because tools look for
// it.
TEST(Explain, SaysWhyWithNumbers) {
    const auto allocated = [](int gib, int cores = 0, bool healthy = true) {
        return GpuState{gibibytes(16), gibibytes(gib), {cores}, gib > 0 ? 1 : 0, healthy};
    };
    const std::string memory = "Insufficient GPU Memory in one device";
    const std::vector<Reason> cases = {
        {"too large for any GPU",
         build::aliyun(17),
         {allocated(0), allocated(0)},
         true,
         {memory, "17Gi", "16Gi", "2 GPUs"}},
        {"more GPUs than there are",
         build::native(gibibytes(3), 4),
         {allocated(0), allocated(0)},
         true,
         {memory, "3Gi on each of 4 GPUs", "2 GPUs"}},
        {"full now",
         build::aliyun(4),
         {allocated(13), allocated(14)},
         false,
         {memory, "asked 4Gi", "largest free share on a GPU is 3Gi", "2 GPUs"}},
        {"enough on too few GPUs",
         build::native(gibibytes(3), 2),
         {allocated(0), allocated(14)},
         false,
         {memory, "asked 3Gi on each of 2 GPUs, 1 of this node's 2 GPUs have that free"}},
        {"free only on a sick GPU",
         build::aliyun(4),
         {allocated(13), allocated(0, 0, false)},
         false,
         {memory, "3Gi", "2 GPUs, 1 out of use"}},
        {"all sick",
         build::aliyun(4),
         {allocated(0, 0, false), allocated(0, 0, false)},
         false,
         {memory, "2 out of use"}},
        {"no whole GPU",
         build::whole(),
         {allocated(1), allocated(1)},
         false,
         {memory, "a whole GPU", "15Gi"}},
        {"compute",
         {container("main", {{kMem, "4"}, {kPercentage, "50"}})},
         {allocated(8, 60)},
         false,
         {"Insufficient GPU compute in one device", "4Gi and 50 percent of its compute", "1 GPUs"}},
        {"together",
         {container("a", {{kMem, "9"}}), container("b", {{kMem, "9"}})},
         {allocated(0)},
         false,
         {"Insufficient GPU Memory", "in one device for the pod's 2 containers together", "9Gi",
          "16Gi"}},
    };
    for (const Reason& c : cases) {
        const FitError fit_error = explain(c.containers, c.on);
        EXPECT_EQ(fit_error.never, c.never) << c.what;
        for (const std::string& part : c.parts)
            EXPECT_NE(fit_error.message.find(part), std::string::npos)
                << c.what << ": " << fit_error.message;
        EXPECT_EQ(fit_error.message.find_first_of("\n%"), std::string::npos) << c.what;
    }
    EXPECT_EQ(explain(build::aliyun(1), {}), (FitError{true, "no GPU on this node"}));
}

}  // namespace
}  // namespace tessera
