#include "domain/doctor/others_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "domain/doctor/checks.hpp"
#include "testing/builders/builders.hpp"

namespace tessera::doctor {
namespace {

// A node of Tessera with a GPU pod, a node that has its label and no agent yet, and one that is
// not Tessera's. Nothing of other products.
Facts alone() {
    PodInfo pod = build::pod("p", build::native(gibibytes(4)));
    pod.node = NodeName("n1");
    return {
        .controller = Workload{},
        .agents = Workload{.runtime_class = "nvidia"},
        .nodes = std::vector<Node>{{.inventory = build::node("n1", 2, gibibytes(16)),
                                    .has_report = true},
                                   {.inventory = {.name = NodeName("new")}, .wants_agent = true},
                                   {.inventory = {.name = NodeName("other")}}},
        .pods =
            std::vector<Pod>{
                {.info = pod, .scheduler = "tessera-scheduler", .programs = {{"busybox", "main"}}}},
        .slices = std::vector<Slice>(),
        .claims = std::vector<Claim>(),
        .operators = std::vector<GpuOperator>(),
        .runtime_classes = std::set<std::string>{"nvidia"}};
}

// The facts with another pod, which requests no GPU of Tessera.
Facts with_pod(const Program& program, const char* node = "n1", const char* ns = "default") {
    Facts facts = alone();
    PodInfo pod{.name = {ns, "x"}};
    pod.node = NodeName(node);
    facts.pods->push_back({.info = pod, .programs = {{"registry/validator", "init"}, program}});
    return facts;
}

// Goal: another program that assigns GPUs on a node of Tessera is named, from any registry, with
// the fix. On other nodes, only an extender counts.
TEST(DoctorOthers, KnownByTheirImages) {
    const struct {
        const char* image;
        const char* command;
        const char* what;
        const char* fix;
        bool anywhere;
    } rows[] = {
        {"acs/k8s-gpushare-schd-extender:1.11", "", "gpushare's extender", "migrate-gpushare",
         true},
        {"acs/k8s-gpushare-plugin:v2", "", "gpushare's device plugin", "migrate-gpushare", false},
        {"tkestack/gpu-manager:1.1", "", "Tencent's gpu-manager", "keep gpu-manager off", false},
        {"tkestack/gpu-admission:1.0", "", "Tencent's gpu-admission", "remove gpu-admission", true},
        {"r:5000/projecthami/hami:v2.4", "device-plugin nvidia-device-plugin", "HAMi",
         "kubectl label node NODE gpu-", false},
        {"volcanosh/volcano-vgpu-device-plugin:v1.9", "", "Volcano's vGPU device plugin", "Volcano",
         false},
        {"nvcr.io/nvidia/k8s-device-plugin:v0.17", "", "NVIDIA's device plugin",
         "nvidia.com/gpu.deploy.device-plugin=false", false},
        {"nvcr.io/nvidia/k8s-device-plugin:v0.20", "mps mps-control-daemon",
         "NVIDIA's device plugin", "tessera.dev/agent", false},
        {"nvcr.io/nvidia/k8s-dra-driver-gpu:v25.3", "gpus bash -c gpu-kubelet-plugin -v 1",
         "NVIDIA's DRA driver", "resources.gpus.enabled=false", false},
        {"k8s/dra-driver-nvidia/dra-driver-nvidia-gpu:v0.5", "gpus bash -c gpu-kubelet-plugin",
         "NVIDIA's DRA driver", "resources.gpus.enabled=false", false},
        {"nvcr.io/nvidia/cloud-native/vgpu-device-manager:v0.3", "", "NVIDIA's vGPU", "off", false},
        {"nvcr.io/nvidia/cloud-native/k8s-mig-manager:v0.12", "", "NVIDIA's MIG manager",
         "nvidia.com/gpu.deploy.mig-manager=false", false},
        {"nvshare/nvshare-device-plugin:v0.1", "", "nvshare's device plugin", "nvshare", false},
        {"gke.gcr.io/nvidia-gpu-device-plugin@sha256:00", "", "GKE's device plugin", "gke.md",
         false},
        {"ghcr.io/nebuly-ai/nos-gpu-partitioner:0.1", "", "nos", "keep nos off", false},
        {"r/kai-scheduler/kai-gpu-fractioning/agent:1", "", "KAI's gpu-fractioning", "taint",
         false},
    };
    for (const auto& row : rows) {
        const Judgement here = others(with_pod({row.image, row.command}));
        EXPECT_EQ(here.status, Status::failed) << row.image;
        EXPECT_EQ(here.found.find(row.what), 0U) << here.found;
        EXPECT_NE(here.found.find("(default/x) runs on n1"), std::string::npos) << here.found;
        EXPECT_NE(here.fix.find(row.fix), std::string::npos) << here.fix;
        EXPECT_NE(here.fix.find("beside-others.md"), std::string::npos) << here.fix;
        EXPECT_EQ(others(with_pod({row.image, row.command}, "new")).status, Status::failed);
        EXPECT_EQ(others(with_pod({row.image, row.command}, "other")).status,
                  row.anywhere ? Status::failed : Status::ok)
            << row.image;
    }
}

// Goal: programs that assign no GPU of the node are no conflict, also if their image has such a
// program too.
TEST(DoctorOthers, AllowedPrograms) {
    const Program rows[] = {
        {"r:5000/hamilton/hamilton:hami", ""},
        {"r/diagnosis-tool:1", ""},
        {"", ""},
        {"projecthami/hami:v2.4", "vgpu-scheduler-extender scheduler --metrics-bind-address=:9395"},
        {"projecthami/hami:v2.4", "vgpu-monitor vGPUmonitor"},
        {"nvcr.io/nvidia/k8s-device-plugin:v0.17", "gpu-feature-discovery /usr/bin/x"},
        {"nvcr.io/nvidia/k8s-device-plugin:v0.17", "ctr gpu-feature-discovery"},
        {"nvcr.io/nvidia/k8s-device-plugin:v0.17", "sidecar config-manager"},
        {"nvcr.io/nvidia/k8s-dra-driver-gpu:v25.3",
         "compute-domains compute-domain-kubelet-plugin"},
        {"k8s/dra-driver-nvidia/dra-driver-nvidia-gpu:v0.5", "c compute-domain-controller -v 1"},
        {"nvcr.io/nvidia/k8s/dcgm-exporter:4", "nvidia-dcgm-exporter"},
        {"nvcr.io/nvidia/gpu-operator:v26.7", "nvidia-operator-validator sh -c sleep infinity"},
        {"nvcr.io/nvidia/k8s/container-toolkit:v1.18", "nvidia-container-toolkit-ctr"},
        {"ghcr.io/kai-scheduler/kai-scheduler/binder@sha256:00", "binder"},
        {"volcanosh/vc-scheduler:v1.15", "volcano-scheduler"},
    };
    for (const Program& row : rows)
        EXPECT_EQ(others(with_pod(row)).status, Status::ok) << row.image << " " << row.command;
}

struct Case {
    const char* what;
    std::function<void(Facts&)> change;
    const char* found;  // empty: no conflict
    const char* fix;
};

void expect_all(const std::vector<Case>& cases) {
    for (const Case& row : cases) {
        Facts facts = alone();
        row.change(facts);
        const Judgement judged = others(facts);
        if (*row.found == '\0') {
            EXPECT_EQ(judged.status, Status::ok) << row.what << ": " << judged.found;
            continue;
        }
        EXPECT_EQ(judged.status, Status::failed) << row.what;
        EXPECT_EQ(judged.found, row.found) << row.what;
        EXPECT_NE(judged.fix.find(row.fix), std::string::npos) << row.what << ": " << judged.fix;
    }
}

// Goal: GPUs that another plugin, a DRA driver or KAI offers or has assigned are found without
// knowing its image, on nodes of Tessera only.
TEST(DoctorOthers, KnownByWhatTheyOffer) {
    expect_all({
        {"nothing", [](Facts&) {}, "", ""},
        {"amounts",
         [](Facts& f) {
             f.nodes->front().foreign_amounts = {{"nvidia.com/mig-1g.5gb", 7},
                                                 {"volcano.sh/vgpu-number", 10}};
         },
         "n1 also offers 7 nvidia.com/mig-1g.5gb (NVIDIA's device plugin, with MIG): the same "
         "GPUs; "
         "n1 also offers 10 volcano.sh/vgpu-number (Volcano's vGPU device plugin): the same GPUs",
         "keep the device plugin that offers them off this node"},
        {"amounts elsewhere",
         [](Facts& f) { f.nodes->back().foreign_amounts = {{"nvidia.com/gpu", 2}}; }, "", ""},
        {"slices",
         [](Facts& f) {
             f.slices = std::vector<Slice>{{"gpu.nvidia.com", NodeName("n1")},
                                           {"gpu.nvidia.com", NodeName("other")},
                                           {"dra.net", NodeName("n1")}};
         },
         "n1 also offers its GPUs by ResourceSlices of gpu.nvidia.com",
         "resources.gpus.enabled=false"},
        {"claims",
         [](Facts& f) {
             f.claims = std::vector<Claim>{{"d/c", "gpu.nvidia.com", "n1"},
                                           {"d/e", "gpu.nvidia.com", "other"},
                                           {"d/f", "compute-domain.nvidia.com", "n1"}};
         },
         "ResourceClaim d/c has a GPU of n1 (gpu.nvidia.com), which Tessera does not count",
         "delete the pods of these ResourceClaims, then the claims"},
        {"a reservation of KAI",
         [](Facts& f) {
             f.pods->push_back(
                 with_pod({"r/x", ""}, "n1", "kai-resource-reservation").pods->back());
         },
         "KAI has a GPU of n1 reserved (kai-resource-reservation/x)", "nodes of its own"},
        {"a reservation elsewhere",
         [](Facts& f) {
             f.pods->push_back(
                 with_pod({"r/x", ""}, "other", "kai-resource-reservation").pods->back());
         },
         "", ""},
    });
}

// Goal: a label by which another product takes nodes counts where that product is installed.
TEST(DoctorOthers, KnownByTheirLabels) {
    const auto hami_is_installed = [](Facts& f) {
        f.pods->push_back(with_pod({"projecthami/hami:v2", "scheduler"}, "other").pods->back());
    };
    expect_all({
        {"HAMi's label",
         [&](Facts& f) {
             hami_is_installed(f);
             f.nodes->front().labels = {{"gpu", "on"}};
         },
         "n1 has the label gpu=on, by which HAMi takes nodes", "kubectl label node NODE gpu-"},
        {"HAMi's label elsewhere",
         [&](Facts& f) {
             hami_is_installed(f);
             f.nodes->front().labels = {{"gpu", "off"}};
             f.nodes->back().labels = {{"gpu", "on"}};
         },
         "", ""},
        {"such a label without HAMi", [](Facts& f) { f.nodes->front().labels = {{"gpu", "on"}}; },
         "", ""},
        {"a node pool of KAI",
         [](Facts& f) {
             f.pods->push_back(
                 with_pod({"g/kai-scheduler/kai-scheduler/binder:1", ""}, "other").pods->back());
             f.nodes->front().labels = {{"kai.scheduler/node-pool", "a"}};
         },
         "n1 has the label kai.scheduler/node-pool=a, by which KAI takes nodes", "node-pool-"},
    });
}

// Goal: pods that ask two products, or a scheduler that does not ask Tessera, are named, before
// they are placed too. Pods that ask only another product are none of our business.
TEST(DoctorOthers, Pods) {
    expect_all({
        {"two products",
         [](Facts& f) {
             f.pods->front().info.node = {};
             f.pods->front().foreign_requests = {"nvidia.com/gpu", "nvidia.com/gpumem"};
         },
         "default/p requests nvidia.com/gpu, nvidia.com/gpumem beside Tessera's resources",
         "GPUs of one product"},
        {"another product",
         [](Facts& f) {
             f.pods->push_back(with_pod({"r/x", ""}, "other").pods->back());
             f.pods->back().foreign_requests = {"nvidia.com/gpu"};
             f.pods->back().scheduler = "volcano";
         },
         "", ""},
        {"a scheduler",
         [](Facts& f) {
             f.pods->front().info.node = {};
             f.pods->front().scheduler = "kai-scheduler";
         },
         "default/p requests Tessera's resources and has schedulerName kai-scheduler: KAI does not "
         "place it on GPUs of Tessera",
         "without spec.schedulerName"},
        {"a finished pod",
         [](Facts& f) {
             f.pods->front().info.finished = true;
             f.pods->front().scheduler = "volcano";
             f.pods->front().foreign_requests = {"nvidia.com/gpu"};
         },
         "", ""},
    });
}

// Goal: settings of the GPU Operator are conflicts if Tessera's pods depend on what they remove.
TEST(DoctorOthers, GpuOperatorSettings) {
    const auto set = [](Facts& f, bool nri, bool refuses) {
        f.operators = std::vector<GpuOperator>{{"cp", nri, refuses}};
        f.runtime_classes = std::set<std::string>();
    };
    expect_all({
        {"none", [&](Facts& f) { set(f, false, false); }, "", ""},
        {"its NRI plugin", [&](Facts& f) { set(f, true, false); },
         "the GPU Operator (ClusterPolicy cp) has cdi.nriPluginEnabled: it removes the "
         "RuntimeClass "
         "nvidia, which Tessera's pods need",
         "cdi.nriPluginEnabled=false"},
        {"a RuntimeClass of other origin",
         [&](Facts& f) {
             set(f, true, false);
             f.runtime_classes = std::set<std::string>{"nvidia"};
         },
         "", ""},
        {"RuntimeClasses that may not be read",
         [&](Facts& f) {
             set(f, true, false);
             f.runtime_classes = fail(Code::permission_denied, "forbidden");
         },
         "", ""},
        {"no RuntimeClass",
         [&](Facts& f) {
             set(f, true, true);
             f.agents->runtime_class = "";
         },
         "", ""},
        {"tenants with a RuntimeClass",
         [&](Facts& f) {
             set(f, true, false);
             f.agents->runtime_class = "";
             f.controller->tenants_runtime_class = "gpu";
         },
         "the GPU Operator (ClusterPolicy cp) has cdi.nriPluginEnabled: it removes the "
         "RuntimeClass "
         "gpu, which Tessera's pods need",
         "cdi.nriPluginEnabled=false"},
        {"no environment", [&](Facts& f) { set(f, false, true); },
         "the GPU Operator (ClusterPolicy cp) gives containers no GPU by NVIDIA_VISIBLE_DEVICES, "
         "so "
         "the agents get no driver",
         "toolkit.env"},
        {"tenants that get their GPUs by it",
         [&](Facts& f) {
             set(f, false, true);
             f.agents->is_privileged = true;
             f.controller->tenants_runtime_class = "nvidia";
         },
         "the GPU Operator (ClusterPolicy cp) gives containers no GPU by NVIDIA_VISIBLE_DEVICES, "
         "so "
         "pods with the RuntimeClass nvidia get none",
         "webhook.runtimeClassName"},
        {"a privileged agent",
         [&](Facts& f) {
             set(f, false, true);
             f.agents->is_privileged = true;
         },
         "", ""},
    });
}

// Goal: several conflicts give each fix once.
TEST(DoctorOthers, EachFixOnce) {
    Facts facts = with_pod({"nvidia/k8s-mig-manager:1", ""});
    facts.pods->push_back(facts.pods->back());
    const std::string fix = others(facts).fix;
    EXPECT_EQ(fix.find("mig-manager=false"), fix.rfind("mig-manager=false")) << fix;
}

// Goal: gpu-manager and its pods on nodes of their own are no fault. Its resources are also those
// of a dialect, so such a pod without an allocation is a fault on a node of Tessera alone.
TEST(DoctorOthers, GpuManagerOnItsOwnNodes) {
    for (const auto& [node, status] : {std::pair("other", Status::ok), {"new", Status::failed}}) {
        Facts facts = alone();
        PodInfo& ours = facts.pods->front().info;
        ours = build::bound(
            ours, build::allocation(ours, "n1", {{GpuUuid("GPU-n1-0"), 0, gibibytes(4)}}));
        PodInfo theirs =
            build::pod("x", {build::container("main", {{"tencent.com/vcuda-core", "50"},
                                                       {"tencent.com/vcuda-memory", "15"}})});
        theirs.node = NodeName(node);
        facts.pods->push_back({.info = theirs, .scheduler = "default-scheduler"});
        const auto findings = examine(facts);
        const auto routing = std::ranges::find(findings, "routing", &Finding::check);
        ASSERT_NE(routing, findings.end());
        EXPECT_EQ(routing->status, status) << node << ": " << routing->found;
        EXPECT_EQ(others(facts).status, Status::ok) << others(facts).found;
    }
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
