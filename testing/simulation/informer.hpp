// How kubelet and kube-scheduler receive changes: in order and delayed. This is not the watch under
// test (see faulty_kube_api.hpp), so it fails only together with its process.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "testing/simulation/api_server.hpp"

namespace tessera::simulation {

template <class Object>
class Informer {
  public:
    using Sink = std::function<void(const Change<Object>&)>;

    Informer(Scene& scene, Time usual_delay, Sink sink)
        : scene_(scene), usual_(usual_delay), sink_(std::move(sink)) {}

    // Changes until open() are dropped. The caller of open() lists the objects itself.
    void close() {
        *epoch_ += 1;
        open_ = false;
    }
    void open() { open_ = true; }
    void hear(const Change<Object>& change) {
        if (!open_) return;
        last_ = std::max(last_, scene_.loop.now() + scene_.delay(usual_));
        scene_.loop.at(last_, [this, change, epoch = epoch_, then = *epoch_] {
            if (*epoch == then) sink_(change);
        });
    }

  private:
    Scene& scene_;
    const Time usual_;
    const Sink sink_;
    bool open_ = false;
    Time last_{};
    std::shared_ptr<int> epoch_ = std::make_shared<int>(0);
};

}  // namespace tessera::simulation
