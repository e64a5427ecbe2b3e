#include "wire/eviction_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: each write names the uid, so that no namesake is ended or nominated in another's place.
TEST(EvictionJson, NamesTheUid) {
    const std::string head = R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":)"
                             R"({"name":"p","namespace":"s"},"deleteOptions":)"
                             R"({"preconditions":{"uid":"u"})";
    EXPECT_EQ(write_eviction(PodUid("u"), {"s", "p"}, false), head + "}}");
    EXPECT_EQ(write_eviction(PodUid("u"), {"s", "p"}, true), head + R"(,"dryRun":["All"]}})");
    EXPECT_EQ(write_nomination(PodUid("u"), NodeName("n")),
              R"({"metadata":{"uid":"u"},"status":{"nominatedNodeName":"n"}})");
    EXPECT_EQ(write_preempted(PodUid("u"), {"s", "high"}),
              R"({"metadata":{"uid":"u"},"status":{"conditions":[{"type":"DisruptionTarget",)"
              R"("status":"True","reason":"PreemptionByScheduler","message":)"
              R"("tessera-controller: preempting to accommodate pod s/high"}]}})");
}

}  // namespace
}  // namespace tessera
