// The running controllers, and the route of a request to one of them. Without an election there is
// at most one controller.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "testing/simulation/controller.hpp"

namespace tessera::simulation {

class Service {
  public:
    Service(Scene& scene, ApiServer& server) : scene_(scene), server_(server) {}

    void start(int replica) {
        controllers.push_back(std::make_unique<Controller>(scene_, server_, replica, ++lives_));
        scene_.note("service", [&] { return controllers.back()->process().name() + " starts"; });
    }
    // No effect if that controller has already ended.
    void kill(int life) {
        std::erase_if(controllers, [&](const auto& one) { return one->life() == life; });
    }

    // Runs `work` with a controller and returns its result. Returns std::nullopt if no controller
    // is ready, if it is killed, if a message is lost, or after the timeout. `work` may outlive the
    // caller. Binds and some filter requests are redirected to the leader (routes.cpp, 307).
    enum class For { anyone, leader };
    template <class Function>
    auto request(For target, Time timeout, Function work)
        -> std::optional<decltype(work(std::declval<Controller&>()))> {
        Loop& loop = scene_.loop;
        loop.sleep(scene_.delay(kLatency));
        const bool lost = scene_.strikes(Fault::request_lost);
        if (lost && scene_.rng.chance(500)) return std::nullopt;
        Controller* controller = target == For::leader ? sent_on(any()) : any();
        if (controller == nullptr) return std::nullopt;
        if (scene_.strikes(Fault::request_timeout)) {
            timeout = scene_.rng.between(Time(1ms), Time(2s));
        }
        auto answer = call(loop, controller->process(), timeout,
                           [controller, work] { return controller->answer(work); });
        loop.sleep(scene_.delay(kLatency));
        if (lost) return std::nullopt;
        return answer;
    }
    std::vector<std::unique_ptr<Controller>> controllers;

  private:
    static constexpr Time kLatency = 1ms;

    // A controller that accepts kube-scheduler's requests; null if there is none.
    Controller* any() {
        std::vector<Controller*> ready;
        for (const auto& controller : controllers) {
            if (scene_.scheduler_mode && controller->replica() != scene_.leading_scheduler)
                continue;
            if (controller->synced() && !controller->retiring()) ready.push_back(controller.get());
        }
        return ready.empty() ? nullptr : scene_.rng.pick(ready);
    }
    // The controller that handles a bind that was sent to `first`; null if it is unavailable.
    Controller* sent_on(Controller* first) {
        if (first == nullptr || first->leads()) return first;
        const std::string url = first->leader_url();
        for (const auto& controller : controllers) {
            const bool is_it = !url.empty() && controller->url() == url;
            if (is_it && controller->synced() && !controller->retiring()) return controller.get();
        }
        return url.empty() ? first : nullptr;
    }

    Scene& scene_;
    ApiServer& server_;
    int lives_ = 0;
};

}  // namespace tessera::simulation
