#include "wire/kube/pod_group_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

PodGroup group(const std::string& spec) {
    const auto document =
        JsonDocument::parse(R"({"metadata":{"namespace":"ns","name":"g"},"spec":)" + spec + "}");
    EXPECT_TRUE(document) << document.error().text;
    return read_pod_group(document->root());
}

// Goal: a gang policy is read; any other policy requires nothing, and no text is too odd.
TEST(PodGroupJson, Policies) {
    EXPECT_EQ(group(R"({"schedulingPolicy":{"gang":{"minCount":8}}})"), (PodGroup{{"ns", "g"}, 8}));
    for (const char* none :
         {R"({"schedulingPolicy":{"basic":{}}})", "{}", R"({"schedulingPolicy":{"gang":{}}})",
          R"({"schedulingPolicy":{"gang":{"minCount":-1}}})",
          R"({"schedulingPolicy":{"gang":{"minCount":"8"}}})", "3"}) {
        EXPECT_EQ(group(none), (PodGroup{{"ns", "g"}, 0})) << none;
    }
    EXPECT_EQ(group(R"({"schedulingPolicy":{"gang":{"minCount":9000000000000}}})").min_count, 1001);
}

}  // namespace
}  // namespace tessera
