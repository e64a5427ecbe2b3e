#include "app/agent/share_keeper.hpp"

#include <set>

namespace tessera {
namespace {

// Kubelet has written a pod down before the runtime asks for its containers. A record that cannot
// be read says nothing of who is gone.
void forget_the_gone(ShareHolder& shares, DeviceHolders& record) {
    const auto holders = record.list();
    if (!holders) return;
    std::set<PodUid> pods;
    for (const DeviceHolder& holder : *holders)
        pods.insert(holder.pod);
    shares.keep_only(pods);
}

}  // namespace

void keep_shares(ShareHolder& shares, DeviceHolders& record, Clock& clock,
                 const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        forget_the_gone(shares, record);
        clock.sleep_for(kForget, stop);
    }
}

}  // namespace tessera
