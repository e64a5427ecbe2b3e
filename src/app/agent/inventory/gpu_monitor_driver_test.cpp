// Tests of the driver: silent, hanging, reloaded, or released.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <thread>

#include "app/agent/inventory/driver_wait.hpp"
#include "app/agent/inventory/gpu_monitor_fixture_test.hpp"
#include "base/mutex.hpp"
#include "testing/fakes/fake_clock.hpp"

namespace tessera {
namespace {

// While it hangs, no call of this driver returns.
class HangingInventory final : public GpuInventory {
  public:
    explicit HangingInventory(GpuInventory& driver) : driver_(driver) {}

    void hang() { set(true); }
    void go_on() { set(false); }
    bool is_waited_for() {
        const MutexLock lock(mutex_);
        return waiting_ > 0;
    }

    Result<std::vector<GpuReading>> read() override {
        wait();
        return driver_.read();
    }
    Result<std::vector<GpuProcess>> processes() override { return driver_.processes(); }
    Result<std::optional<GpuFault>> wait_fault(std::chrono::milliseconds timeout) override {
        wait();
        return driver_.wait_fault(timeout);
    }
    Result<> reopen() override { return driver_.reopen(); }
    void close() override { driver_.close(); }

  private:
    void set(bool hangs) {
        const MutexLock lock(mutex_);
        hangs_ = hangs;
        changed_.notify_all();
    }
    void wait() {
        MutexLock lock(mutex_);
        ++waiting_;
        changed_.wait(lock, [this]() TESSERA_REQUIRES(mutex_) { return !hangs_; });
        --waiting_;
    }

    GpuInventory& driver_;
    Mutex mutex_;
    std::condition_variable_any changed_;
    bool hangs_ TESSERA_GUARDED_BY(mutex_) = false;
    int waiting_ TESSERA_GUARDED_BY(mutex_) = 0;
};

// Goal: one or two failed readings take no GPU out of use.
TEST_F(GpuMonitorTest, DriverHiccup) {
    start();
    driver_.set(fail(Code::unavailable, "no driver"));
    trigger_read_and_wait();
    trigger_read_and_wait();
    driver_.set(FakeGpuInventory::gpus(3, gibibytes(16)));
    trigger_read_and_wait();
    ASSERT_TRUE(until([&] { return monitor_->inventory()->gpus.size() == 3; }));
    // The inventory changes a moment before the list is sent.
    ASSERT_TRUE(until([&] { return plugins_.sent(kGpushareMemory) >= 2; }));
    EXPECT_EQ(plugins_.sent(kGpushareMemory), 2)
        << "the first list and the one with the third GPU, none between";
}

// Goal: if the driver stays silent, its GPUs go out of use and the reason says why. They are back
// when it answers, except one that was unhealthy before, which keeps its own reason.
TEST_F(GpuMonitorTest, DriverAway) {
    start();
    driver_.report({GpuUuid("GPU-1"), 48});
    ASSERT_TRUE(until([&] { return !usable(1); }));
    driver_.set(fail(Code::unavailable, "nvmlDeviceGetCount: Unknown Error"));
    for (int i = 0; i < 5; ++i)
        trigger_read_and_wait();
    ASSERT_TRUE(until([&] { return !usable(0); }));
    EXPECT_EQ(monitor_->inventory()->gpus[0].reason,
              "the driver does not answer: nvmlDeviceGetCount: Unknown Error");
    EXPECT_TRUE(monitor_->inventory()->gpus[1].reason.starts_with("Xid 48"));
    ASSERT_TRUE(until([&] { return published().gpus == monitor_->inventory()->gpus; }));
    EXPECT_EQ(std::ranges::count(plugins_.devices(kGpushareMemory), true, &PluginDevice::healthy),
              0);
    driver_.set(FakeGpuInventory::gpus(2, gibibytes(16)));
    trigger_read_and_wait();
    // The inventory changes a moment before the list is sent.
    ASSERT_TRUE(until([&] { return plugins_.sent(kGpushareMemory) == 4; }));
    EXPECT_TRUE(usable(0));
    EXPECT_FALSE(usable(1));
}

// Goal: a reloaded driver is reopened without a new process. If it fails permanently, the process
// gives up, after the GPUs were taken out of use.
TEST_F(GpuMonitorTest, DriverThatWasLoadedAnew) {
    start();
    driver_.reload();
    for (int i = 0; i < 2; ++i)
        trigger_read_and_wait();
    EXPECT_EQ(driver_.reopens(), 0);
    trigger_read_and_wait();
    ASSERT_TRUE(until([&] { return driver_.reopens() == 1; }));
    EXPECT_TRUE(usable(0));
    EXPECT_EQ(plugins_.sent(kGpushareMemory), 1) << "no GPU was taken out of use";
    stop();

    options_.give_up = [this] { is_given_up_ = true; };
    options_.failure_patience = std::chrono::milliseconds(1);
    start_without_node();
    driver_.set(fail(Code::unavailable, "Insufficient Permissions"));
    for (int i = 0; i < 5; ++i)
        trigger_read_and_wait();
    EXPECT_TRUE(until([&] { return is_given_up_.load(); }));
    EXPECT_GE(driver_.reopens(), 2);
    EXPECT_TRUE(until([&] { return !usable(0); }));
}

// Goal: a driver with no GPU that answers counts as failed. If no GPU has ever answered, the
// process does not give up, because the next one would fail, too.
TEST_F(GpuMonitorTest, NoGpuAnswers) {
    options_.give_up = [this] { is_given_up_ = true; };
    options_.failure_patience = std::chrono::milliseconds(1);
    const auto lost = [] {
        auto readings = FakeGpuInventory::gpus(2, gibibytes(16));
        for (GpuReading& reading : readings)
            reading.lost = "Unknown Error";
        return readings;
    };
    start();
    driver_.set(lost());
    for (int i = 0; i < 5; ++i)
        trigger_read_and_wait();
    EXPECT_TRUE(until([&] { return is_given_up_.load(); }));
    EXPECT_GE(driver_.reopens(), 1);
    EXPECT_EQ(monitor_->inventory()->gpus[0].reason, "the GPU does not answer: Unknown Error");
    stop();

    is_given_up_ = false;
    start_without_node();
    for (int i = 0; i < 8; ++i)
        trigger_read_and_wait();
    EXPECT_FALSE(is_given_up_.load());
    driver_.set(FakeGpuInventory::gpus(2, gibibytes(16)));
    trigger_read();
    EXPECT_TRUE(until([&] { return usable(0) && usable(1); }));
}

// Goal: the Node shows the end of a release whatever the GPUs' state is then: unchanged, or
// unusable because the new driver does not come up. An earlier fault is read again.
TEST_F(GpuMonitorTest, ShowsTheEndOfARelease) {
    options_.publishing.check_period = std::chrono::milliseconds(1);
    options_.probe_period = std::chrono::milliseconds(1);
    auto readings = FakeGpuInventory::gpus(2, gibibytes(16));
    readings[1].setup.mig = true;
    driver_.set(readings);
    start();
    driver_.report({GpuUuid("GPU-0"), 48});
    ASSERT_TRUE(until([&] { return !usable(0); }));
    const auto driver_state = [&] { return kube_.node_annotations(kNode)["tessera.dev/driver"]; };
    kube_.label_node(kNode, {{"tessera.dev/release-driver", "true"}});
    ASSERT_TRUE(until([&] { return driver_state() == "released"; }));
    EXPECT_TRUE(published().gpus[0].reason.starts_with("Xid 48"));
    EXPECT_TRUE(published().gpus[1].reason.starts_with("MIG mode"));
    kube_.label_node(kNode, {});
    ASSERT_TRUE(until([&] { return driver_state() == "in-use" && usable(0); }));
    EXPECT_TRUE(until([&] { return published().gpus[0].usable(); }));

    kube_.label_node(kNode, {{"tessera.dev/release-driver", "true"}});
    ASSERT_TRUE(until([&] { return driver_state() == "released"; }));
    driver_.set(fail(Code::unavailable, "version mismatch"));
    kube_.label_node(kNode, {});
    ASSERT_TRUE(until([&] { return driver_state() == "in-use"; }));
    ASSERT_TRUE(until([&] { return published().gpus[0].condition == GpuCondition::unhealthy; }));
    EXPECT_EQ(published().gpus[0].reason, "the driver does not answer: version mismatch");
    EXPECT_TRUE(published().gpus[1].reason.starts_with("MIG mode"));
}

// Goal: while a label of the Node asks for it, the driver is closed and gets no call. The Node says
// so, and no pod gets its GPUs. They are back when the label is gone.
TEST_F(GpuMonitorTest, LetsGoOfTheDriver) {
    options_.publishing.check_period = std::chrono::milliseconds(1);
    options_.probe_period = std::chrono::milliseconds(1);
    start();
    const auto driver_state = [&] { return kube_.node_annotations(kNode)["tessera.dev/driver"]; };
    EXPECT_EQ(driver_state(), "in-use");
    kube_.label_node(kNode, {{"tessera.dev/release-driver", "true"}});
    ASSERT_TRUE(until([&] { return driver_state() == "released"; }));
    EXPECT_FALSE(driver_.is_open());
    const int reads = driver_.reads();
    EXPECT_EQ(published().gpus[0].condition, GpuCondition::not_shareable);
    EXPECT_NE(published().gpus[0].reason.find("tessera.dev/release-driver=true"),
              std::string::npos);
    EXPECT_EQ(std::ranges::count(plugins_.devices(kGpuShare), true, &PluginDevice::healthy), 0);
    // GPU Operator's label continues where the administrator's ends.
    kube_.label_node(kNode, {{"nvidia.com/gpu-driver-upgrade-state", "drain-required"}});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(driver_.is_open());
    EXPECT_EQ(driver_.reads(), reads);
    EXPECT_EQ(driver_.reopens(), 0);
    kube_.label_node(kNode, {{"nvidia.com/gpu-driver-upgrade-state", "uncordon-required"}});
    ASSERT_TRUE(until([&] { return driver_state() == "in-use" && usable(0); }));
    EXPECT_TRUE(driver_.is_open());
}

// Goal: an agent that starts while the driver is being replaced does not open it, and starts when
// that is over. An API server that does not answer does not block the start.
TEST_F(GpuMonitorTest, StartsAfterTheDriverIsReplaced) {
    kube_.label_node(kNode, {{"tessera.dev/release-driver", "true"}});
    const NodeGpusReport left{.gpus = {{.uuid = GpuUuid("GPU-0"), .memory = gibibytes(16)}}};
    ASSERT_TRUE(kube_.set_node_metadata(kNode, {{"tessera.dev/gpus", write_node_gpus(left)}}, {}));
    FakeClock clock;
    clock.on_sleep([&] {
        EXPECT_EQ(kube_.node_annotations(kNode)["tessera.dev/driver"], "released");
        EXPECT_EQ(published().gpus[0].condition, GpuCondition::not_shareable);
        kube_.set_down(clock.sleeps() == 2);  // the label was seen, so it still counts
        if (clock.sleeps() == 4) kube_.label_node(kNode, {});
    });
    wait_for_driver(kube_, kNode, clock, {});
    EXPECT_EQ(clock.sleeps(), 4);
    kube_.label_node(kNode, {{"tessera.dev/release-driver", "true"}});
    kube_.set_down(true);
    wait_for_driver(kube_, kNode, clock, {});
    EXPECT_EQ(clock.sleeps(), 4) << "no label was seen";
}

// Goal: if a call of the driver does not return, the GPUs go out of use with the reason, although
// the reading thread hangs. They are back when the call returns. If it never returns, the process
// gives up.
TEST_F(GpuMonitorTest, DriverThatHangs) {
    HangingInventory driver(driver_);
    options_.hang_bound = std::chrono::milliseconds(50);
    options_.hang_patience = std::chrono::milliseconds(51);
    options_.give_up = [this] { is_given_up_ = true; };
    options_.probe_period = std::chrono::milliseconds(1);
    GpuMonitor gpus(driver, kube_, plugins_, options_);
    ASSERT_TRUE(gpus.load());
    thread_ = std::jthread([&](const std::stop_token& stop) { gpus.run(stop); });
    const auto are_healthy = [&](bool healthy) {
        const auto devices = plugins_.devices(kGpushareMemory);
        const auto shown = published().gpus;
        return devices.size() == 32 && shown.size() == 2 &&
               std::ranges::all_of(devices, [&](const auto& d) { return d.healthy == healthy; }) &&
               std::ranges::all_of(shown, [&](const auto& gpu) { return gpu.usable() == healthy; });
    };
    EXPECT_TRUE(until([&] { return are_healthy(true); }));
    driver.hang();
    EXPECT_TRUE(until([&] { return are_healthy(false); }));
    EXPECT_TRUE(driver.is_waited_for());
    EXPECT_TRUE(published().gpus[1].reason.starts_with(
        "the driver does not answer: a call has not returned for "));
    EXPECT_TRUE(until([&] { return is_given_up_.load(); }));
    driver.go_on();
    EXPECT_TRUE(until([&] { return are_healthy(true); }));
    stop();
}

// Goal: an agent whose driver hangs at the first reading does not start for ever: it gives up.
TEST_F(GpuMonitorTest, DriverThatHangsAtTheStart) {
    HangingInventory driver(driver_);
    driver.hang();
    options_.hang_bound = options_.hang_patience = std::chrono::milliseconds(1);
    options_.give_up = [&] { driver.go_on(); };
    EXPECT_TRUE(GpuMonitor(driver, kube_, plugins_, options_).load());
}

}  // namespace
}  // namespace tessera
