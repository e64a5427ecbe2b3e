// Simulated time: events in the order of their moments, and tasks, which are functions that may
// wait in the middle. One event or one task runs at a time; everything else stands still.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "testing/simulation/fiber.hpp"
#include "testing/simulation/rng.hpp"

namespace tessera::simulation {

class Process;

// Thrown out of a task's wait when its process is killed. Product code catches nothing, so its
// stack is unwound, and what was to come never happens.
struct Killed {};

struct Task {
    Task(Process& owner, std::function<void()> body) : process(&owner), fiber(std::move(body)) {}

    Process* process;
    Fiber fiber;
    std::uint64_t waits = 0;  // so far, the present one included
    bool woken = false;       // how the last one ended
    bool started = false;
    bool killed = false;
};

// One wait of one task. Waking a wait that is over has no effect.
struct Waiter {
    std::weak_ptr<Task> task;
    std::uint64_t number = 0;
};

class Loop {
  public:
    explicit Loop(Rng& rng) : rng_(rng) {}

    [[nodiscard]] Time now() const { return now_; }
    [[nodiscard]] std::uint64_t steps() const { return steps_; }

    void at(Time when, std::function<void()> action);
    void after(Time delay, std::function<void()> action) { at(now_ + delay, std::move(action)); }
    // Runs the next event; false when there is none.
    bool step();

    // Of the task that runs.
    [[nodiscard]] Task* current() const { return current_.get(); }
    // The next wait() of the task that runs.
    [[nodiscard]] Waiter me() const { return {current_, current_->waits + 1}; }
    // True when woken, false when the time has passed. A yield point, as are the next two.
    bool wait(std::optional<Time> timeout);
    void sleep(Time duration) { wait(duration); }
    // A moment in which others may run.
    void yield() { sleep(rng_.between(Time(1'000), Time(2'000'000))); }

    // Shortly after now; any caller.
    void wake(const Waiter& waiter);

  private:
    friend class Process;
    void run(const std::shared_ptr<Task>& task);
    void resume(const Waiter& waiter, bool woken);

    struct Event {
        Time when;
        std::uint64_t order;
        std::function<void()> action;
    };
    struct Later {
        bool operator()(const Event& a, const Event& b) const {
            return std::pair(a.when, a.order) > std::pair(b.when, b.order);
        }
    };

    Rng& rng_;
    Time now_{};
    std::uint64_t steps_ = 0;
    std::uint64_t order_ = 0;
    std::priority_queue<Event, std::vector<Event>, Later> events_;
    std::shared_ptr<Task> current_;
};

// Tasks that die together. The objects that they use are destroyed after it.
class Process {
  public:
    Process(Loop& loop, std::string name) : loop_(loop), name_(std::move(name)) {}
    ~Process() { kill(); }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void spawn(std::function<void()> body);
    // Every task ends where it waits. Not from within one of them.
    void kill();
    [[nodiscard]] bool alive() const { return alive_; }
    [[nodiscard]] const std::string& name() const { return name_; }

  private:
    friend class Loop;

    Loop& loop_;
    const std::string name_;
    bool alive_ = true;
    std::vector<std::shared_ptr<Task>> tasks_;
};

// Runs `work` as a task of another process, and waits for its answer in the task that calls.
// Nothing when that process is dead or dies, or the time has passed; in the last case the work goes
// on.
template <class Function>
auto call(Loop& loop, Process& callee, Time timeout, Function work)
    -> std::optional<decltype(work())> {
    struct Wake {
        Loop& loop;
        Waiter caller;
        ~Wake() { loop.wake(caller); }
    };
    if (!callee.alive()) return std::nullopt;
    auto answer = std::make_shared<std::optional<decltype(work())>>();
    callee.spawn([answer, &loop, caller = loop.me(), work = std::move(work)] {
        const Wake wake{loop, caller};
        *answer = work();
    });
    loop.wait(timeout);
    return std::move(*answer);
}

}  // namespace tessera::simulation
