#include "domain/cluster/node_labels.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Goal: the labels tell count, model and memory. A node with several models says so, and its memory
// is that of the smallest GPU.
TEST(NodeLabels, OfANode) {
    NodeInventory node = build::node("n", 2, gibibytes(16));
    node.gpus[0].model = node.gpus[1].model = "Tesla T4";
    const StringMap same = {{"tessera.dev/gpu-count", "2"},
                            {"tessera.dev/gpu-model", "Tesla-T4"},
                            {"tessera.dev/gpu-memory", "16384"}};
    EXPECT_EQ(node_labels(node), same);
    node.gpus[1].model = "Tesla P100";
    node.gpus[1].memory = gibibytes(12);
    const StringMap mixed = {{"tessera.dev/gpu-count", "2"},
                             {"tessera.dev/gpu-model", "mixed"},
                             {"tessera.dev/gpu-memory", "12288"}};
    EXPECT_EQ(node_labels(node), mixed);
    const StringMap none = {{"tessera.dev/gpu-count", "0"},
                            {"tessera.dev/gpu-model", ""},
                            {"tessera.dev/gpu-memory", ""}};
    EXPECT_EQ(node_labels(build::node("n", 0, {})), none);
    node.gpus[0].memory = {};
    EXPECT_EQ(node_labels(node).at("tessera.dev/gpu-memory"), "12288") << "a size is unknown";
}

}  // namespace
}  // namespace tessera
