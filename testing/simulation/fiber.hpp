// A function with its own stack that can suspend in the middle and continue later, in the same
// thread. The synchronous product code runs in fibers, one at a time, so that the seed alone
// determines the order of a run.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>

namespace tessera::simulation {

class Fiber {
  public:
    // `body` starts at the first resume() and lets no exception out.
    explicit Fiber(std::function<void()> body);
    // The fiber must have ended or never started: a stack in use must not be freed.
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // Runs the body until it suspends or ends. Must not be called from within a fiber.
    void resume();
    // Returns to the caller of resume(). Must be called from within a fiber.
    static void suspend();
    // The fiber that runs in this thread; null outside of all fibers.
    static Fiber* current();

    [[nodiscard]] bool done() const { return done_; }

  private:
    static void enter();
    void leave(bool for_good);

    std::function<void()> body_;
    bool started_ = false;
    bool done_ = false;
    void* stack_;
    ucontext_t own_{};
    ucontext_t caller_{};
    // Data that the sanitizers need when stacks are switched; null without sanitizers.
    [[maybe_unused]] void* own_shadow_ = nullptr;
    [[maybe_unused]] void* caller_shadow_ = nullptr;
    [[maybe_unused]] const void* caller_stack_ = nullptr;
    [[maybe_unused]] std::size_t caller_size_ = 0;
};

}  // namespace tessera::simulation
