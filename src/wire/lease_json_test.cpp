#include "wire/lease_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: the object that the API server takes, with times as it writes them itself; and what it
// stores is read back, but for the times.
TEST(LeaseJson, WritesAndReadsBack) {
    Lease lease{.holder = "a_1",
                .url = "https://192.0.2.1:12345",
                .duration_s = 8,
                .acquired_ns = 1'795'229'693'218'179'571,
                .renewed_ns = 1'795'229'700'000'000'999,
                .transitions = 3,
                .version = "77"};
    const std::string text = write_lease("tessera-controller", "tessera-system", lease);
    EXPECT_EQ(text,
              R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{)"
              R"("name":"tessera-controller","namespace":"tessera-system","resourceVersion":"77",)"
              R"("annotations":{"tessera.dev/url":"https://192.0.2.1:12345"}},"spec":{)"
              R"("holderIdentity":"a_1","leaseDurationSeconds":8,"leaseTransitions":3,)"
              R"("acquireTime":"2026-11-21T02:54:53.218179Z",)"
              R"("renewTime":"2026-11-21T02:55:00.000000Z"}})");
    lease.acquired_ns = lease.renewed_ns = 0;
    EXPECT_EQ(read_lease(JsonDocument::parse(text)->root()), lease);
}

// Goal: a new Lease names no version, which makes the API server refuse it where there is one.
TEST(LeaseJson, NewOneHasNoVersion) {
    EXPECT_EQ(write_lease("n", "s", {}).find("resourceVersion"), std::string::npos);
}

// Goal: anybody's object is read, as nobody's Lease where it says nothing sensible.
TEST(LeaseJson, OddObjects) {
    for (const char* text : {"{}", "null", "[]", "7", R"({"spec":7,"metadata":[]})",
                             R"({"spec":{"holderIdentity":null,"leaseDurationSeconds":"x"}})"}) {
        EXPECT_EQ(read_lease(JsonDocument::parse(text)->root()), Lease{}) << text;
    }
}

}  // namespace
}  // namespace tessera
