#include "testing/simulation/loop.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace tessera::simulation {

void Loop::at(Time when, std::function<void()> action) {
    events_.push({std::max(when, now_), order_++, std::move(action)});
}

bool Loop::step() {
    if (events_.empty()) return false;
    // The top is const only to protect the order of the queue, and it is removed at once.
    auto action = std::move(const_cast<Event&>(events_.top()).action);
    now_ = events_.top().when;
    events_.pop();
    ++steps_;
    action();
    return true;
}

bool Loop::wait(std::optional<Time> timeout) {
    TESSERA_CHECK(current_ != nullptr, "only a task waits");
    SimulatedTask& self = *current_;
    const Waiter waiter = me();
    ++self.waits;
    if (timeout) after(*timeout, [this, waiter] { resume(waiter, false); });
    Fiber::suspend();
    if (self.killed) throw Killed{};
    return self.woken;
}

void Loop::wake(const Waiter& waiter) {
    after(rng_.between(Time(0), Time(20'000)), [this, waiter] { resume(waiter, true); });
}

void Loop::resume(const Waiter& waiter, bool woken) {
    const auto task = waiter.task.lock();
    if (!task || task->waits != waiter.number || task->fiber.done()) return;
    ++task->waits;
    task->woken = woken;
    run(task);
}

void Loop::run(const std::shared_ptr<SimulatedTask>& task) {
    TESSERA_CHECK(current_ == nullptr, "tasks do not nest");
    current_ = task;
    task->started = true;
    task->fiber.resume();
    current_ = nullptr;
    if (task->fiber.done()) std::erase(task->process->tasks_, task);
}

void Process::spawn(std::function<void()> body) {
    if (!alive_) return;
    auto task = std::make_shared<SimulatedTask>(*this, [body = std::move(body)] {
        try {
            body();
        } catch (const Killed&) {
            return;  // its process is gone
        }
    });
    tasks_.push_back(task);
    // The event does not keep the task alive: if the process is killed before that, the task ends.
    loop_.wake({task, 0});
}

void Process::kill() {
    TESSERA_CHECK(loop_.current() == nullptr, "a process is killed from outside");
    alive_ = false;
    const auto tasks = std::exchange(tasks_, {});
    for (const auto& task : tasks) {
        task->killed = true;
        ++task->waits;
        if (task->started) loop_.run(task);
        TESSERA_CHECK(!task->started || task->fiber.done(), "a killed task does not wait again");
    }
}

}  // namespace tessera::simulation
