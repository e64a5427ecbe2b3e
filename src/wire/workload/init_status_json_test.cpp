#include "wire/workload/init_status_json.hpp"

#include <gtest/gtest.h>

#include "wire/workload/workload_pod_json.hpp"

namespace tessera::workload {
namespace {

struct Case {
    std::string containers;  // initContainerStatuses
    std::string status;
    std::string init;
    std::string why;  // how it begins
};

WorkloadPod read(const std::string& containers, const std::string& more = "") {
    const auto document = JsonDocument::parse(
        R"({"spec":{"nodeName":"n","initContainers":[{},{}],"containers":[{}]},"status":{)"
        R"("phase":"Pending","containerStatuses":[{"name":"main","state":{"waiting":)"
        R"({"reason":"PodInitializing"}}}],"initContainerStatuses":)" +
        containers + more + "}}");
    return read_workload_pod(document.value().root());
}

// Goal: the pod's status is kubectl's, and the reason names the init container that keeps it.
TEST(InitStatus, Table) {
    const std::string done = R"({"name":"a","state":{"terminated":{"exitCode":0}}})";
    const std::string sidecar = R"({"name":"a","ready":true,"state":{"running":{}}})";
    const std::vector<Case> cases = {
        {R"([{"name":"b","state":{"running":{}}}])", "Init:0/2", "b",
         "container b runs, and the others start after it"},
        {"[" + done + R"(,{"name":"b","state":{"running":{}}}])", "Init:1/2", "b",
         "container b runs"},
        {"[" + sidecar + R"(,{"name":"b","state":{"waiting":{"reason":"PodInitializing"}}}])",
         "Init:1/2", "b", "container b: PodInitializing"},
        {R"([{"name":"b","state":{"waiting":{"reason":"ImagePullBackOff","message":"m"}}}])",
         "Init:ImagePullBackOff", "b", "container b: ImagePullBackOff: m"},
        {R"([{"name":"b","state":{"terminated":{"exitCode":128,"reason":"Error"}}}])", "Init:Error",
         "b", "container b: it ended with exit code 128 (Error)"},
        {R"([{"name":"b","state":{"terminated":{"exitCode":7}}}])", "Init:ExitCode:7", "b",
         "container b: it ended with exit code 7"},
        {"[" + done + "]", "PodInitializing", "", "container main: PodInitializing"},
        {"[]", "PodInitializing", "", "container main: PodInitializing"},
        {"7", "PodInitializing", "", "container main: PodInitializing"},
    };
    for (const Case& one : cases) {
        const WorkloadPod pod = read(one.containers);
        EXPECT_EQ(pod.status, one.status) << one.containers;
        EXPECT_EQ(pod.init, one.init) << one.containers;
        EXPECT_TRUE(pod.why.starts_with(one.why)) << pod.why;
    }
}

// Goal: a sidecar that is killed after the program does not count.
TEST(InitStatus, AfterTheStart) {
    const WorkloadPod pod = read(R"([{"name":"a","state":{"terminated":{"exitCode":137}}}])",
                                 R"(,"conditions":[{"type":"Initialized","status":"True"}])");
    EXPECT_EQ(pod.init, "");
    EXPECT_EQ(pod.status, "PodInitializing");
}

}  // namespace
}  // namespace tessera::workload
