#include "domain/doctor/others_check.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"

namespace tessera::doctor {
namespace {

// A node of Tessera with a pod, and one without GPUs.
Facts alone() {
    PodInfo pod = build::pod("p", build::native(gibibytes(4)));
    pod.node = NodeName("n1");
    return {.nodes = std::vector<Node>{{.inventory = build::node("n1", 2, gibibytes(16)),
                                        .has_report = true},
                                       {.inventory = {.name = NodeName("cpu-only")}}},
            .pods = std::vector<Pod>{{.info = pod, .images = {"busybox"}}},
            .slices = std::vector<Slice>()};
}

Judgement with_image(const std::string& image, const char* node = "n1") {
    Facts facts = alone();
    facts.pods->front().images = {image};
    facts.pods->front().info.node = NodeName(node);
    return others(facts);
}

// Goal: another program that assigns GPUs on a node of Tessera is named, from any registry. On
// other nodes, only an extender or a scheduler counts.
TEST(DoctorOthers, KnownByTheirImages) {
    const struct {
        const char* image;
        const char* what;
        bool anywhere;
    } rows[] = {
        {"acs/k8s-gpushare-schd-extender:1.11", "gpushare's extender", true},
        {"acs/k8s-gpushare-plugin:v2", "gpushare's device plugin", false},
        {"tkestack/gpu-manager:1.1", "Tencent's gpu-manager", false},
        {"tkestack/gpu-admission:1.0", "Tencent's gpu-admission", true},
        {"r:5000/projecthami/hami:v2.4", "HAMi", false},
        {"volcanosh/volcano-vgpu-device-plugin:v1.9", "Volcano's vGPU device plugin", false},
        {"nvcr.io/nvidia/k8s-device-plugin:v0.17", "NVIDIA's device plugin", false},
        {"nvcr.io/nvidia/k8s-dra-driver-gpu:v25.3", "NVIDIA's DRA driver", false},
        {"nvcr.io/nvidia/cloud-native/vgpu-device-manager:v0.3", "NVIDIA's vGPU", false},
        {"nvcr.io/nvidia/cloud-native/k8s-mig-manager:v0.12", "NVIDIA's MIG manager", false},
        {"nvshare/nvshare-device-plugin:v0.1", "nvshare's device plugin", false},
        {"gke.gcr.io/nvidia-gpu-device-plugin@sha256:00", "GKE's device plugin", false},
        {"ghcr.io/nebuly-ai/nos-gpu-partitioner:0.1", "nos", false},
        {"ghcr.io/kai-scheduler/kai-scheduler/binder@sha256:00", "KAI", false},
    };
    for (const auto& row : rows) {
        const Judgement here = with_image(row.image);
        EXPECT_EQ(here.status, Status::failed) << row.image;
        EXPECT_NE(here.found.find(row.what), std::string::npos) << here.found;
        EXPECT_NE(here.found.find("default/p"), std::string::npos) << here.found;
        EXPECT_NE(here.fix.find("take it off"), std::string::npos) << here.fix;
        EXPECT_EQ(with_image(row.image, "cpu-only").status,
                  row.anywhere ? Status::failed : Status::ok)
            << row.image;
    }
    for (const char* image : {"r:5000/hamilton/hamilton:hami", "busybox", "r/diagnosis-tool:1", ""})
        EXPECT_EQ(with_image(image).status, Status::ok) << image;
}

// Goal: GPUs that another plugin or a DRA driver offers are found without knowing its image, on
// nodes of Tessera only.
TEST(DoctorOthers, KnownByWhatTheyOffer) {
    EXPECT_EQ(others(alone()).status, Status::ok);
    Facts facts = alone();
    facts.nodes->front().foreign_amounts = {{"nvidia.com/gpu", 2}, {"volcano.sh/vgpu-number", 10}};
    EXPECT_EQ(others(facts).found,
              "n1 also offers 2 nvidia.com/gpu: the same GPUs; n1 also offers 10 "
              "volcano.sh/vgpu-number: the same GPUs");
    facts = alone();
    facts.nodes->back().foreign_amounts = {{"nvidia.com/gpu", 2}};
    EXPECT_EQ(others(facts).status, Status::ok);
    facts = alone();
    facts.slices = std::vector<Slice>{{"gpu.nvidia.com", NodeName("n1")},
                                      {"gpu.nvidia.com", NodeName("cpu-only")},
                                      {"dra.net", NodeName("n1")}};
    EXPECT_EQ(others(facts).found, "n1 also offers its GPUs by ResourceSlices of gpu.nvidia.com");
}

// Goal: a missing permission is no fault, and hides no fault that was found.
TEST(DoctorOthers, WithoutRights) {
    Facts facts = alone();
    facts.slices = fail(Code::permission_denied, "list resourceslices");
    EXPECT_EQ(others(facts).status, Status::skipped);
    facts.nodes->front().foreign_amounts = {{"nvidia.com/gpu", 2}};
    EXPECT_EQ(others(facts).status, Status::failed);
}

}  // namespace
}  // namespace tessera::doctor
