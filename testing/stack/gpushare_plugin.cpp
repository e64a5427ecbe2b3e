// A stand-in for gpushare's device plugin, for tests of the migration. It uses the same socket,
// resource, device ids, environment and annotations (docs/research/gpushare.md, sections 1.4 to
// 1.7): it gives a container the GPU that the scheduler wrote into a pod of that size, and patches
// aliyun.com/gpu-count. It counts in GiB, and does not watch health or kubelet's restart.
// NODE_NAME names the node.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "adapters/http/http.hpp"
#include "adapters/kube/kube_call.hpp"
#include "adapters/kube/kube_pages.hpp"
#include "adapters/kubeconfig/kubeconfig.hpp"
#include "adapters/nvml/nvml_inventory.hpp"
#include "kubelet/deviceplugin.grpc.pb.h"
#include "wire/kube/kube_objects.hpp"

namespace tessera {
namespace {

constexpr const char* kFolder = "/var/lib/kubelet/device-plugins/";
constexpr const char* kSocket = "aliyungpushare.sock";
constexpr const char* kIndex = "ALIYUN_COM_GPU_MEM_IDX";
constexpr const char* kAssigned = "ALIYUN_COM_GPU_MEM_ASSIGNED";
constexpr std::chrono::milliseconds kDeadline{10'000};
constexpr std::chrono::milliseconds kPoll{200};

struct Match {
    PodName pod;
    std::string index;
};

// The API server, as the plugin uses it.
class Api {
  public:
    Api(const HttpEndpoint& endpoint, std::string node) : http_(endpoint), node_(std::move(node)) {}

    Result<> show_count(std::size_t gpus) {
        return kube_merge_patch(
            http_, "/api/v1/nodes/" + node_ + "/status",
            write_capacity_patch({{"aliyun.com/gpu-count", std::to_string(gpus)}}), kDeadline);
    }
    // A pod of this size whose container was not given its GPU yet.
    Result<std::optional<Match>> match(std::int64_t units) {
        std::optional<Match> found;
        TRY_VOID(each_item(http_, "/api/v1/pods?fieldSelector=spec.nodeName%3D" + node_,
                           "list pods", [&](JsonValue json) {
                               const PodInfo pod = read_pod(json);
                               const JsonValue texts = json["metadata"]["annotations"];
                               if (found || texts[kAssigned].text_or("") != "false" ||
                                   size_of(pod) != units)
                                   return;
                               found = Match{pod.name, texts[kIndex].text_or("")};
                           }));
        return found;
    }
    Result<> mark(const PodName& pod) {
        return kube_merge_patch(http_, "/api/v1/namespaces/" + pod.ns + "/pods/" + pod.name,
                                write_annotations_patch({{kAssigned, "true"}}), kDeadline);
    }

  private:
    static std::int64_t size_of(const PodInfo& pod) {
        std::int64_t sum = 0;
        for (const ContainerRequest& request : pod.request.value_or(ContainerRequests()))
            sum += request.gpu.memory.amount;
        return sum;
    }

    HttpClient http_;
    std::string node_;
};

class Plugin final : public v1beta1::DevicePlugin::Service {
  public:
    Plugin(Api& api, const std::vector<GpuReading>& gpus)
        : api_(api), units_(gpus.front().memory.count / kGiB) {
        for (const GpuReading& gpu : gpus) {
            for (std::int64_t i = 0; i < units_; ++i) {
                auto* device = list_.add_devices();
                device->set_id(fmt::format("{}-_-{}", gpu.uuid.str(), i));
                device->set_health("Healthy");
            }
        }
    }

    grpc::Status GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                        v1beta1::DevicePluginOptions*) override {
        return grpc::Status::OK;
    }
    grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty*,
                              grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) override {
        writer->Write(list_);
        while (!context->IsCancelled())
            std::this_thread::sleep_for(kPoll);
        return grpc::Status::OK;
    }
    grpc::Status Allocate(grpc::ServerContext*, const v1beta1::AllocateRequest* request,
                          v1beta1::AllocateResponse* out) override {
        for (const auto& container : request->container_requests()) {
            const std::int64_t units = container.devices_ids_size();
            const auto found = api_.match(units);
            const bool has_gpu = found && *found && api_.mark((*found)->pod).has_value();
            auto& env = *out->add_container_responses()->mutable_envs();
            env["NVIDIA_VISIBLE_DEVICES"] =
                has_gpu ? (*found)->index : fmt::format("no-gpu-has-{}GiB-to-run", units);
            env[kIndex] = has_gpu ? (*found)->index : "-1";
            env["ALIYUN_COM_GPU_MEM_POD"] = env["ALIYUN_COM_GPU_MEM_CONTAINER"] =
                std::to_string(units);
            env["ALIYUN_COM_GPU_MEM_DEV"] = std::to_string(units_);
        }
        return grpc::Status::OK;
    }

  private:
    Api& api_;
    const std::int64_t units_;  // of each GPU: the size of the first one
    v1beta1::ListAndWatchResponse list_;
};

Result<> register_plugin() {
    const auto channel = grpc::CreateChannel("unix://" + std::string(kFolder) + "kubelet.sock",
                                             grpc::InsecureChannelCredentials());
    v1beta1::RegisterRequest request;
    request.set_version("v1beta1");
    request.set_endpoint(kSocket);
    request.set_resource_name("aliyun.com/gpu-mem");
    grpc::ClientContext context;
    v1beta1::Empty answer;
    const auto status =
        v1beta1::Registration::NewStub(channel)->Register(&context, request, &answer);
    if (!status.ok()) return fail(Code::unavailable, "Register: " + status.error_message());
    return {};
}

Result<> run(const std::string& driver_root) {
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    TRY(const KubeConnection connection, connect_info({}));
    const char* node = std::getenv("NODE_NAME");
    if (node == nullptr) return fail(Code::invalid_argument, "NODE_NAME: missing");
    Api api(connection.endpoint, node);
    TRY(const auto nvml, open_nvml(driver_root));
    TRY(const auto gpus, nvml->read());
    if (gpus.empty()) return fail(Code::unavailable, "no GPU");
    TRY_VOID(api.show_count(gpus.size()));
    const std::string path = std::string(kFolder) + kSocket;
    ::unlink(path.c_str());
    Plugin plugin(api, gpus);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix://" + path, grpc::InsecureServerCredentials());
    builder.RegisterService(&plugin);
    const auto server = builder.BuildAndStart();
    if (server == nullptr) return fail(Code::unavailable, "cannot listen on " + path);
    TRY_VOID(register_plugin());
    int signal = 0;
    sigwait(&ends, &signal);
    server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
    ::unlink(path.c_str());
    return {};
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
    const auto done = tessera::run(argc > 1 ? argv[1] : "/");
    if (done) return 0;
    std::fprintf(stderr, "gpushare-plugin: %s\n", done.error().text.c_str());
    return 1;
}
