#include "wire/kube/published_node_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

PublishedNode read(const std::string& text) {
    const auto document = JsonDocument::parse(text);
    EXPECT_TRUE(document) << document.error().text;
    return read_published_node(document->root());
}

// Goal: all that an agent wrote is found, and nothing that others wrote.
TEST(PublishedNodeJson, Reads) {
    const PublishedNode node = read(R"({"metadata":{"name":"n",
        "annotations":{"tessera.dev/gpus":"{}","tessera.dev/driver":"in-use","other":"1"},
        "labels":{"tessera.dev/agent":"true","tessera.dev/release-driver":"a",
                  "tessera.dev/gpu-count":"2","tessera.dev/gpu-model":"T4","zone":"a"}},
        "status":{"capacity":{"cpu":"4","nvidia.com/gpu":"2","tessera.dev/gpu-memory":"32Gi",
                  "tessera.dev/gpu-share":"0","aliyun.com/gpu-count":"2"}}})");
    EXPECT_EQ(node, (PublishedNode{.name = NodeName("n"),
                                   .annotations = {"tessera.dev/gpus", "tessera.dev/driver"},
                                   .labels = {"tessera.dev/gpu-count", "tessera.dev/gpu-model"},
                                   .amounts = {"tessera.dev/gpu-memory", "aliyun.com/gpu-count"}}));
}

// Goal: a Node of gpushare's own plugin, or a text that is no Node, is left alone.
TEST(PublishedNodeJson, LeavesOthersAlone) {
    for (const char* text :
         {R"({"metadata":{"name":"n"},"status":{"capacity":{"aliyun.com/gpu-mem":"30"}}})",
          R"({"metadata":{"name":"n","labels":{"tessera.dev/gpu-count":"2"}}})", "[]", "3",
          R"({"metadata":{"annotations":[1],"labels":3},"status":"x"})"}) {
        EXPECT_TRUE(read(text).empty()) << text;
    }
}

TEST(PublishedNodeJson, WritesARemoval) {
    EXPECT_EQ(
        write_amounts_removal(std::vector<std::string>{"a/b", "c"}),
        R"({"status":{"capacity":{"a/b":null,"c":null},"allocatable":{"a/b":null,"c":null}}})");
}

}  // namespace
}  // namespace tessera
