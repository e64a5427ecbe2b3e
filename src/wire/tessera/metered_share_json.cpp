#include "wire/tessera/metered_share_json.hpp"

#include <utility>

namespace tessera {

void write_metered_share(JsonWriter& w, const MeteredShare& share) {
    w.member("container", share.container);
    w.member("gpu", share.gpu.str());
    w.member("model", share.model);
    w.member("memoryBytes", share.memory.count);
    w.member("capacityBytes", share.capacity.count);
    w.member("computePercent", share.compute.value);
    w.member("whole", share.whole);
}

Result<MeteredShare> read_metered_share(const JsonField& at) {
    MeteredShare share;
    TRY(share.container, at["container"].text());
    TRY(auto gpu, at["gpu"].text());
    share.gpu = GpuUuid(std::move(gpu));
    TRY(share.model, at["model"].text());
    TRY(share.capacity.count, at["capacityBytes"].number(1, kMostGpuMemory.count));
    TRY(share.memory.count, at["memoryBytes"].number(0, share.capacity.count));
    TRY(const auto compute, at["computePercent"].number(0, 100));
    share.compute = Percent{static_cast<int>(compute)};
    TRY(share.whole, at["whole"].yes_or_no());
    return share;
}

}  // namespace tessera
