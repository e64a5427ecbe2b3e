// A GPU that was replaced under its pod.
#include <gtest/gtest.h>

#include <algorithm>

#include "domain/doctor/checks.hpp"
#include "testing/builders/builders.hpp"

namespace tessera::doctor {
namespace {

Finding allocations_of(NodeInventory inventory, bool has_report) {
    const PodFacts pod = build::pod("p", build::native(gibibytes(4)));
    const Allocation allocation =
        build::allocation(pod, "n1", {{GpuUuid("GPU-n1-0"), 0, gibibytes(4), {}, false}});
    Facts facts{
        .nodes = std::vector<Node>{{.inventory = std::move(inventory), .has_report = has_report}},
        .pods = std::vector<Pod>{{.facts = build::bound(pod, allocation)}},
        .key = std::optional<Result<>>(),
    };
    const auto findings = examine(facts);
    const auto found = std::ranges::find(findings, "allocations", &Finding::check);
    return found == findings.end() ? Finding{.check = "none"} : *found;
}

// Goal: a pod whose GPU is gone from its node never starts again there; the doctor names it and the
// GPU, and says to delete it. A node that has not reported says nothing of its GPUs.
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
