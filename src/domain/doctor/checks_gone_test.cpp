// A GPU that was replaced while its pod runs.
#include <gtest/gtest.h>

#include <algorithm>

#include "domain/doctor/checks.hpp"
#include "testing/builders/builders.hpp"

namespace tessera::doctor {
namespace {

Finding allocations_of(NodeInventory inventory, bool has_report) {
    const PodInfo pod = build::pod("p", build::native(gibibytes(4)));
    const Allocation allocation =
        build::allocation(pod, "n1", {{GpuUuid("GPU-n1-0"), 0, gibibytes(4), {}, false}});
    Facts facts{
        .nodes = std::vector<Node>{{.inventory = std::move(inventory), .has_report = has_report}},
        .pods = std::vector<Pod>{{.info = build::bound(pod, allocation)}},
        .key = std::optional<Result<>>(),
    };
    const auto findings = examine(facts);
    const auto found = std::ranges::find(findings, "allocations", &Finding::check);
    return found == findings.end() ? Finding{.check = "none"} : *found;
}

// Goal: a pod whose GPU is gone from its node never starts again there. The check names the pod and
// the GPU, and says to delete the pod. A node without a report is not judged.
TEST(Doctor, GpuGone) {
    NodeInventory node = build::node("n1", 2, gibibytes(16));
    EXPECT_EQ(allocations_of(node, true).status, Status::ok);
    node.gpus[0].uuid = GpuUuid("GPU-new");
    const Finding gone = allocations_of(node, true);
    EXPECT_EQ(gone.status, Status::failed);
    EXPECT_EQ(gone.found, "default/p: GPU GPU-n1-0 is no longer on node n1");
    EXPECT_NE(gone.fix.find("delete these pods"), std::string::npos);
    node.gpus.clear();
    EXPECT_EQ(allocations_of(node, false).status, Status::ok);
}

}  // namespace
}  // namespace tessera::doctor
