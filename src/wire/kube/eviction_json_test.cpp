#include "wire/kube/eviction_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: each write names the uid, so that no other pod of the same name is evicted.
TEST(EvictionJson, NamesTheUid) {
    const std::string head = R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":)"
                             R"({"name":"p","namespace":"s"},"deleteOptions":)"
                             R"({"preconditions":{"uid":"u"})";
    EXPECT_EQ(write_eviction(PodUid("u"), {"s", "p"}, false), head + "}}");
    EXPECT_EQ(write_eviction(PodUid("u"), {"s", "p"}, true), head + R"(,"dryRun":["All"]}})");
}

// Goal: a budget's refusal is distinguished from a busy server's, and from invalid text.
TEST(EvictionJson, Budgets) {
    for (const char* text :
         {R"({"kind":"Status","code":429,"details":{"causes":[{"reason":"DisruptionBudget"}]}})",
          R"({"details":{"causes":[{"reason":"Other"},{"reason":"DisruptionBudget"}]}})",
          R"({"code":500,"message":"This pod has more than one PodDisruptionBudget, which the )"
          R"(eviction subresource does not support."})"}) {
        EXPECT_TRUE(is_of_a_budget(text)) << text;
    }
    for (const char* text :
         {"", "{", "null", "[]", "7", R"({"code":429,"message":"too many requests"})",
          R"({"details":{"causes":{"reason":"DisruptionBudget"}}})",
          R"({"details":{"causes":[7,null,{"reason":7},{}]}})", R"({"details":[]})"}) {
        EXPECT_FALSE(is_of_a_budget(text)) << text;
    }
}

// Goal: a missing right is distinguished from an admission refusal for this pod, and a pod with
// another uid from a conflict of two writes. Method: the API server's own texts.
TEST(EvictionJson, OtherRefusals) {
    EXPECT_TRUE(is_of_missing_right(
        R"({"code":403,"message":"pods \"p\" is forbidden: User \"u\" cannot create resource )"
        R"(\"pods/eviction\" in API group \"\" in the namespace \"s\""})"));
    for (const char* text :
         {"", "{", "7", R"({"message":7})",
          R"({"code":403,"message":"admission webhook \"w\" denied the request: no"})",
          R"({"code":422,"message":"pods \"p\" is forbidden: ValidatingAdmissionPolicy 'x' with )"
          R"(binding 'y' denied request: no"})"}) {
        EXPECT_FALSE(is_of_missing_right(text)) << text;
        EXPECT_FALSE(is_of_a_namesake(text)) << text;
    }
    EXPECT_TRUE(is_of_a_namesake(
        R"({"code":409,"message":"Operation cannot be fulfilled on Pod \"p\": the UID in the )"
        R"(precondition (a) does not match the UID in record (b). The object might have been )"
        R"(deleted and then recreated"})"));
    EXPECT_FALSE(is_of_a_namesake(
        R"({"code":409,"message":"Operation cannot be fulfilled on pods \"p\": the object has )"
        R"(been modified"})"));
}

}  // namespace
}  // namespace tessera
