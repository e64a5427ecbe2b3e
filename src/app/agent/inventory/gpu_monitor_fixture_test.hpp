// A GpuMonitor with a fake driver, API server and kubelet. A thread runs it as in the agent.
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
inline const std::string kGpuShare = "tessera.dev/gpu-share";
inline const std::string kGpushareMemory = "aliyun.com/gpu-mem";

class GpuMonitorTest : public ::testing::Test {
  protected:
    GpuMonitorTest() {
        driver_.set(FakeGpuInventory::gpus(2, gibibytes(16)));
        options_.node = kNode;
        options_.publishing.identity = "nri";
    }
    ~GpuMonitorTest() override { stop(); }

    // Loads, starts the thread, and waits until kubelet has the first list of devices.
    void start_without_node() {
        monitor_ = std::make_unique<GpuMonitor>(driver_, *api_, plugins_, options_, &shares_);
        const auto loaded = monitor_->load();
        ASSERT_TRUE(loaded) << loaded.error().text;
        thread_ = std::jthread([this](const std::stop_token& stop) { monitor_->run(stop); });
        ASSERT_TRUE(until([&] { return plugins_.sent(kGpushareMemory) > 0; }));
    }
    // The same, and waits until the Node has the annotation.
    void start() {
        start_without_node();
        ASSERT_TRUE(until([&] { return kube_.node_patches() == 1; }));
    }
    void stop() {
        thread_.request_stop();
        if (thread_.joinable()) thread_.join();
    }
    // False after ten seconds.
    bool until(const std::function<bool()>& done) { return plugins_.wait_until(done); }
    // Xid 31 is a fault of an application (application_xids.def): it changes the health of no GPU,
    // but makes the monitor read the driver again.
    void trigger_read() { driver_.report({GpuUuid("GPU-0"), 31}); }
    void trigger_read_and_wait() {
        const int before = driver_.reads();
        trigger_read();
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
    bool usable(std::size_t gpu) { return monitor_->inventory()->gpus[gpu].usable(); }
    // Of a new GpuMonitor, which does not run.
    Result<> load_only() { return GpuMonitor(driver_, kube_, plugins_, options_).load(); }

    FakeGpuInventory driver_;
    FakeKubeApi kube_;
    KubeApi* api_ = &kube_;  // a test may replace it before start()
    FakeDevicePluginHost plugins_;
    FakeShareMeter shares_;
    GpuMonitorOptions options_;
    // For tests. A member, because the monitor's thread may set it until the destructor stops it.
    std::atomic<bool> is_given_up_ = false;
    std::unique_ptr<GpuMonitor> monitor_;
    std::jthread thread_;
};

}  // namespace tessera
