// Cards on fakes, run by a thread as the agent runs them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "app/agent/cards.hpp"
#include "testing/fakes/fake_kube_api.hpp"
#include "testing/fakes/fake_node.hpp"
#include "wire/node_gpus_json.hpp"

namespace tessera {

inline const NodeName kNode("n1");
inline const std::string kSlots = "tessera.dev/gpu";
inline const std::string kAliyun = "aliyun.com/gpu-mem";

class CardsTest : public ::testing::Test {
  protected:
    CardsTest() {
        driver_.set(FakeGpuInventory::cards(2, gibibytes(16)));
        options_.node = kNode;
        options_.publishing.identity = "nri";
    }
    ~CardsTest() override { stop(); }

    // As launch(), and the node object shows it.
    void start() {
        launch();
        ASSERT_TRUE(until([&] { return kube_.node_patches() == 1; }));
    }
    // Loads and runs; returns once the first state is published.
    void launch() {
        cards_ = std::make_unique<Cards>(driver_, *api_, plugins_, options_, &shares_);
        const auto loaded = cards_->load();
        ASSERT_TRUE(loaded) << loaded.error().text;
        thread_ = std::jthread([this](const std::stop_token& stop) { cards_->run(stop); });
        ASSERT_TRUE(until([&] { return plugins_.sent(kAliyun) > 0; }));
    }
    void stop() {
        thread_.request_stop();
        if (thread_.joinable()) thread_.join();
    }
    bool until(const std::function<bool()>& done) { return plugins_.wait_until(done); }
    // An application's fault changes no health; it only makes the agent look again.
    void look_again() { driver_.report({GpuUuid("GPU-0"), 31}); }
    // Returns when the driver has been asked.
    void look_and_wait() {
        const int before = driver_.reads();
        look_again();
        ASSERT_TRUE(until([&] { return driver_.reads() > before; }));
    }
    NodeGpus published() {
        const auto annotations = kube_.node_annotations(kNode);
        const auto at = annotations.find("tessera.dev/gpus");
        if (at == annotations.end()) return {};
        const auto read = read_node_gpus(at->second);
        EXPECT_TRUE(read);
        return *read;
    }
    bool healthy(std::size_t card) { return cards_->inventory()->gpus[card].usable(); }
    Result<> load() { return Cards(driver_, kube_, plugins_, options_).load(); }

    FakeGpuInventory driver_;
    FakeKubeApi kube_;
    KubeApi* api_ = &kube_;
    FakeDevicePluginHost plugins_;
    FakeShareHolder shares_;
    CardsOptions options_;
    std::unique_ptr<Cards> cards_;
    std::jthread thread_;
};

}  // namespace tessera
