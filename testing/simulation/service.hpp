// The controllers that run, and the way of a request to one of them. There is one, but for moments
// with none; a second one is Unpromised::second_controller.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "testing/simulation/controller.hpp"

namespace tessera::simulation {

class Service {
  public:
    Service(Scene& scene, ApiServer& server) : scene_(scene), server_(server) {}

    void start() {
        controllers.push_back(std::make_unique<Controller>(scene_, server_, ++lives_));
        scene_.note("service", [&] { return "controller " + std::to_string(lives_) + " starts"; });
    }
    void stop_all() { controllers.clear(); }

    // What `work` answers for a controller; nothing when there is none, it is not ready, it dies,
    // or a message is lost, or it takes too long. `work` may outlive the caller.
    template <class Function>
    auto ask(Time timeout, Function work)
        -> std::optional<decltype(work(std::declval<Scheduler&>()))> {
        Loop& loop = scene_.loop;
        loop.sleep(scene_.delay(kLatency));
        const bool lost = scene_.strikes(Fault::request_lost);
        if (controllers.empty() || (lost && scene_.rng.chance(500))) return std::nullopt;
        Controller* controller = scene_.rng.pick(pointers());
        if (!controller->synced()) return std::nullopt;
        if (scene_.strikes(Fault::request_timeout)) {
            timeout = scene_.rng.between(Time(1ms), Time(2s));
        }
        auto answer = call(loop, controller->process(), timeout,
                           [controller, work] { return work(controller->scheduler()); });
        loop.sleep(scene_.delay(kLatency));
        if (lost) return std::nullopt;
        return answer;
    }

    std::vector<std::unique_ptr<Controller>> controllers;

  private:
    static constexpr Time kLatency = 1ms;

    [[nodiscard]] std::vector<Controller*> pointers() const {
        std::vector<Controller*> out;
        for (const auto& controller : controllers)
            out.push_back(controller.get());
        return out;
    }

    Scene& scene_;
    ApiServer& server_;
    int lives_ = 0;
};

}  // namespace tessera::simulation
