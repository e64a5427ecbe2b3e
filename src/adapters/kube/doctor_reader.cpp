#include "adapters/kube/doctor_reader.hpp"

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <set>
#include <thread>
#include <utility>

#include "adapters/http/certificate.hpp"
#include "adapters/kube/agent_reader.hpp"
#include "adapters/kube/kube_call.hpp"
#include "adapters/kube/kube_pages.hpp"
#include "domain/doctor/share_reports.hpp"
#include "wire/kube/doctor_json.hpp"
#include "wire/kube/kube_objects.hpp"
#include "wire/kube/lease_json.hpp"
#include "wire/text/base64.hpp"

namespace tessera {
namespace {

using doctor::Facts;

constexpr std::chrono::milliseconds kDeadline{10'000};
// A leader renews every two seconds (election.hpp).
constexpr std::chrono::milliseconds kRenewals{4'000};
constexpr const char* kAdmission = "/apis/admissionregistration.k8s.io/v1/";

class Reader {
  public:
    Reader(HttpClient& http, DoctorReaderOptions options)
        : http_(http), options_(std::move(options)) {}

    Facts read() {
        const auto begin = std::chrono::steady_clock::now();
        const auto version = read_version();
        const auto lease = read_lease_once();
        const auto agents = get_workload("daemonsets", "tessera-agent");
        Facts facts{.own_version = options_.own_version,
                    .now_s = std::time(nullptr),
                    .ns = options_.ns,
                    .server = fmt::format("{}:{}", http_.endpoint().host, http_.endpoint().port),
                    .api_version = version,
                    .controller = workload_of(get_workload("deployments", "tessera-controller")),
                    .agents = workload_of(agents),
                    .lease = fail(Code::internal, "not read"),
                    .nodes = std::vector<doctor::Node>(),
                    .pods = std::vector<doctor::Pod>(),
                    .slices = read_slices(),
                    .claims = read_claims(),
                    .operators = read_operators(),
                    .runtime_classes = read_runtime_classes(),
                    .key = read_key(),
                    .policies = read_policies(),
                    .scheduler_commands = read_schedulers(),
                    .certificates = read_certificates(),
                    .reports = read_reports(),
                    .asked = read_answers(),
                    .metrics_apis = {},
                    .mps = workload_of(get_workload("daemonsets", "tessera-mps"))};
        facts.pods = read_pods();
        facts.nodes = read_nodes(pod_spec_of(agents));
        if (facts.controller && facts.controller->custom_metrics)
            facts.metrics_apis = read_metrics_apis();
        facts.lease = look_again(lease, begin + kRenewals);
        return facts;
    }

  private:
    // permission_denied has the missing permission as its text, not the server's message.
    Result<JsonDocument> get(const std::string& path, const std::string& right) {
        if (away_) return fail(*away_);
        const auto body = kube_call(http_, {.method = "GET", .path = path}, kDeadline);
        if (!body && body.error().code == Code::permission_denied)
            return fail(Code::permission_denied, right);
        if (!body) return fail(body.error());
        return JsonDocument::parse(*body);
    }

    Result<> each(const std::string& path, const std::string& right, const ReadItem& read) {
        TRY_VOID(each_item([&](const std::string& page) { return get(page, right); }, path, read));
        return {};
    }

    std::string in_namespace(std::string_view group, std::string_view rest) const {
        return fmt::format("{}/namespaces/{}/{}", group, options_.ns, rest);
    }

    Result<std::string> read_version() {
        const auto document = get("/version", "get /version");
        // Each further request would wait for its deadline.
        if (!document && document.error().code == Code::unavailable) away_ = document.error();
        if (!document) return fail(document.error());
        return document->root()["gitVersion"].text_or("of no version");
    }

    Result<JsonDocument> get_workload(const std::string& kind, const std::string& name) {
        return get(in_namespace("/apis/apps/v1", kind + "/" + name),
                   fmt::format("get {}.apps in {}", kind, options_.ns));
    }
    static Result<doctor::Workload> workload_of(const Result<JsonDocument>& document) {
        if (!document) return fail(document.error());
        return read_workload(document->root());
    }
    // The spec of its pods; absent if unknown. Valid as long as the document.
    static JsonValue pod_spec_of(const Result<JsonDocument>& document) {
        if (!document) return {};
        return document->root()["spec"]["template"]["spec"];
    }

    Result<Lease> read_lease_once() {
        TRY(const auto document,
            get(in_namespace("/apis/coordination.k8s.io/v1", "leases/tessera-controller"),
                "get leases.coordination.k8s.io in " + options_.ns));
        return read_lease(document.root());
    }

    // The Lease's times are not compared with a clock: a renewed Lease changes between two reads.
    Result<doctor::LeaseLook> look_again(const Result<Lease>& first,
                                         std::chrono::steady_clock::time_point until) {
        if (!first) return fail(first.error());
        while (true) {
            const auto now = read_lease_once();
            if (!now) return fail(now.error());
            const bool renewed = now->version != first->version;
            if (renewed || now->holder.empty() || std::chrono::steady_clock::now() >= until)
                return doctor::LeaseLook{*now, renewed};
            std::this_thread::sleep_for(std::chrono::milliseconds(250));
        }
    }

    Result<std::vector<doctor::Pod>> read_pods() {
        std::vector<doctor::Pod> out;
        TRY_VOID(each("/api/v1/pods", "list pods", [&](JsonValue json) {
            out.push_back(read_doctor_pod(json, seal_ ? &*seal_ : nullptr));
            const doctor::Pod& pod = out.back();
            if (pod.info.name.ns == options_.ns && is_ready_agent(json))
                with_agent_.insert(pod.info.node);
        }));
        return out;
    }

    Result<std::vector<doctor::Node>> read_nodes(JsonValue agent) {
        std::vector<doctor::Node> out;
        TRY_VOID(each("/api/v1/nodes", "list nodes", [&](JsonValue json) {
            out.push_back(read_doctor_node(json, agent));
            out.back().agent_ready = with_agent_.contains(out.back().inventory.name);
        }));
        return out;
    }

    // Objects of the newest version of resource.k8s.io that the server has: 1.34 and later, 1.33,
    // 1.32 of Kubernetes have different ones.
    Result<> each_dra(const std::string& kind, const ReadItem& read) {
        for (const char* version : {"v1", "v1beta2", "v1beta1"}) {
            const auto done = each(fmt::format("/apis/resource.k8s.io/{}/{}", version, kind),
                                   fmt::format("list {}.resource.k8s.io", kind), read);
            if (done || done.error().code != Code::not_found) return done;
        }
        return {};
    }

    Result<std::vector<doctor::Slice>> read_slices() {
        std::set<doctor::Slice> found;
        TRY_VOID(each_dra("resourceslices", [&](JsonValue json) {
            const JsonValue spec = json["spec"];
            found.insert({spec["driver"].text_or(""), NodeName(spec["nodeName"].text_or(""))});
        }));
        return std::vector<doctor::Slice>(found.begin(), found.end());
    }

    Result<std::vector<doctor::Claim>> read_claims() {
        std::set<doctor::Claim> found;
        TRY_VOID(each_dra("resourceclaims", [&](JsonValue json) {
            for (doctor::Claim& claim : read_claim(json))
                found.insert(std::move(claim));
        }));
        return std::vector<doctor::Claim>(found.begin(), found.end());
    }

    Result<std::vector<doctor::GpuOperator>> read_operators() {
        std::vector<doctor::GpuOperator> out;
        const auto read =
            each("/apis/nvidia.com/v1/clusterpolicies", "list clusterpolicies.nvidia.com",
                 [&](JsonValue json) { out.push_back(read_cluster_policy(json)); });
        if (!read && read.error().code != Code::not_found) return fail(read.error());
        return out;
    }

    Result<std::set<std::string>> read_runtime_classes() {
        std::set<std::string> out;
        TRY_VOID(each("/apis/node.k8s.io/v1/runtimeclasses", "list runtimeclasses.node.k8s.io",
                      [&](JsonValue json) { out.insert(json["metadata"]["name"].text_or("")); }));
        return out;
    }

    // Read before the pods, because their signatures are checked with the key.
    Result<std::optional<Result<>>> read_key() {
        const auto document =
            get(in_namespace("/api/v1", "secrets/tessera-allocation-key"),
                fmt::format("get secrets in {} (tessera-allocation-key)", options_.ns));
        if (!document && document.error().code == Code::not_found) return std::optional<Result<>>();
        if (!document) return fail(document.error());
        const auto text = decode_base64(document->root()["data"]["keys"].text_or(""));
        auto seal = AllocationSeal::from_keys(text.value_or(""));
        if (!seal) {
            return std::optional<Result<>>(
                fail(seal.error().in("Secret tessera-allocation-key, keys")));
        }
        seal_ = *std::move(seal);
        return std::optional<Result<>>(Result<>());
    }

    Result<std::vector<doctor::Policy>> read_policies() {
        std::vector<doctor::Policy> out{{.name = "tessera-immutable-allocations"},
                                        {.name = "tessera-restrict-agent-nodes"}};
        for (doctor::Policy& policy : out) {
            const auto found = get(kAdmission + ("validatingadmissionpolicies/" + policy.name),
                                   "get validatingadmissionpolicies");
            if (!found && found.error().code != Code::not_found) return fail(found.error());
            policy.exists = found.has_value();
        }
        TRY_VOID(each(std::string(kAdmission) + "validatingadmissionpolicybindings",
                      "list validatingadmissionpolicybindings", [&](JsonValue json) {
                          const auto of = json["spec"]["policyName"].text_or("");
                          for (const JsonValue action :
                               json["spec"]["validationActions"].elements()) {
                              if (action.text_or("") != "Deny") continue;
                              for (doctor::Policy& policy : out)
                                  policy.denies |= policy.name == of;
                          }
                      }));
        return out;
    }

    Result<std::vector<std::vector<std::string>>> read_schedulers() {
        std::vector<std::vector<std::string>> out;
        TRY_VOID(
            each("/api/v1/namespaces/kube-system/pods?labelSelector=component%3Dkube-scheduler",
                 "list pods in kube-system",
                 [&](JsonValue json) { out.push_back(read_command(json)); }));
        return out;
    }

    Result<std::vector<doctor::Certificate>> read_certificates() {
        std::vector<doctor::Certificate> out;
        TRY_VOID(each(in_namespace("/api/v1", "secrets?fieldSelector=type%3Dkubernetes.io%2Ftls"),
                      "list secrets in " + options_.ns, [&](JsonValue json) {
                          const std::string name = json["metadata"]["name"].text_or("");
                          const auto pem = decode_base64(json["data"]["tls.crt"].text_or(""));
                          out.push_back({"Secret " + name, certificate_end(pem.value_or(""))});
                      }));
        const std::string& own = http_.endpoint().client_cert_pem;
        if (!own.empty()) {
            out.push_back({"your kubeconfig's client certificate", certificate_end(own)});
        }
        return out;
    }

    Result<std::vector<doctor::ShareReport>> read_reports() {
        std::vector<doctor::ShareReport> out;
        for (const doctor::ShareReportRow& row : doctor::kShareReports) {
            TRY_VOID(each(fmt::format("/api/v1/events?fieldSelector=reason%3D{}", row.reason),
                          "list events", [&](JsonValue json) {
                              out.push_back(
                                  {PodUid(json["involvedObject"]["uid"].text_or("")), row.reason});
                          }));
        }
        return out;
    }

    Result<doctor::AskedAgents> read_answers() {
        TRY(const auto answers, query_agents(http_, options_.ns));
        doctor::AskedAgents out;
        for (const auto& [node, shares] : answers) {
            if (shares) {
                ++out.answered;
            } else if (shares.error().code != Code::unsupported &&  // the agent does not listen
                       shares.error().code != Code::permission_denied) {
                out.silent.push_back({node, shares.error().text});
            }
        }
        return out;
    }

    Result<std::vector<doctor::MetricsApi>> read_metrics_apis() {
        std::vector<doctor::MetricsApi> out;
        for (const char* version : {"v1beta2", "v1beta1"}) {
            const auto document = get(
                fmt::format("/apis/apiregistration.k8s.io/v1/apiservices/{}.custom.metrics.k8s.io",
                            version),
                "get apiservices.apiregistration.k8s.io");
            if (!document && document.error().code == Code::not_found) continue;
            if (!document) return fail(document.error());
            out.push_back(read_metrics_api(document->root()));
        }
        return out;
    }

    HttpClient& http_;
    const DoctorReaderOptions options_;
    std::optional<AllocationSeal> seal_;
    std::optional<Error> away_;  // the API server does not answer
    std::set<NodeName> with_agent_;
};

}  // namespace

doctor::Facts read_doctor_facts(HttpClient& http, const DoctorReaderOptions& options) {
    return Reader(http, options).read();
}

}  // namespace tessera
