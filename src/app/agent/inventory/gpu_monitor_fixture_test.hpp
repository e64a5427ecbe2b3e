// A GpuMonitor on fakes; a thread runs it as the agent does.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "app/agent/inventory/gpu_monitor.hpp"
#include "testing/fakes/fake_kube_api.hpp"
#include "testing/fakes/fake_node.hpp"
#include "testing/fakes/fake_shares.hpp"
#include "wire/tessera/node_gpus_json.hpp"

namespace tessera {

inline const NodeName kNode("n1");
inline const std::string kSlots = "tessera.dev/gpu-share";
inline const std::string kAliyun = "aliyun.com/gpu-mem";

class GpuMonitorTest : public ::testing::Test {
  protected:
    GpuMonitorTest() {
        driver_.set(FakeGpuInventory::gpus(2, gibibytes(16)));
        options_.node = kNode;
        options_.publishing.identity = "nri";
    }
    ~GpuMonitorTest() override { stop(); }

    // Like launch(), and waits until the Node object shows it.
    void start() {
        launch();
        ASSERT_TRUE(until([&] { return kube_.node_patches() == 1; }));
    }
    // Loads and runs; returns once the first state is published.
    void launch() {
        gpus_ = std::make_unique<GpuMonitor>(driver_, *api_, plugins_, options_, &shares_);
        const auto loaded = gpus_->load();
        ASSERT_TRUE(loaded) << loaded.error().text;
        thread_ = std::jthread([this](const std::stop_token& stop) { gpus_->run(stop); });
        ASSERT_TRUE(until([&] { return plugins_.sent(kAliyun) > 0; }));
    }
    void stop() {
        thread_.request_stop();
        if (thread_.joinable()) thread_.join();
    }
    bool until(const std::function<bool()>& done) { return plugins_.wait_until(done); }
    // An application's fault changes no health; it only makes the agent look again.
    void look_again() { driver_.report({GpuUuid("GPU-0"), 31}); }
    // Returns when the driver has been read again.
    void look_and_wait() {
        const int before = driver_.reads();
        look_again();
        ASSERT_TRUE(until([&] { return driver_.reads() > before; }));
    }
    NodeGpusReport published() {
        const auto annotations = kube_.node_annotations(kNode);
        const auto at = annotations.find("tessera.dev/gpus");
        if (at == annotations.end()) return {};
        const auto read = read_node_gpus(at->second);
        EXPECT_TRUE(read) << at->second;
        return read ? *read : NodeGpusReport{};
    }
    bool healthy(std::size_t gpu) { return gpus_->inventory()->gpus[gpu].usable(); }
    Result<> load() { return GpuMonitor(driver_, kube_, plugins_, options_).load(); }

    FakeGpuInventory driver_;
    FakeKubeApi kube_;
    KubeApi* api_ = &kube_;
    FakeDevicePluginHost plugins_;
    FakeShareMeter shares_;
    GpuMonitorOptions options_;
    // Of the fixture: the monitor's thread may give up once more while a test ends.
    std::atomic<bool> is_given_up_ = false;
    std::unique_ptr<GpuMonitor> gpus_;
    std::jthread thread_;
};

}  // namespace tessera
