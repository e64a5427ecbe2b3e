#include "app/agent/share_keeper.hpp"

#include <set>

namespace tessera {
namespace {

// Kubelet has written a pod down before the runtime asks for its containers; so what is kept is
// listed before the record is read. A record that cannot be read, or is empty, says nothing of who
// is gone.
void forget_the_gone(ShareHolder& shares, DeviceHolders& record) {
    std::set<PodUid> gone = shares.pods();
    const auto holders = record.list();
    if (!holders || holders->empty()) return;
    for (const DeviceHolder& holder : *holders)
        gone.erase(holder.pod);
    for (const PodUid& pod : gone)
        shares.forget(pod);
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
