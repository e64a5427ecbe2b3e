#include "wire/kube/lease_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: the object is what the API server accepts, with times in its own format; and it reads back,
// except for the times.
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

// Goal: a new Lease has no resource version, so the API server refuses it if one exists already.
TEST(LeaseJson, NewOneHasNoVersion) {
    EXPECT_EQ(write_lease("n", "s", {}).find("resourceVersion"), std::string::npos);
}

// Goal: any object can be read; without valid fields it is a Lease without a holder.
TEST(LeaseJson, OddObjects) {
    for (const char* text : {"{}", "null", "[]", "7", R"({"spec":7,"metadata":[]})",
                             R"({"spec":{"holderIdentity":null,"leaseDurationSeconds":"x"}})"}) {
        EXPECT_EQ(read_lease(JsonDocument::parse(text)->root()), Lease{}) << text;
    }
}

}  // namespace
}  // namespace tessera
