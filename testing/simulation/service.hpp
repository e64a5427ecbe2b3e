// The controllers that run, and the way of a request to one of them. Without an election there is
// one, but for moments with none.
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
    // No effect when that life is over.
    void kill(int life) {
        std::erase_if(controllers, [&](const auto& one) { return one->life() == life; });
    }

    // What `work` answers for a controller; nothing when there is none, it is not ready, it dies,
    // or a message is lost, or it takes too long. `work` may outlive the caller.
    // A bind is sent on to the leader (routes.cpp, 307), and so are some filters.
    enum class For { anyone, leader };
    template <class Function>
    auto ask(For whom, Time timeout, Function work)
        -> std::optional<decltype(work(std::declval<Controller&>()))> {
        Loop& loop = scene_.loop;
        loop.sleep(scene_.delay(kLatency));
        const bool lost = scene_.strikes(Fault::request_lost);
        if (lost && scene_.rng.chance(500)) return std::nullopt;
        Controller* controller = whom == For::leader ? sent_on(any()) : any();
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

    // One that takes requests; null when none does.
    Controller* any() {
        std::vector<Controller*> ready;
        for (const auto& controller : controllers) {
            if (controller->synced() && !controller->retiring()) ready.push_back(controller.get());
        }
        return ready.empty() ? nullptr : scene_.rng.pick(ready);
    }
    // Where a bind that came to `first` ends up.
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
