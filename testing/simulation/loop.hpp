// Simulated time: events in the order of their times, and tasks, which are functions that may wait
// in the middle. Only one event or one task runs at a time.
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

// Thrown from a task's wait when its process is killed. Product code does not catch it, so the
// stack is unwound, and the rest of the task never runs.
struct Killed {};

struct SimulatedTask {
    SimulatedTask(Process& owner, std::function<void()> body)
        : process(&owner), fiber(std::move(body)) {}

    Process* process;
    Fiber fiber;
    std::uint64_t waits = 0;  // number of waits, including the current one
    bool woken = false;       // whether the last wait was woken, or timed out
    bool started = false;
    bool killed = false;
};

// Identifies one wait of one task. Waking a wait that has ended has no effect.
struct Waiter {
    std::weak_ptr<SimulatedTask> task;
    std::uint64_t number = 0;
};

class Loop {
  public:
    explicit Loop(Rng& rng) : rng_(rng) {}

    [[nodiscard]] Time now() const { return now_; }
    [[nodiscard]] std::uint64_t steps() const { return steps_; }

    void at(Time when, std::function<void()> action);
    void after(Time delay, std::function<void()> action) { at(now_ + delay, std::move(action)); }
    // Runs the next event; false if there is none.
    bool step();

    // The running task; null if there is none.
    [[nodiscard]] SimulatedTask* current() const { return current_.get(); }
    // The next wait() of the running task.
    [[nodiscard]] Waiter me() const { return {current_, current_->waits + 1}; }
    // True if woken, false after the timeout. Other tasks may run meanwhile, as in the next two
    // functions.
    bool wait(std::optional<Time> timeout);
    void sleep(Time duration) { wait(duration); }
    // Lets other tasks run.
    void yield() { sleep(rng_.between(Time(1'000), Time(2'000'000))); }

    // Wakes the waiter a short time later. May be called by tasks and events.
    void wake(const Waiter& waiter);

  private:
    friend class Process;
    void run(const std::shared_ptr<SimulatedTask>& task);
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
    std::shared_ptr<SimulatedTask> current_;
};

// Tasks that are killed together. Destroy the objects that they use after the process.
class Process {
  public:
    Process(Loop& loop, std::string name) : loop_(loop), name_(std::move(name)) {}
    ~Process() { kill(); }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void spawn(std::function<void()> body);
    // Ends every task at its current wait. Must not be called from within a task.
    void kill();
    [[nodiscard]] bool alive() const { return alive_; }
    [[nodiscard]] const std::string& name() const { return name_; }

  private:
    friend class Loop;

    Loop& loop_;
    const std::string name_;
    bool alive_ = true;
    std::vector<std::shared_ptr<SimulatedTask>> tasks_;
};

// Runs `work` as a task of another process, and waits for its result in the calling task. Returns
// std::nullopt if that process is dead, is killed, or the timeout passes. After a timeout the work
// continues.
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
