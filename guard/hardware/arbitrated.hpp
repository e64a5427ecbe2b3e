// Containers that share device 0 of this machine, and an arbiter beside them as the agent runs one.
// As guard/test_support/shared_card.hpp, of which nobody here asks a simulated clock.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "guard/arbiter/reading.hpp"
#include "guard/hardware/container.hpp"

namespace tessera::guard {

struct Percents {
    unsigned cores = 0;
    unsigned ceiling = 100;
};

class ArbitratedCard {
  public:
    explicit ArbitratedCard(const std::vector<Percents>& shares,
                            std::uint64_t memory_bytes = std::uint64_t{1} << 40) {
        constexpr Millionths kPercent = kWhole / 100;
        for (const Percents& share : shares) {
            containers_.push_back(
                std::make_unique<Container>(ContainerShare{.memory_bytes = memory_bytes,
                                                           .cores = share.cores * kPercent,
                                                           .ceiling = share.ceiling * kPercent,
                                                           .is_timed = true}));
        }
        arbitrate();
        thread_ = std::thread([this] {
            while (!is_over_) {
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
                arbitrate();
            }
        });
    }
    ~ArbitratedCard() {
        is_over_ = true;
        thread_.join();
    }
    ArbitratedCard(const ArbitratedCard&) = delete;
    ArbitratedCard& operator=(const ArbitratedCard&) = delete;

    [[nodiscard]] const Container& container(std::size_t index) const {
        return *containers_[index];
    }

  private:
    void arbitrate() {
        const std::int64_t now = monotonic_ns();
        std::map<Arbiter::Id, ContainerReading> readings;
        for (std::size_t i = 0; i < containers_.size(); i++) {
            const CardLimit& limit = containers_[i]->limits().cards[0];
            ContainerReading& reading = readings[i];
            reading.cores = limit.cores.load();
            reading.ceiling = limit.ceiling.load();
            read_times(containers_[i]->region().fd(), 0, now, reading);
        }
        for (const auto& [id, granted] : arbiter_.decide(now, readings))
            write_grant(containers_[id]->limits().cards[0].grant, granted);
    }

    std::vector<std::unique_ptr<Container>> containers_;
    Arbiter arbiter_;
    std::atomic<bool> is_over_ = false;
    std::thread thread_;
};

}  // namespace tessera::guard
