#include "adapters/kubelet/device_checkpoint.hpp"

#include <algorithm>

#include "adapters/os/text_file.hpp"
#include "kubelet/deviceplugin.pb.h"
#include "wire/node/kubelet_checkpoint.hpp"
#include "wire/text/base64.hpp"

namespace tessera {
namespace {

class Checkpoint final : public DeviceHolders {
  public:
    Checkpoint(std::string path, const Dialects& dialects)
        : path_(std::move(path)), dialects_(dialects) {}

    Result<std::vector<DeviceHolder>> list() override {
        const auto text = read_text_file(path_);
        // A new node has no such file until the first device is assigned.
        if (!text && text.error().code == Code::not_found) return std::vector<DeviceHolder>{};
        if (!text) return fail(text.error());
        TRY(auto entries, read_kubelet_checkpoint(*text));
        std::vector<DeviceHolder> holders;
        for (CheckpointEntry& entry : entries) {
            DeviceHolder holder{std::move(entry.pod),
                                std::move(entry.container),
                                std::move(entry.resource),
                                std::move(entry.ids),
                                {}};
            v1beta1::ContainerAllocateResponse response;
            const auto bytes = decode_base64(entry.allocate_response);
            if (bytes && response.ParseFromString(*bytes)) {
                for (const auto& device : response.cdi_devices()) {
                    holder.cdi_devices.push_back(device.name());
                }
                holder.by_former_plugin =
                    std::ranges::any_of(response.envs(), [&](const auto& variable) {
                        return dialects_.is_former_variable(variable.first);
                    });
            }
            holders.push_back(std::move(holder));
        }
        return holders;
    }

  private:
    const std::string path_;
    const Dialects& dialects_;
};

}  // namespace

std::unique_ptr<DeviceHolders> make_device_checkpoint(const std::string& folder,
                                                      const Dialects& dialects) {
    return std::make_unique<Checkpoint>(folder + "/kubelet_internal_checkpoint", dialects);
}

}  // namespace tessera
