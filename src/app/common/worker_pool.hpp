// Threads that run tasks side by side.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.hpp"

namespace tessera {

class WorkerPool {
  public:
    using Task = std::function<void()>;

    // Without threads, run() runs the task itself.
    explicit WorkerPool(std::size_t threads) : most_(threads) {
        for (std::size_t i = 0; i < threads; ++i)
            threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
    }
    ~WorkerPool() { stop(); }
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    // Waits for the tasks that run; tasks that did not start never run. Call run() no more.
    void stop() {
        for (std::jthread& thread : threads_)
            thread.request_stop();
        threads_.clear();
    }

    // The tasks start in this order. Waits while as many tasks wait as there are threads. Any
    // thread.
    void run(Task task) {
        if (threads_.empty()) return task();
        const MutexLock lock(mutex_);
        while (tasks_.size() >= most_)
            taken_.wait(mutex_);
        tasks_.push_back(std::move(task));
        added_.notify_one();
    }

  private:
    void work(const std::stop_token& stop) {
        while (const Task task = next(stop))
            task();
    }

    // Empty when `stop` is requested.
    Task next(const std::stop_token& stop) {
        const MutexLock lock(mutex_);
        added_.wait(mutex_, stop, [this]() TESSERA_REQUIRES(mutex_) { return !tasks_.empty(); });
        if (stop.stop_requested()) return {};
        Task task = std::move(tasks_.front());
        tasks_.pop_front();
        taken_.notify_one();
        return task;
    }

    const std::size_t most_;
    Mutex mutex_;
    std::condition_variable_any added_;
    std::condition_variable_any taken_;
    std::deque<Task> tasks_ TESSERA_GUARDED_BY(mutex_);
    std::vector<std::jthread> threads_;  // last: they use the others
};

}  // namespace tessera
