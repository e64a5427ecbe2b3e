#include "adapters/grpc/pod_resources.hpp"

#include <grpcpp/grpcpp.h>

#include <chrono>

#include "kubelet/podresources.grpc.pb.h"

namespace tessera {
namespace {

// Within the second that the runtime gives us for a container.
constexpr std::chrono::milliseconds kDeadline{800};

class KubeletPodResources final : public PodResources {
  public:
    explicit KubeletPodResources(const std::string& socket)
        : stub_(v1::PodResourcesLister::NewStub(
              grpc::CreateChannel("unix://" + socket, grpc::InsecureChannelCredentials()))) {}

    Result<std::vector<DeviceHolder>> list() override {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + kDeadline);
        context.set_wait_for_ready(true);
        v1::ListPodResourcesResponse answer;
        const grpc::Status status = stub_->List(&context, {}, &answer);
        if (!status.ok()) {
            return fail(Code::unavailable,
                        "kubelet's PodResources API does not answer: " + status.error_message());
        }
        std::vector<DeviceHolder> holders;
        for (const auto& pod : answer.pod_resources()) {
            for (const auto& container : pod.containers()) {
                for (const auto& devices : container.devices()) {
                    holders.push_back({{pod.namespace_(), pod.name()},
                                       container.name(),
                                       devices.resource_name(),
                                       {devices.device_ids().begin(), devices.device_ids().end()}});
                }
            }
        }
        return holders;
    }

  private:
    std::unique_ptr<v1::PodResourcesLister::Stub> stub_;
};

}  // namespace

std::unique_ptr<PodResources> make_pod_resources(const std::string& socket) {
    return std::make_unique<KubeletPodResources>(socket);
}

}  // namespace tessera
