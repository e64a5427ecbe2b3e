#include "domain/doctor/checks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "testing/builders/builders.hpp"

namespace tessera::doctor {
namespace {

constexpr std::int64_t kNow = 1'800'000'000;
constexpr std::int64_t kDay = 86'400;

using Words = std::vector<std::string>;
using Commands = std::vector<Words>;

Pod bound_pod(const std::string& name) {
    const PodInfo facts = build::pod(name, build::native(gibibytes(4)));
    const Allocation allocation =
        build::allocation(facts, "n1", {{GpuUuid("GPU-n1-0"), 0, gibibytes(4), {}, false}});
    return {.info = build::bound(facts, allocation),
            .scheduler = "default-scheduler",
            .has_signature = true,
            .programs = {{"busybox", "main"}}};
}

// A cluster without faults.
Facts healthy() {
    Facts facts{
        .own_version = "0.1.0",
        .now_s = kNow,
        .ns = "tessera-system",
        .server = "192.0.2.1:6443",
        .api_version = "v1.36.3",
        .controller = Workload{1, 1, "registry/tessera-controller:0.1.0", true},
        .agents = Workload{1, 1, "registry/tessera-agent:0.1.0", true},
        .lease = LeaseLook{{.holder = "controller-1"}, true},
        .nodes = std::vector<Node>{{.inventory = build::node("n1", 2, gibibytes(16)),
                                    .has_report = true,
                                    .wants_agent = true,
                                    .agent_ready = true,
                                    .slots = 128},
                                   {.inventory = {.name = NodeName("cpu-only")}}},
        .pods = std::vector<Pod>{bound_pod("p")},
        .slices = std::vector<Slice>(),
        .claims = std::vector<Claim>(),
        .operators = std::vector<GpuOperator>(),
        .runtime_classes = std::set<std::string>(),
        .key = std::optional<Result<>>(Result<>()),
        .policies = std::vector<Policy>{{"a", true, true}, {"b", true, true}},
        .scheduler_commands = Commands(),
        .certificates = std::vector<Certificate>{{"Secret tls", kNow + 90 * kDay}},
        .reports = std::vector<ShareReport>{{PodUid("uid-gone"), "GpuAccountsDamaged"}},
        .asked = AskedAgents{.answered = 1, .silent = {}},
    };
    return facts;
}

Finding finding_of(const Facts& facts, std::string_view check) {
    const auto findings = examine(facts);
    const auto found = std::ranges::find(findings, check, &Finding::check);
    return found == findings.end() ? Finding{.check = "none"} : *found;
}

// Goal: a cluster without faults passes every check, and each check says what it found.
TEST(Doctor, Healthy) {
    const auto findings = examine(healthy());
    EXPECT_EQ(findings.size(), 16U);
    for (const Finding& finding : findings) {
        EXPECT_EQ(finding.status, Status::ok) << finding.check << ": " << finding.found;
        EXPECT_FALSE(finding.found.empty()) << finding.check;
        EXPECT_TRUE(finding.fix.empty()) << finding.check;
    }
}

struct Case {
    const char* what;
    const char* check;
    Status status;
    std::vector<std::string> found;
    std::vector<std::string> fix;
    std::function<void(Facts&)> break_it;
};

std::vector<Case> workload_cases() {
    return {
        {"no controller",
         "controller",
         Status::failed,
         {"no Deployment"},
         {"install the Helm chart", "--tessera-namespace"},
         [](Facts& f) { f.controller = fail(Code::not_found, "x"); }},
        {"none ready",
         "controller",
         Status::failed,
         {"0 of 1"},
         {"describe"},
         [](Facts& f) { f.controller->ready = 0; }},
        {"one of two",
         "controller",
         Status::warning,
         {"1 of 2"},
         {"describe"},
         [](Facts& f) { f.controller->wanted = 2; }},
        {"another release",
         "controller",
         Status::warning,
         {"is 0.2.0", "program 0.1.0"},
         {"release"},
         [](Facts& f) { f.controller->image = "r:5000/c:v0.2.0"; }},
        {"an image without a version",
         "controller",
         Status::ok,
         {"names no version"},
         {},
         [](Facts& f) { f.controller->image = "localhost/tessera-controller:dev"; }},
        {"no Lease",
         "leader",
         Status::failed,
         {"no Lease"},
         {"helm upgrade", "--reuse-values"},
         [](Facts& f) { f.lease = fail(Code::not_found, "x"); }},
        {"no leader",
         "leader",
         Status::failed,
         {"no controller holds"},
         {"logs"},
         [](Facts& f) { f.lease->lease.holder = ""; }},
        {"a leader that is gone",
         "leader",
         Status::failed,
         {"controller-1", "not renew"},
         {"logs"},
         [](Facts& f) { f.lease->renewed = false; }},
    };
}

std::vector<Case> answer_cases() {
    return {
        {"agents that answer",
         "agents",
         Status::ok,
         {"an agent on each; 1 answered"},
         {},
         [](Facts&) {}},
        {"an agent whose port is taken",
         "agents",
         Status::warning,
         {"should listen", "n1: the agent of n2 answers on its agent's port"},
         {"metrics_off", "tessera top"},
         [](Facts& f) {
             f.asked->silent = {{NodeName("n1"), "the agent of n2 answers on its agent's port"}};
         }},
    };
}

std::vector<Case> node_cases() {
    return {
        {"no DaemonSet",
         "agents",
         Status::failed,
         {"no DaemonSet"},
         {"install the Helm chart"},
         [](Facts& f) { f.agents = fail(Code::not_found, "x"); }},
        {"no agent on a node",
         "agents",
         Status::failed,
         {"n1: no agent is ready"},
         {"app.kubernetes.io/component=agent"},
         [](Facts& f) { f.nodes->front().agent_ready = false; }},
        {"a node that lost its label",
         "agents",
         Status::failed,
         {"n1", "the DaemonSet does not select it"},
         {"kubectl label node"},
         [](Facts& f) { f.nodes->front().wants_agent = false; }},
        {"an agent without GPUs",
         "agents",
         Status::failed,
         {"published no GPUs"},
         {"logs"},
         [](Facts& f) { f.nodes->front().has_report = false; }},
        {"a report that cannot be read",
         "agents",
         Status::failed,
         {"n1", "not JSON"},
         {"within a minute", "different releases"},
         [](Facts& f) { f.nodes->front().inventory.fault = "not JSON"; }},
        {"no GPU node",
         "agents",
         Status::failed,
         {"no node"},
         {"kubectl label node"},
         [](Facts& f) { f.nodes->erase(f.nodes->begin()); }},
        {"an unhealthy GPU",
         "gpus",
         Status::warning,
         {"n1 GPU 1 (GPU-n1-1): Xid 79"},
         {"reset"},
         [](Facts& f) {
             f.nodes->front().inventory.gpus[1].condition = GpuCondition::unhealthy;
             f.nodes->front().inventory.gpus[1].reason = "Xid 79";
         }},
        {"a GPU in MIG mode",
         "gpus",
         Status::warning,
         {"not shareable: n1 GPU 0", "MIG mode is on"},
         {"no fault"},
         [](Facts& f) {
             f.nodes->front().inventory.gpus[0].condition = GpuCondition::not_shareable;
             f.nodes->front().inventory.gpus[0].reason = "MIG mode is on";
         }},
        {"kubelet offers nothing",
         "gpus",
         Status::failed,
         {"n1", "0 tessera.dev/gpu-share"},
         {"plugin_registered"},
         [](Facts& f) { f.nodes->front().slots = 0; }},
    };
}

std::vector<Case> pod_cases() {
    const auto drop = [](Facts& f) { f.pods->front().info.allocation.reset(); };
    return {
        {"a pod that bypassed Tessera",
         "routing",
         Status::failed,
         {"default/p", "on n1 without"},
         {"the ConfigMap tessera-scheduler"},
         drop},
        {"one of two that bypassed Tessera",
         "routing",
         Status::failed,
         {"default/p"},
         {"spec.nodeName"},
         [drop](Facts& f) {
             drop(f);
             f.pods->push_back(bound_pod("q"));
         }},
        {"finished pods do not count",
         "routing",
         Status::skipped,
         {"no GPU pod"},
         {"run one"},
         [drop](Facts& f) {
             drop(f);
             f.pods->front().info.finished = true;
         }},
        {"a pod that gpushare placed",
         "routing",
         Status::skipped,
         {"no GPU pod"},
         {"run one"},
         [drop](Facts& f) {
             drop(f);
             f.pods->front().info.legacy = LegacyAllocation{&kGpushareDialect, {{0, 4}}};
         }},
        {"a scheduler without --config",
         "routing",
         Status::failed,
         {"without --config"},
         {"the ConfigMap tessera-scheduler"},
         [](Facts& f) {
             f.pods->clear();
             f.scheduler_commands = Commands{Words{"kube-scheduler", "--v=2"}};
         }},
        {"a scheduler with --config",
         "routing",
         Status::skipped,
         {"--config"},
         {"run"},
         [](Facts& f) {
             f.pods->clear();
             f.scheduler_commands = Commands{Words{"kube-scheduler", "--config=/x"}};
         }},
        {"one scheduler of two without --config",
         "routing",
         Status::failed,
         {"without --config"},
         {"every kube-scheduler"},
         [](Facts& f) {
             f.pods->clear();
             f.scheduler_commands =
                 Commands{Words{"kube-scheduler"}, Words{"kube-scheduler", "--config=/x"}};
         }},
    };
}

std::vector<Case> allocation_cases() {
    return {
        {"a forged allocation",
         "allocations",
         Status::failed,
         {"default/p: not signed by us"},
         {"delete"},
         [](Facts& f) {
             f.pods->front().info.allocation = fail(Code::permission_denied, "not signed by us");
         }},
        {"a new key in place of the old one",
         "allocations",
         Status::failed,
         {"default/p: not signed by us"},
         {"further line"},
         [](Facts& f) {
             f.pods->front().info.allocation = fail(Code::permission_denied, "not signed by us");
             f.pods->push_back(f.pods->front());
         }},
        {"a copied allocation",
         "allocations",
         Status::failed,
         {"for another pod"},
         {"delete"},
         [](Facts& f) { f.pods->front().info.uid = PodUid("other"); }},
        {"an unsigned one",
         "allocations",
         Status::failed,
         {"not signed"},
         {"delete"},
         [](Facts& f) { f.pods->front().has_signature = false; }},
        {"no permission to read the key",
         "allocations",
         Status::ok,
         {"signatures not checked"},
         {},
         [](Facts& f) { f.key = fail(Code::permission_denied, "get secrets"); }},
    };
}

void with_guard(Facts& f) {
    f.nodes->front().inventory.shares = EnforcementMode::guard;
    f.pods->front().info.is_guarded = true;
}

std::vector<Case> share_cases() {
    return {
        {"no guard", "shares", Status::ok, {"the guard is off"}, {}, [](Facts&) {}},
        {"the guard on all nodes",
         "shares",
         Status::ok,
         {"on 1 nodes and enforces the shares of 1 pods"},
         {},
         with_guard},
        {"a node without the guard",
         "shares",
         Status::warning,
         {"and not on n2"},
         {"--guard-library"},
         [](Facts& f) {
             with_guard(f);
             f.nodes->push_back(f.nodes->front());
             f.nodes->back().inventory.name = NodeName("n2");
             f.nodes->back().inventory.shares = EnforcementMode::none;
         }},
        {"a pod that is older than the guard",
         "shares",
         Status::warning,
         {"not enforced: default/p on n1"},
         {"create these pods again"},
         [](Facts& f) {
             with_guard(f);
             f.pods->front().info.is_guarded = false;
         }},
    };
}

// What agents reported of pods within the last hour.
std::vector<Case> report_cases() {
    return {
        {"a pod that damaged its accounts",
         "shares",
         Status::warning,
         {"overwrote their accounts within the hour: default/p"},
         {"created again"},
         [](Facts& f) {
             with_guard(f);
             f.reports->push_back({PodUid("uid-p"), "GpuAccountsDamaged"});
         }},
        {"a pod that bypassed it",
         "shares",
         Status::warning,
         {"bypassed the guard within the hour: default/p"},
         {"guard.bypassAction=kill"},
         [](Facts& f) {
             with_guard(f);
             f.reports->push_back({PodUid("uid-p"), "GpuMemoryUnaccounted"});
         }},
        {"a pod whose enforcement was covered",
         "shares",
         Status::warning,
         {"lost what enforces their share within the hour: default/p"},
         {"guard.bypassAction=kill"},
         [](Facts& f) {
             with_guard(f);
             f.reports->push_back({PodUid("uid-p"), "GpuEnforcementCovered"});
         }},
        {"a pod that ran without its share",
         "shares",
         Status::warning,
         {"ran without their share within the hour: default/p"},
         {"created again", "guard.bypassAction=kill"},
         [](Facts& f) {
             with_guard(f);
             f.reports->push_back({PodUid("uid-p"), "GpuShareMissing"});
         }},
        {"no permission to read events",
         "shares",
         Status::skipped,
         {"list events"},
         {"administrator"},
         [](Facts& f) {
             with_guard(f);
             f.reports = fail(Code::permission_denied, "list events");
         }},
    };
}

std::vector<Case> trust_cases() {
    return {
        {"no key",
         "key",
         Status::failed,
         {"no Secret"},
         {"openssl rand", "the same key"},
         [](Facts& f) { f.key = std::optional<Result<>>(); }},
        {"an invalid key",
         "key",
         Status::failed,
         {"line 1"},
         {"openssl rand"},
         [](Facts& f) { f.key = std::optional<Result<>>(fail(Code::invalid_argument, "line 1")); }},
        {"an agent without a key",
         "key",
         Status::warning,
         {"the agents run without"},
         {"sets that argument", "Helm chart"},
         [](Facts& f) { f.agents->signs = false; }},
        {"no permission to read it",
         "key",
         Status::skipped,
         {"needs the right to get secrets"},
         {"administrator"},
         [](Facts& f) { f.key = fail(Code::permission_denied, "get secrets"); }},
        {"no policy",
         "admission",
         Status::failed,
         {"a is missing"},
         {"admissionPolicies=true"},
         [](Facts& f) { f.policies->front() = {"a", false, false}; }},
        {"a policy without its binding",
         "admission",
         Status::failed,
         {"b has no binding"},
         {"admissionPolicies=true"},
         [](Facts& f) { f.policies->back().denies = false; }},
        {"an expired certificate",
         "certificates",
         Status::failed,
         {"Secret tls expired 2 days ago"},
         {"renew", "kube-scheduler reads its files when it starts"},
         [](Facts& f) { f.certificates->front().ends_s = kNow - 2 * kDay; }},
        {"a certificate that expires soon",
         "certificates",
         Status::warning,
         {"expires in 13 days"},
         {"renew"},
         [](Facts& f) { f.certificates->front().ends_s = kNow + 14 * kDay - 1; }},
        {"no certificate",
         "certificates",
         Status::ok,
         {"no Secret of type kubernetes.io/tls"},
         {},
         [](Facts& f) { f.certificates->clear(); }},
        {"no certificate in a Secret",
         "certificates",
         Status::failed,
         {"Secret tls: is none"},
         {"renew"},
         [](Facts& f) { f.certificates->front().ends_s = fail(Code::corrupt, "is none"); }},
    };
}

// Goal: each fault is found by its own check, which names it and its fix. The other checks pass, or
// say why they are skipped.
TEST(Doctor, FindsWhatIsBroken) {
    auto cases = workload_cases();
    for (auto more : {node_cases(), answer_cases(), pod_cases(), allocation_cases(), share_cases(),
                      report_cases(), trust_cases()})
        cases.insert(cases.end(), more.begin(), more.end());
    for (const Case& c : cases) {
        Facts facts = healthy();
        c.break_it(facts);
        const Finding finding = finding_of(facts, c.check);
        EXPECT_EQ(finding.status, c.status) << c.what << ": " << finding.found;
        for (const std::string& part : c.found)
            EXPECT_NE(finding.found.find(part), std::string::npos)
                << c.what << ": " << finding.found;
        for (const std::string& part : c.fix)
            EXPECT_NE(finding.fix.find(part), std::string::npos) << c.what << ": " << finding.fix;
        EXPECT_EQ(finding.found.find('\n'), std::string::npos) << c.what;
        EXPECT_EQ(finding.fix.empty(), c.fix.empty()) << c.what << ": " << finding.fix;
    }
}

// Goal: an API server that does not answer is one finding, not one per check.
TEST(Doctor, NoApiServer) {
    Facts facts = healthy();
    facts.api_version = fail(Code::unavailable, "no answer");
    const auto findings = examine(facts);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings.front().status, Status::failed);
    EXPECT_NE(findings.front().fix.find("--context"), std::string::npos);
}

// Goal: a user without permissions sees which permissions are missing, and no check fails.
TEST(Doctor, NoRights) {
    Facts facts = healthy();
    const auto denied = fail(Code::permission_denied, "get things");
    facts.controller = denied;
    facts.agents = denied;
    facts.lease = denied;
    facts.nodes = denied;
    facts.pods = denied;
    facts.slices = denied;
    facts.claims = denied;
    facts.key = denied;
    facts.policies = denied;
    facts.scheduler_commands = denied;
    facts.certificates = denied;
    facts.asked = denied;
    for (const Finding& finding : examine(facts)) {
        if (finding.check == "api_server") continue;
        EXPECT_EQ(finding.status, Status::skipped) << finding.check;
        EXPECT_EQ(finding.found, "needs the right to get things") << finding.check;
    }
}

// Goal: a single missing permission is no fault: the checks that need it are skipped, the others
// pass.
TEST(Doctor, OneRightLess) {
    const auto denied = fail(Code::permission_denied, "get things");
    struct Row {
        std::function<void(Facts&)> deny;
        std::vector<std::string_view> skipped;
    };
    const std::vector<Row> rows = {
        {[&](Facts& f) { f.controller = denied; }, {"controller", "nominations", "custom_metrics"}},
        {[&](Facts& f) { f.agents = denied; }, {"agents"}},
        {[&](Facts& f) { f.lease = denied; }, {"leader"}},
        {[&](Facts& f) { f.nodes = denied; }, {"agents", "gpus", "injection", "shares", "others"}},
        {[&](Facts& f) {
             f.pods = denied;
             // Without the pods it is not known where an agent runs (doctor_reader.cpp).
             f.nodes->front().agent_ready = false;
         },
         {"agents", "routing", "allocations", "shares", "mps", "others"}},
        {[&](Facts& f) { f.mps = denied; }, {"mps"}},
        {[&](Facts& f) { f.slices = denied; }, {"others"}},
        {[&](Facts& f) { f.claims = denied; }, {"others"}},
        {[&](Facts& f) { f.operators = denied; }, {"others"}},
        {[&](Facts& f) { f.runtime_classes = denied; }, {}},
        {[&](Facts& f) { f.agents->runtime_class = "nvidia", f.runtime_classes = denied; },
         {"injection"}},
        {[&](Facts& f) { f.key = denied; }, {"key"}},
        {[&](Facts& f) { f.policies = denied; }, {"admission"}},
        {[&](Facts& f) { f.scheduler_commands = denied; }, {}},
        {[&](Facts& f) { f.certificates = denied; }, {"certificates"}},
        {[&](Facts& f) { f.reports = denied; }, {}},
        {[&](Facts& f) { f.asked = denied; }, {}},
    };
    for (std::size_t i = 0; i < rows.size(); ++i) {
        Facts facts = healthy();
        rows[i].deny(facts);
        std::vector<std::string_view> skipped;
        for (const Finding& finding : examine(facts)) {
            if (finding.status == Status::skipped) skipped.push_back(finding.check);
            EXPECT_TRUE(finding.status == Status::ok || finding.status == Status::skipped)
                << i << " " << finding.check << ": " << finding.found;
        }
        EXPECT_EQ(skipped, rows[i].skipped) << i;
    }
}

// Goal: a thousand faults of one kind give one line.
TEST(Doctor, NamesAFew) {
    Facts facts = healthy();
    for (int i = 0; i < 999; ++i) {
        facts.pods->push_back(bound_pod("p" + std::to_string(i)));
        facts.pods->back().info.allocation.reset();
    }
    const Finding finding = finding_of(facts, "routing");
    EXPECT_NE(finding.found.find("; and 996 more"), std::string::npos) << finding.found;
    EXPECT_LT(finding.found.size(), 600U);
}

}  // namespace
}  // namespace tessera::doctor
