#include "domain/placement/misfit.hpp"

#include <gtest/gtest.h>

#include "domain/placement/place.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

using build::container;

const std::string kMem(resource::kAliyunMem);
const std::string kPercentage(resource::kAliyunCores);

Misfit explain(const std::vector<ContainerSpec>& containers, std::span<const Card> on) {
    const PodRequest request = build::request(containers);
    const NodeView node = build::node_view(on);
    EXPECT_EQ(Placer(request).try_node(node.offer()), nullptr);
    return Explainer(request).explain(node.offer());
}

struct Reason {
    const char* what;
    std::vector<ContainerSpec> containers;
    std::vector<Card> on;
    bool never;
    std::vector<std::string> parts;  // of the text
};

// Goal: a user reads why, with numbers: what was asked, what is there, how many cards, how many
// are out of use. Method: a table; gpushare's sentence stays in front for tools that look for it.
TEST(Explain, SaysWhyWithNumbers) {
    const auto held = [](int gib, int cores = 0, bool healthy = true) {
        return Card{gibibytes(16), gibibytes(gib), {cores}, gib > 0 ? 1 : 0, healthy};
    };
    const std::string memory = "Insufficient GPU Memory in one device";
    const std::vector<Reason> cases = {
        {"too large for any card",
         build::aliyun(17),
         {held(0), held(0)},
         true,
         {memory, "17Gi", "16Gi", "2 cards"}},
        {"more cards than there are",
         build::native(gibibytes(3), 4),
         {held(0), held(0)},
         true,
         {memory, "3Gi on each of 4 cards", "2 cards"}},
        {"full now",
         build::aliyun(4),
         {held(13), held(14)},
         false,
         {memory, "asked 4Gi", "largest free share on a card is 3Gi", "2 cards"}},
        {"enough on too few cards",
         build::native(gibibytes(3), 2),
         {held(0), held(14)},
         false,
         {memory, "asked 3Gi on each of 2 cards, 1 of this node's 2 cards have that free"}},
        {"free only on a sick card",
         build::aliyun(4),
         {held(13), held(0, 0, false)},
         false,
         {memory, "3Gi", "2 cards, 1 out of use"}},
        {"all sick",
         build::aliyun(4),
         {held(0, 0, false), held(0, 0, false)},
         false,
         {memory, "2 out of use"}},
        {"no whole card",
         build::whole(),
         {held(1), held(1)},
         false,
         {memory, "a whole card", "15Gi"}},
        {"compute",
         {container("main", {{kMem, "4"}, {kPercentage, "50"}})},
         {held(8, 60)},
         false,
         {"Insufficient GPU compute in one device", "4Gi and 50 percent of its compute",
          "1 cards"}},
        {"together",
         {container("a", {{kMem, "9"}}), container("b", {{kMem, "9"}})},
         {held(0)},
         false,
         {"Insufficient GPU Memory", "in one device for the pod's 2 containers together", "9Gi",
          "16Gi"}},
    };
    for (const Reason& c : cases) {
        const Misfit misfit = explain(c.containers, c.on);
        EXPECT_EQ(misfit.never, c.never) << c.what;
        for (const std::string& part : c.parts)
            EXPECT_NE(misfit.reason.find(part), std::string::npos)
                << c.what << ": " << misfit.reason;
        EXPECT_EQ(misfit.reason.find_first_of("\n%"), std::string::npos) << c.what;
    }
    EXPECT_EQ(explain(build::aliyun(1), {}), (Misfit{true, "no GPU on this node"}));
}

}  // namespace
}  // namespace tessera
