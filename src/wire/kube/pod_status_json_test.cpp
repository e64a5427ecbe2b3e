#include "wire/kube/pod_status_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: each write names the uid, so that no other pod of the same name is changed. A first
// nomination replaces none, and a withdrawal removes only the one that it names.
TEST(PodStatusJson, Writes) {
    EXPECT_EQ(write_preempted(PodUid("u"), "pod s/high"),
              R"({"metadata":{"uid":"u"},"status":{"conditions":[{"type":"DisruptionTarget",)"
              R"("status":"True","reason":"PreemptionByScheduler","message":)"
              R"("tessera-controller: preempting to accommodate pod s/high"}]}})");
    EXPECT_EQ(write_nomination(PodUid("u"), NodeName("n")),
              R"({"metadata":{"uid":"u"},"status":{"nominatedNodeName":"n"}})");
    EXPECT_EQ(write_first_nomination(PodUid("u"), NodeName("n")),
              R"([{"op":"test","path":"/metadata/uid","value":"u"},)"
              R"({"op":"test","path":"/spec/nodeName","value":null},)"
              R"({"op":"test","path":"/status/nominatedNodeName","value":null},)"
              R"({"op":"add","path":"/status/nominatedNodeName","value":"n"}])");
    EXPECT_EQ(write_withdrawal(PodUid("u"), NodeName("n")),
              R"([{"op":"test","path":"/metadata/uid","value":"u"},)"
              R"({"op":"test","path":"/status/nominatedNodeName","value":"n"},)"
              R"({"op":"remove","path":"/status/nominatedNodeName"}])");
}

// Goal: a nomination ahead of its turn is distinguished from those of others, also after they wrote
// over it. Method: entries as the API server of Kubernetes 1.36 writes them, and invalid ones.
TEST(PodStatusJson, WhichProgramNominated) {
    const auto is_ahead = [](const std::string& fields, const std::string& node = "n") {
        const auto document =
            JsonDocument::parse(R"({"metadata":{"managedFields":)" + fields +
                                R"(},"status":{"nominatedNodeName":")" + node + R"("}})");
        return document && read_nominated_ahead(document->root());
    };
    const std::string ours =
        R"({"manager":"tessera-nominator","operation":"Update","apiVersion":"v1",)"
        R"("fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:nominatedNodeName":{}}},)"
        R"("subresource":"status"})";
    const std::string others =
        R"({"manager":"kube-scheduler","operation":"Update","apiVersion":"v1",)"
        R"("fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:nominatedNodeName":{}}},)"
        R"("subresource":"status"})";
    EXPECT_TRUE(is_ahead("[" + ours + "]"));
    EXPECT_TRUE(is_ahead(R"([{"manager":"kubectl","fieldsV1":{"f:spec":{}}},)" + ours + "]"));
    EXPECT_FALSE(is_ahead("[" + ours + "]", ""));
    EXPECT_FALSE(is_ahead("[" + others + "]"));
    EXPECT_FALSE(is_ahead(R"([{"manager":"tessera-nominator","fieldsV1":{"f:status":{}}}])"));
    for (const char* invalid : {"null", "7", "{}", "[7]", R"([{"manager":7,"fieldsV1":"x"}])"})
        EXPECT_FALSE(is_ahead(invalid)) << invalid;
}

}  // namespace
}  // namespace tessera
